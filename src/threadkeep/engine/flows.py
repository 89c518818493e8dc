"""Flows over whole threads: list, walk, copy, prune and delete them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from threadkeep import ids
from threadkeep.backends.base import Op, Row, Statement
from threadkeep.engine.engine import Engine, Flow, Read, View, Write
from threadkeep.engine.envelope import metadata_of
from threadkeep.errors import ConfigurationError, ThreadNotFound
from threadkeep.models import Progress, PruneReport
from threadkeep.ops import history, threads
from threadkeep.ops import prune as pruning
from threadkeep.ops.load import Manifest
from threadkeep.ops.prune import Choose, Removed
from threadkeep.ops.rows import LAST, ThreadRef, number

_PAGE = 32
_FOREVER = LAST


def not_found(ref: ThreadRef) -> ThreadNotFound:
    """Return the error for a thread that is not there."""
    owner = f" of owner {ref.owner!r}" if ref.owner else ""
    return ThreadNotFound(
        f"there is no thread {ref.thread_id!r}{owner}; `threadkeep threads` lists those there are, and a first "
        "message creates one",
        thread_id=ref.thread_id,
    )


def delete(engine: Engine, ref: ThreadRef) -> Flow[bool]:
    """Remove a thread; return whether there was one."""
    yield from engine.settled(ref)
    existed: bool = yield Write(lambda: threads.delete(ref))
    engine.forget(ref)
    if existed:
        engine.driver.give_back()
    return existed


def copy(engine: Engine, owner: str, source_id: object, target_id: object) -> Flow[None]:
    """Copy a thread whole. Raises ThreadNotFound, or ConfigurationError when the target exists."""
    source, target = engine.ref(owner, source_id), engine.ref(owner, target_id)
    yield from engine.settled(source)
    yield from engine.settled(target)
    engine.forget(target)

    def op() -> Op[bool]:
        fresh = engine.ref(owner, target.thread_id)
        row = yield from threads.find(fresh)
        if row is not None:
            raise ConfigurationError(
                f"thread {target.thread_id!r} exists already; choose another id, or delete it first",
                thread_id=target.thread_id,
            )
        return (yield from threads.copy(source, fresh, engine.clock()))

    if not (yield Write(op)):
        raise not_found(source)


def prune_plan(strategy: str, keep_last: int | None, older_than: timedelta | None, now: int) -> Choose:
    """Return which checkpoints a prune keeps. Raises ConfigurationError for what makes no sense."""
    if strategy not in ("keep_latest", "delete"):
        raise ConfigurationError(f"strategy is {strategy!r}; pass 'keep_latest' or 'delete'")
    if keep_last is not None and keep_last < 1:
        raise ConfigurationError(f"keep_last is {keep_last}; pass 1 or more, or strategy='delete'")
    if older_than is not None and older_than < timedelta():
        raise ConfigurationError(f"older_than is {older_than}; pass a positive timedelta")
    if strategy == "delete" and (keep_last is not None or older_than is not None):
        raise ConfigurationError("strategy='delete' removes everything; leave keep_last and older_than out")
    if strategy == "delete":
        return pruning.everything

    def choose(manifests: list[Manifest]) -> set[int]:
        spaces: dict[int, list[Manifest]] = {}
        for manifest in manifests:
            spaces.setdefault(manifest.row.namespace, []).append(manifest)
        keep: set[int] = set()
        for found in spaces.values():
            newest = len(found) - (keep_last or 1)
            for n, manifest in enumerate(found):
                young = older_than is not None and _age(manifest, now) <= older_than
                latest = n >= newest if (keep_last or older_than is None) else n == len(found) - 1
                if young or latest:
                    keep.add(number(manifest.row.key))
        return keep

    return choose


def _age(manifest: Manifest, now: int) -> timedelta:
    made = ids.id_time(manifest.row.id)
    if made is None:
        made = manifest.body.time if isinstance(manifest.body.time, int) else 0
    return timedelta(microseconds=now - made)


def prune(
    engine: Engine,
    owner: str,
    thread_ids: Sequence[object],
    plan: Choose,
    *,
    dry_run: bool,
    progress: Progress | None = None,
) -> Flow[PruneReport]:
    """Prune threads one after the other, each in a transaction; unknown ones are passed over."""
    report = PruneReport(dry_run=dry_run)
    for done, thread_id in enumerate(thread_ids, 1):
        removed = yield from prune_one(engine, engine.ref(owner, thread_id), plan, dry_run=dry_run)
        report = added(report, removed)
        if progress is not None:
            progress(done, len(thread_ids))
    return report


def prune_all(
    engine: Engine, owner: str, plan: Choose, *, dry_run: bool, progress: Progress | None = None
) -> Flow[PruneReport]:
    """Prune every thread of an owner."""
    report = PruneReport(dry_run=dry_run)
    total = 0 if progress is None else (yield Read(threads.count(ids.digest(owner))))
    done = 0
    after: int | None = None
    while (row := (yield from next_thread(engine, owner, after))) is not None:
        after = row[0]
        ref = engine.ref(owner, ids.decode_text(row[4]))
        report = added(report, (yield from prune_one(engine, ref, plan, dry_run=dry_run)))
        done += 1
        if progress is not None:
            progress(done, max(total, done))
    return report


def added(report: PruneReport, removed: Removed) -> PruneReport:
    """Return a report with one more thread counted."""
    touched = bool(removed.checkpoints or removed.contents or removed.writes or removed.whole)
    return PruneReport(
        threads=report.threads + touched,
        checkpoints=report.checkpoints + removed.checkpoints,
        contents=report.contents + removed.contents,
        writes=report.writes + removed.writes,
        bytes=report.bytes + removed.bytes,
        dry_run=report.dry_run,
    )


def prune_one(
    engine: Engine, ref: ThreadRef, plan: Choose, *, forget: bool = False, dry_run: bool = False
) -> Flow[Removed]:
    """Prune one thread."""
    yield from engine.settled(ref)

    def op() -> Op[Removed]:
        return pruning.prune(ref, plan, engine.names, engine.clock(), forget=forget, dry_run=dry_run)

    removed: Removed = yield Read(op()) if dry_run else Write(op)
    if dry_run:
        return removed
    engine.forget(ref)
    if removed.bytes:
        engine.driver.give_back()
    return removed


def delete_for_runs(engine: Engine, owner: str, run_ids: Sequence[str]) -> Flow[None]:
    """Remove the checkpoints of runs in all of an owner's threads."""
    if not run_ids:
        return
    found = yield Read(pruning.runs_named([str(run_id) for run_id in run_ids], ids.digest(owner)))
    for (_, thread_id), runs in found.items():

        def choose(manifests: list[Manifest], runs: set[int] = runs) -> set[int]:
            return {number(m.row.key) for m in manifests if m.row.run not in runs}

        ref = engine.ref(owner, ids.decode_text(thread_id))
        yield from prune_one(engine, ref, choose, forget=True)


def delta_history(
    engine: Engine, ref: ThreadRef, namespace: str, checkpoint: bytes | None, channels: list[str]
) -> Flow[dict[str, tuple[list[tuple[str, Any]], tuple[Any, ...]]]]:
    """Return for each channel its writes as (task, value), and a tuple that holds the seed or nothing."""
    if not channels:
        return {}
    yield from engine.settled(ref)
    found = yield Read(history.delta_history(ref, namespace, checkpoint, channels, engine.names))
    builder = engine.builder(found.stored)
    result = {}
    for channel in channels:
        writes = [(task, builder.value(entry)) for task, entry in found.writes[channel]]
        seed = (builder.value(found.seeds[channel]),) if channel in found.seeds else ()
        result[channel] = writes, seed
    return result


class Listing:
    """One thread's checkpoints, a page at a time.

    A message that several checkpoints hold is one object in all that one listing yields.
    """

    def __init__(self, engine: Engine, ref: ThreadRef, walk: history.Walk, identifier: str | None) -> None:
        self.ref = ref
        self._engine = engine
        self._walk = walk
        self._identifier = identifier
        self._before: str | None = None
        self._builder = engine.builder(walk.stored, shared=True)

    def manifests(self, size: int) -> Flow[list[Manifest] | None]:
        """Return the next page without values, or None after the last."""
        if self._walk.done:
            return None
        if self._identifier is not None:
            found = yield Read(self._walk.one(ids.pack_id(self._identifier)))
            return [found] if found is not None else []
        page: list[Manifest] = yield Read(self._walk.page(size))
        if self._before is not None:
            # An id that is not stored still orders: those that sort below it come after.
            page = [m for m in page if ids.unpack_id(m.row.id) < self._before]
        return page

    def page(self, filter: Mapping[str, Any], limit: int | None) -> Flow[list[View] | None]:
        """Return the next page of matching checkpoints with their values, or None after the last."""
        size = _PAGE if limit is None or filter else min(limit, _PAGE)
        manifests = yield from self.manifests(size)
        if manifests is None:
            return None
        chosen = []
        for manifest in manifests:
            head = self._engine.head(manifest, self._walk.spaces[manifest.row.namespace])
            if not filter or matches(metadata_of(self._engine.serde, head), filter):
                chosen.append((manifest, head))
        chosen = chosen[:limit]
        writes = yield Read(self._walk.writes([manifest for manifest, _ in chosen]))
        return [
            self._engine.view(h, lines, self._builder) for (_, h), lines in zip(chosen, writes, strict=True)
        ]


def listing(
    engine: Engine,
    ref: ThreadRef,
    namespace: str | None,
    *,
    identifier: str | None = None,
    before: str | None = None,
) -> Flow[Listing]:
    """Begin to list one thread's checkpoints, newest first."""
    yield from engine.settled(ref)
    walk = history.Walk(ref, "" if namespace is None and identifier is not None else namespace, engine.names)
    found = Listing(engine, ref, walk, identifier)
    placed = yield Read(walk.start(ids.pack_id(str(before)) if before else None))
    if not placed:
        found._before = str(before)
    return found


def matches(metadata: Mapping[str, Any], filter: Mapping[str, Any]) -> bool:
    """Tell whether metadata has every entry of a filter; a missing key matches nothing, not even None."""
    return all(key in metadata and _same(metadata[key], value) for key, value in filter.items())


def _same(left: Any, right: Any) -> bool:
    """Compare as JSON would, but True is not 1 and a datetime is not its text."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    return type(left) is type(right) and bool(left == right)


def next_thread(engine: Engine, owner: str, after: int | None) -> Flow[Row | None]:
    """Return the owner's thread created before the one with this key, or the latest."""

    def op() -> Op[list[Row]]:
        below = _FOREVER if after is None else after
        return (yield Statement("owner_threads", (ids.digest(owner), below, 1)))

    rows = yield Read(op())
    return rows[0] if rows else None
