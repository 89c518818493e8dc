"""Two writers on one storage: nothing is lost silently, and what one has at hand is never stale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from threadkeep import Memory, StaleRun, ThreadkeepError
from threadkeep.testing.checkpoints import Line, renamed, shown, stored
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import assert_same, assert_same_state, difference

Action = Callable[[Memory, Drive, str], Any]


def _human(name: str, text: str | None = None) -> HumanMessage:
    return HumanMessage(text or name, id=name)


def _state(n: int) -> dict[str, Any]:
    said = [_human(f"m{i}") if i % 2 else AIMessage(f"answer {i}", id=f"m{i}") for i in range(n)]
    return {
        "messages": said,
        "l": [f"item {i} of the list" * 4 for i in range(n)],
        "d": {f"k{i}": i for i in range(n)},
    }


def _continue(memory: Memory, drive: Drive, name: str) -> None:
    line = Line(memory, name, drive=drive, run=True)
    found = line.load()
    state = found.checkpoint["channel_values"] if found else {}
    said = [*state.get("messages", []), _human("continued")]
    line.put({**state, "messages": said, "l": ["new", *state.get("l", [])], "by": "a run"})
    line.write([("messages", [_human("written")]), ("l", ["w" * 300])])


def _put(memory: Memory, drive: Drive, name: str) -> None:
    line = Line(memory, name, drive=drive)
    line.load()
    line.put(_state(5) | {"by": "a call"})


def _delete_for_run(memory: Memory, drive: Drive, name: str) -> None:
    drive(memory.checkpointer.delete_for_runs, [f"run of {name}"])


def _again(memory: Memory, drive: Drive, name: str) -> None:
    drive(memory.threads.delete, name)
    Line(memory, name, drive=drive).put(_state(3))


def _over(memory: Memory, drive: Drive, name: str) -> None:
    drive(memory.threads.delete, name)
    drive(memory.threads.copy, "source", name)


BY_OTHERS: dict[str, Action] = {
    "nothing": lambda memory, drive, name: None,
    "run": _continue,
    "put": _put,
    "append": lambda memory, drive, name: drive(memory.threads.get(name).append, _human("appended")),
    "replace": lambda memory, drive, name: drive(memory.threads.get(name).append, _human("m1", "replaced")),
    "write": lambda memory, drive, name: Line(memory, name, drive=drive).write([("l", 1)], at="early"),
    "update": lambda memory, drive, name: drive(
        memory.threads.get(name).update, title="set", metadata={"k": 1}
    ),
    "fork": lambda memory, drive, name: drive(memory.threads.get(name).fork, before="m3"),
    "prune": lambda memory, drive, name: drive(memory.threads.prune, [name]),
    "delete": lambda memory, drive, name: drive(memory.threads.delete, name),
    "delete for run": _delete_for_run,
    "delete and begin anew": _again,
    "delete and copy over": _over,
}
"""What another memory does while this one has the thread at hand."""

AFTERWARDS: dict[str, Action] = {
    **BY_OTHERS,
    "put on the old head": lambda memory, drive, name: None,
    "write on the old head": lambda memory, drive, name: None,
}
"""What this memory then does, knowing nothing of it."""


class SharingContract(Harness):
    """Several memories on one storage."""

    @needs("shared")
    @pytest.mark.parametrize("other", list(BY_OTHERS))
    def test_what_is_at_hand_is_never_stale(
        self, memory: Memory, store: Store, drive: Drive, other: str
    ) -> None:
        """After another memory's change every call does what it does for a memory that has just been opened.

        Each pair of actions is done twice: on one thread by a memory that has it at hand, on another by
        one that has not. Both must come out the same.
        """
        elsewhere = store.open()
        _fill(elsewhere, drive, "source")
        for n, (name, action) in enumerate(AFTERWARDS.items()):
            warm, cold = f"warm {n}", f"cold {n}"
            outcomes = []
            for thread in (warm, cold):
                one = memory if thread == warm else elsewhere
                lines = [_fill(one, drive, thread), Line(one, thread, drive=drive, run=True)]
                lines[1].load()
                stored(one, thread)
                BY_OTHERS[other](elsewhere, drive, thread)
                if thread == cold:
                    _forget(one)
                if name.endswith("old head"):
                    outcomes.append(_outcome(_on_old_head, lines, name))
                else:
                    outcomes.append(_outcome(action, one, drive, thread))
            assert outcomes[0] == outcomes[1], name
            seen = [
                renamed(shown(reader, thread), thread, "thread")
                for reader in (memory, elsewhere)
                for thread in (warm, cold)
            ]
            for one in seen[1:]:
                assert difference(one, seen[0]) is None, name

    @needs("shared")
    def test_a_run_may_put_its_newest_checkpoint_again(
        self, memory: Memory, store: Store, drive: Drive
    ) -> None:
        """A run that does not know whether its put arrived repeats it, through another memory: it is stored once."""
        one = Line(memory, drive=drive, run=True)
        at = one.put({"__start__": {"n": 1}}, source="input")
        for values in ({"__start__": {"n": 1}}, {"__start__": {"n": 2}}):
            again = Line(store.open(), drive=drive, run=True)
            assert again.put(values, source="input", checkpoint_id=at) == at
            assert again.ids() == [at]
            assert again.values()["__start__"] == values["__start__"]
        again.put({"n": 2})
        again.at = None
        with pytest.raises(StaleRun):
            again.put({"n": 3}, checkpoint_id=at)

    @needs("shared")
    def test_a_run_that_was_overtaken_is_told(self, memory: Memory, store: Store, drive: Drive) -> None:
        """Of two runs that loaded the same checkpoint the second is refused, and nothing of it is stored."""
        _fill(memory, drive, "t")
        one = Line(memory, drive=drive, run=True)
        two = Line(store.open(), drive=drive, run=True)
        one.load()
        two.load()
        state = {"messages": [*one.values()["messages"], _human("one")]}
        at = one.put(state)
        for _ in range(2):
            with pytest.raises(StaleRun) as caught:
                two.put({"messages": [*two.values()["messages"], _human("two")], "l": ["two"]})
            assert (caught.value.thread_id, caught.value.actual) == ("t", at)  # type: ignore[attr-defined]
            assert caught.value.retryable
            assert_same_state(two.values(), state)
        two.load()
        two.put({"messages": [*state["messages"], _human("two")]})
        one.load()
        assert [m.id for m in one.values()["messages"]][-2:] == ["one", "two"]
        assert [m.id for m in drive(memory.threads.get("t").messages)][-2:] == ["one", "two"]

    @needs("shared")
    def test_interleaved_writes_of_two_memories(self, memory: Memory, store: Store, drive: Drive) -> None:
        """Two memories that write to many threads in turn, each with what it has at hand, lose nothing."""
        lines = {}
        for m, one in enumerate((memory, store.open())):
            for name in "abc":
                lines[m, name] = Line(one, name, drive=drive)
        expected: dict[str, list[Any]] = {name: [] for name in "abc"}
        tips: dict[str, list[Any]] = {name: [] for name in "abc"}
        for n in range(60):
            name = "abc"[n % 3]
            line = lines[n * 7 % 11 % 2, name]
            line.load()
            expected[name] = [*expected[name], _human(f"{n}", f"text {n} " * 20)]
            state = {"messages": expected[name], "l": [f"{n} {i}" * 20 for i in range(n % 12)]}
            tips[name].append((line.put(state), state))
            line.write([("messages", expected[name][-1]), ("l", "x" * 200 * n)], f"task {n}")
        for (_, name), line in lines.items():
            for at, state in tips[name]:
                assert_same_state(line.values(at), state)
                assert len(line.pending(at)) == 2
            assert_same(list(drive(memory.threads.get(name).messages)), expected[name])

    @needs("shared")
    def test_reading_while_another_memory_deletes_and_prunes(
        self, memory: Memory, store: Store, drive: Drive
    ) -> None:
        """A list that is read while its thread is pruned or deleted ends or goes on, and raises nothing."""
        other = store.open()
        for change in ("prune", "delete", "delete and begin anew", "delete and copy over"):
            if not drive(memory.threads.get("source").exists):
                _fill(memory, drive, "source")
            line = Line(memory, drive=Drive("sync"))
            for n in range(70):
                line.put(_state(n % 7) | {"n": n})
            pages = memory.checkpointer.list({"configurable": {"thread_id": "t", "checkpoint_ns": ""}})
            first = next(pages)
            BY_OTHERS[change](other, drive, "t")
            rest = list(pages)
            ids = [found.checkpoint["id"] for found in (first, *rest)]
            assert len(ids) == len(set(ids))
            assert drive(memory.threads.delete, "t") is (change != "delete")

    @needs("shared", "sql")
    def test_closing_one_memory_leaves_the_others(self, memory: Memory, store: Store, drive: Drive) -> None:
        """What one memory queued before it was closed is there for the others, which go on."""
        other = store.open()
        line = Line(other, drive=drive, run=True)
        at = line.put({"__start__": 1}, source="input")
        other.close()
        assert Line(memory, drive=drive).get().checkpoint["id"] == at
        memory.threads.get("t").append(("user", "goes on"))
        again = store.open()
        assert again.threads.get("t").info().checkpoints == 2


def _fill(memory: Memory, drive: Drive, name: str) -> Line:
    line = Line(memory, name, drive=drive)
    for n in range(1, 7):
        line.put(_state(n), metadata={"run_id": f"run of {name}"} if n > 3 else {})
    line.write([("messages", [_human("pending")])], "task 0")
    return line


def _forget(memory: Memory) -> None:
    """Let a memory know of its threads no more than one that has just been opened."""
    memory._engine.threads.drop_all()


def _on_old_head(lines: list[Line], name: str) -> None:
    """Go on from the checkpoint that was the head when both lines read it."""
    if name.startswith("write"):
        lines[0].write([("l", ["late"] * 90), ("messages", [_human("late")])], "late task")
        return
    state = _state(7)
    lines[0].put(state | {"by": "a call"})
    lines[1].put(state | {"by": "a run"})


def _outcome(action: Callable[..., Any], *arguments: Any) -> Any:
    try:
        action(*arguments)
    except ThreadkeepError as error:
        return type(error)
    return None
