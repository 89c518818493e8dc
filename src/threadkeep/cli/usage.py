"""`threadkeep usage`: tokens and money of a thread's model calls."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated

import typer

from threadkeep.cli import documents, options
from threadkeep.cli.app import app
from threadkeep.cli.opening import opened
from threadkeep.cli.output import Column, print_json, print_table, remark
from threadkeep.cli.text import counted, one_line, short_moment
from threadkeep.models import Call, Usage

_Line = tuple[tuple[str, ...], list[Call]]
_HEADERS = ("INPUT", "OUTPUT", "CACHE READ", "CACHE WRITTEN", "REASONING")


@app.command()
def usage(
    thread: options.ThreadArgument,
    each: Annotated[
        bool, typer.Option("--calls", help="Every call, instead of sums by model and purpose.")
    ] = False,
    db: options.Database = options.DB,
    owner: options.Owner = "",
    as_json: options.Json = False,
) -> None:
    """Show the tokens of a thread's model calls and their cost.

    The numbers are those that the providers reported; what nobody reported shows as "?". Prices are in US dollars.
    """
    with opened(db, owner) as memory:
        handle = memory.threads.get(thread)
        total, calls = handle.usage(), handle.calls()
    groups = _groups(calls)
    if as_json:
        print_json(
            {
                "thread_id": handle.thread_id,
                "owner": owner,
                "total": documents.usage(total),
                "models": [
                    {
                        "model": name,
                        "purpose": purpose,
                        "calls": len(of),
                        **_sums(of),
                        "price": _price_text(of),
                    }
                    for (name, purpose), of in groups.items()
                ],
                "calls": [documents.call(call) for call in calls] if each else None,
            }
        )
        return
    if not calls:
        remark("No model call of this thread reported its tokens.")
    elif each:
        _print_calls(calls)
    else:
        _print_groups(groups, [call for call in calls if call.purpose != "cached"])
        _remark(total)


def _groups(calls: Sequence[Call]) -> dict[tuple[str | None, str], list[Call]]:
    groups: dict[tuple[str | None, str], list[Call]] = {}
    for call in calls:
        groups.setdefault((call.model, call.purpose), []).append(call)
    return groups


def _print_calls(calls: Sequence[Call]) -> None:
    special = any((call.purpose, call.status) != ("answer", "finished") for call in calls)
    columns = [Column("CALL", "number"), Column("AT"), Column("MODEL", "text")]
    lines: list[_Line] = []
    for call in calls:
        labels = (str(call.number), short_moment(call.at), _model(call.model))
        lines.append(((*labels, *((_kind(call),) if special else ())), [call]))
    _print([*columns, *([Column("FOR")] if special else [])], lines)


def _kind(call: Call) -> str:
    return call.purpose if call.status == "finished" else f"{call.purpose}, {call.status}"


def _print_groups(groups: dict[tuple[str | None, str], list[Call]], summed: list[Call]) -> None:
    special = any(purpose != "answer" for _, purpose in groups)

    def labels(name: str, purpose: str, of: list[Call]) -> tuple[str, ...]:
        return (name, *((purpose,) if special else ()), f"{len(of):,}")

    lines: list[_Line] = [(labels(_model(name), purpose, of), of) for (name, purpose), of in groups.items()]
    if len(lines) > 1 and summed:
        lines.append((labels("all", "", summed), summed))
    columns = [Column("MODEL", "text"), *([Column("FOR")] if special else []), Column("CALLS", "number")]
    _print(columns, lines)


def _remark(total: Usage) -> None:
    if total.unknown:
        remark(f"{counted(total.unknown, 'call')} reported no tokens; what they took is unknown.")
    if total.unpriced and total.price:
        remark(f"{counted(total.unpriced, 'call')} have no known price and are not in the sum.")


def _print(columns: list[Column], lines: list[_Line]) -> None:
    """Print lines of labels and summed tokens, without the columns that are 0 or unknown throughout."""
    sums = [(labels, list(_known(of).values()), _price_text(of)) for labels, of in lines]
    shown = [n for n in range(len(_HEADERS)) if n < 2 or any(values[n] for _, values, _ in sums)]
    priced = any(price is not None for _, _, price in sums)
    print_table(
        [
            *columns,
            *(Column(_HEADERS[n], "number") for n in shown),
            *([Column("PRICE", "number")] if priced else []),
        ],
        [
            (
                *labels,
                *("?" if values[n] is None else f"{values[n]:,}" for n in shown),
                *((f"${price}" if price is not None else "?",) if priced else ()),
            )
            for labels, values, price in sums
        ],
    )


def _sums(calls: list[Call]) -> dict[str, int]:
    return {name: count or 0 for name, count in _known(calls).items()}


def _known(calls: list[Call]) -> dict[str, int | None]:
    """Return the sums of what is known, None where nothing is."""
    found: dict[str, int | None] = {}
    for name in documents.TOKENS:
        counts = [count for call in calls if (count := getattr(call, name)) is not None]
        found[name] = sum(counts) if counts else None
    return found


def _price_text(calls: list[Call]) -> str | None:
    prices = [call.price for call in calls if call.price is not None]
    return format(sum(prices, Decimal(0)), "f") if prices else None


def _model(name: str | None) -> str:
    return one_line(name) if name else "unknown"
