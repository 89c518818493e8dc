"""The keys of every command's JSON are those that docs/cli.md promises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import document

DOCS = Path(__file__).parents[2] / "docs"
_ROW = re.compile(r"^\| (?P<name>`[^`]+`|\*[\w ]+\*) \| (?P<keys>.*) \|$", re.MULTILINE)
_VALUES = {
    "idle",
    "running",
    "waiting",
    "human",
    "ai",
    "system",
    "answer",
    "summary",
    "extraction",
    "finished",
}
_VALUES |= {"failed", "cancelled", "recorder", "caller"}
# Objects whose keys stand among those of the objects that have them.
_WITHIN = ("tokens", "sums", "call")


def documented() -> dict[str, set[str]]:
    """Return the keys in each row of the page's two tables of JSON, by command or object."""
    section = (DOCS / "cli.md").read_text("utf-8").split("## JSON")[1].split("## Reference")[0]
    found = _rows(section)
    for within in _WITHIN:
        for row in _ROW.finditer(section):
            if f"*{within}*" in row["keys"]:
                found[_name(row)] |= found[within]
    found["simulate"] |= _rows((DOCS / "simulate.md").read_text("utf-8"))["simulation"]
    return found


def _rows(text: str) -> dict[str, set[str]]:
    return {_name(row): set(re.findall(r"`([a-z_]+)`", row["keys"])) - _VALUES for row in _ROW.finditer(text)}


def _name(row: re.Match[str]) -> str:
    return row["name"].strip("`*").removeprefix("threadkeep ")


COMMANDS = {
    "threads": ["threads"],
    "show": ["show", "weather"],
    "show --checkpoint": ["show", "weather", "--checkpoint", "5"],
    "history": ["history", "weather"],
    "diff": ["diff", "weather", "1", "2"],
    "usage": ["usage", "weather", "--calls"],
    "view": ["view", "weather", "1"],
    "simulate": ["simulate", "weather", "--policy", "window:messages=2"],
    "stats": ["stats"],
    "copy": ["copy", "weather", "again"],
    "delete": ["delete", "weather", "--yes"],
    "prune": ["prune", "--yes"],
    "compact": ["compact"],
    "doctor": ["doctor"],
    "schema": ["schema", "sqlite:///x.db"],
}


def test_every_command_with_json_is_in_the_table() -> None:
    objects = {"thread", "checkpoint", "branch", "message", *_WITHIN}
    assert set(documented()) == set(COMMANDS) | objects


@pytest.mark.parametrize("name", COMMANDS)
def test_the_keys_of_a_command(db: str, name: str) -> None:
    where = [] if name == "schema" else ["--db", db]
    found = document(*COMMANDS[name], *where)
    keys = set(found)
    if name == "usage":
        keys |= set(found["total"]) | set(found["models"][0]) | set(found["calls"][0])
    if name == "view":
        keys |= set(found["call"])
    if name == "stats":
        keys |= set(found["threads"][0]) | set(found["tables"]["contents"])
    if name == "diff":
        keys |= {key for change in found["messages"].values() for key in change}
        keys |= {key for change in found["messages"].values() for entry in change["added"] for key in entry}
    if name == "show --checkpoint":
        keys |= set(found["pending"][0])
    if "database" in found:
        keys |= set(found["database"])
    assert keys <= documented()[name], keys - documented()[name]


@pytest.mark.parametrize(
    ("name", "arguments", "place"),
    [
        ("thread", ["threads"], ["threads", 0]),
        ("checkpoint", ["history", "weather"], ["checkpoints", 0]),
        ("branch", ["show", "ticket"], ["branches", 1]),
        ("message", ["show", "weather"], ["messages", 1]),
    ],
)
def test_the_keys_of_an_object(db: str, name: str, arguments: list[str], place: list[Any]) -> None:
    found = document(*arguments, "--db", db)
    for step in place:
        found = found[step]
    keys = set(found)
    if name == "message":
        keys |= set(found["tool_calls"][0])
        keys |= {"tool"}
    assert keys == documented()[name]


def test_the_keys_of_tokens(db: str) -> None:
    call = document("usage", "priced", "--db", db, "--calls")["calls"][0]
    assert documented()["call"] - {"cached", "messages"} == set(call)  # values of purpose and source
    assert {key for key in call if key.endswith("_tokens")} == documented()["tokens"]
