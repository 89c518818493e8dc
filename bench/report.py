"""Tables of results on the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.results import Row, Section

_INTRODUCTION = """A turn is a question, a tool call, its result and an answer, about 1 KB of text,
on `create_agent` with a scripted model and `durability="sync"`. The floor is a saver that keeps live objects
and stores nothing: what LangGraph and LangChain cost by themselves. It is run in turn with each saver, and
times are medians."""


def number(value: str | float | int) -> str:
    """Write a figure with about three significant digits."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def _lines(section: Section) -> tuple[list[str], list[list[str]]]:
    judged = any(row.goal for row in section.rows)
    header = [*section.columns, *(("judged", "goal", "verdict") if judged else ())]
    return header, [_line(row, section.columns, judged) for row in section.rows]


def _line(row: Row, columns: list[str], judged: bool) -> list[str]:
    line = [number(row.cells[name]) if name in row.cells else "" for name in columns]
    if judged:
        value = "" if row.judged is None or row.goal is None else number(row.judged)
        line += [value, str(row.goal) if row.goal else "", row.verdict]
    return line


def show(section: Section, console: Console) -> None:
    """Print a section as a table with its notes."""
    header, lines = _lines(section)
    if lines:
        table = Table(*header, title=section.title, title_justify="left", title_style="bold")
        for row, line in zip(section.rows, lines, strict=True):
            table.add_row(*line, style="bold red" if row.verdict.startswith("miss") else "")
        console.print(table)
    else:
        console.print(f"[bold]{section.title}")
    for note in section.notes:
        console.print(f"  {note}", style="dim", highlight=False)
    console.print()


def summary(sections: Sequence[Section]) -> tuple[int, int]:
    """Return how many goals were met and how many missed."""
    verdicts = [row.verdict[:4] for section in sections for row in section.rows]
    return verdicts.count("pass"), verdicts.count("miss")


def _markdown(section: Section) -> list[str]:
    header, lines = _lines(section)
    text = [f"## {section.title}", ""]
    if lines:
        text += ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
        text += ["| " + " | ".join(line) + " |" for line in lines]
        text.append("")
    text += [f"- {note}" for note in section.notes]
    return [*text, ""]


def write_markdown(path: Path, machine: dict[str, str], sections: Sequence[Section], options: str) -> None:
    """Write a page with every table."""
    met, missed = summary(sections)
    text = [
        "# Benchmarks",
        "",
        f"Written by `python -m bench{options}`, which `make bench` runs. Goals: {met} met, {missed} missed.",
        "",
        f"Taken on: {'; '.join(f'{name} {value}' for name, value in machine.items())}.",
        "",
        _INTRODUCTION,
        "",
    ]
    for section in sections:
        text += _markdown(section)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(text).rstrip() + "\n", encoding="utf-8")


def write_json(path: Path, machine: dict[str, str], sections: Sequence[Section]) -> None:
    """Write everything as data."""
    data = {"machine": machine, "sections": [section.as_dict() for section in sections]}
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
