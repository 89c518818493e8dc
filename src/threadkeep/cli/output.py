"""Where a command's result goes: tables and text for people, JSON for programs, progress on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

GAP = 2
_LEAST = (("text", 24), ("id", 12), ("text", 8))
"""Which columns become narrower on a narrow terminal, in this order, and down to which width."""
_LONGEST_ID = 64
"""Columns after which an id is folded, for the other rows' sake."""
_CHUNK = 1 << 16
_QUIET = 0.4
"""Seconds before a bar appears: what is done sooner needs none."""

Report = Callable[[int, int], None]
"""Called with how many are done, and how many there are."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `id` is never cut (it is folded, or the table grows), `text` is cut to fit."""

    header: str
    kind: Literal["id", "text", "word", "number"] = "word"


def stdout(width: int | None = None) -> Console:
    """Return the console of results."""
    return _Console(highlight=False, markup=False, emoji=False, width=width)


def stderr() -> Console:
    """Return the console of remarks."""
    return _Console(stderr=True, highlight=False, markup=False, emoji=False)


def remark(text: str) -> None:
    """Say something beside the result, on stderr."""
    sys.stdout.flush()
    stderr().print(Text(text, style="dim"), soft_wrap=True)


def print_json(document: Any) -> None:
    """Print a document as JSON in ASCII, so that no terminal and no encoding can be upset by it."""
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    for at in range(0, len(text), _CHUNK):
        # An unbuffered stream hides that its reader has gone in the middle of a long write.
        sys.stdout.write(text[at : at + _CHUNK])


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their headers, within the width of the terminal, or 80 columns when piped."""
    widths = _widths(columns, rows, stdout())
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column, width in zip(columns, widths, strict=True):
        table.add_column(
            Text(column.header, no_wrap=True),
            width=width,
            justify="right" if column.kind == "number" else "left",
            overflow="ellipsis" if column.kind == "text" else "fold",
            no_wrap=column.kind == "text",
            style="cyan" if column.kind == "id" else "",
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    stdout(sum(widths) + GAP * len(widths)).print(table)


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], console: Console) -> list[int]:
    """Return how wide each column is: texts give way first, then, on a terminal, ids."""
    lines = [[column.header for column in columns], *rows]
    widths = [max(cell_len(line[n]) for line in lines) for n in range(len(columns))]
    widths = [
        min(width, _LONGEST_ID) if column.kind == "id" else width
        for column, width in zip(columns, widths, strict=True)
    ]
    excess = sum(widths) + GAP * (len(widths) - 1) - console.width
    for kind, least in _LEAST if console.is_terminal else _LEAST[:1]:
        places = [n for n, column in enumerate(columns) if column.kind == kind]
        while excess > 0 and (place := max(places, key=lambda n: widths[n], default=None)) is not None:
            if widths[place] <= max(least, cell_len(columns[place].header)):
                break
            widths[place] -= 1
            excess -= 1
    return widths


@contextmanager
def busy(console: Console, label: str) -> Iterator[Callable[[], None]]:
    """Show on a terminal that something is going on; yields what ends that before the block does."""
    if not console.is_terminal:
        yield lambda: None
        return
    with console.status(Text(label, style="dim")) as status:
        yield status.stop


@contextmanager
def progress(label: str) -> Iterator[Report]:
    """Show a bar on stderr while the block runs, when that is a terminal and the work takes long."""
    console = stderr()
    bar = Progress(
        TextColumn(label),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task(label, total=None)
    due = time.monotonic() + _QUIET
    started = False

    def report(done: int, total: int) -> None:
        nonlocal started
        bar.update(task, completed=done, total=total)
        if not started and time.monotonic() > due:
            started = True
            bar.start()

    try:
        yield report
    finally:
        if started:
            bar.stop()
