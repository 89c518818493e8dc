"""All calls of a thread at once, with what each was sent: for `simulate`."""

from __future__ import annotations

from typing import Any

from threadkeep.backends.base import Op, Row, Statement
from threadkeep.engine import counts, flows
from threadkeep.engine.build import Builder
from threadkeep.engine.engine import Engine, Flow, Read
from threadkeep.models import CallRecord
from threadkeep.ops import packing
from threadkeep.ops.calls import CallBody
from threadkeep.ops.load import Stored
from threadkeep.ops.rows import ThreadRef, span
from threadkeep.ops.threads import find


def replayed(engine: Engine, ref: ThreadRef) -> Flow[list[CallRecord]]:
    """Return a thread's calls in order with the messages and tools that each was sent, without reasons.

    A message that several calls were sent is one object. Raises ThreadNotFound.
    """
    yield from engine.settled(ref)

    def op() -> Op[tuple[list[Row], list[CallBody], Stored] | None]:
        thread = yield from find(ref)
        if thread is None:
            return None
        rows = yield Statement("calls", span(thread.id))
        bodies = [CallBody.unpack(row[-1]) for row in rows]
        stored = Stored()
        yield from stored.fetch(thread.id, [entry for body in bodies for entry in _entries(body)])
        return rows, bodies, stored

    found = yield Read(op())
    if found is None:
        raise flows.not_found(ref)
    rows, bodies, stored = found
    builder = engine.builder(stored, shared=True)
    return [_record(builder, stored, row, body) for row, body in zip(rows, bodies, strict=True)]


def _entries(body: CallBody) -> list[Any]:
    entries: list[Any] = [(packing.CONTENT, n) for n in (body.tools, body.options) if n is not None]
    if body.sent is not None:
        entries.append((packing.LIST, *body.sent))
    return entries


def _record(builder: Builder, stored: Stored, row: Row, body: CallBody) -> CallRecord:
    numbers = None if body.sent is None else stored.lists[body.sent[0]][0]
    return CallRecord(
        call=counts.call_of(row),
        messages=None if numbers is None else tuple(builder.message(int(n)) for n in numbers),
        tools=() if body.tools is None else tuple(builder.value((packing.CONTENT, body.tools))),
        options={} if body.options is None else builder.value((packing.CONTENT, body.options)),
        policy=body.policy,
    )
