"""Flows that read one thread, or list many, for people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from langchain_core.messages import BaseMessage

from threadkeep import ids
from threadkeep.backends.base import Op, Row, Statement
from threadkeep.engine import counts, flows
from threadkeep.engine.engine import Engine, Flow, Read, View, Write
from threadkeep.engine.envelope import instant, metadata_of, moment
from threadkeep.engine.recording import MESSAGES
from threadkeep.errors import CheckpointNotFound, ConfigurationError
from threadkeep.models import (
    Branch,
    Call,
    CheckpointInfo,
    Page,
    PendingWrite,
    State,
    TableStats,
    ThreadInfo,
    ThreadStats,
    Usage,
)
from threadkeep.ops import history as walking
from threadkeep.ops import threads, transcript
from threadkeep.ops.rows import SOURCES, STATUSES, ThreadRef, key, span

_LAST = (1 << 62, 1 << 62)


def info(engine: Engine, ref: ThreadRef) -> Flow[ThreadInfo]:
    """Return what the list shows of a thread. Raises ThreadNotFound."""
    yield from engine.settled(ref)
    row = yield Read(threads.information(ref))
    if row is None:
        raise flows.not_found(ref)
    return _information(engine, row)


def exists(engine: Engine, ref: ThreadRef) -> Flow[bool]:
    """Tell whether a thread has a checkpoint."""
    yield from engine.settled(ref)
    row = yield Read(threads.information(ref))
    return row is not None


def _information(engine: Engine, row: Row) -> ThreadInfo:
    return ThreadInfo(
        thread_id=ids.decode_text(row[2]),
        owner=ids.decode_text(row[1]),
        title=ids.decode_text(row[3] or b""),
        preview=ids.decode_text(row[4]),
        metadata=engine.serde.decode(row[5]) if row[5] else {},
        status=STATUSES[row[6]],
        messages=row[7],
        checkpoints=row[8],
        created=instant(row[9]),
        updated=instant(row[10]),
    )


def list_threads(
    engine: Engine,
    owner: str,
    metadata: Mapping[str, Any],
    since: datetime | None,
    limit: int,
    cursor: str | None,
) -> Flow[Page[ThreadInfo]]:
    """Return a page of threads, the latest updated first."""
    _check_limit(limit)
    before = _LAST
    if cursor is not None:
        updated, key_ = _place(cursor, 2)
        before = updated, key_
    start = 0 if since is None else round(since.timestamp() * 1_000_000)
    label = next(iter(_labels(engine, metadata)), None)
    found: list[ThreadInfo] = []
    place = before
    while len(found) <= limit:
        rows = yield Read(threads.listing(ids.digest(owner), start, place, label, limit + 1))
        for row in rows:
            entry = _information(engine, row)
            if flows.matches(entry.metadata, metadata):
                if len(found) == limit:
                    return Page(items=tuple(found), cursor=f"{before[0]}.{before[1]}")
                found.append(entry)
                before = (row[10], row[0])
            place = (row[10], row[0])
        if len(rows) <= limit:
            break
    return Page(items=tuple(found))


def _check_limit(limit: int) -> None:
    if type(limit) is not int or limit < 1:
        raise ConfigurationError(f"limit is {limit!r}; pass 1 or more")


def _place(cursor: str, parts: int) -> tuple[int, ...]:
    numbers = str(cursor).split(".")
    if len(numbers) != parts or not all(n.isascii() and n.isdecimal() and len(n) < 19 for n in numbers):
        raise ConfigurationError(
            f"cursor {cursor!r} is none that a page gave; pass that of a page, or none to begin"
        )
    return tuple(int(n) for n in numbers)


def _labels(engine: Engine, metadata: Mapping[str, Any]) -> list[bytes]:
    return [
        ids.digest(str(k), engine.serde.encode(v, path=f"metadata[{k!r}]").hex()) for k, v in metadata.items()
    ]


def update(
    engine: Engine, ref: ThreadRef, title: str | None, metadata: Mapping[str, Any] | None
) -> Flow[ThreadInfo]:
    """Set a thread's title and metadata. Raises ThreadNotFound and SerializationError."""
    yield from engine.settled(ref)
    packed = labels = None
    if metadata is not None:
        packed, labels = engine.serde.encode(dict(metadata), path="metadata"), _labels(engine, metadata)
    text = None if title is None else ids.encode_text(title)
    if not (yield Write(lambda: threads.update(ref, text, packed, labels, engine.clock()))):
        raise flows.not_found(ref)
    return (yield from info(engine, ref))


def messages(engine: Engine, ref: ThreadRef, branch: int | None) -> Flow[list[BaseMessage]]:
    """Return a thread's transcript. Raises ThreadNotFound, ConfigurationError for an unknown branch."""
    yield from engine.settled(ref)
    record = yield Read(transcript.read(ref, branch))
    if record is None:
        if branch is not None and (yield from exists(engine, ref)):
            raise ConfigurationError(
                f"thread {ref.thread_id!r} has no branch {branch}; branches() lists those it has"
            )
        raise flows.not_found(ref)
    builder = engine.builder(record.stored)
    return [builder.message(n) for n in record.contents]


def state(engine: Engine, ref: ThreadRef, checkpoint_id: str | None) -> Flow[State]:
    """Return a checkpoint with its values. Raises CheckpointNotFound and ThreadNotFound."""
    packed = None if checkpoint_id is None else ids.pack_id(checkpoint_id)
    view = yield from engine.get(ref, "", packed, live=False)
    if view is None:
        yield from info(engine, ref)
        raise no_checkpoint(ref, checkpoint_id)
    pending = tuple(PendingWrite(task_id=w.task_id, channel=w.channel, value=w.value) for w in view.pending)
    return State(checkpoint=checkpoint_info(engine, ref, view), values=view.values, pending=pending)


def no_checkpoint(ref: ThreadRef, checkpoint_id: str | None) -> CheckpointNotFound:
    """Return the error for a checkpoint that is not there."""
    return CheckpointNotFound(
        f"thread {ref.thread_id!r} has no checkpoint {checkpoint_id!r}; "
        f"`threadkeep history {ref.thread_id}` lists those it has",
        thread_id=ref.thread_id,
        checkpoint_id=checkpoint_id,
    )


def checkpoint_info(engine: Engine, ref: ThreadRef, view: View) -> CheckpointInfo:
    """Return what the history shows of a checkpoint."""
    head = view.head
    metadata = metadata_of(engine.serde, head)
    entry = head.values.get(MESSAGES, ())
    return CheckpointInfo(
        thread_id=ref.thread_id,
        checkpoint_id=ids.unpack_id(head.id),
        parent_id=None if head.parent_id is None else ids.unpack_id(head.parent_id),
        namespace=head.namespace,
        step=head.step,
        source=SOURCES[head.source] if head.source < len(SOURCES) else str(metadata.get("source", "")),
        branch=head.ref.branch,
        created=moment(head.time, head.id),
        messages=entry[2] if len(entry) == 3 else 0,
        metadata=metadata,
    )


def history(
    engine: Engine, ref: ThreadRef, namespace: str, limit: int, cursor: str | None
) -> Flow[Page[CheckpointInfo]]:
    """Return a page of checkpoints without values, newest first. Raises ThreadNotFound."""
    _check_limit(limit)
    below = None if cursor is None else _place(cursor, 1)[0]
    yield from info(engine, ref)
    walk = walking.Walk(ref, namespace, engine.names)
    walk.below = below
    manifests = yield Read(walk.page(limit))
    items = [
        checkpoint_info(engine, ref, View(engine.head(manifest, namespace), {}, [])) for manifest in manifests
    ]
    return Page(items=tuple(items), cursor=None if walk.done else str(walk.below))


def branches(engine: Engine, ref: ThreadRef) -> Flow[tuple[Branch, ...]]:
    """Return a thread's branches. Raises ThreadNotFound."""
    yield from engine.settled(ref)

    def op() -> Op[tuple[list[Row], dict[int, bytes], int] | None]:
        found = yield from threads.branches(ref)
        if found is None:
            return None
        thread, head, rows = found
        rows = rows or [(0, None, None, head)]
        named: dict[int, bytes] = {}
        current = 0
        for seq in {line[3] for line in rows} | {line[2] for line in rows if line[2] is not None}:
            lines = yield Statement("checkpoint", (key(thread, seq),))
            if lines:
                named[seq] = lines[0][2]
                current = lines[0][7] if seq == head else current
        return rows, named, current

    found = yield Read(op())
    if found is None:
        raise flows.not_found(ref)
    rows, named, current = found
    return tuple(
        Branch(
            branch=branch,
            parent=parent,
            forked_from=ids.unpack_id(named[forked]) if forked in named else None,
            tip=ids.unpack_id(named[tip]) if tip in named else "",
            current=branch == current,
        )
        for branch, parent, forked, tip in rows
    )


def calls(engine: Engine, ref: ThreadRef) -> Flow[list[Call]]:
    """Return a thread's model calls. Raises ThreadNotFound."""
    yield from engine.settled(ref)

    def op() -> Op[list[Row] | None]:
        row = yield from threads.find(ref)
        if row is None or (not row.checkpoints and row.next_call == 1):
            return None
        return (yield Statement("calls", span(row.id)))

    rows = yield Read(op())
    if rows is None:
        raise flows.not_found(ref)
    return [counts.call_of(row) for row in rows]


def usage(engine: Engine, ref: ThreadRef) -> Flow[Usage]:
    """Return the sum of a thread's model calls. Raises ThreadNotFound."""
    found = yield from calls(engine, ref)
    last = next((call for call in reversed(found) if call.purpose != "cached"), None)
    return counts.summed(map(counts.Counted.of_call, found), last)


def stats(engine: Engine, ref: ThreadRef) -> Flow[ThreadStats]:
    """Return a thread's bytes and rows. Raises ThreadNotFound."""
    yield from engine.settled(ref)

    def op() -> Op[dict[str, tuple[int, int]] | None]:
        row = yield from threads.find(ref)
        return None if row is None else (yield from threads.stats(row.id))

    found = yield Read(op())
    if found is None:
        raise flows.not_found(ref)
    return thread_stats(ref.thread_id, ref.owner, found)


def thread_stats(thread_id: str, owner: str, found: dict[str, tuple[int, int]]) -> ThreadStats:
    """Return what `threads.stats` counted."""
    tables = {table: TableStats(rows=rows, bytes=size) for table, (rows, size) in found.items()}
    return ThreadStats(thread_id=thread_id, owner=owner, tables=tables)
