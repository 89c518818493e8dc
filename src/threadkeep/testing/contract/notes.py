"""What policies and people note about a thread: summaries, pins, deletions, budgets."""

from __future__ import annotations

import threading
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from threadkeep import (
    BudgetExceeded,
    ConfigurationError,
    Memory,
    MessageNotFound,
    ThreadNotFound,
    UnknownPrice,
)
from threadkeep.adapters.agents.notes import Notes
from threadkeep.context.budget import Budget
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs


def _called(n: int) -> list[Any]:
    calls = [{"name": "f", "args": {}, "id": f"c{n}{k}", "type": "tool_call"} for k in "xy"]
    return [
        HumanMessage("q", id=f"h{n}"),
        AIMessage("", id=f"a{n}", tool_calls=calls),
        ToolMessage("x", id=f"x{n}", tool_call_id=f"c{n}x"),
        ToolMessage("y", id=f"y{n}", tool_call_id=f"c{n}y"),
        AIMessage("done", id=f"e{n}"),
    ]


def _ids(memory: Memory, drive: Drive) -> list[str]:
    return [message.id for message in drive(memory.threads.get("t").state).values["messages"]]


class NoteContract(Harness):
    """Notes of policies, and what people do to a thread's messages."""

    def test_the_first_note_stays(self, memory: Memory, drive: Drive) -> None:
        """A note is found by its policy and digest, by any of several digests; a second try changes nothing."""
        notes = Notes(memory.threads.get("t"))
        assert drive(notes.summaries, "p", [b"1"]) == {}
        first = drive(
            notes.keep_summary, "p", b"1", {"text": "héllo", "covered": 3, "facts": ["a", {"b": 1.5}]}
        )
        second = drive(notes.keep_summary, "p", b"1", {"text": "another"})
        assert first == second
        assert first.value["text"] == "héllo"
        drive(notes.keep_summary, "q", b"1", {"text": "of q"})
        drive(notes.keep_entities, "p", b"1", {"Ann": ["m1"]})
        found = drive(notes.summaries, "p", [b"0", b"1", b"2", b"1"])
        assert found == {b"1": first}
        assert drive(notes.entities, "p", [b"1"])[b"1"].value == {"Ann": ["m1"]}
        assert [s.text for s in drive(memory.threads.get("t").summaries)] == ["héllo", "of q"]
        assert drive(Notes(memory.as_owner("other").threads.get("t")).summaries, "p", [b"1"]) == {}

    def test_notes_go_where_the_thread_goes(self, memory: Memory, drive: Drive) -> None:
        """Copies have them, prunes keep them, and a deleted thread leaves none."""
        thread = memory.threads.get("t")
        drive(thread.append, _called(1))
        drive(Notes(thread).keep_summary, "p", b"1", {"text": "s"})
        drive(thread.pin, "h1")
        drive(thread.delete_messages, ["e1"])
        drive(memory.threads.prune)
        drive(memory.threads.copy, "t", "u")
        drive(thread.delete)
        copied = memory.threads.get("u")
        assert [s.text for s in drive(copied.summaries)] == ["s"]
        assert drive(copied.pins) == ("h1",)
        assert [entry.message_ids for entry in drive(copied.audit)] == [("e1",)]
        drive(thread.append, "new")
        assert drive(thread.summaries) == drive(thread.pins) == drive(thread.audit) == ()

    def test_pins(self, memory: Memory, drive: Drive) -> None:
        """A message of the transcript can be pinned once; what is not there cannot."""
        thread = memory.threads.get("t")
        with pytest.raises(ThreadNotFound):
            drive(thread.pins)
        with pytest.raises(ThreadNotFound):
            drive(thread.pin, "h1")
        drive(thread.append, _called(1))
        with pytest.raises(MessageNotFound, match="no message 'nope'"):
            drive(thread.pin, "nope")
        for _ in range(2):
            drive(thread.pin, "h1")
            drive(thread.pin, "e1")
        assert drive(thread.pins) == ("h1", "e1")
        assert drive(Notes(thread).pinned) == {"h1", "e1"}
        assert (drive(thread.unpin, "h1"), drive(thread.unpin, "h1")) == (True, False)
        assert drive(thread.pins) == ("e1",)

    def test_deleting_messages(self, memory: Memory, drive: Drive) -> None:
        """They leave the state with their pairs kept whole; the transcript and earlier checkpoints keep them."""
        thread = memory.threads.get("t")
        drive(thread.append, [m for n in (1, 2, 3) for m in _called(n)])
        before = drive(thread.state).checkpoint
        drive(thread.pin, "h2")
        after = drive(thread.delete_messages, ["a1", "h2", "x3"], actor="ann")
        assert _ids(memory, drive) == [
            "h1", "e1", "a2", "x2", "y2", "e2", "h3", "a3", "x3-deleted", "y3", "e3"
        ]  # fmt: skip
        assert (after.source, after.step) == ("update", before.step + 1)
        assert drive(thread.state, before.checkpoint_id).checkpoint.messages == 15
        assert {"a1", "x1", "h2", "x3"} <= {m.id for m in drive(thread.messages)}
        (entry,) = drive(thread.audit)
        assert (entry.action, entry.actor, entry.message_ids) == (
            "delete messages",
            "ann",
            ("a1", "h2", "x3"),
        )
        assert drive(thread.pins) == ()
        assert drive(thread.delete_messages, "h2") == after
        assert len(drive(thread.audit)) == 2
        closing = next(m for m in drive(thread.state).values["messages"] if m.id == "x3-deleted")
        assert (closing.tool_call_id, closing.text) == ("c3x", "This result was deleted.")

    def test_what_cannot_be_deleted(self, memory: Memory, drive: Drive) -> None:
        """An unknown message leaves everything as it is, the audit too."""
        thread = memory.threads.get("t")
        with pytest.raises(ThreadNotFound):
            drive(thread.delete_messages, ["h1"])
        drive(thread.append, _called(1))
        for ids, error in (
            (["h1", "nope"], MessageNotFound),
            ([], ConfigurationError),
            ([7], ConfigurationError),
        ):
            with pytest.raises(error):
                drive(thread.delete_messages, ids)
        assert _ids(memory, drive) == ["h1", "a1", "x1", "y1", "e1"]
        assert drive(thread.audit) == ()

    def test_calibration_is_shared_and_never_lost(self, memory: Memory, store: Store, drive: Drive) -> None:
        """Each learns from what the others have learned, in every thread, whoever owns it."""
        handles = [Notes(memory.threads.get("t")), Notes(memory.as_owner("other").threads.get("u"))]
        if self.capabilities.shared:
            handles.append(Notes(store.open().threads.get("v")))
        assert drive(handles[0].calibration, "m") is None
        for n in range(9):
            learned = drive(
                handles[n % len(handles)].learn, "m", lambda old: {"n": (old or {"n": 0})["n"] + 1}
            )
            assert learned == {"n": n + 1}
        assert drive(handles[0].calibration, "m") == {"n": 9}
        assert drive(handles[0].calibration, "other") is None

    def test_a_budget_of_tokens(self, memory: Memory, drive: Drive) -> None:
        """What was spent, what is set aside and what the call may take stay within the limit together."""
        notes, budget = Notes(memory.threads.get("t")), Budget(tokens=100)
        drive(memory.record_usage, "t", {"input_tokens": 40, "output_tokens": 10})
        held = drive(notes.reserve, budget, 30, None)
        with pytest.raises(BudgetExceeded) as caught:
            drive(notes.reserve, budget, 21, None)
        error: Any = caught.value
        assert (error.spent_tokens, error.reserved_tokens, error.call_tokens, error.limit_tokens) == (
            50,
            30,
            21,
            100,
        )
        assert "50 tokens are spent and 30 set aside of 100, and it may take 21" in str(error)
        second = drive(notes.reserve, budget, 20, None)
        drive(notes.settle, held)
        drive(notes.settle, second, hold=True)
        drive(notes.reserve, budget, 30, None)
        with pytest.raises(BudgetExceeded):
            drive(notes.reserve, budget, 1, None)
        assert drive(memory.usage).calls == 1

    def test_a_budget_of_money_and_by_run(self, memory: Memory, drive: Drive) -> None:
        """Money adds up exactly; another run has its own budget; an unknown price is asked for or assumed."""
        notes = Notes(memory.threads.get("t"))
        budget = Budget(money="0.30", per="run")
        for run in ("r1", "r2"):
            for _ in range(3):
                drive(notes.reserve, budget, 10, Decimal("0.1"), run_id=run)
            with pytest.raises(BudgetExceeded, match="may cost") as caught:
                drive(notes.reserve, budget, 10, Decimal("0.0001"), run_id=run)
            assert caught.value.fields["reserved_money"] == Decimal("0.3")
        with pytest.raises(UnknownPrice, match="'mine'"):
            drive(notes.reserve, budget, 10, None, run_id="r3", model="mine")
        assumed = Budget(money=1, unknown_price="100000")
        drive(notes.reserve, assumed, 4, None, run_id="r3")
        with pytest.raises(BudgetExceeded):
            drive(notes.reserve, assumed, 4, None, run_id="r3")

    def test_what_a_dead_process_set_aside_is_free_again(self, memory: Memory, drive: Drive) -> None:
        """A reservation that nobody settled holds for a quarter of an hour, and no longer."""
        notes, budget = Notes(memory.threads.get("t")), Budget(tokens=10)
        engine, start = memory._engine, memory._engine.clock()
        drive(notes.reserve, budget, 10, None)
        for minutes, passes in ((14, False), (16, True)):
            engine.clock = partial(int, start + minutes * 60_000_000)
            if passes:
                drive(notes.reserve, budget, 10, None)
            else:
                with pytest.raises(BudgetExceeded):
                    drive(notes.reserve, budget, 10, None)

    @needs("shared")
    def test_parallel_calls_cannot_both_pass(self, memory: Memory, store: Store) -> None:
        """Of many calls at once, from two memories, as many pass as the budget has room for."""
        handles = [Notes(memory.threads.get("t")), Notes(store.open().threads.get("t"))]
        passed, refused = [], []

        def attempt(n: int) -> None:
            try:
                passed.append(handles[n % 2].reserve(Budget(tokens=50), 10, None))
            except BudgetExceeded:
                refused.append(n)

        threads = [threading.Thread(target=attempt, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(set(passed)), len(refused)) == (5, 11)
