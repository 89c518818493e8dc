"""The commands that change a database: copy, delete, prune, compact."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

import threadkeep
from tests.cli.kit import RED, document, error, process, run, said, terminal, unstyled


def ids(db: str, owner: str = "") -> set[str]:
    return {
        entry["thread_id"] for entry in document("threads", "--db", db, "--owner", owner, "--all")["threads"]
    }


def checkpoints(db: str, thread: str) -> int:
    return len(document("history", thread, "--db", db, "--all")["checkpoints"])


# copy


def test_copy(db: str) -> None:
    assert (
        said("copy", "weather", "again", "--db", db)
        == "Copied weather to again: 8 messages, 10 checkpoints.\n"
    )
    assert checkpoints(db, "again") == 10
    assert document("doctor", "--db", db)["ok"]


def test_copy_as_json(db: str) -> None:
    found = document("copy", "ticket", "again", "--db", db)
    assert found["source"] == "ticket"
    assert found["thread"]["thread_id"] == "again"
    assert found["thread"]["metadata"] == {"team": "support", "n": 3, "a key": "x=y"}


def test_copy_within_an_owner(db: str) -> None:
    said("copy", "hers", "again", "--owner", "alice", "--db", db)
    assert ids(db, "alice") == {"hers", "again"}
    assert "again" not in ids(db)


def test_copy_onto_a_thread_or_from_none(db: str) -> None:
    assert error("copy", "weather", "ticket", "--db", db).startswith(
        "thread 'ticket' exists already; choose another"
    )
    assert error("copy", "nope", "again", "--db", db).startswith("there is no thread 'nope'")
    assert "again" not in ids(db)


# delete


def test_delete(db: str) -> None:
    before = ids(db)
    assert (
        said("delete", "weather", RED, "--yes", "--db", db)
        == "Deleted threads weather, 'a\\x1b[31mred\\x07'.\n"
    )
    assert ids(db) == before - {"weather", RED}
    assert document("doctor", "--db", db)["ok"]


def test_delete_many_and_as_json(db: str) -> None:
    found = document("delete", "weather", "ticket", "image", "shop", "shop", "-y", "--db", db)
    assert found["deleted"] == ["weather", "ticket", "image", "shop"]
    assert found["database"]["url"] == db
    assert found["database"]["bytes_before"] > 0


def test_deleting_many_counts_them(db: str) -> None:
    assert said("delete", "weather", "ticket", "image", "shop", "-y", "--db", db) == "Deleted 4 threads.\n"


def test_nothing_is_deleted_when_one_is_not_there(db: str) -> None:
    before = ids(db)
    assert error("delete", "weather", "nope", "--yes", "--db", db).startswith("there is no thread 'nope'")
    assert ids(db) == before


def test_without_a_terminal_delete_wants_yes(db: str) -> None:
    line = error("delete", "weather", "--db", db)
    assert line.startswith(
        "standard input is no terminal to ask at, so nothing was done; --yes would delete thread"
    )
    assert "weather" in ids(db)
    assert process("delete", "weather", "--db", db).returncode == 2


@pytest.mark.parametrize(
    ("answer", "status"), [("y\n", 0), ("n\n", 1), ("\n", 1), ("\x04", 130), ("\x03", 130)]
)
def test_delete_asks_at_a_terminal(db: str, answer: str, status: int) -> None:
    found, screen = terminal("delete", "weather", "--db", db, answer=answer)
    assert found == status, screen
    assert "Delete thread weather (" in screen
    assert ("Deleted thread weather." in screen) == (status == 0)
    assert ("Nothing was done." in screen) == (status == 1)
    assert "Traceback" not in screen
    assert ("weather" in ids(db)) == (status != 0)


# prune


def test_prune_keeps_the_newest(db: str) -> None:
    said("prune", "weather", "ticket", "--yes", "--db", db)
    assert checkpoints(db, "weather") == 1
    assert checkpoints(db, "shop") == 4
    assert len(document("show", "weather", "--db", db)["messages"]) == 8
    assert document("doctor", "--db", db)["ok"]


def test_prune_keeps_as_many_as_it_is_told(db: str) -> None:
    text = said("prune", "--keep-last", "3", "--yes", "--db", db)
    assert text.startswith("Removed ")
    assert text.endswith(" threads.\n")
    assert [checkpoints(db, thread) for thread in ("weather", "shop", "image")] == [3, 3, 1]
    assert said("prune", "--keep-last", "3", "--yes", "--db", db) == "Nothing to remove.\n"


def test_prune_as_json(db: str) -> None:
    would = document("prune", "--dry-run", "--db", db)
    assert list(would) == ["threads", "checkpoints", "contents", "writes", "bytes", "dry_run", "database"]
    assert would["dry_run"] is True
    assert checkpoints(db, "weather") == 10
    did = document("prune", "--yes", "--db", db)
    assert did["dry_run"] is False
    assert {k: did[k] for k in ("threads", "checkpoints", "writes")} == {
        k: would[k] for k in ("threads", "checkpoints", "writes")
    }
    assert document("prune", "--yes", "--db", db)["checkpoints"] == 0


def test_a_dry_run_neither_asks_nor_removes(db: str) -> None:
    text = said("prune", "--dry-run", "--db", db)
    assert re.fullmatch(r"Would remove \d+ checkpoints, .*\([\d.]+ k?B\) from 4 threads\.\n", text)
    assert checkpoints(db, "weather") == 10


def test_prune_by_age(db: str) -> None:
    assert said("prune", "--older-than", "1h", "--yes", "--db", db) == "Nothing to remove.\n"
    assert checkpoints(db, "weather") == 10
    said("prune", "weather", "--older-than", "0s", "--yes", "--db", db)
    assert checkpoints(db, "weather") == 1


def test_prune_of_whole_threads(db: str) -> None:
    said("prune", "weather", "--strategy", "delete", "--yes", "--db", db)
    assert "weather" not in ids(db)
    said("prune", "--strategy", "delete", "--yes", "--db", db)
    assert ids(db) == set()
    assert ids(db, "alice") == {"hers"}


def test_prune_asks_at_a_terminal(db: str) -> None:
    status, screen = terminal("prune", "weather", "--db", db, answer="n\n")
    assert status == 1
    assert "Remove 9 checkpoints, " in screen
    assert "from 1 thread? [y/N]" in unstyled(screen)
    assert checkpoints(db, "weather") == 10
    status, screen = terminal("prune", "weather", "--db", db, answer="y\n")
    assert status == 0
    assert "Removed 9 checkpoints" in screen
    assert checkpoints(db, "weather") == 1


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ["--keep-last", "0"],
            "Invalid value for '--keep-last': 0 is too few, give 1 or more; `threadkeep prune --help` says",
        ),
        (["--older-than", "30"], "--older-than is '30'; give a number with a unit: 90s, 45m, 12h, 30d"),
        (["--older-than", "9" * 30 + "w"], "which is longer than time is counted here"),
        (["--strategy", "sometimes"], "'sometimes' is not one of 'keep_latest', 'delete'"),
        (["--strategy", "delete", "--keep-last", "2"], "leave keep_last and older_than out"),
        (
            ["--keep-last", "many"],
            "Invalid value for '--keep-last': 'many' is no whole number; `threadkeep prune --help` says",
        ),
    ],
)
def test_prune_refuses_what_makes_no_sense(db: str, options: list[str], line: str) -> None:
    assert line in error("prune", "--yes", "--db", db, *options)


def test_prune_of_an_unknown_thread_prunes_none(db: str) -> None:
    assert error("prune", "weather", "nope", "--yes", "--db", db).startswith("there is no thread 'nope'")
    assert checkpoints(db, "weather") == 10


def test_without_a_terminal_prune_wants_yes(db: str) -> None:
    assert "--yes would remove 9 checkpoints, " in error("prune", "weather", "--db", db)
    assert checkpoints(db, "weather") == 10


# compact


def test_compact(db: str, path: Path) -> None:
    with threadkeep.open(db) as memory:
        memory.threads.get("big").append([("human", "".join(map(chr, range(0x4E00, 0x9FFF))) * 20)])
    said("delete", "big", "--yes", "--db", db)
    text = said("compact", "--db", db)
    assert text.endswith(f"{path.stat().st_size / 1000:.1f} kB now.\n")
    found = document("compact", "--db", db)
    assert (found["after"], found["complete"]) == (path.stat().st_size, True)


def test_compact_beside_a_reader_says_so(db: str) -> None:
    reader = sqlite3.connect(db.removeprefix("sqlite:///"))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM threads").fetchone()
    result = run("compact", "--db", db)
    reader.close()
    assert result.exit_code == 0
    assert "Another process was reading and keeps some of it" in result.stderr
