"""The ledger: record a model call with what was sent, and read what calls took."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langchain_core.messages import BaseMessage

from threadkeep import ids
from threadkeep.backends.base import Op, Row, Statement, Work
from threadkeep.context.prices import Price, Tokens
from threadkeep.engine import counts, flows
from threadkeep.engine.cache import ThreadCache
from threadkeep.engine.engine import Engine, Flow, Read, Settle
from threadkeep.engine.sent import Held
from threadkeep.errors import ConfigurationError, SerializationError
from threadkeep.models import CallRecord, MessageReason, Usage
from threadkeep.ops import calls, ledger, packing
from threadkeep.ops.calls import CallBody, CallRow, Span
from threadkeep.ops.ledger import NewCall, needed_numbers
from threadkeep.ops.load import Stored
from threadkeep.ops.rows import ThreadRef, key
from threadkeep.ops.threads import find

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """What a model call was sent, and why: the state's messages with a policy's reasons for spans of them."""

    messages: Sequence[BaseMessage]
    tools: Sequence[Any] = ()
    options: Mapping[str, Any] | None = None
    source: Sequence[BaseMessage] = ()
    spans: Sequence[Span] = ()
    policy: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRequest:
    """A model call that has ended, to be recorded; times in microseconds since 1970, unknown tokens None."""

    call_id: str | None
    message_id: str | None
    started: int
    ended: int
    status: int = calls.FINISHED
    purpose: int = calls.ANSWER
    origin: int = calls.RECORDER
    run_id: str | None = None
    model: str | None = None
    provider: str | None = None
    tokens: Tokens | None = None
    price: Price | None = None
    error: str | None = None
    sent: Sent | None = None
    reservation: int | None = None


def queue(engine: Engine, ref: ThreadRef, request: CallRequest) -> Flow[tuple[Work, list[int]]]:
    """Queue a call's row; return the work, and a list that holds the call's number once it is done.

    The row is committed within the driver's linger, before everything that is queued later: so before the answer.
    """
    number: list[int] = []
    while True:
        cache = yield from engine.cache(ref)

        def prepare(target: ThreadCache) -> Callable[[], Op[None]]:
            new = _new_call(engine, target, request)
            return lambda: _recorded(target, new, number)

        work = engine.queue(cache, prepare)
        if work is not None:
            engine.last_call = work
            engine.driver.flush_soon()
            return work, number


def record(engine: Engine, ref: ThreadRef, request: CallRequest) -> Flow[int]:
    """Record a call; return its number once the row is durable. Raises the storage errors."""
    work, number = yield from queue(engine, ref, request)
    yield Settle(work, True)
    if work.error is not None:
        raise work.error
    return number[-1]


def _recorded(cache: ThreadCache, new: NewCall, number: list[int]) -> Op[None]:
    number.append((yield from ledger.record(cache.ref, new, cache.ledger)))


def _new_call(engine: Engine, cache: ThreadCache, request: CallRequest) -> NewCall:
    held = Held(engine.serde, cache)
    lists: dict[str, list[int]] = {}
    tools = options = None
    sent = request.sent
    if sent is not None:
        try:
            lists[ledger.SENT] = held.messages(ledger.SENT, sent.messages)
            if sent.source:
                lists[ledger.SOURCE] = held.messages(ledger.SOURCE, sent.source)
            tools = held.value(list(sent.tools)) if sent.tools else None
            options = held.value(dict(sent.options)) if sent.options else None
        except SerializationError as error:
            # The call took place all the same; what it was sent stays unknown.
            _log.warning("what was sent to a model cannot be kept: %s", error)
            held, lists, tools, options, sent = Held(engine.serde, cache), {}, None, None, None
    first = cache.ref.next_content
    cache.ref.next_content = first + (needed_numbers(held.unheld) if lists else 0)
    return NewCall(
        row=call_row(request),
        body=CallBody(
            took=max(0, request.ended - request.started),
            price_version=None if request.price is None else request.price.version,
            error=request.error,
            policy=None if sent is None else sent.policy,
            spans=() if sent is None else tuple(sent.spans),
        ),
        unheld=held.unheld,
        lists=lists,
        tools=tools,
        options=options,
        first=first,
        plain=_plain(engine),
        reservation=request.reservation,
        now=request.ended,
    )


def _plain(engine: Engine) -> Callable[[Stored, int], bytes | None]:
    def plain(stored: Stored, number: int) -> bytes | None:
        codec, _, body = stored.contents[number]
        if codec == packing.MESSAGE:
            return body
        try:
            return engine.serde.message_body(engine.builder(stored).message(number))
        except SerializationError:
            return None

    return plain


def call_row(request: CallRequest, body: bytes = b"") -> CallRow:
    """Return a call's columns."""
    tokens = request.tokens or Tokens()
    purpose = calls.CACHED if tokens.from_cache else request.purpose
    return CallRow(
        call_id=None if request.call_id is None else ids.pack_id(request.call_id),
        run_id=None if request.run_id is None else ids.pack_id(request.run_id),
        message_id=None if request.message_id is None else ids.pack_message_id(request.message_id),
        at=request.started,
        status=request.status,
        purpose=purpose,
        origin=request.origin,
        model=None if request.model is None else ids.encode_text(request.model),
        provider=None if request.provider is None else ids.encode_text(request.provider),
        tokens=(tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.reasoning),
        price=None if request.price is None else format(request.price.amount, "f"),
        body=body,
    )


def settled(engine: Engine) -> Flow[None]:
    """Wait for the calls that are on their way into any thread."""
    work = engine.last_call
    if work is not None and not work.done:
        yield Settle(work, True)


def of_owner(engine: Engine, owner: str, since: datetime | None) -> Flow[Usage]:
    """Return the sum of an owner's model calls since a time, by when they began."""
    yield from settled(engine)
    start = 0 if since is None else round(since.timestamp() * 1_000_000)

    def op() -> Op[list[Row]]:
        return (yield Statement("owner_calls", (ids.digest(owner), start)))

    rows = yield Read(op())
    return counts.summed([counts.Counted.of_group(row) for row in rows])


def one(engine: Engine, ref: ThreadRef, number: int) -> Flow[CallRecord]:
    """Return a call with what it was sent. Raises ThreadNotFound, and ConfigurationError for another number."""
    yield from engine.settled(ref)

    if type(number) is not int or not 0 < number < 1 << 32:
        raise _no_call(ref, number)

    def op() -> Op[tuple[Row, CallBody, Stored, dict[str, list[Any]]] | bool]:
        thread = yield from find(ref)
        if thread is None:
            return False
        rows = yield Statement("call", (key(thread.id, number),))
        if not rows:
            return True
        body = CallBody.unpack(rows[0][-1])
        stored, lists = yield from _fetched(thread.id, body)
        return rows[0], body, stored, lists

    found = yield Read(op())
    if found is False:
        raise flows.not_found(ref)
    if found is True:
        raise _no_call(ref, number)
    row, body, stored, lists = found
    builder = engine.builder(stored)
    messages = {lane: [builder.message(n) for n in numbers] for lane, numbers in lists.items()}
    return CallRecord(
        call=counts.call_of(row),
        messages=tuple(messages[ledger.SENT]) if ledger.SENT in messages else None,
        tools=() if body.tools is None else tuple(builder.value((packing.CONTENT, body.tools))),
        options={} if body.options is None else builder.value((packing.CONTENT, body.options)),
        policy=body.policy,
        reasons=_reasons(messages.get(ledger.SOURCE, []), body.spans),
    )


def _no_call(ref: ThreadRef, number: object) -> ConfigurationError:
    return ConfigurationError(
        f"thread {ref.thread_id!r} has no call {number!r}; calls() and `threadkeep usage {ref.thread_id} --calls` "
        "list those it has, by number",
        thread_id=ref.thread_id,
    )


def _fetched(thread: int, body: CallBody) -> Op[tuple[Stored, dict[str, list[Any]]]]:
    """Read everything that a call refers to."""
    stored = Stored()
    entries: list[Any] = [(packing.CONTENT, n) for n in (body.tools, body.options) if n is not None]
    places = {ledger.SENT: body.sent, ledger.SOURCE: body.source}
    entries += [(packing.LIST, *place) for place in places.values() if place is not None]
    yield from stored.fetch(thread, entries)
    return stored, {lane: stored.lists[place[0]][0] for lane, place in places.items() if place is not None}


def _reasons(source: Sequence[BaseMessage], spans: Sequence[Span]) -> tuple[MessageReason, ...]:
    texts: dict[int, str] = {}
    for first, stop, text in spans:
        texts.update(dict.fromkeys(range(first, stop), text))
    return tuple(
        MessageReason(position=n + 1, message=message, text=texts.get(n, ""))
        for n, message in enumerate(source)
    )
