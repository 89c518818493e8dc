"""The ledger's rows: one for each model call of a thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import ormsgpack

from threadkeep.backends.base import Op, Row, Statement
from threadkeep.ids import message_tag
from threadkeep.ops import packing
from threadkeep.ops.rows import key, span

STATUSES = ("finished", "failed", "cancelled")
FINISHED, FAILED, CANCELLED = range(3)
PURPOSES = ("answer", "summary", "extraction", "cached")
ANSWER, SUMMARY, EXTRACTION, CACHED = range(4)
"""What a call was for; `cached` asked no provider: a cache of answers gave an earlier call's."""
ORIGINS = ("recorder", "messages", "caller")
RECORDER, MESSAGES, CALLER = range(3)
"""Who counted a call: the callback handler, the saver by an answer's own report, or whoever told it."""

Span = tuple[int, int, str]
"""A reason for the messages from one position of a state to before another."""


class CallBody(NamedTuple):
    """What a call's row holds besides its columns. Lists and contents are numbers within the thread.

    `took` is in microseconds. `sent` and `source` are list versions with their lengths: the messages that went to the
    model, and those of the state that a policy chose from; `spans` are its reasons.
    """

    took: int | None = None
    price_version: str | None = None
    error: str | None = None
    sent: tuple[int, int] | None = None
    source: tuple[int, int] | None = None
    tools: int | None = None
    options: int | None = None
    policy: str | None = None
    spans: Sequence[Span] = ()

    def pack(self) -> bytes:
        """Return the body as bytes, without what is missing at its end."""
        parts: list[Any] = list(self)
        while parts and (parts[-1] is None or parts[-1] == ()):
            parts.pop()
        return ormsgpack.packb(parts)

    @classmethod
    def unpack(cls, body: bytes) -> CallBody:
        """Return the body that `pack` was given; ValueError, TypeError or LookupError for anything else."""
        parts = ormsgpack.unpackb(body)
        if not isinstance(parts, list) or len(parts) > len(cls._fields):
            raise ValueError("this is no call")
        found = cls(*parts)
        lists = [
            None if pair is None else (int(pair[0]), int(pair[1])) for pair in (found.sent, found.source)
        ]
        spans = tuple((int(first), int(stop), str(text)) for first, stop, text in found.spans)
        return found._replace(sent=lists[0], source=lists[1], spans=spans)

    def collect(self, contents: set[int], lists: set[int]) -> None:
        """Add what the call refers to."""
        contents.update(n for n in (self.tools, self.options) if n is not None)
        lists.update(pair[0] for pair in (self.sent, self.source) if pair is not None)


class CallRow(NamedTuple):
    """One call ready to be stored; ids and names as bytes, unknown tokens None."""

    call_id: bytes | None
    run_id: bytes | None
    message_id: bytes | None
    at: int
    status: int
    purpose: int
    origin: int
    model: bytes | None
    provider: bytes | None
    tokens: tuple[int | None, int | None, int | None, int | None, int | None]
    price: str | None
    body: bytes


def values_of(thread: int, n: int, row: CallRow) -> Row:
    """Return the parameters of `add_call`."""
    tag = None if row.message_id is None else key(thread, message_tag(row.message_id))
    fixed = (row.at, row.status, row.purpose, row.origin, row.model, row.provider)
    return (
        key(thread, n),
        row.call_id,
        row.run_id,
        tag,
        row.message_id,
        *fixed,
        *row.tokens,
        row.price,
        row.body,
    )


def tagged(thread: int, message_ids: Sequence[bytes]) -> Op[dict[bytes, tuple[int, int]]]:
    """Find the calls that brought some messages: the key and origin of each by message id."""
    wanted = set(message_ids)
    tags = packing.numbers([key(thread, message_tag(message_id)) for message_id in wanted])
    rows = yield Statement("calls_tagged", (tags,))
    return {message_id: (k, origin) for k, message_id, origin in rows if message_id in wanted}


def add_reported(thread: int, rows: Sequence[CallRow], next_call: int) -> Op[int]:
    """Store calls that answers themselves report, unless somebody counted them; return the next call number."""
    known = yield from tagged(thread, [row.message_id for row in rows if row.message_id is not None])
    new = [row for row in rows if row.message_id is None or row.message_id not in known]
    values = [values_of(thread, next_call + n, row) for n, row in enumerate(new)]
    if values:
        yield Statement("add_call", values, many=True)
    return next_call + len(values)


def referred(thread: int) -> Op[tuple[set[int], set[int]]]:
    """Return the contents and list versions that a thread's calls refer to."""
    contents: set[int] = set()
    lists: set[int] = set()
    for _, body in (yield Statement("call_bodies", span(thread))):
        CallBody.unpack(body).collect(contents, lists)
    return contents, lists
