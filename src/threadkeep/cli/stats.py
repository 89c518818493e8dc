"""`threadkeep stats`: how large the database is, and what in it."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer

from threadkeep.cli import documents, options
from threadkeep.cli.app import app
from threadkeep.cli.opening import opened
from threadkeep.cli.output import Column, print_json, print_table, progress, remark, stdout
from threadkeep.cli.text import counted, shown_id, size
from threadkeep.models import ThreadStats


@app.command()
def stats(
    thread: Annotated[
        str | None,
        typer.Argument(metavar="THREAD", help="Only this thread, table by table.", show_default=False),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", parser=options.count, help="How many threads at most.")
    ] = 20,
    all_: Annotated[bool, typer.Option("--all", help="Every thread.")] = False,
    db: options.Database = options.DB,
    owner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Only this owner's threads; without it, every owner's.", show_default=False
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show what takes how much space, the largest first.

    Bytes are those of the stored values, without the database's own overhead.
    """
    with opened(db, owner or "") as memory:
        if thread is not None:
            found = [memory.threads.stats(thread)]
        else:
            with progress("Measuring") as report:
                found = list(memory.stats(progress=report))
            found = [item for item in found if owner is None or item.owner == owner]
        disk = memory.size()
    if as_json:
        print_json(_document(db, disk, found))
        return
    rows, sizes = _by_table(found)
    if thread is None:
        text = f"{db}  {size(disk)} on disk · {counted(len(found), 'thread')} · "
        stdout().print(
            text + f"{counted(sum(rows.values()), 'row')} · {size(sum(sizes.values()))} of values\n"
        )
        _print_threads(found if all_ else found[:limit])
        stdout().print()
    _print_tables(rows, sizes)
    if thread is None and not all_ and len(found) > limit:
        remark(f"These are the {limit:,} largest of {len(found):,} threads; --all shows every one.")


def _by_table(found: list[ThreadStats]) -> tuple[Counter[str], Counter[str]]:
    rows: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for item in found:
        for name, table in item.tables.items():
            rows[name] += table.rows
            sizes[name] += table.bytes
    return rows, sizes


def _document(db: str, disk: int, found: list[ThreadStats]) -> dict[str, Any]:
    rows, sizes = _by_table(found)
    return {
        "database": {"url": db, "bytes": disk},
        "rows": sum(rows.values()),
        "bytes": sum(sizes.values()),
        "tables": {name: {"rows": rows[name], "bytes": sizes[name]} for name in rows},
        "threads": [documents.stats(item) for item in found],
    }


def _print_threads(found: list[ThreadStats]) -> None:
    if not found:
        return
    owners = any(item.owner for item in found)
    columns = [Column("THREAD", "id"), *([Column("OWNER", "id")] if owners else [])]
    columns += [Column("CHECKPOINTS", "number"), Column("ROWS", "number"), Column("BYTES", "number")]
    print_table(
        columns,
        [
            (
                shown_id(item.thread_id),
                *((shown_id(item.owner) if item.owner else "",) if owners else ()),
                f"{item.tables['checkpoints'].rows:,}",
                f"{item.rows:,}",
                size(item.bytes),
            )
            for item in found
        ],
    )


def _print_tables(rows: Counter[str], sizes: Counter[str]) -> None:
    lines = sorted((name for name in rows if rows[name]), key=lambda name: -sizes[name])
    columns = [Column("TABLE"), Column("ROWS", "number"), Column("BYTES", "number")]
    print_table(columns, [(name, f"{rows[name]:,}", size(sizes[name])) for name in lines])
