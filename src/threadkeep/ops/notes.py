"""What policies note about a thread: summaries and facts by what they cover, pins, and who did what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ormsgpack

from threadkeep.backends.base import Op, Row, Statement
from threadkeep.ids import encode_text, message_tag, pack_message_id
from threadkeep.ops.rows import ThreadRef, key, span
from threadkeep.ops.threads import enter, find

KINDS = ("summary", "entities")
ACTIONS = ("delete messages", "repair")
"""What the audit knows; redacting and erasing come with their own."""


def thread_key(thread: ThreadRef, now: int) -> Op[int]:
    """Return a thread's key, creating the thread where it is new, whatever the process knows of it."""
    rows = yield Statement("thread", (thread.digest,))
    if rows:
        return int(rows[0][0])
    fresh = ThreadRef(thread.owner, thread.thread_id, thread.digest)
    return (yield from enter(fresh, now)).id


def find_notes(thread: ThreadRef, kind: int, policy: bytes, digests: Sequence[bytes]) -> Op[list[Row]]:
    """Read a policy's notes by the digests of what they cover: (digest, time, body) of each there is."""
    row = yield from find(thread)
    found: list[Row] = []
    for digest in digests if row is not None else ():
        assert row is not None
        found += [(digest, *line) for line in (yield Statement("note", (row.id, kind, policy, digest)))]
    return found


def keep_note(thread: ThreadRef, kind: int, policy: bytes, digest: bytes, body: bytes, now: int) -> Op[Row]:
    """Store a note unless there is one; return what is stored, as (time, body)."""
    number = yield from thread_key(thread, now)
    place = (number, kind, policy, digest)
    yield Statement("add_note", (*place, now, body))
    return (yield Statement("note", place))[0]


def all_notes(thread: ThreadRef) -> Op[list[Row]]:
    """Read every note of a thread, oldest first: kind, policy, digest, time, body."""
    row = yield from find(thread)
    return [] if row is None else (yield Statement("notes_all", (row.id,)))


def pin(thread: ThreadRef, message_id: str, now: int) -> Op[bool | None]:
    """Pin a message; return False when its thread's record has none of this id, None without the thread."""
    row = yield from find(thread)
    if row is None or not row.checkpoints:
        return None
    packed = pack_message_id(message_id)
    rows = yield Statement("transcript_tagged", (key(row.id, message_tag(packed)),))
    if all(line[3] != packed for line in rows):
        return False
    yield Statement("add_pin", (row.id, packed, now))
    return True


def unpin(thread: ThreadRef, message_id: str) -> Op[bool | None]:
    """Unpin a message; return whether it was pinned, None without the thread."""
    row = yield from find(thread)
    if row is None or not row.checkpoints:
        return None
    return bool((yield Statement("drop_pin", (row.id, pack_message_id(message_id)))))


def pins(thread: ThreadRef) -> Op[list[Row] | None]:
    """Read a thread's pins, oldest first; None without the thread."""
    row = yield from find(thread)
    if row is None or not row.checkpoints:
        return None
    return (yield Statement("pins", (row.id,)))


def audited(thread: ThreadRef, action: int, actor: str, message_ids: Sequence[str], now: int) -> Op[None]:
    """Record who did what to some messages, and unpin those that were deleted."""
    number = yield from thread_key(thread, now)
    packed = [pack_message_id(message_id) for message_id in message_ids]
    yield Statement("add_audit", (*span(number), now, action, encode_text(actor), ormsgpack.packb(packed)))
    if ACTIONS[action] == "delete messages":
        for message_id in packed:
            yield Statement("drop_pin", (number, message_id))


def audit(thread: ThreadRef) -> Op[list[Row] | None]:
    """Read a thread's audit in order; None without the thread."""
    row = yield from find(thread)
    return None if row is None else (yield Statement("audit", span(row.id)))


def calibration(model: str) -> Op[bytes | None]:
    """Read what was learned of a model's way of counting."""
    rows = yield Statement("calibration", (encode_text(model),))
    return rows[0][0] if rows else None


def learn(model: str, change: Callable[[bytes | None], bytes]) -> Op[Any]:
    """Change what was learned of a model's way of counting; return it as it is stored then."""
    body = change((yield from calibration(model)))
    yield Statement("put_calibration", (encode_text(model), body))
    return body
