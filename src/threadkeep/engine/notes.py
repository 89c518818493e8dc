"""Flows over what policies note about a thread: summaries, facts, pins, calibration, audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import ormsgpack

from threadkeep import ids
from threadkeep.backends.base import Op
from threadkeep.engine import flows
from threadkeep.engine.engine import Engine, Flow, Read, Write
from threadkeep.engine.envelope import instant
from threadkeep.errors import MessageNotFound
from threadkeep.models import AuditEntry, SummaryInfo
from threadkeep.ops import notes
from threadkeep.ops.rows import ThreadRef

SUMMARY, ENTITIES = range(2)
"""Kinds of notes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """What a policy noted of contents with a digest; `value` is plain data, as it was given."""

    policy: str
    digest: bytes
    at: datetime
    value: Mapping[str, Any]


def find(
    engine: Engine, ref: ThreadRef, kind: int, policy: str, digests: Sequence[bytes]
) -> Flow[dict[bytes, Note]]:
    """Return a policy's notes by the digests of what they cover, those of `digests` that there are."""
    rows = yield Read(notes.find_notes(ref, kind, ids.encode_text(policy), list(dict.fromkeys(digests))))
    return {digest: _note(engine, policy, digest, at, body) for digest, at, body in rows}


def keep(
    engine: Engine, ref: ThreadRef, kind: int, policy: str, digest: bytes, value: Mapping[str, Any]
) -> Flow[Note]:
    """Store a note at once, in a transaction of its own; return the one that is stored: the first for this digest.

    Raises SerializationError for a value that is no plain data.
    """
    body = engine.serde.encode(dict(value), path="note")
    policy_id, now = ids.encode_text(policy), engine.clock()
    at, stored = yield Write(lambda: notes.keep_note(ref, kind, policy_id, digest, body, now))
    return _note(engine, policy, digest, at, stored)


def _note(engine: Engine, policy: str, digest: bytes, at: int, body: bytes) -> Note:
    return Note(policy=policy, digest=digest, at=instant(at), value=engine.serde.decode(body))


def summaries(engine: Engine, ref: ThreadRef) -> Flow[tuple[SummaryInfo, ...]]:
    """Return a thread's summaries, oldest first."""
    rows = yield Read(notes.all_notes(ref))
    found = []
    for kind, policy, _, at, body in rows:
        if kind == SUMMARY:
            value = engine.serde.decode(body)
            found.append(
                SummaryInfo(
                    at=instant(at),
                    policy=ids.decode_text(policy),
                    text=str(value.get("text", "")),
                    covered=int(value.get("covered") or 0),
                    language=value.get("language"),
                    model=value.get("model"),
                )
            )
    return tuple(found)


def pin(engine: Engine, ref: ThreadRef, message_id: str) -> Flow[None]:
    """Pin a message. Raises ThreadNotFound and MessageNotFound."""
    yield from engine.settled(ref)
    found = yield Write(lambda: notes.pin(ref, message_id, engine.clock()))
    if found is None:
        raise flows.not_found(ref)
    if not found:
        raise no_message(ref, message_id)


def no_message(ref: ThreadRef, message_id: str) -> MessageNotFound:
    """Return the error for a message that a thread's record does not have."""
    return MessageNotFound(
        f"thread {ref.thread_id!r} has no message {message_id!r}; messages() lists those it has",
        thread_id=ref.thread_id,
        message_id=message_id,
    )


def unpin(engine: Engine, ref: ThreadRef, message_id: str) -> Flow[bool]:
    """Unpin a message; return whether it was pinned. Raises ThreadNotFound."""
    found: bool | None = yield Write(lambda: notes.unpin(ref, message_id))
    if found is None:
        raise flows.not_found(ref)
    return found


def pins(engine: Engine, ref: ThreadRef) -> Flow[tuple[str, ...]]:
    """Return the ids of a thread's pinned messages, oldest pin first. Raises ThreadNotFound."""
    yield from engine.settled(ref)
    rows = yield Read(notes.pins(ref))
    if rows is None:
        raise flows.not_found(ref)
    return tuple(ids.unpack_message_id(message_id) for message_id, _ in rows)


def pinned(engine: Engine, ref: ThreadRef) -> Flow[frozenset[str]]:
    """Return the ids of a thread's pinned messages, none without the thread; for policies, in one look-up."""
    rows = yield Read(notes.pins(ref))
    return frozenset(ids.unpack_message_id(message_id) for message_id, _ in rows or ())


def audit_op(
    engine: Engine, ref: ThreadRef, action: str, actor: str, message_ids: Sequence[str]
) -> Callable[[], Op[None]]:
    """Return what records who did what to some messages, for the transaction that does it (`PutRequest.after`)."""
    n = notes.ACTIONS.index(action)
    return lambda: notes.audited(ref, n, actor, message_ids, engine.clock())


def audit(engine: Engine, ref: ThreadRef) -> Flow[tuple[AuditEntry, ...]]:
    """Return what was done to a thread, in order. Raises ThreadNotFound."""
    rows = yield Read(notes.audit(ref))
    if rows is None:
        raise flows.not_found(ref)
    return tuple(
        AuditEntry(
            at=instant(at),
            action=notes.ACTIONS[action],
            actor=ids.decode_text(actor),
            message_ids=tuple(ids.unpack_message_id(packed) for packed in ormsgpack.unpackb(body)),
        )
        for _, at, action, actor, body in rows
    )


def calibration(engine: Engine, model: str) -> Flow[Any]:
    """Return what was learned of a model's way of counting, as plain data; None when nothing was."""
    body = yield Read(notes.calibration(model))
    return None if body is None else engine.serde.decode(body)


def learn(engine: Engine, model: str, change: Callable[[Any], Any]) -> Flow[Any]:
    """Change what was learned of a model: `change` is given the plain data (or None) and returns the new one.

    Two processes that learn at once both count. Returns what is stored then.
    """

    def changed(body: bytes | None) -> bytes:
        return engine.serde.encode(
            change(None if body is None else engine.serde.decode(body)), path="calibration"
        )

    body = yield Write(lambda: notes.learn(model, changed))
    return engine.serde.decode(body)
