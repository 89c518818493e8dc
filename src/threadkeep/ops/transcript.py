"""The record of a thread: what was said, in order, whatever became of the state."""

from __future__ import annotations

from typing import NamedTuple

from threadkeep.backends.base import Op, Row, Statement
from threadkeep.ids import message_tag, pack_message_id
from threadkeep.ops import packing
from threadkeep.ops.load import Stored
from threadkeep.ops.rows import ThreadRef, key, number, span
from threadkeep.ops.threads import find


class Record(NamedTuple):
    """The contents of a record in order, with what they refer to."""

    contents: list[int]
    stored: Stored


def read(thread: ThreadRef, branch: int | None) -> Op[Record | None]:
    """Read a branch's record, the current one's when none is given; None when the thread is not there.

    A message replaced under its id stands once, where it first entered, with its newest content.
    """
    row = yield from find(thread)
    if row is None or not row.checkpoints:
        return None
    rows = yield Statement("transcript", span(row.id))
    limits = yield from _limits(row.id, row.head, branch)
    if limits is None:
        return None
    chosen = [line[1] for line in rows if line[2] <= limits.get(line[3], -1)]
    stored = Stored()
    yield from stored.fetch(row.id, [(packing.CONTENT, n) for n in dict.fromkeys(chosen)])
    places: dict[bytes, int] = {}
    contents: list[int] = []
    for n in chosen:
        message_id = stored.contents[n][1]
        if message_id is not None and (place := places.get(message_id)) is not None:
            contents[place] = n
            continue
        if message_id is not None:
            places[message_id] = len(contents)
        contents.append(n)
    return Record(contents, stored)


def _limits(thread: int, head: int | None, branch: int | None) -> Op[dict[int, int] | None]:
    """Return, for a branch and those it was forked from, the last checkpoint that belongs to it."""
    rows = yield Statement("branches", span(thread))
    if not rows:
        return {0: 1 << 62} if branch in (None, 0) else None
    known = {number(line[0]): line[1:] for line in rows}
    if branch is None:
        current = yield Statement("checkpoint", (key(thread, head or 0),))
        branch = current[0][7] if current else 0
    if branch not in known:
        return None
    limits = {}
    at: int | None = branch
    last = 1 << 62
    while at is not None:
        limits[at] = last
        parent, forked, _ = known[at]
        last = forked if forked is not None else -1
        at = parent
    return limits


def follows(thread: int, seq: int, branch: int) -> Op[bool]:
    """Tell whether anything of a branch's record entered before a checkpoint."""
    limits = (yield from _limits(thread, None, branch)) or {}
    rows = yield Statement("transcript", span(thread))
    return any(line[2] < seq and line[2] <= limits.get(line[3], -1) for line in rows)


def entered(thread: ThreadRef, message_id: str) -> Op[tuple[int, int, int, list[Row]] | None]:
    """Find when a message first entered: thread key, checkpoint number, branch and the entered checkpoint's row."""
    row = yield from find(thread)
    if row is None:
        return None
    packed = pack_message_id(message_id)
    low, _ = span(row.id)
    for _, seq, branch, stored_id in (yield Statement("transcript_tagged", (low | message_tag(packed),))):
        if stored_id == packed:
            lines = yield Statement("checkpoint", (key(row.id, seq),))
            return row.id, seq, branch, lines
    return None
