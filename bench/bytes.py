"""Where the bytes of a database go, per byte of message text: `python -m bench.bytes --turns 200`."""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import lanes
from bench.scenario import agent, nested_agent, turn_text

CONSOLE = Console(width=140)
PER = "per byte of text"
OPEN = {"threadkeep": lanes.threadkeep, "sqlite": lanes.sqlite, "delta": lanes.sqlite_delta}


@dataclass(frozen=True, slots=True)
class Part:
    """A table or an index: pages on disk, the payload in them, and rows."""

    name: str
    kind: str
    pages: int
    bytes: int
    payload: int
    unused: int
    rows: int | None


@dataclass(frozen=True, slots=True)
class Column:
    """The bytes of one column's values, as text or blob."""

    table: str
    name: str
    bytes: int
    rows: int


def parts(connection: sqlite3.Connection) -> list[Part]:
    """Read every table and index from `dbstat`, largest first."""
    kinds = dict(connection.execute("select name, type from sqlite_master"))
    found = []
    rows = connection.execute(
        "select name, count(*), sum(pgsize), sum(payload), sum(unused) from dbstat"
        " group by name order by 3 desc"
    )
    for name, pages, size, payload, unused in rows.fetchall():
        kind = kinds.get(name, "system")
        count = None
        if kind == "table":
            count = connection.execute(f'select count(*) from "{name}"').fetchone()[0]
        found.append(Part(name, kind, pages, size, payload, unused, count))
    return found


def columns(connection: sqlite3.Connection) -> list[Column]:
    """Sum the length of every column's values, largest first (integers as SQLite would print them)."""
    tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
    found = []
    for table in tables:
        for _, name, *_rest in connection.execute(f'pragma table_info("{table}")').fetchall():
            size, rows = connection.execute(
                f'select coalesce(sum(length(cast("{name}" as blob))), 0), count("{name}") from "{table}"'
            ).fetchone()
            found.append(Column(table, name, size, rows))
    return sorted(found, key=lambda column: -column.bytes)


def show(path: Path, text: int, top: int = 24) -> float:
    """Print the tables, indexes and columns of a closed database; return bytes on disk per byte of text."""
    total = lanes.disk_bytes(path)
    with sqlite3.connect(path) as connection:
        CONSOLE.print(_parts_table(connection, text, total))
        CONSOLE.print(_columns_table(columns(connection)[:top], text))
        page_size = connection.execute("pragma page_size").fetchone()[0]
        free = connection.execute("pragma freelist_count").fetchone()[0]
    connection.close()
    CONSOLE.print(f"page size {page_size}, free pages {free}")
    CONSOLE.print(f"[bold]{total:,} bytes on disk / {text:,} bytes of text = {total / text:.2f}")
    return total / text


def _parts_table(connection: sqlite3.Connection, text: int, total: int) -> Table:
    table = Table("table or index", "kind", "rows", "pages", "bytes", "payload", "payload/row", "unused", PER)
    try:
        found = parts(connection)
    except sqlite3.OperationalError as error:
        CONSOLE.print(f"this SQLite has no dbstat ({error}): columns only")
        return table
    for part in found:
        rows = "" if part.rows is None else f"{part.rows:,}"
        each = f"{part.payload / part.rows:.1f}" if part.rows else ""
        sizes = (f"{part.bytes:,}", f"{part.payload:,}", each, f"{part.unused:,}", f"{part.bytes / text:.3f}")
        table.add_row(part.name, part.kind, rows, str(part.pages), *sizes)
    table.add_row("all files", "", "", "", f"{total:,}", "", "", "", f"{total / text:.3f}")
    return table


def _columns_table(found: list[Column], text: int) -> Table:
    table = Table("column", "values", "bytes", "bytes/value", PER)
    for column in found:
        if column.bytes:
            table.add_row(
                f"{column.table}.{column.name}",
                f"{column.rows:,}",
                f"{column.bytes:,}",
                f"{column.bytes / max(1, column.rows):.1f}",
                f"{column.bytes / text:.3f}",
            )
    return table


def main() -> None:
    """Play a conversation into a new database, close it and show where its bytes are."""
    parser = argparse.ArgumentParser(prog="python -m bench.bytes", description=__doc__)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--saver", choices=OPEN, default="threadkeep")
    parser.add_argument("--nested", action="store_true", help="the agent is a subgraph that shares messages")
    parser.add_argument(
        "--shape",
        choices=("plain", "openai"),
        default="plain",
        help="what the model's messages carry besides their text",
    )
    parser.add_argument("--scratch", type=Path, help="directory for the database (default: a temporary one)")
    parser.add_argument("--keep", type=Path, help="write the database here and keep it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="threadkeep-bench-", dir=options.scratch) as scratch:
        path = options.keep or Path(scratch) / "bytes.db"
        build = nested_agent if options.nested else agent
        lane = OPEN[options.saver](path, lanes.Plan(seed="bytes", build=build, shape=options.shape))
        with CONSOLE.status(f"playing {options.turns} turns"):
            lane.live(options.turns)
        lane.close()
        show(path, turn_text("bytes", options.turns))


if __name__ == "__main__":
    main()
