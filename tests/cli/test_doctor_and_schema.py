"""`threadkeep doctor` says what is wrong and what to do; `threadkeep schema` prints the tables."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import threadkeep
from tests.cli.kit import document, error, said


def damage(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_whole_database(db: str) -> None:
    assert said("doctor", "--db", db) == f"Nothing is wrong in 9 threads of {db}.\n"
    assert said("doctor", "weather", "--db", db) == f"Nothing is wrong in 1 thread of {db}.\n"
    assert document("doctor", "--db", db) == {"url": db, "threads": 9, "ok": True, "problems": []}


def test_a_damaged_thread(db: str, path: Path) -> None:
    damage(path, "UPDATE threads SET checkpoints = 99 WHERE thread_id = CAST('weather' AS BLOB)")
    text = said("doctor", "--db", db, status=1)
    assert text.startswith(
        f"1 problem in 9 threads of {db}\n\nweather\n  threads: counts 99 checkpoints, but 10 are"
    )
    assert (
        f"What to do: restore a backup, or save what can be read, `threadkeep show weather --db {db}" in text
    )
    found = document("doctor", "weather", "--db", db, status=1)
    (problem,) = found["problems"]
    assert (found["ok"], found["threads"]) == (False, 1)
    assert problem.pop("remedy").startswith("restore a backup")
    assert problem == {
        "thread_id": "weather",
        "table": "threads",
        "detail": "counts 99 checkpoints, but 10 are there",
    }
    assert said("doctor", "ticket", "--db", db) == f"Nothing is wrong in 1 thread of {db}.\n"


def test_rows_of_a_thread_that_is_gone_and_how_to_remove_them(db: str, path: Path) -> None:
    damage(path, "DELETE FROM threads WHERE thread_id = CAST('weather' AS BLOB)")
    found = document("doctor", "--db", db, status=1)
    assert {problem["thread_id"] for problem in found["problems"]} == {None}
    for problem in found["problems"]:
        statement = problem["remedy"].split("; ")[1]
        assert statement.startswith(f"DELETE FROM {problem['table']} WHERE ")
        damage(path, statement)
    assert document("doctor", "--db", db)["ok"]


def test_many_problems_are_cut_for_people_only(db: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threadkeep.cli.doctor._SHOWN", 2)
    damage(path, "UPDATE checkpoints SET run = 99")
    text = said("doctor", "weather", "--db", db, status=1)
    assert text.count("names run 99, which is not there") == 2
    assert "  and 8 more; --json has all of them\n" in text
    assert len(document("doctor", "weather", "--db", db, status=1)["problems"]) == 10


@pytest.mark.parametrize(
    "command", ["show weather --checkpoint newest", "prune weather --yes", "show weather"]
)
def test_what_cannot_be_read_names_the_doctor(db: str, path: Path, command: str) -> None:
    damage(path, "DELETE FROM contents" if command == "show weather" else "UPDATE sequences SET body = x'c1'")
    line = error(*command.split(), "--db", db)
    assert " is damaged" in line
    assert f"`threadkeep doctor --db {db}` says more" in line


def test_the_schema_makes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "made.db"
    connection = sqlite3.connect(path)
    connection.executescript(said("schema"))
    connection.close()
    with threadkeep.open(f"sqlite:///{path}", create=False) as memory:
        memory.threads.get("t").append([("human", "hello")])
    assert said("doctor", "--db", f"sqlite:///{path}").startswith("Nothing is wrong in 1 thread")


def test_the_schema_opens_nothing(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    found = document("schema", f"sqlite:///{path}")
    assert found["url"] == f"sqlite:///{path}"
    assert "CREATE TABLE threads" in found["sql"]
    assert not path.exists()


def test_the_schema_of_another_kind() -> None:
    assert error("schema", "oracle://h/db").startswith(
        "cannot print the schema of 'oracle://h/db': this version"
    )
