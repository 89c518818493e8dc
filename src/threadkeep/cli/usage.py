"""`threadkeep usage`: tokens of a thread's model calls."""

from __future__ import annotations

from typing import Annotated

import typer

from threadkeep.cli import documents, options
from threadkeep.cli.app import app
from threadkeep.cli.opening import opened
from threadkeep.cli.output import Column, print_json, print_table, remark
from threadkeep.cli.text import one_line, short_moment
from threadkeep.models import Call

_Line = tuple[tuple[str, ...], list[Call]]
_HEADERS = ("INPUT", "OUTPUT", "CACHE READ", "CACHE WRITTEN", "REASONING")


@app.command()
def usage(
    thread: options.ThreadArgument,
    each: Annotated[bool, typer.Option("--calls", help="Every call, instead of sums by model.")] = False,
    db: options.Database = options.DB,
    owner: options.Owner = "",
    as_json: options.Json = False,
) -> None:
    """Show the tokens that a thread's model calls took.

    The numbers are those that the providers reported.
    """
    with opened(db, owner) as memory:
        handle = memory.threads.get(thread)
        total, calls = handle.usage(), handle.calls()
    models: dict[str | None, list[Call]] = {}
    for call in calls:
        models.setdefault(call.model, []).append(call)
    if as_json:
        print_json(
            {
                "thread_id": handle.thread_id,
                "owner": owner,
                "total": documents.usage(total),
                "models": [{"model": name, "calls": len(of), **_sums(of)} for name, of in models.items()],
                "calls": [documents.call(call) for call in calls] if each else None,
            }
        )
        return
    if not calls:
        remark("No model call of this thread reported its tokens.")
    elif each:
        columns = [Column("AT"), Column("MODEL", "text")]
        _print(columns, [((short_moment(call.at), _model(call.model)), [call]) for call in calls])
    else:
        lines: list[_Line] = [((_model(name), f"{len(of):,}"), of) for name, of in models.items()]
        if len(lines) > 1:
            lines.append((("all", f"{len(calls):,}"), list(calls)))
        _print([Column("MODEL", "text"), Column("CALLS", "number")], lines)


def _print(columns: list[Column], lines: list[_Line]) -> None:
    """Print lines of labels and summed tokens, without the columns that are 0 throughout."""
    sums = [(labels, list(_sums(of).values())) for labels, of in lines]
    shown = [n for n in range(len(_HEADERS)) if n < 2 or any(values[n] for _, values in sums)]
    print_table(
        [*columns, *(Column(_HEADERS[n], "number") for n in shown)],
        [(*labels, *(f"{values[n]:,}" for n in shown)) for labels, values in sums],
    )


def _sums(calls: list[Call]) -> dict[str, int]:
    return {name: sum(getattr(call, name) for call in calls) for name in documents.TOKENS}


def _model(name: str | None) -> str:
    return one_line(name) if name else "unknown"
