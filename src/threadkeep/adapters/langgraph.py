"""The LangGraph checkpointer: every method of `BaseCheckpointSaver`, sync and async, on one object."""

from __future__ import annotations

import copy
import sys
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    EXCLUDED_METADATA_KEYS,
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from threadkeep.engine import flows
from threadkeep.engine.edits import next_version
from threadkeep.engine.engine import Engine, Flow, View
from threadkeep.engine.envelope import checkpoint_of, metadata_of
from threadkeep.engine.puts import STATUS_OF
from threadkeep.engine.requests import PutRequest, WritesRequest
from threadkeep.errors import ConfigurationError, SerializationError
from threadkeep.ids import decode_text, pack_id, unpack_id
from threadkeep.models import PruneReport
from threadkeep.ops.rows import ThreadRef

if TYPE_CHECKING:
    pass

_NULL_TASK = "00000000-0000-0000-0000-000000000000"
_START_PATH = "__start__"
_AT_ONCE = frozenset(WRITES_IDX_MAP)
_PLAIN = (str, int, float, bool, UUID, datetime, date, time, timedelta, Decimal, Enum)


class _Loaded(str):
    """A thread id that remembers which checkpoint its run loaded, and whether that was asked for by name.

    LangGraph carries the id that `get_tuple` returned into every put of the run. It equals the plain
    text and hashes alike.
    """

    __slots__ = ("at",)
    at: str | None

    def __new__(cls, text: str, at: str | None) -> _Loaded:
        marked = super().__new__(cls, text)
        marked.at = at
        return marked

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)

    def __copy__(self) -> _Loaded:
        return self

    def __deepcopy__(self, memo: Any) -> _Loaded:
        return self


class Checkpointer(BaseCheckpointSaver[Any]):
    """Keeps LangGraph's checkpoints in a Threadkeep memory.

    Thread-safe and usable from any number of event loops. Methods may be called with integers as
    thread ids. Values that would not come back equal are refused with a SerializationError; a run
    that another one overtook gets a StaleRun.
    """

    def __init__(self, engine: Engine, owner: str) -> None:
        self._engine = engine
        self._owner = owner
        self.serde = _SerdeView(engine)
        engine.wrap_snapshot = _DeltaSnapshot

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> Checkpointer:
        """Declare the types that a graph's schemas name, and return a view that shares everything else."""
        for module, *names in extra_allowlist:
            found: Any = sys.modules.get(module)
            for name in ".".join(names).split("."):
                found = getattr(found, name, None)
            if isinstance(found, type):
                try:
                    self._engine.serde.allow(found)
                except ConfigurationError:
                    continue  # a kind of type that needs no declaration
        return copy.copy(self)

    # reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint with its pending writes: the newest, or the one named by `checkpoint_id`."""
        return self._engine.run(self._get(config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint with its pending writes."""
        return await self._engine.arun(self._get(config))

    def _get(self, config: RunnableConfig) -> Flow[CheckpointTuple | None]:
        conf = _configurable(config)
        ref = self._ref(conf)
        namespace = conf.get("checkpoint_ns") or ""
        identifier = conf.get("checkpoint_id") or None
        live = any(key.startswith("__pregel_") for key in conf)
        view = yield from self._engine.get(ref, namespace, identifier and pack_id(str(identifier)), live=live)
        if view is None:
            return None
        return self._tuple(ref, view, str(identifier) if identifier else None)

    def _tuple(
        self, ref: ThreadRef, view: View, asked: str | None, *, marked: bool = True
    ) -> CheckpointTuple:
        head = view.head
        identifier = unpack_id(head.id)
        thread_id = _Loaded(ref.thread_id, asked) if marked else ref.thread_id
        checkpoint: Any = checkpoint_of(self._engine.serde, head, identifier, view.values)
        metadata: Any = metadata_of(self._engine.serde, head)
        parent = None
        if head.parent_id is not None:
            parent = _config(thread_id, head.namespace, unpack_id(head.parent_id))
        pending = [(write.task_id, write.channel, write.value) for write in view.pending]
        config = _config(thread_id, head.namespace, identifier)
        return CheckpointTuple(config, checkpoint, metadata, parent, pending)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first; nothing is held open between them.

        `filter` compares metadata entries exactly (True is not 1). Raises ValueError for a negative limit.
        """
        pages = self._pages(config, filter, before, limit)
        while (page := self._engine.run(pages.next())) is not None:
            yield from page

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first."""
        pages = self._pages(config, filter, before, limit)
        while (page := await self._engine.arun(pages.next())) is not None:
            for item in page:
                yield item

    def _pages(
        self,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> _Pages:
        if limit is not None and limit < 0:
            raise ValueError(f"limit is {limit}; pass None for all, or 0 and up")
        return _Pages(self, config, filter or {}, before, limit)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes along a checkpoint's ancestors, and the stored value they start from."""
        return self._engine.run(self._delta_history(config, channels))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes along a checkpoint's ancestors, and the stored value they start from."""
        return await self._engine.arun(self._delta_history(config, channels))

    def _delta_history(
        self, config: RunnableConfig, channels: Sequence[str]
    ) -> Flow[Mapping[str, DeltaChannelHistory]]:
        conf = _configurable(config)
        identifier = conf.get("checkpoint_id")
        place = (conf.get("checkpoint_ns") or "", pack_id(str(identifier)) if identifier else None)
        found = yield from flows.delta_history(self._engine, self._ref(conf), *place, list(channels))
        history: dict[str, DeltaChannelHistory] = {}
        for channel, (writes, seed) in found.items():
            history[channel] = {"writes": [(task, channel, value) for task, value in writes]}
            if seed:
                history[channel]["seed"] = seed[0]
        return history

    # writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; returns when it is durable, the input of a run when it is queued.

        Raises StaleRun when another run moved the thread on, and SerializationError with the path in
        the state for a value that would not come back equal.
        """
        return self._engine.run(self._put(config, checkpoint, metadata))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; returns when it is durable, the input of a run when it is queued."""
        return await self._engine.arun(self._put(config, checkpoint, metadata))

    def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> Flow[RunnableConfig]:
        conf = _configurable(config)
        thread_id = conf["thread_id"]
        parent = conf.get("checkpoint_id") or None
        namespace = conf.get("checkpoint_ns") or ""
        loop = any(key.startswith("__pregel_") for key in conf)
        at = thread_id.at if isinstance(thread_id, _Loaded) else None
        fork = metadata.get("source") == "fork"
        request = PutRequest(
            namespace=namespace,
            parent_id=pack_id(str(parent)) if parent else None,
            guarded=not namespace and (loop or isinstance(thread_id, _Loaded)),
            addressed=fork or (at is not None and at == parent),
            checkpoint=checkpoint,
            metadata=self._metadata(config, metadata),
            snapshots=_snapshots(checkpoint["channel_values"]),
        )
        ref = self._ref(conf)
        wait = not (loop and metadata.get("source") == "input")
        yield from self._engine.put(ref, request, wait=wait)
        return _config(ref.thread_id, namespace, checkpoint["id"])

    def _metadata(self, config: RunnableConfig, metadata: CheckpointMetadata) -> dict[str, Any]:
        merged: dict[str, Any] = dict(metadata)
        for source in (config.get("metadata"), config.get("configurable")):
            for key, value in (source or {}).items():
                if key in merged or key in EXCLUDED_METADATA_KEYS or key.startswith("__"):
                    continue
                if isinstance(value, _PLAIN) and not isinstance(value, _Loaded) and self._storable(value):
                    merged[key] = value
        return merged

    def _storable(self, value: Any) -> bool:
        if type(value) in (str, int, float, bool):
            return True
        try:
            self._engine.serde.encode(value)
        except SerializationError:
            return False
        return True

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote; returns when it is durable. Accepted before or after its checkpoint."""
        self._engine.run(self._put_writes(config, writes, task_id, task_path))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote; returns when it is durable."""
        await self._engine.arun(self._put_writes(config, writes, task_id, task_path))

    def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Flow[None]:
        conf = _configurable(config)
        status = None
        for channel, _ in writes:
            status = STATUS_OF.get(channel, status)
        request = WritesRequest(
            namespace=conf.get("checkpoint_ns") or "",
            checkpoint=pack_id(str(conf["checkpoint_id"])),
            task_id=str(task_id),
            path=task_path,
            writes=[
                (WRITES_IDX_MAP.get(channel, n), channel, value) for n, (channel, value) in enumerate(writes)
            ],
            from_node=task_id != _NULL_TASK and bool(task_path) and not task_path.endswith(_START_PATH),
            status=status,
        )
        now = any(channel in _AT_ONCE for channel, _ in writes)
        yield from self._engine.put_writes(self._ref(conf), request, now=now)

    # threads

    def delete_thread(self, thread_id: str) -> None:
        """Remove a thread: no row of it stays in any table."""
        self._engine.run(flows.delete(self._engine, self._engine.ref(self._owner, thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove a thread: no row of it stays in any table."""
        await self._engine.arun(flows.delete(self._engine, self._engine.ref(self._owner, thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of runs, with their writes and what only they refer to."""
        self._engine.run(flows.delete_for_runs(self._engine, self._owner, run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of runs, with their writes and what only they refer to."""
        await self._engine.arun(flows.delete_for_runs(self._engine, self._owner, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread whole under a new id. Raises ThreadNotFound, or ConfigurationError if the target exists."""
        self._engine.run(flows.copy(self._engine, self._owner, source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread whole under a new id."""
        await self._engine.arun(flows.copy(self._engine, self._owner, source_thread_id, target_thread_id))

    # LangGraph's returns nothing; this one tells what went.
    def prune(  # type: ignore[override]
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
        keep_last: int | None = None,
        older_than: timedelta | None = None,
        dry_run: bool = False,
    ) -> PruneReport:
        """Remove old checkpoints, never the record; `delete` removes whole threads.

        `keep_latest` keeps the newest checkpoint of each namespace; `keep_last` the newest n;
        `older_than` those that are younger, and the newest.
        """
        return self._engine.run(self._prune(thread_ids, strategy, keep_last, older_than, dry_run))

    async def aprune(  # type: ignore[override]
        self,
        thread_ids: Sequence[str],
        *,
        strategy: str = "keep_latest",
        keep_last: int | None = None,
        older_than: timedelta | None = None,
        dry_run: bool = False,
    ) -> PruneReport:
        """Remove old checkpoints, never the record; `delete` removes whole threads."""
        return await self._engine.arun(self._prune(thread_ids, strategy, keep_last, older_than, dry_run))

    def _prune(
        self,
        thread_ids: Sequence[str],
        strategy: str,
        keep_last: int | None,
        older_than: timedelta | None,
        dry_run: bool,
    ) -> Flow[PruneReport]:
        plan = flows.prune_plan(strategy, keep_last, older_than, self._engine.clock())
        return (yield from flows.prune(self._engine, self._owner, thread_ids, plan, dry_run=dry_run))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the version after `current`, continuing its kind: an integer, a float, or LangGraph's text."""
        return next_version(current)

    def _ref(self, conf: Mapping[str, Any]) -> ThreadRef:
        thread_id = conf["thread_id"]
        return self._engine.ref(self._owner, str(thread_id) if isinstance(thread_id, _Loaded) else thread_id)


class _Pages:
    """The pages of one listing, over one thread or all of an owner's."""

    def __init__(
        self,
        saver: Checkpointer,
        config: RunnableConfig | None,
        filter: Mapping[str, Any],
        before: RunnableConfig | None,
        limit: int | None,
    ) -> None:
        self._saver = saver
        self._filter = filter
        self._limit = limit
        self._namespace: str | None = None
        self._identifier = None
        self._refs: list[ThreadRef] | None = None
        self._walk: flows.Listing | None = None
        self._last_thread: int | None = None
        self._before = (before or {}).get("configurable", {})
        if config is not None:
            conf = _configurable(config)
            self._namespace = conf.get("checkpoint_ns")
            self._identifier = conf.get("checkpoint_id") or None
            self._refs = [saver._ref(conf)]

    def next(self) -> Flow[list[CheckpointTuple] | None]:
        """Return the next page, or None when there is none."""
        if self._limit is not None and self._limit <= 0:
            return None
        engine = self._saver._engine
        while True:
            if self._walk is None:
                ref = yield from self._next_thread()
                if ref is None:
                    return None
                self._walk = yield from flows.listing(
                    engine,
                    ref,
                    self._namespace,
                    identifier=self._identifier,
                    before=self._before.get("checkpoint_id"),
                )
            views = yield from self._walk.page(self._filter, self._limit)
            if views is None:
                self._walk = None
                continue
            if views:
                if self._limit is not None:
                    self._limit -= len(views)
                ref = self._walk.ref
                return [self._saver._tuple(ref, view, None, marked=False) for view in views]

    def _next_thread(self) -> Flow[ThreadRef | None]:
        engine = self._saver._engine
        if self._refs is not None:
            return self._refs.pop() if self._refs else None
        row = yield from flows.next_thread(engine, self._saver._owner, self._last_thread)
        if row is None:
            return None
        self._last_thread = row[0]
        return engine.ref(self._saver._owner, decode_text(row[4]))


class _SerdeView:
    """What `saver.serde` is: LangGraph's serializer protocol on Threadkeep's registry."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return a value's bytes."""
        return "threadkeep", self._engine.serde.encode(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value that `dumps_typed` was given."""
        return self._engine.serde.decode(data[1])


def _configurable(config: RunnableConfig) -> dict[str, Any]:
    conf = config.get("configurable") or {}
    if "thread_id" not in conf:
        raise ConfigurationError(
            'the config names no thread: pass config={"configurable": {"thread_id": "..."}} with the call'
        )
    return conf


def _config(thread_id: str, namespace: str, identifier: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": identifier}}


def _snapshots(values: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for channel, value in values.items():
        if isinstance(value, _DeltaSnapshot):
            items = value.value
            if type(items) is list and items and isinstance(items[0], BaseMessage):
                found[channel] = items
    return found
