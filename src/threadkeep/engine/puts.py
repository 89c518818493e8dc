"""Prepare a checkpoint, or a task's writes, for storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from threadkeep.engine.cache import Head, ThreadCache
from threadkeep.engine.cautions import warn_of_changes, warn_of_duplicates
from threadkeep.engine.envelope import COUNTERS, extra_of, time_of
from threadkeep.engine.prepare import Preparer
from threadkeep.engine.recording import (
    MESSAGES,
    count_unwritten,
    labels_of,
    moved_messages,
    only_grew,
    record_usage,
)
from threadkeep.engine.requests import PutRequest, WritesRequest
from threadkeep.errors import SerializationError
from threadkeep.ids import pack_id, unpack_id
from threadkeep.ops import packing
from threadkeep.ops.load import FULL_EVERY
from threadkeep.ops.names import Names
from threadkeep.ops.packing import CheckpointBody, Entry, Name
from threadkeep.ops.rows import (
    FAILED,
    IDLE,
    OTHER_SOURCE,
    RUNNING,
    SOURCES,
    WAITING,
    CheckpointRef,
    NewCheckpoint,
    NewRows,
    NewWrites,
)
from threadkeep.serde import Serde

_START, _TASKS = "__start__", "__pregel_tasks"


def prepare_put(
    serde: Serde,
    names: Names,
    cache: ThreadCache,
    request: PutRequest,
    parent: Head | None,
    existing: Head | None,
    now: int,
) -> tuple[NewCheckpoint | None, Head]:
    """Return the rows of a checkpoint and what the process keeps of it.

    `existing` is the checkpoint stored under the same id, if any: when it is the same there is nothing
    to store, and the first of the pair is None. Raises SerializationError with the path in the state.
    """
    checkpoint, metadata = request.checkpoint, request.metadata
    rows = NewRows()
    preparer = Preparer(serde, cache, rows)
    root = not request.namespace
    if root and metadata.get("source") == "input":
        warn_of_duplicates(cache, checkpoint, parent)
        cache.start_turn()
    if COUNTERS in metadata or request.snapshots:
        cache.delta = True
    base = existing if existing is not None else parent
    head = _head(serde, request, parent, preparer, base)
    if existing is not None and _same(head, existing):
        return None, existing
    if existing is not None:
        # What is stored under this id differs, and others may be stored as changes to it.
        head = _head(serde, request, parent, preparer, parent)
    head.ref = CheckpointRef()
    body = _body(names, rows, head, parent)
    entered, departed = moved_messages(cache, preparer, request, head, parent) if root else ([], [])
    source = metadata.get("source")
    if departed or not only_grew(cache, head, parent):
        cache.whole_record = False
    if root and source == "loop" and entered:
        count_unwritten(names, preparer, cache, rows, entered, now)
    status = _status(checkpoint["channel_values"])
    if root and status == IDLE and source != "input":
        warn_of_changes(cache, head)
    title, preview = labels_of(cache, [content for content, _ in entered])
    run_id = metadata.get("run_id")
    new = NewCheckpoint(
        namespace=request.namespace,
        id=head.id,
        parent=parent.ref if parent is not None else None,
        parent_id=request.parent_id,
        unknown_parent=parent is None and request.parent_id is not None,
        guarded=request.guarded,
        addressed=request.addressed,
        ref=head.ref,
        replaces=existing.ref.seq if existing is not None else None,
        run_id=pack_id(run_id) if isinstance(run_id, str) else None,
        run_body=head.run_body,
        step=head.step,
        source=head.source,
        body=body,
        rows=rows,
        entered=entered,
        departed=departed,
        all_new=_enter(cache, [content for content, _ in entered]) and cache.whole_record,
        status=status,
        title=title,
        preview=preview,
        now=now,
    )
    return new, head


def _head(
    serde: Serde, request: PutRequest, parent: Head | None, preparer: Preparer, base: Head | None
) -> Head:
    checkpoint, metadata = request.checkpoint, request.metadata
    head = Head()
    head.namespace = request.namespace
    head.id = pack_id(checkpoint["id"])
    head.parent_id = request.parent_id
    head.versions = dict(checkpoint["channel_versions"])
    head.seen = {node: dict(seen) for node, seen in checkpoint["versions_seen"].items()}
    updated = checkpoint.get("updated_channels")
    head.updated = None if updated is None else list(updated)
    head.values = {}
    before: Mapping[str, Entry] = base.values if base is not None else {}
    for channel, value in checkpoint["channel_values"].items():
        path = f"state.{channel}"
        if channel in request.snapshots:
            head.values[channel] = preparer.snapshot_entry(
                request.snapshots[channel], before.get(channel), path
            )
        elif channel == _TASKS and type(value) is list and value:
            head.values[channel] = preparer.tasks_entry(value, path)
        else:
            head.values[channel] = preparer.entry(value, before.get(channel), path)
    head.time = time_of(checkpoint["ts"], head.id)
    head.extra = extra_of(serde, request, parent)
    source = metadata.get("source")
    head.source = SOURCES.index(source) if source in SOURCES else OTHER_SOURCE
    step = metadata.get("step")
    head.step = step if type(step) is int and abs(step) < 1 << 31 else 0
    head.run_body = serde.encode(
        {k: v for k, v in metadata.items() if k not in ("source", "step", "parents", COUNTERS)},
        path="metadata",
    )
    head.depth = 0 if parent is None or parent.depth + 1 >= FULL_EVERY else parent.depth + 1
    return head


def _same(head: Head, other: Head) -> bool:
    return (
        head.values == other.values
        and head.versions == other.versions
        and head.seen == other.seen
        and head.updated == other.updated
        and (head.time, head.step, head.source) == (other.time, other.step, other.source)
        and head.run_body == other.run_body
        and head.extra == other.extra
        and head.parent_id == other.parent_id
    )


def _body(names: Names, rows: NewRows, head: Head, parent: Head | None) -> bytes:
    def name(text: str) -> Name:
        return names.encode(text, rows.names)

    whole = head.depth == 0
    old_versions = {} if whole or parent is None else parent.versions
    old_values = {} if whole or parent is None else parent.values
    old_seen = {} if whole or parent is None else parent.seen
    versions = {
        name(k): v
        for k, v in head.versions.items()
        if k not in old_versions or not _equal(old_versions[k], v)
    }
    values: dict[Name, Entry] = {name(k): e for k, e in head.values.items() if old_values.get(k) != e}
    for channel in old_values:
        if channel not in head.values:
            values[name(channel)] = (packing.ABSENT,)
    seen: dict[Name, dict[Name, Any]] = {}
    unseen: list[Any] = []
    for node, now in head.seen.items():
        before = old_seen.get(node)
        if before is None:
            seen[name(node)] = {name(k): v for k, v in now.items()}
        elif before != now:
            changed = {name(k): v for k, v in now.items() if k not in before or not _equal(before[k], v)}
            if changed:
                seen[name(node)] = changed
            if gone := [name(k) for k in before if k not in now]:
                unseen.append([name(node), gone])
    unseen += [[name(node), None] for node in old_seen if node not in head.seen]
    extra = dict(head.extra)
    if unseen:
        extra["unseen"] = unseen
    if absent := [name(k) for k in old_versions if k not in head.versions]:
        extra["gone"] = absent
    updated = None if head.updated is None else [name(k) for k in head.updated]
    body = CheckpointBody(head.depth, head.time, versions, values, seen, updated, extra)
    try:
        return packing.pack_checkpoint(body)
    except TypeError as error:
        raise SerializationError(
            f"cannot store the channel versions of checkpoint {unpack_id(head.id)!r}: {error}; versions are texts, "
            "floats, or integers of at most 64 bits",
            path="channel_versions",
        ) from error


def _equal(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _enter(cache: ThreadCache, numbers: list[int]) -> bool:
    """Note that messages enter the record; tell whether none of them can have been in it before."""
    new = True
    for number in numbers:
        item = cache.items[number]
        new = new and not item.entered
        item.entered = True
    return new


def _status(values: Mapping[str, Any]) -> int:
    for channel, value in values.items():
        if channel == _START or channel.startswith("branch:to:") or (channel == _TASKS and value):
            return RUNNING
    return IDLE


def prepare_writes(
    serde: Serde, names: Names, cache: ThreadCache, request: WritesRequest, now: int
) -> NewWrites:
    """Return the rows of a task's writes. Raises SerializationError with the channel's path."""
    rows = NewRows()
    preparer = Preparer(serde, cache, rows)
    entries: dict[int, list[Any]] = {}
    written: list[int] = []
    for index, channel, value in request.writes:
        before = len(preparer.new_messages)
        entries[index] = [
            names.encode(channel, rows.names),
            *preparer.write_entry(value, f"writes.{channel}"),
        ]
        if channel == MESSAGES:
            written += _written(cache, value)
        if request.from_node:
            for item in preparer.new_messages[before:]:
                record_usage(names, rows, item, now)
    if written:
        cache.written.setdefault((request.namespace, request.checkpoint), []).extend(written)
    return NewWrites(
        namespace=request.namespace,
        checkpoint=request.checkpoint,
        task=pack_id(request.task_id),
        path=names.encode(request.path, rows.names),
        entries=entries,
        rows=rows,
        status=request.status,
        now=now,
    )


def _written(cache: ThreadCache, value: Any) -> list[int]:
    items = value if isinstance(value, list) else [value]
    found = [
        cache.by_object.get(id(item))
        for item in items
        if isinstance(item, BaseMessage) and item.type != "remove"
    ]
    return [item.number for item in found if item is not None]


STATUS_OF = {"__error__": FAILED, "__interrupt__": WAITING, "__resume__": RUNNING}
"""What a special write says of its thread."""
