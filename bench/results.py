"""What a measure returns: sections of rows, each with the value that is judged and its goal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

Cells = Mapping[str, str | float | int]


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A limit that must hold, and perhaps the figure that is aimed at."""

    limit: float
    at_least: bool = False
    aim: float | None = None

    def met_by(self, value: float) -> bool:
        """Say whether a value is within the limit."""
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        text = f"{'≥' if self.at_least else '≤'} {self.limit:g}"
        return text if self.aim is None else f"{text} (aim {self.aim:g})"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One subject's figures by column; `judged` is held against `goal` where there is one.

    `noisy`: other programs had the processor or the disk while this was measured.
    """

    cells: Cells
    judged: float | None = None
    goal: Goal | None = None
    noisy: bool = False

    @property
    def verdict(self) -> str:
        """`pass` or `miss`, with a mark when noisy; nothing for a row that is only shown."""
        if self.goal is None or self.judged is None:
            return ""
        return ("pass" if self.goal.met_by(self.judged) else "miss") + (" (noisy)" if self.noisy else "")


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table: rows with the same columns, and notes on how they were taken."""

    name: str
    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def columns(self) -> list[str]:
        """Column names in order of their first appearance."""
        return list(dict.fromkeys(name for row in self.rows for name in row.cells))

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        rows = [{**asdict(row), "verdict": row.verdict} for row in self.rows]
        return {"name": self.name, "title": self.title, "notes": list(self.notes), "rows": rows}


def failed(name: str, error: Exception) -> Section:
    """Return a section for a measure that raised, so that the others still run; it counts as a miss."""
    row = Row(cells={"failed": f"{type(error).__name__}: {error}"}, judged=1, goal=Goal(limit=0))
    return Section(name=name, title=f"{name}: failed", rows=(row,))


def skipped(name: str, title: str, reason: str) -> Section:
    """Return a section that says why there are no figures."""
    return Section(name=name, title=title, rows=(), notes=(f"Not measured: {reason}",))
