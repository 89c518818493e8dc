"""The doctor: silent about what is sound, and able to name each kind of damage."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from langchain_core.messages import SystemMessage

from threadkeep import Memory, Problem, StorageError
from threadkeep.adapters.agents.notes import Notes
from threadkeep.context.budget import Budget
from threadkeep.testing.checkpoints import Line
from threadkeep.testing.contract.pruning import fill
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, needs

_OF = "key >= {t} * 4294967296 AND key < ({t} + 1) * 4294967296"
"""A thread's rows in the tables whose keys hold the thread in their upper half."""
_FIRST = f"key = (SELECT min(key) FROM {{table}} WHERE {_OF})"
_LAST = f"key = (SELECT max(key) FROM {{table}} WHERE {_OF})"

DAMAGE: dict[str, tuple[str, str]] = {
    "a content is gone": ("DELETE FROM contents WHERE " + _FIRST, "contents"),
    "all contents are gone": (f"DELETE FROM contents WHERE {_OF}", "contents"),
    "a list version is gone": ("DELETE FROM sequences WHERE " + _FIRST, "sequences"),
    "a checkpoint in the middle is gone": (
        f"DELETE FROM checkpoints WHERE key = (SELECT min(parent) + {{t}} * 4294967296 FROM checkpoints WHERE {_OF})",
        "checkpoints",
    ),
    "the newest checkpoint is gone": ("DELETE FROM checkpoints WHERE " + _LAST, "checkpoints"),
    "a run is gone": ("DELETE FROM runs WHERE " + _FIRST, "runs"),
    "a content is no content": ("UPDATE contents SET body = x'c1c1' WHERE " + _FIRST, "contents"),
    "a list version is none": ("UPDATE sequences SET body = x'c1' WHERE " + _LAST, "sequences"),
    "a checkpoint is none": ("UPDATE checkpoints SET body = x'c1' WHERE " + _LAST, "checkpoints"),
    "a write is none": ("UPDATE writes SET body = x'c1' WHERE thread = {t}", "writes"),
    "metadata are none": ("UPDATE threads SET metadata = x'c1' WHERE id = {t}", "threads"),
    "the head is another": ("UPDATE threads SET head = 1 WHERE id = {t}", "threads"),
    "the head is nowhere": ("UPDATE threads SET head = 9999 WHERE id = {t}", "threads"),
    "a namespace's head is another": ("UPDATE namespaces SET head = 1 WHERE thread = {t}", "namespaces"),
    "the checkpoints are counted wrong": ("UPDATE threads SET checkpoints = 3 WHERE id = {t}", "threads"),
    "the contents' numbers begin again": ("UPDATE threads SET next_content = 2 WHERE id = {t}", "threads"),
    "the checkpoints' numbers begin again": ("UPDATE threads SET next_seq = 2 WHERE id = {t}", "threads"),
    "the record names no content": ("UPDATE transcript SET content = 9999 WHERE " + _FIRST, "transcript"),
    "the record names no branch": ("UPDATE transcript SET branch = 99 WHERE " + _FIRST, "transcript"),
    "a branch is gone": (f"DELETE FROM branches WHERE {_OF}", "branches"),
    "a call is none": ("UPDATE calls SET body = x'c1' WHERE " + _FIRST, "calls"),
    "a call is for nothing known": ("UPDATE calls SET purpose = 99 WHERE " + _FIRST, "calls"),
    "the calls' numbers begin again": ("UPDATE threads SET next_call = 1 WHERE id = {t}", "threads"),
    "a digest names no content": ("UPDATE sent SET content = 9999 WHERE thread = {t}", "sent"),
    "a note is none": ("UPDATE notes SET body = x'c1' WHERE thread = {t}", "notes"),
    "the audit is none": ("UPDATE audit SET body = x'c1' WHERE " + _FIRST, "audit"),
    "what is set aside is no money": ("UPDATE reservations SET money = 'x' WHERE " + _FIRST, "reservations"),
    "the messages are counted wrong": ("UPDATE threads SET messages = 3 WHERE id = {t}", "threads"),
    "the thread has another name": ("UPDATE threads SET thread_id = x'61' WHERE id = {t}", "threads"),
}
"""SQL that breaks the thread numbered `t`, and the table in which it does."""

UNREADABLE = {
    kind: DAMAGE[kind]
    for kind in (
        "all contents are gone",
        "a content is no content",
        "a list version is none",
        "a checkpoint is none",
        "metadata are none",
        "a call is none",
        "a call is for nothing known",
        "a note is none",
        "the audit is none",
    )
}
"""Damage that somebody who reads the thread meets."""

STRAYS = (
    "contents",
    "sequences",
    "checkpoints",
    "branches",
    "runs",
    "transcript",
    "calls",
    "audit",
    "reservations",
)
NAMING = ("writes", "namespaces", "labels", "sent", "notes", "pins")
"""The tables that name their thread in a column."""


def note(memory: Memory, drive: Drive, name: str) -> None:
    """Give a thread a bit of everything that policies and people note about one."""
    thread = memory.threads.get(name)
    said = drive(thread.messages)
    sent = [SystemMessage("rules"), *said]
    drive(memory.record_usage, name, {"input_tokens": 5, "output_tokens": 1}, messages=sent)
    notes = Notes(thread)
    drive(notes.keep_summary, "p", b"digest", {"text": "a summary"})
    drive(notes.reserve, Budget(money=1), 1, Decimal("0.1"))
    drive(thread.delete_messages, [said[-1].id])
    drive(thread.pin, said[0].id)


class DamageContract(Harness):
    """The doctor."""

    @needs("sql")
    @pytest.mark.parametrize("kind", list(UNREADABLE))
    def test_who_meets_damage_is_told_where(self, memory: Memory, drive: Drive, kind: str) -> None:
        """What cannot be read is a storage error that names the thread and the table, never a bare ValueError."""
        fill(memory, drive, "t", turns=6)
        note(memory, drive, "t")
        statement, table = UNREADABLE[kind]
        ((number,),) = self.sql(memory, "SELECT id FROM threads WHERE thread_id = ?", (b"t",))
        self.sql(memory, statement.format(t=number, table=table))
        thread = memory.threads.get("t")
        met = []
        reads: tuple[Any, ...] = (
            thread.state, thread.messages, thread.history, thread.info, thread.calls, thread.usage, thread.summaries,
            thread.audit, memory.threads.list, Line(memory, drive=drive).load, memory.threads.prune,
        )  # fmt: skip
        for read in reads:
            memory._engine.threads.drop_all()
            try:
                drive(read) if hasattr(read.__self__, "a" + read.__name__) else read()
            except StorageError as problem:
                met.append(problem)
        assert met != []
        for error in met:
            found: Any = error
            assert found.table in str(error)
            if found.thread_id is not None:
                assert (found.thread_id, found.table) == ("t", memory.doctor("t")[0].table)
                assert "thread 't'" in str(error)
        drive(memory.threads.delete, "t")

    @needs("sql")
    @pytest.mark.parametrize("kind", list(DAMAGE))
    def test_damage_is_found(self, memory: Memory, drive: Drive, kind: str) -> None:
        """The doctor names the thread and what is wrong with it, and finds its neighbours sound."""
        for name in ("before", "t", "z after"):
            fill(memory, drive, name, turns=6)
            note(memory, drive, name)
        assert drive(memory.doctor) == drive(memory.doctor, "t") == ()
        statement, table = DAMAGE[kind]
        ((number,),) = self.sql(memory, "SELECT id FROM threads WHERE thread_id = ?", (b"t",))
        self.sql(memory, statement.format(t=number, table=table))
        memory._engine.threads.drop_all()
        found = drive(memory.doctor)
        assert found != ()
        assert {problem.thread_id for problem in found} <= {"t", "a"}
        for problem in found:
            _readable(problem)
        if "another name" not in kind:
            assert drive(memory.doctor, "t") == found
        assert drive(memory.doctor, "before") == drive(memory.doctor, "z after") == ()
        drive(memory.threads.delete, "t")
        if "another name" not in kind:
            assert drive(memory.doctor) == ()
        self.sql(memory, "UPDATE threads SET thread_id = ? WHERE id = ?", (b"t", number))

    @needs("sql")
    @pytest.mark.parametrize("table", [*STRAYS, *NAMING])
    def test_rows_of_no_thread_are_found(self, memory: Memory, drive: Drive, table: str) -> None:
        """The doctor finds rows that belong to no thread, in every table that a thread has rows in."""
        fill(memory, drive, turns=6)
        fill(memory, drive, "gone", turns=6)
        note(memory, drive, "gone")
        ((number,),) = self.sql(memory, "SELECT id FROM threads WHERE thread_id = ?", (b"gone",))
        for other in [*STRAYS, *NAMING]:
            if other != table:
                self.sql(memory, f"DELETE FROM {other} WHERE {_where(other, number)}")
        assert self.sql(memory, f"SELECT count(*) FROM {table} WHERE {_where(table, number)}")[0][0] > 0
        self.sql(memory, "DELETE FROM threads WHERE id = ?", (number,))
        found = drive(memory.doctor)
        assert [problem.table for problem in found] == [table]
        _readable(found[0])
        self.sql(memory, f"DELETE FROM {table} WHERE {_where(table, number)}")
        assert drive(memory.doctor) == ()

    def test_the_doctor_is_silent_about_odd_but_sound_threads(self, memory: Memory, drive: Drive) -> None:
        """Early writes, empty states, forks, prunes and copies leave nothing to find."""
        Line(memory, "early", drive=drive).write([("a", 1)], at="never")
        Line(memory, "empty", drive=drive).put({})
        line = fill(memory, drive, turns=6)
        assert drive(memory.doctor) == ()
        drive(memory.threads.prune, ["t"], keep_last=4)
        drive(memory.threads.copy, "t", "u")
        drive(memory.threads.get("u").fork, drive(memory.threads.get("u").state).checkpoint.checkpoint_id)
        drive(memory.checkpointer.delete_for_runs, ["r5"])
        line.load()
        line.put({"messages": []})
        assert drive(memory.doctor) == ()
        for name in ("empty", "t", "u"):
            assert drive(memory.doctor, name) == ()


def _where(table: str, number: int) -> str:
    return f"thread = {number}" if table in NAMING else _OF.format(t=number)


def _readable(problem: Problem) -> Any:
    assert problem.detail
    assert "\n" not in problem.detail
    assert len(problem.detail) < 400
