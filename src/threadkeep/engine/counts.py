"""Rows of the ledger become calls, and calls become sums."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from threadkeep import ids
from threadkeep.backends.base import Row
from threadkeep.context import prices
from threadkeep.context.prices import Tokens
from threadkeep.engine.envelope import instant
from threadkeep.models import Call, Usage
from threadkeep.ops.calls import CACHED, MESSAGES, ORIGINS, PURPOSES, STATUSES, CallBody
from threadkeep.ops.rows import number

_Counts = tuple[int | None, int | None, int | None, int | None, int | None]


def call_of(row: Row) -> Call:
    """Return a row of the ledger as callers are given it."""
    key, call_id, run_id, message_id, at, status, purpose, origin, model, provider, *rest = row
    counts, price, body = tuple(rest[:5]), rest[5], CallBody.unpack(rest[6])
    named, provider_name = _text(model), _text(provider)
    amount, version = _price(price, body.price_version, origin, named, provider_name, counts, at)
    return Call(
        number=number(key),
        at=instant(at),
        message_id=None if message_id is None else ids.unpack_message_id(message_id),
        model=named,
        provider=provider_name,
        input_tokens=counts[0],
        output_tokens=counts[1],
        cache_read_tokens=counts[2],
        cache_write_tokens=counts[3],
        reasoning_tokens=counts[4],
        purpose=PURPOSES[purpose],  # type: ignore[arg-type]
        status=STATUSES[status],  # type: ignore[arg-type]
        source=ORIGINS[origin],
        price=amount,
        price_version=version,
        call_id=None if call_id is None else ids.unpack_id(call_id),
        run_id=None if run_id is None else ids.unpack_id(run_id),
        seconds=None if body.took is None else body.took / 1e6,
        error=body.error,
    )


def _text(data: bytes | None) -> str | None:
    return None if data is None else ids.decode_text(data)


def _price(
    stored: str | None,
    version: str | None,
    origin: int,
    model: str | None,
    provider: str | None,
    counts: tuple[int | None, ...],
    at: int,
) -> tuple[Decimal | None, str | None]:
    """Return a call's price; one that the saver counted gets its price when it is read."""
    if stored is not None:
        return Decimal(stored), version
    if origin != MESSAGES or model is None:
        return None, None
    return _priced(model, provider, counts, at // 3_600_000_000)


@lru_cache(4096)
def _priced(
    model: str, provider: str | None, counts: tuple[int | None, ...], hour: int
) -> tuple[Decimal | None, str | None]:
    # Prices are listed by the hour at most.
    tokens = Tokens(
        input=counts[0], output=counts[1], cache_read=counts[2], cache_write=counts[3], reasoning=counts[4]
    )
    found = prices.price(model, provider, tokens, datetime.fromtimestamp(hour * 3600, UTC))
    return (None, None) if found is None else (found.amount, found.version)


class Counted(NamedTuple):
    """Equal calls, as far as sums go, and how many they are."""

    purpose: str
    counts: _Counts
    price: Decimal | None
    calls: int

    @classmethod
    def of_call(cls, call: Call) -> Counted:
        """Return what a sum needs of one call."""
        counts = (
            call.input_tokens,
            call.output_tokens,
            call.cache_read_tokens,
            call.cache_write_tokens,
            call.reasoning_tokens,
        )
        return cls(call.purpose, counts, call.price, 1)

    @classmethod
    def of_group(cls, row: Row) -> Counted:
        """Return what a sum needs of equal calls that were counted together."""
        purpose, _, origin, model, provider, *rest = row
        counts = rest[0], rest[1], rest[2], rest[3], rest[4]
        amount, _ = _price(rest[5], None, origin, _text(model), _text(provider), counts, rest[7])
        return cls(PURPOSES[purpose], counts, amount, rest[6])


def summed(found: Iterable[Counted], last: Call | None = None) -> Usage:
    """Return the sum of calls, and by purpose; those answered from a cache only count as such."""
    parts: dict[str, list[Counted]] = {}
    for line in found:
        parts.setdefault(line.purpose, []).append(line)
    cached = parts.pop(PURPOSES[CACHED], [])
    purposes = {name: _sum(parts[name]) for name in PURPOSES if name in parts}
    whole = _sum([line for lines in parts.values() for line in lines])
    return Usage(
        **whole,
        cached=sum(line.calls for line in cached),
        purposes={name: Usage(**fields) for name, fields in purposes.items()},
        last=last,
    )


def _sum(lines: list[Counted]) -> dict[str, Any]:
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    fields: dict[str, Any] = {
        name: sum((line.counts[n] or 0) * line.calls for line in lines) for n, name in enumerate(names)
    }
    fields["calls"] = sum(line.calls for line in lines)
    fields["price"] = sum((line.price * line.calls for line in lines if line.price is not None), Decimal(0))
    fields["unknown"] = sum(line.calls for line in lines if line.counts[0] is None or line.counts[1] is None)
    fields["unpriced"] = sum(line.calls for line in lines if line.price is None)
    return fields
