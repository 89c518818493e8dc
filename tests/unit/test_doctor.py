"""The doctor names what is wrong in a damaged database, and finds nothing in a whole one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import ormsgpack
import pytest

import threadkeep
from threadkeep.models import Problem


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of two threads; in the first a message was forked off and a write is pending."""
    path = tmp_path / "threads.db"
    with threadkeep.open(f"sqlite:///{path}") as memory:
        thread = memory.threads.get("first")
        for text in ("one", "two " * 50, "three"):
            thread.append([("human", text)])
        thread.append([{"role": "assistant", "content": "four"}])
        thread.fork(before=thread.messages()[2].id)
        thread.append([("ai", "another three")])
        thread.update(metadata={"team": "support"})
        config = {"configurable": {"thread_id": "first", "checkpoint_ns": ""}}
        found = memory.checkpointer.get_tuple(config)
        assert found is not None
        memory.checkpointer.put_writes(found.config, [("messages", "kept for later")], "task")
        memory.as_owner("alice").threads.get("second").append([("human", "hello")])
    return path


def damaged(path: Path, *statements: str) -> tuple[Problem, ...]:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    with threadkeep.open(f"sqlite:///{path}", create=False) as memory:
        return memory.doctor()


FIRST = "WHERE key = (SELECT min(key) FROM {})"


@pytest.mark.parametrize(
    ("statement", "table", "detail"),
    [
        ("DELETE FROM contents", "sequences", "refers to content"),
        ("DELETE FROM contents", "transcript", "refers to content"),
        ("UPDATE contents SET body = x'c1'", "contents", "content 1 cannot be read"),
        ("UPDATE contents SET codec = 70", "contents", "codec 70"),
        ("DELETE FROM sequences", "checkpoints", "refers to list version"),
        ("UPDATE sequences SET body = x'c1'", "sequences", "cannot be read"),
        ("UPDATE sequences SET body = x'940501e807e807'", "sequences", "list version -3, which is not there"),
        (
            f"UPDATE checkpoints SET body = x'' {FIRST.format('checkpoints')}",
            "checkpoints",
            "checkpoint 1 cannot",
        ),
        (
            f"UPDATE checkpoints SET body = x'' {FIRST.format('checkpoints')}",
            "checkpoints",
            "checkpoint 2 and 4 more cannot be read without checkpoint 1",
        ),
        (
            f"DELETE FROM checkpoints {FIRST.format('checkpoints')}",
            "checkpoints",
            "names parent 1, which is not",
        ),
        ("DELETE FROM names", "checkpoints", "cannot be read"),
        ("DELETE FROM runs", "checkpoints", "names run 1, which is not there"),
        ("UPDATE runs SET body = x'c1'", "runs", "run 1 cannot be read"),
        ("UPDATE writes SET body = x'c1'", "writes", "cannot be read"),
        ("UPDATE threads SET head = 99", "threads", "head is checkpoint 99, but the newest is 6"),
        ("UPDATE threads SET checkpoints = 99", "threads", "counts 99 checkpoints, but 6 are there"),
        ("UPDATE threads SET thread_id = x'66'", "threads", "digest"),
        ("UPDATE threads SET title = x'ff'", "threads", "cannot be read"),
        ("UPDATE threads SET metadata = x'c1'", "threads", "cannot be read"),
        ("UPDATE transcript SET branch = 9", "transcript", "names branch 9, which is not there"),
        ("UPDATE threads SET next_seq = 1", "checkpoints", "number 6 is in use, but the next would be 1"),
        ("DELETE FROM threads WHERE owner = x''", "contents", "rows of thread number 1, which is gone"),
        ("DELETE FROM threads WHERE owner = x''", "writes", "rows of thread number 1, which is gone"),
        ("DELETE FROM threads WHERE owner = x''", "labels", "rows of thread number 1, which is gone"),
    ],
)
def test_damage_is_named(path: Path, statement: str, table: str, detail: str) -> None:
    problems = damaged(path, statement)
    assert [p for p in problems if p.table == table and detail in p.detail], problems


def test_a_call_that_cannot_be_read(path: Path) -> None:
    columns = "key, at, status, purpose, origin, copied, body"
    values = "(SELECT min(id) << 32 FROM threads), 0, 0, 0, 0, 0, x'c1'"
    problems = damaged(path, f"INSERT INTO calls ({columns}) VALUES ({values})")
    assert [(p.thread_id, p.table) for p in problems] == [("first", "calls")]


def test_a_list_that_is_longer_than_its_checkpoint_says(path: Path) -> None:
    """A full version of no items under a number that a checkpoint gives a length for."""
    problems = damaged(path, f"UPDATE sequences SET body = x'9100' {FIRST.format('sequences')}")
    assert any("items in list version" in p.detail for p in problems), problems


def test_a_change_that_reaches_before_its_list(path: Path) -> None:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT key, body FROM sequences WHERE key >> 32 = 1").fetchall()
    connection.close()
    key, parts = next((k, parts) for k, body in rows if (parts := ormsgpack.unpackb(body))[0])
    body = ormsgpack.packb([*parts[:2], 1000, 1000, *parts[4:]]).hex()
    problems = damaged(path, f"UPDATE sequences SET body = x'{body}' WHERE key = {key}")
    assert any("changes 1000 items of a list of" in p.detail for p in problems), problems


def test_what_is_missing_is_reported_once(path: Path) -> None:
    with threadkeep.open(f"sqlite:///{path}") as memory:
        thread = memory.threads.get("first")
        for n in range(20):
            thread.append([("human", f"{n}")])
    problems = damaged(path, f"DELETE FROM contents {FIRST.format('contents')}")
    assert len(problems) == 2
    assert all(p.thread_id == "first" for p in problems)


def test_a_damaged_id_is_shown_escaped(path: Path) -> None:
    problems = damaged(path, "UPDATE threads SET thread_id = x'ff00' WHERE owner = x''")
    assert [p.thread_id for p in problems] == ["\\xff\x00"]


def test_stray_rows_name_their_thread(path: Path) -> None:
    problems = damaged(path, "DELETE FROM threads WHERE owner = x''")
    assert {p.fields["thread"] for p in problems} == {1}
    assert {p.thread_id for p in problems} == {""}


def test_a_whole_database_has_no_problem(path: Path) -> None:
    assert damaged(path) == ()


@pytest.mark.parametrize("owner", ["", "alice"])
def test_one_thread_is_checked_alone(path: Path, owner: str) -> None:
    damaged(path, "UPDATE threads SET checkpoints = 99 WHERE owner = x''")
    with threadkeep.open(f"sqlite:///{path}", owner=owner) as memory:
        found = memory.doctor("second" if owner else "first")
    assert len(found) == (0 if owner else 1)


def reports(memory: threadkeep.Memory) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    for name, call in {
        "doctor": memory.doctor,
        "stats": memory.stats,
        "prune": memory.threads.prune,
        "prune some": lambda progress: memory.threads.prune(["first", "none"], progress=progress),
    }.items():
        seen: list[tuple[int, int]] = []
        call(progress=lambda done, total, seen=seen: seen.append((done, total)))  # type: ignore[operator]
        yield name, seen


def test_progress_counts_up_to_the_total(path: Path) -> None:
    with threadkeep.open(f"sqlite:///{path}") as memory:
        assert dict(reports(memory)) == {
            "doctor": [(1, 2), (2, 2)],
            "stats": [(2, 2)],
            "prune": [(1, 1)],
            "prune some": [(1, 2), (2, 2)],
        }
