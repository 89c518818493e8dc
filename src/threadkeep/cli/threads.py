"""`threadkeep threads`: which conversations there are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import typer

from threadkeep.cli import documents, options
from threadkeep.cli.app import app
from threadkeep.cli.opening import opened
from threadkeep.cli.output import Column, print_json, print_table, remark
from threadkeep.cli.text import moment, one_line, shown_id
from threadkeep.memory import Memory
from threadkeep.models import Page, ThreadInfo

_PAGE = 500
_COLUMNS = (
    Column("THREAD", "id"),
    Column("TITLE", "text"),
    Column("MESSAGES", "number"),
    Column("STATUS"),
    Column("UPDATED"),
)


@app.command()
def threads(
    db: options.Database = options.DB,
    owner: options.Owner = "",
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only threads whose metadata has this entry; again for more. "
            "A value that is JSON is taken as JSON, any other as text.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN", help="Only threads updated since a date, a time, or an age like 2h or 7d."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", parser=options.count, help="How many at most.")] = 20,
    all_: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    cursor: Annotated[
        str | None,
        typer.Option("--cursor", metavar="CURSOR", help="Go on where the JSON of a page before ended."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List threads, the latest updated first."""
    wanted = options.metadata(metadata)
    start = None if since is None else options.since(since)
    with opened(db, owner) as memory:
        found: list[ThreadInfo] = []
        for page in _pages(memory, wanted, start, limit, all_, cursor):
            found += page.items
            cursor = page.cursor
    if as_json:
        print_json({"threads": [documents.thread(info) for info in found], "cursor": cursor})
        return
    if found:
        print_table(_COLUMNS, [_row(info) for info in found])
    if cursor is not None:
        remark(f"These are the {len(found):,} latest; --all lists every one, --limit N more.")
    if not found:
        which = _which(owner, bool(wanted or start))
        remark(f"No threads {which} in {db}; `threadkeep stats` has every owner's.")


def _pages(
    memory: Memory,
    metadata: dict[str, Any],
    since: datetime | None,
    limit: int,
    every: bool,
    cursor: str | None,
) -> Iterator[Page[ThreadInfo]]:
    while True:
        page = memory.threads.list(
            metadata=metadata, since=since, limit=_PAGE if every else limit, cursor=cursor
        )
        yield page
        if page.cursor is None or not every:
            return
        cursor = page.cursor


def _row(info: ThreadInfo) -> tuple[str, ...]:
    title = one_line(info.title or info.preview)
    return shown_id(info.thread_id), title, f"{info.messages:,}", info.status, moment(info.updated)[:16]


def _which(owner: str, filtered: bool) -> str:
    whose = f"of owner {owner!r}" if owner else "without an owner"
    return f"{whose} match" if filtered else whose
