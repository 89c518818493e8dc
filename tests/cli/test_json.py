"""The keys of every command's JSON are those that docs/cli.md promises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import document

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
_ROW = re.compile(r"^\| (?P<name>`[^`]+`|\*\w+\*) \| (?P<keys>.*) \|$", re.MULTILINE)


def documented() -> dict[str, set[str]]:
    """Return the keys in each row of the page's two tables of JSON, by command or object."""
    section = PAGE.read_text("utf-8").split("## JSON")[1].split("## Reference")[0]
    found = {}
    for row in _ROW.finditer(section):
        name = row["name"].strip("`*").removeprefix("threadkeep ")
        found[name] = set(re.findall(r"`([a-z_]+)`", row["keys"]))
    for keys in found.values():
        keys -= {"idle", "running", "waiting", "failed", "human", "ai", "system"}
    return found


COMMANDS = {
    "threads": ["threads"],
    "show": ["show", "weather"],
    "show --checkpoint": ["show", "weather", "--checkpoint", "5"],
    "history": ["history", "weather"],
    "diff": ["diff", "weather", "1", "2"],
    "usage": ["usage", "weather", "--calls"],
    "stats": ["stats"],
    "copy": ["copy", "weather", "again"],
    "delete": ["delete", "weather", "--yes"],
    "prune": ["prune", "--yes"],
    "compact": ["compact"],
    "doctor": ["doctor"],
    "schema": ["schema", "sqlite:///x.db"],
}


def test_every_command_with_json_is_in_the_table() -> None:
    objects = {"thread", "checkpoint", "branch", "message", "tokens"}
    assert set(documented()) == set(COMMANDS) | objects


@pytest.mark.parametrize("name", COMMANDS)
def test_the_keys_of_a_command(db: str, name: str) -> None:
    where = [] if name == "schema" else ["--db", db]
    found = document(*COMMANDS[name], *where)
    keys = set(found)
    if name == "usage":
        keys |= set(found["total"]) | set(found["models"][0]) | set(found["calls"][0])
        keys -= documented()["tokens"]
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
    assert documented()["tokens"] == set(call) - {"at", "model", "message_id"}
