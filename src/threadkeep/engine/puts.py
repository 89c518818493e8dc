"""Prepare a checkpoint, or a task's writes, for storage."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import ormsgpack
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from threadkeep.engine.build import warn_of_change
from threadkeep.engine.cache import Head, Item, ThreadCache
from threadkeep.engine.prepare import Preparer, reported_usage
from threadkeep.errors import DuplicateHistoryWarning, SerializationError
from threadkeep.ids import encode_text, id_time, message_tag, pack_id, pack_message_id, unpack_id
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

MESSAGES = "messages"
_KEYS = frozenset(
    {"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels"}
)
FORMAT = 4
"""The checkpoint format that goes without saying: the one LangGraph writes today."""
_START, _TASKS = "__start__", "__pregel_tasks"
_COUNTERS = "counters_since_delta_snapshot"
_TITLE, _PREVIEW = 60, 160


@dataclass(frozen=True, slots=True, kw_only=True)
class PutRequest:
    """A checkpoint as the caller gave it. `snapshots` names the channels that hold a DeltaChannel's list."""

    namespace: str
    parent_id: bytes | None
    guarded: bool
    addressed: bool
    checkpoint: Mapping[str, Any]
    metadata: Mapping[str, Any]
    snapshots: Mapping[str, list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WritesRequest:
    """A task's writes as the caller gave them, each with its index, channel and value."""

    namespace: str
    checkpoint: bytes
    task_id: str
    path: str
    writes: Sequence[tuple[int, str, Any]]
    from_node: bool
    status: int | None


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
        _warn_of_duplicates(cache, checkpoint, parent)
        cache.start_turn()
    if _COUNTERS in metadata or request.snapshots:
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
    entered, departed = _transcript(cache, preparer, request, head, parent) if root else ([], [])
    source = metadata.get("source")
    if departed or not _only_grew(cache, head, parent):
        cache.whole_record = False
    if root and source == "loop" and entered:
        _count_unwritten(names, preparer, cache, rows, entered, now)
    status = _status(checkpoint["channel_values"])
    if root and status == IDLE and source != "input":
        _warn_of_changes(cache, head)
    title, preview = _labels(cache, [content for content, _ in entered])
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
        all_new=cache.whole_record,
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
    head.time = _time(checkpoint["ts"], head.id)
    head.extra = _extra(serde, request, parent)
    source = metadata.get("source")
    head.source = SOURCES.index(source) if source in SOURCES else OTHER_SOURCE
    step = metadata.get("step")
    head.step = step if type(step) is int and abs(step) < 1 << 31 else 0
    head.run_body = serde.encode(
        {k: v for k, v in metadata.items() if k not in ("source", "step", "parents", _COUNTERS)},
        path="metadata",
    )
    head.depth = 0 if parent is None or parent.depth + 1 >= FULL_EVERY else parent.depth + 1
    return head


def _extra(serde: Serde, request: PutRequest, parent: Head | None) -> dict[str, Any]:
    checkpoint, metadata = request.checkpoint, request.metadata
    extra: dict[str, Any] = {}
    if checkpoint.get("v") != FORMAT:
        extra["v"] = checkpoint.get("v")
    if "updated_channels" not in checkpoint:
        extra["plain"] = True
    other = {k: v for k, v in checkpoint.items() if k not in _KEYS and not (k == "pending_sends" and not v)}
    if other:
        extra["other"] = serde.encode(other, path="checkpoint")
    if metadata.get("source") not in SOURCES and "source" in metadata:
        extra["source"] = serde.encode(metadata["source"], path="metadata.source")
    step = metadata.get("step")
    if type(step) is not int or abs(step) >= 1 << 31:
        extra["step"] = serde.encode(step, path="metadata.step") if "step" in metadata else None
    if metadata.get("parents") != {}:
        extra["parents"] = (
            serde.encode(metadata["parents"], path="metadata.parents") if "parents" in metadata else None
        )
    if _COUNTERS in metadata:
        extra["counters"] = serde.encode(metadata[_COUNTERS], path=f"metadata.{_COUNTERS}")
        extra["deltas"] = list(metadata[_COUNTERS])
    if parent is None and request.parent_id is not None:
        extra["parent"] = request.parent_id
    return extra


def metadata_of(serde: Serde, head: Head) -> dict[str, Any]:
    """Return a checkpoint's metadata as it was given."""
    extra = head.extra
    metadata: dict[str, Any] = {}
    if head.source != OTHER_SOURCE:
        metadata["source"] = SOURCES[head.source]
    elif "source" in extra:
        metadata["source"] = serde.decode(extra["source"])
    if "step" not in extra:
        metadata["step"] = head.step
    elif extra["step"] is not None:
        metadata["step"] = serde.decode(extra["step"])
    if "parents" not in extra:
        metadata["parents"] = {}
    elif extra["parents"] is not None:
        metadata["parents"] = serde.decode(extra["parents"])
    metadata.update(serde.decode(head.run_body))
    if "counters" in extra:
        metadata[_COUNTERS] = serde.decode(extra["counters"])
    return metadata


def checkpoint_of(serde: Serde, head: Head, identifier: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return a checkpoint as it was given, with these values."""
    extra = head.extra
    checkpoint: dict[str, Any] = {
        "v": extra.get("v", FORMAT),
        "ts": _timestamp(head.time, head.id),
        "id": identifier,
        "channel_values": values,
        "channel_versions": dict(head.versions),
        "versions_seen": {node: dict(seen) for node, seen in head.seen.items()},
    }
    if "plain" not in extra:
        checkpoint["updated_channels"] = None if head.updated is None else list(head.updated)
    if "other" in extra:
        checkpoint.update(serde.decode(extra["other"]))
    return checkpoint


def _time(ts: str, identifier: bytes) -> int | str:
    """Return a timestamp as microseconds from the one in its id (or from 1970), or as text when that is not exact."""
    try:
        moment = datetime.fromisoformat(ts)
    except (TypeError, ValueError):
        return ts
    if moment.tzinfo is not UTC or moment.isoformat() != ts:
        return ts
    return round(moment.timestamp() * 1_000_000) - (id_time(identifier) or 0)


def _timestamp(time: int | str, identifier: bytes) -> str:
    if isinstance(time, str):
        return time
    return moment(time, identifier).isoformat()


def moment(time: int | str, identifier: bytes) -> datetime:
    """Return when a checkpoint was made."""
    if isinstance(time, str):
        try:
            found = datetime.fromisoformat(time)
            return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        except ValueError:
            return datetime.fromtimestamp((id_time(identifier) or 0) / 1e6, UTC)
    return instant(time + (id_time(identifier) or 0))


def instant(microseconds: int) -> datetime:
    """Return a time of the database as a datetime in UTC."""
    seconds, rest = divmod(microseconds, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)


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


def _transcript(
    cache: ThreadCache, preparer: Preparer, request: PutRequest, head: Head, parent: Head | None
) -> tuple[list[tuple[int, int | None]], list[int]]:
    """Return which messages enter the record, each with its id's tag, and which leave the state."""
    channel = MESSAGES if MESSAGES in head.versions else _message_channel(head)
    if channel is None:
        return [], []
    entry = head.values.get(channel)
    before = parent.values.get(channel) if parent is not None else None
    if entry is not None and entry[0] == packing.LIST:
        added, removed = ([], []) if entry == before else _moves(cache, preparer, entry, before)
    elif entry is None or (entry[0] == packing.SNAPSHOT and request.parent_id is not None):
        # A DeltaChannel's messages are in the writes that led here.
        added, removed = cache.written.get((request.namespace, request.parent_id or b""), []), []
        if not cache.delta:
            return [], []
    elif entry[0] == packing.SNAPSHOT:
        added, removed = _numbers(cache, entry), []
    else:
        added, removed = [], _numbers(cache, before)
    return [(n, _tag(cache.items[n])) for n in added if n in cache.items], removed


def _moves(
    cache: ThreadCache, preparer: Preparer, entry: Entry, before: Entry | None
) -> tuple[list[int], list[int]]:
    """Return which messages a list has that the one before had not, and the other way round."""
    made = preparer.changes.get(entry[1])
    if made is not None and before is not None and made[0] == before[1]:
        _, inserted, taken = made
        if not taken:
            return [n for n in inserted if isinstance(n, int)], []
    new, old = _numbers(cache, entry), _numbers(cache, before)
    was, now = set(old), set(new)
    return [n for n in new if n not in was], [n for n in old if n not in now]


def _only_grew(cache: ThreadCache, head: Head, parent: Head | None) -> bool:
    """Tell whether a root checkpoint's messages are its parent's and more, all with ids of their own."""
    if head.namespace:
        return True
    if parent is not None and cache.newest.get("") is not parent:
        return False
    entry = head.values.get(MESSAGES)
    return (entry is not None and entry[0] == packing.LIST) or MESSAGES not in head.versions


def _message_channel(head: Head) -> str | None:
    return next((c for c, entry in head.values.items() if entry[0] in (packing.LIST, packing.SNAPSHOT)), None)


def _numbers(cache: ThreadCache, entry: Entry | None) -> list[int]:
    if entry is None or len(entry) != 3 or (version := cache.lists.get(entry[1])) is None:
        return []
    return [item for item in version.items if isinstance(item, int)]


def _tag(item: Item) -> int | None:
    return None if item.message_id is None else message_tag(pack_message_id(item.message_id))


def _labels(cache: ThreadCache, numbers: list[int]) -> tuple[bytes | None, bytes | None]:
    """Return the first words of the first human message and the last message with text."""
    title = preview = None
    for number in numbers:
        message = cache.items[number].message
        text = _words(message) if isinstance(message, (HumanMessage, AIMessage)) else ""
        if text:
            preview = text
            if title is None and isinstance(message, HumanMessage):
                title = text
    return (
        encode_text(_shortened(title, _TITLE)) if title else None,
        encode_text(_shortened(preview, _PREVIEW)) if preview else None,
    )


def _words(message: BaseMessage) -> str:
    content = message.content
    if not isinstance(content, str):
        parts = [part if isinstance(part, str) else part.get("text") for part in content]
        content = " ".join(part for part in parts if isinstance(part, str))
    return " ".join(content[: 4 * _PREVIEW].split())


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > most // 2 else cut) + "…"


def _status(values: Mapping[str, Any]) -> int:
    for channel, value in values.items():
        if channel == _START or channel.startswith("branch:to:") or (channel == _TASKS and value):
            return RUNNING
    return IDLE


def _count_unwritten(
    names: Names,
    preparer: Preparer,
    cache: ThreadCache,
    rows: NewRows,
    entered: list[tuple[int, int | None]],
    now: int,
) -> None:
    """Record the usage of answers that no task's writes brought (durability "exit"): those after the last human's."""
    fresh = {item.number for item in preparer.new_messages}
    for number, _ in reversed(entered):
        message = cache.items[number].message
        if isinstance(message, HumanMessage):
            return
        if number in fresh:
            record_usage(names, rows, cache.items[number], now)


def record_usage(names: Names, rows: NewRows, item: Item, now: int) -> None:
    """Add a row for a model call whose usage its answer reports."""
    usage = reported_usage(item.message)
    if usage is not None:
        model, tokens = usage
        name = None if model is None else names.encode(model, rows.names)
        rows.calls.append((item.number, now, ormsgpack.packb([name, *tokens])))


def _warn_of_duplicates(cache: ThreadCache, checkpoint: Mapping[str, Any], parent: Head | None) -> None:
    given = checkpoint["channel_values"].get(_START)
    if not isinstance(given, Mapping) or parent is None:
        return
    for channel, items in given.items():
        entry = parent.values.get(channel)
        if not isinstance(items, list) or len(items) < 2 or entry is None or entry[0] != packing.LIST:
            continue
        known = [cache.items[n] for n in _numbers(cache, entry)[:2] if n in cache.items]
        if len(known) == 2 and all(_repeats(item, old) for item, old in zip(items, known, strict=False)):
            warnings.warn(
                f"the run on thread {cache.ref.thread_id!r} was given {len(items)} messages that begin like the "
                f"thread's own {channel!r}; the checkpointer adds the history by itself, so these will be there "
                "twice. Pass only the new message",
                DuplicateHistoryWarning,
                stacklevel=2,
            )
            return


def _warn_of_changes(cache: ThreadCache, head: Head) -> None:
    """Warn, at the end of a run, of messages of earlier turns whose content it changed in place.

    Other attributes are looked at when the thread is loaded again.
    """
    for entry in head.values.values():
        version = cache.lists.get(entry[1]) if entry[0] == packing.LIST else None
        if version is not None and version.live is not None and not version.same_contents():
            for number in version.items:
                item = cache.items.get(number) if isinstance(number, int) else None
                if item is not None and item.message.content != item.snapshot.values["content"]:
                    warn_of_change(cache, item)


def _repeats(given: Any, known: Item) -> bool:
    """Tell whether a given message has a known one's role and text, but not its id."""
    stored = known.message
    if isinstance(given, BaseMessage):
        return given.id != known.message_id and given.type == stored.type and given.content == stored.content
    if isinstance(given, Mapping):
        return given.get("content") == stored.content and given.get("id") != known.message_id
    return isinstance(given, tuple) and len(given) == 2 and given[1] == stored.content


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
