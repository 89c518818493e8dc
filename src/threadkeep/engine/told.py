"""Model calls that a caller tells of, for loops without the recorder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessage, convert_to_messages

from threadkeep.backends.base import Op, Row, Statement
from threadkeep.context import prices
from threadkeep.engine import counts, ledger
from threadkeep.engine.engine import Engine, Flow, Read
from threadkeep.engine.ledger import CallRequest, Sent
from threadkeep.errors import ConfigurationError
from threadkeep.models import Call
from threadkeep.ops import calls
from threadkeep.ops.rows import ThreadRef, key
from threadkeep.ops.threads import find


def request(
    engine: Engine,
    reported: Any,
    *,
    model: str | None,
    provider: str | None,
    purpose: str,
    status: str,
    call_id: str | None,
    run_id: str | None,
    messages: Sequence[Any] | None,
    tools: Sequence[Any],
    started: datetime | None,
    ended: datetime | None,
) -> CallRequest:
    """Return what `Memory.record_usage` was told. Raises ConfigurationError for what cannot be meant."""
    _check("purpose", purpose, calls.PURPOSES[: calls.CACHED])
    _check("status", status, calls.STATUSES)
    if reported is not None and not isinstance(reported, (AIMessage, Mapping)):
        raise ConfigurationError(
            f"the usage is a {type(reported).__name__}; pass the AI message, or the usage mapping the provider returned"
        )
    tokens = None if reported is None else prices.usage_of(reported)
    if tokens is None and isinstance(reported, Mapping):
        raise ConfigurationError(
            f"the usage has the keys {', '.join(map(str, reported)) or 'of nothing'} and no count of tokens; pass what "
            "OpenAI, Anthropic or LangChain report, such as {'input_tokens': 12, 'output_tokens': 3}"
        )
    metadata = reported.response_metadata if isinstance(reported, AIMessage) else {}
    model = model or metadata.get("model_name") or metadata.get("model")
    provider = provider or metadata.get("model_provider")
    now = engine.clock()
    end = now if ended is None else _moment(ended)
    begin = end if started is None else _moment(started)
    price = prices.price(model, provider, tokens, datetime.fromtimestamp(begin / 1e6, UTC))
    sent = None if messages is None else Sent(messages=convert_to_messages(list(messages)), tools=tools)
    return CallRequest(
        call_id=call_id,
        run_id=run_id,
        message_id=reported.id if isinstance(reported, AIMessage) else None,
        started=begin,
        ended=end,
        status=calls.STATUSES.index(status),
        purpose=calls.PURPOSES.index(purpose),
        origin=calls.CALLER,
        model=model,
        provider=provider,
        tokens=tokens if status == "finished" else None,
        price=price if status == "finished" else None,
        sent=sent,
    )


def _check(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ConfigurationError(
            f"{name} is {value!r}; pass {', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}"
        )


def _moment(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000)


def record(engine: Engine, ref: ThreadRef, request: CallRequest) -> Flow[Call]:
    """Record a call and return it, or the one that was recorded before."""
    number = yield from ledger.record(engine, ref, request)

    def op() -> Op[list[Row]]:
        row = yield from find(ref)
        return [] if row is None else (yield Statement("call", (key(row.id, number),)))

    rows = yield Read(op())
    return counts.call_of(rows[0])
