"""The engine: what one open memory does, as flows that say what to read and what to wait for.

A flow is a generator of requests. `run` and `arun` carry them out, blocking or on an event loop; so
every piece of logic stands here once. A write is prepared at once, in the caller's thread, under the
thread's lock, and then waits for the next transaction.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from threadkeep import ids
from threadkeep.backends.base import Driver, Op, Retry, Work
from threadkeep.engine.build import Builder, adopt, live_values
from threadkeep.engine.cache import Head, ThreadCache, Threads
from threadkeep.engine.damage import Seen, examined, explained, is_damage, watched
from threadkeep.engine.puts import prepare_put, prepare_writes
from threadkeep.engine.recording import MESSAGES
from threadkeep.engine.requests import PutRequest, WritesRequest
from threadkeep.errors import StaleRun
from threadkeep.models import Problem
from threadkeep.ops import load, packing, put
from threadkeep.ops.load import Loaded, Stored
from threadkeep.ops.names import Names
from threadkeep.ops.rows import NewCheckpoint, ThreadRef
from threadkeep.ops.threads import ThreadRow, find
from threadkeep.serde import Serde

T = TypeVar("T")
_MOST_FAILURES = 256


class Read(NamedTuple):
    """Run a reading operation and send back what it returns."""

    op: Op[Any]


class Write(NamedTuple):
    """Run a writing operation after everything queued, and send back what it returns."""

    op: Callable[[], Op[Any]]


class Settle(NamedTuple):
    """Wait until a queued work is settled; with `now` without lingering for company."""

    work: Work
    now: bool


Flow = Generator[Read | Write | Settle, Any, T]


class Pending(NamedTuple):
    """A pending write with its value."""

    task_id: str
    channel: str
    value: Any


@dataclass(slots=True)
class View:
    """A checkpoint with its values and pending writes, as one caller is given it."""

    head: Head
    values: dict[str, Any]
    pending: list[Pending]


class Engine:
    """Everything that is shared by the objects of one open memory."""

    def __init__(self, driver: Driver, serde: Serde, clock: ids.Clock) -> None:
        self.driver = driver
        self.serde = serde
        self.clock = clock
        self.names = Names()
        self.threads = Threads()
        self.wrap_snapshot: Callable[[list[Any]], Any] = lambda items: items
        self._failures: OrderedDict[tuple[bytes, bytes], BaseException] = OrderedDict()
        self._failing = threading.Lock()
        self.last_call: Work | None = None
        driver.read(self.names.refresh())
        _ENGINES.add(self)

    def _begin_anew(self) -> None:
        # In a forked child what was at hand may have been half changed, and its locks be held, by
        # threads that are gone.
        self.threads = Threads()
        self._failures = OrderedDict()
        self._failing = threading.Lock()
        self.last_call = None

    # running flows

    def run(self, flow: Flow[T]) -> T:
        """Carry out a flow, blocking."""
        seen = Seen()
        try:
            request = next(flow)
            while True:
                try:
                    answer = self._serve(request, seen)
                except BaseException as error:
                    request = flow.throw(error)
                else:
                    request = flow.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result
        except (LookupError, ValueError, TypeError) as error:
            if not is_damage(error, seen):
                raise
            found = self.driver.read(examined(seen, self.names))
            self._raise_damage(error, seen, *found)
            raise

    def _serve(self, request: Read | Write | Settle, seen: Seen) -> Any:
        if isinstance(request, Read):
            return self.driver.read(watched(request.op, seen))
        if isinstance(request, Write):
            return self.driver.write(lambda: watched(request.op(), seen))
        if request.now or not request.work.wait(self.driver.linger):
            self.driver.flush()
            request.work.wait(None)
        return None

    async def arun(self, flow: Flow[T]) -> T:
        """Carry out a flow on the running event loop."""
        seen = Seen()
        try:
            request = next(flow)
            while True:
                try:
                    answer = await self._aserve(request, seen)
                except BaseException as error:
                    request = flow.throw(error)
                else:
                    request = flow.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result
        except (LookupError, ValueError, TypeError) as error:
            if not is_damage(error, seen):
                raise
            found = await self.driver.aread(examined(seen, self.names))
            self._raise_damage(error, seen, *found)
            raise

    async def _aserve(self, request: Read | Write | Settle, seen: Seen) -> Any:
        if isinstance(request, Read):
            return await self.driver.aread(watched(request.op, seen))
        if isinstance(request, Write):
            return await self.driver.awrite(lambda: watched(request.op(), seen))
        await self.driver.settled(request.work, now=request.now)
        return None

    def _raise_damage(
        self, error: BaseException, seen: Seen, thread_id: str | None, problems: list[Problem]
    ) -> None:
        explanation = explained(error, self.driver.url, seen, thread_id, problems)
        if explanation is not None:
            raise explanation from error

    # threads

    def ref(self, owner: str, thread_id: object) -> ThreadRef:
        """Return a thread's reference. Raises InvalidThreadId."""
        text = ids.check_thread_id(thread_id)
        return ThreadRef(owner, text, ids.digest(owner, text))

    def settled(self, ref: ThreadRef) -> Flow[ThreadCache | None]:
        """Wait for what is queued for a thread; return what the process keeps of it."""
        cache = self.threads.get(ref.digest)
        if cache is not None and cache.last_work is not None and not cache.last_work.done:
            yield Settle(cache.last_work, True)
        return cache

    def cache(self, ref: ThreadRef) -> Flow[ThreadCache]:
        """Return what the process keeps of a thread, with its counters read where it is new here."""
        cache = self.threads.get(ref.digest)
        if cache is not None:
            return cache
        row = yield Read(find(ref))
        return self._add_cache(ref, row)

    def _add_cache(self, like: ThreadRef, row: Any) -> ThreadCache:
        return self.threads.add(_new_cache(like, row))

    # checkpoints

    def get(
        self, ref: ThreadRef, namespace: str, checkpoint: bytes | None, *, live: bool
    ) -> Flow[View | None]:
        """Return a checkpoint, the newest when none is named; with `live` as a run's own objects."""
        cache = yield from self.settled(ref)
        while cache is not None and checkpoint is None:
            with cache.lock:
                head, work = cache.newest.get(namespace), cache.last_work
            if head is None:
                break
            if cache.dropped or (work is not None and not work.done):
                # It may be a checkpoint that is not stored yet, and may never be.
                cache = yield from self.settled(ref)
                continue
            found = yield Read(
                load.peek(cache.ref, namespace, head.id, head.values.values(), self.names, cache)
            )
            if found is not None:
                _, writes, stored = found
                return self._view(cache, head, writes, stored, live)
            if cache.last_work is work:
                self.threads.drop(cache)
            # Otherwise a write of this process came between: look again once it is settled.
            cache = yield from self.settled(ref)
        loaded = yield Read(load.load(ref, namespace, checkpoint, self.names, None))
        if loaded is None:
            return None
        return self._loaded_view(ref, namespace, checkpoint is None, loaded, live)

    def _loaded_view(self, ref: ThreadRef, namespace: str, newest: bool, loaded: Loaded, live: bool) -> View:
        cache = self.threads.get(ref.digest)
        if cache is not None and not _fits(cache, loaded.row):
            self.threads.drop(cache)
            cache = None
        head = self.head(loaded.manifest, namespace)
        if not live:
            return self._view(None, head, loaded.writes, loaded.stored, False)
        if cache is None:
            cache = self._add_cache(ref, loaded.row)
        with cache.lock:
            adopt(cache, loaded.stored, head)
            if newest and not namespace:
                cache.whole_record = _is_whole(head, loaded.row.messages)
            # Only the newest checkpoint of a thread that stands at the version read here is the newest,
            # and stays it when nothing is on its way.
            quiet = cache.last_work is None or cache.last_work.done
            cache.remember(head, newest=newest and quiet and cache.ref.version == loaded.row.version)
        return self._view(cache, head, loaded.writes, loaded.stored, True)

    def head(self, manifest: load.Manifest, namespace: str) -> Head:
        """Return a manifest as the process keeps it."""
        updated = manifest.body.updated
        return Head.of(
            manifest, namespace, None if updated is None else [self.names.decode(n) for n in updated]
        )

    def _view(
        self, cache: ThreadCache | None, head: Head, writes: list[Any], stored: Stored, live: bool
    ) -> View:
        if cache is None:
            return self.view(head, writes, self.builder(stored))
        with cache.lock:
            builder = self.builder(stored, cache, live=live)
            if live:
                adopt(cache, stored, head)
                values = live_values(builder, cache, head)
            else:
                values = {channel: builder.value(entry) for channel, entry in head.values.items()}
            return View(head, values, self._pending(builder, writes))

    def builder(
        self, stored: Stored, cache: ThreadCache | None = None, *, live: bool = False, shared: bool = False
    ) -> Builder:
        """Return what builds values from stored rows."""
        return Builder(self.serde, stored, cache, live=live, shared=shared, wrap=self.wrap_snapshot)

    def view(self, head: Head, writes: list[Any], builder: Builder) -> View:
        """Return a checkpoint built from what was read alone."""
        values = {channel: builder.value(entry) for channel, entry in head.values.items()}
        return View(head, values, self._pending(builder, writes))

    def _pending(self, builder: Builder, writes: list[Any]) -> list[Pending]:
        found = []
        for task, body in writes:
            path, entries = packing.unpack_writes(body)
            task_id = ids.unpack_id(task)
            for index, (name, *entry) in entries.items():
                value = builder.value(tuple(entry))
                found.append(
                    (
                        self.names.decode(path),
                        task_id,
                        index,
                        Pending(task_id, self.names.decode(name), value),
                    )
                )
        found.sort(key=lambda line: line[:3])
        return [line[3] for line in found]

    def put(self, ref: ThreadRef, request: PutRequest, *, wait: bool) -> Flow[None]:
        """Store a checkpoint; without `wait` return once it is queued.

        Raises StaleRun, SerializationError, and the storage errors. A failure of what was only queued
        is raised by the run's next call.
        """
        self._raise_failure(ref, request.parent_id)
        work = None
        while work is None:
            cache = yield from self.cache(ref)
            parent = yield from self._parent(cache, request.namespace, request.parent_id)
            with cache.lock:
                if cache.dropped:
                    continue
                work = self._put_work(cache, request, parent, wait)
                if work is None:
                    # Put before, the same; it may still be on its way.
                    work = cache.last_work
                    break
                self._enqueue(cache, work)
        if work is None:
            return
        if not wait:
            self.driver.flush_soon()
            return
        yield Settle(work, True)
        if work.error is not None:
            first = self._take_failure(ref, request.parent_id)
            # The input that this continues may have failed first: that is what there is to know.
            raise first if first is not None and not isinstance(first, StaleRun) else work.error

    def _parent(self, cache: ThreadCache, namespace: str, parent_id: bytes | None) -> Flow[Head | None]:
        if parent_id is None:
            return None
        head = cache.heads.get((namespace, parent_id))
        if head is not None or cache.ref.key is None:
            return head
        if cache.last_work is not None and not cache.last_work.done:
            yield Settle(cache.last_work, True)
        loaded = yield Read(load.load(cache.ref, namespace, parent_id, self.names, hidden=True))
        if loaded is not None and not _fits(cache, loaded.row):
            self.threads.drop(cache)
            return None
        return self._keep(cache, namespace, loaded)

    def _keep(self, cache: ThreadCache, namespace: str, loaded: Loaded | None) -> Head | None:
        """Make a checkpoint that was read a base for what follows."""
        if loaded is None:
            return None
        head = self.head(loaded.manifest, namespace)
        with cache.lock:
            adopt(cache, loaded.stored, head)
            live_values(self.builder(loaded.stored, cache, live=True), cache, head)
            cache.remember(head, newest=False)
        return head

    def _put_work(
        self, cache: ThreadCache, request: PutRequest, parent: Head | None, wait: bool
    ) -> Work | None:
        identifier = ids.pack_id(request.checkpoint["id"])
        existing = cache.heads.get((request.namespace, identifier))
        state = _Prepared(cache)

        def prepare(target: ThreadCache, base: Head | None, old: Head | None) -> bool:
            try:
                new, head = prepare_put(self.serde, self.names, target, request, base, old, self.clock())
            except BaseException:
                self.threads.drop(target)
                raise
            state.cache = target
            state.op = None if new is None else lambda: self._stored(target, new, request)
            state.names = new is not None and bool(new.rows.names)
            if new is not None:
                target.remember(head, newest=old is None or target.newest.get(request.namespace) is old)
            return new is not None

        def refresh() -> None:
            fresh = self._reload(state.cache)
            base = self._reload_head(fresh, request.namespace, request.parent_id)
            old = self._reload_head(fresh, request.namespace, identifier)
            with fresh.lock:
                prepare(fresh, base, old)

        if not prepare(cache, parent, existing):
            return None
        return self._work(state, refresh, None if wait else (cache.ref.digest, identifier))

    def _stored(self, cache: ThreadCache, new: NewCheckpoint, request: PutRequest) -> Op[None]:
        op = put.put_checkpoint(cache.ref, new, self.names)
        return op if request.after is None else _both(op, request.after())

    def put_writes(self, ref: ThreadRef, request: WritesRequest, *, now: bool) -> Flow[None]:
        """Store a task's pending writes, together with the next checkpoint if it comes at once."""
        self._raise_failure(ref, request.checkpoint)
        cache = yield from self.cache(ref)
        while cache.dropped:
            cache = yield from self.cache(ref)
        state = _Prepared(cache)

        def prepare(target: ThreadCache) -> None:
            try:
                new = prepare_writes(self.serde, self.names, target, request, self.clock())
            except BaseException:
                self.threads.drop(target)
                raise
            state.cache = target
            state.op = lambda: put.put_writes(target.ref, new)
            state.names = bool(new.rows.names)

        def refresh() -> None:
            fresh = self._reload(state.cache)
            with fresh.lock:
                prepare(fresh)

        with cache.lock:
            prepare(cache)
            work = self._work(state, refresh, None)
            self._enqueue(cache, work)
            now = now or cache.delta
        yield Settle(work, now)
        if work.error is not None:
            raise work.error

    def queue(
        self, cache: ThreadCache, prepare: Callable[[ThreadCache], Callable[[], Op[Any]]]
    ) -> Work | None:
        """Queue a write that `prepare` makes of what the process keeps of a thread; None when that is of no use now.

        It is prepared at once, under the thread's lock, and again where the database has gone on meanwhile.
        """
        state = _Prepared(cache)

        def ready(target: ThreadCache) -> None:
            state.cache, state.op = target, prepare(target)

        def refresh() -> None:
            fresh = self._reload(state.cache)
            with fresh.lock:
                ready(fresh)

        with cache.lock:
            if cache.dropped:
                return None
            ready(cache)
            work = self._work(state, refresh, None)
            self._enqueue(cache, work)
        return work

    def _enqueue(self, cache: ThreadCache, work: Work) -> None:
        try:
            self.driver.enqueue(work)
        except BaseException:
            self.threads.drop(cache)
            raise
        cache.last_work = work

    def _work(self, state: _Prepared, refresh: Callable[[], None], place: tuple[bytes, bytes] | None) -> Work:
        first = state.cache

        def settled() -> None:
            if work.error is None:
                state.cache.ref.commit()
                if state.cache is not first:
                    self.threads.keep(state.cache)
                if state.names:
                    # What was stored is stored: names that cannot be read now are read when they are met.
                    with suppress(Exception):
                        self.driver.read(self.names.refresh())
                return
            self.threads.drop(state.cache)
            if place is not None:
                self._record_failure(place, work.error)

        work = Work(
            state.start, refresh=refresh, rolled_back=lambda: state.cache.ref.restore(), settled=settled
        )
        return work

    def _reload(self, cache: ThreadCache) -> ThreadCache:
        """Return a new cache that fits the database, for a work whose preparation does not.

        It is this work's alone until that is stored: what stands in any other cache may belong to works
        that come later, or never, and must not be referred to.
        """
        self.threads.drop(cache)
        return _new_cache(cache.ref, self.driver.read(find(cache.ref)))

    def _reload_head(self, cache: ThreadCache, namespace: str, identifier: bytes | None) -> Head | None:
        if identifier is None:
            return None
        kept = cache.heads.get((namespace, identifier))
        if kept is not None:
            return kept
        loaded = self.driver.read(load.load(cache.ref, namespace, identifier, self.names, hidden=True))
        return self._keep(cache, namespace, loaded)

    # failures of what was only queued

    def _record_failure(self, place: tuple[bytes, bytes], error: BaseException) -> None:
        with self._failing:
            self._failures[place] = error
            while len(self._failures) > _MOST_FAILURES:
                self._failures.popitem(last=False)

    def _take_failure(self, ref: ThreadRef, checkpoint: bytes | None) -> BaseException | None:
        if not self._failures or checkpoint is None:
            return None
        with self._failing:
            return self._failures.pop((ref.digest, checkpoint), None)

    def _raise_failure(self, ref: ThreadRef, checkpoint: bytes | None) -> None:
        if (error := self._take_failure(ref, checkpoint)) is not None:
            raise error

    def close(self) -> None:
        """Store what is queued and release everything; raise a failure that no call has raised."""
        self.driver.close()
        self.threads.drop_all()
        self._raise_left()

    async def aclose(self) -> None:
        """Store what is queued and release everything, without blocking the loop."""
        await asyncio.get_running_loop().run_in_executor(None, self.driver.close)
        self.threads.drop_all()
        self._raise_left()

    def _raise_left(self) -> None:
        with self._failing:
            left = next(iter(self._failures.values()), None)
            self._failures.clear()
        if left is not None:
            raise left

    def forget(self, ref: ThreadRef) -> None:
        """Forget what the process keeps of a thread."""
        cache = self.threads.get(ref.digest)
        if cache is not None:
            self.threads.drop(cache)


def _is_whole(head: Head, messages: int) -> bool:
    """Tell whether a state still has every message of its thread's record."""
    entry = head.values.get(MESSAGES, ())
    return entry[2] == messages if len(entry) == 3 else messages == 0


_ENGINES: weakref.WeakSet[Engine] = weakref.WeakSet()


def _after_fork() -> None:
    for engine in list(_ENGINES):
        engine._begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _fits(cache: ThreadCache, row: ThreadRow) -> bool:
    # What others have stored under numbers that this process has not claimed may be numbers that it
    # has given to values of its own meanwhile.
    ref = cache.ref
    return ref.key == row.id and ref.sweep == row.sweep and row.next_content <= ref.claimed


def _new_cache(like: ThreadRef, row: Any) -> ThreadCache:
    ref = ThreadRef(like.owner, like.thread_id, like.digest)
    if row is not None:
        ref.key, ref.version, ref.sweep = row.id, row.version, row.sweep
        ref.claimed = ref.next_content = row.next_content
    return ThreadCache(ref)


class _Prepared:
    """What a work would run now; replaced when it is prepared again."""

    __slots__ = ("cache", "names", "op")

    def __init__(self, cache: ThreadCache) -> None:
        self.cache = cache
        self.names = False
        self.op: Callable[[], Op[None]] | None = None

    def start(self) -> Op[None]:
        """Return the operation. Raises Retry once the cache it was prepared with is of no use."""
        if self.cache.dropped:
            raise Retry
        return self.op() if self.op is not None else _nothing()


def _both(first: Op[None], second: Op[None]) -> Op[None]:
    yield from first
    yield from second


def _nothing() -> Op[None]:
    return
    yield
