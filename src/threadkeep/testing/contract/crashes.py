"""Stopped before any of its statements, an operation leaves the storage as it was, and can be repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from threadkeep import Memory
from threadkeep.testing.checkpoints import Line, checkpoint, config, renamed, shown
from threadkeep.testing.drive import Drive
from threadkeep.testing.faults import Crash, CrashingDriver
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import assert_same, difference


class Action(NamedTuple):
    """What is done to a thread: `prepare` returns what `act` is then given, as often as it is repeated."""

    prepare: Callable[[Memory, Drive, str], Any]
    act: Callable[[Memory, Drive, str, Any], Any]


def _empty(memory: Memory, drive: Drive, name: str) -> Any:
    return _next(Line(memory, name, drive=drive), 1)


def _filled(memory: Memory, drive: Drive, name: str) -> Any:
    line = Line(memory, name, drive=drive)
    for n in range(1, 4):
        line.put(_state(n), metadata={"run_id": f"run {n} of {name}"})
    line.write([("messages", [HumanMessage("pending", id="pending")]), ("l", "w" * 300)], "task 0")
    sub = Line(memory, name, drive=drive, namespace="sub")
    sub.put(_state(2))
    drive(memory.threads.get(name).update, title="title", metadata={"k": 1})
    return _next(line, 4)


def _state(n: int) -> dict[str, Any]:
    usage: Any = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    said: list[Any] = [HumanMessage(f"question {i}", id=f"h{i}") for i in range(n)]
    said.append(AIMessage("answer", id=f"a{n}", usage_metadata=usage))
    return {
        "messages": said,
        "l": [f"item {i} of the list" * 9 for i in range(9 * n)],
        "d": {f"k{n}": "v" * 300},
    }


def _next(line: Line, n: int) -> Any:
    """Return the arguments of a put after a line's last checkpoint, to be given again and again."""
    made = checkpoint(_state(n), dict.fromkeys(_state(n), n), after=line.at)
    told = {"source": "loop", "step": n, "parents": {}, "run_id": f"run {n} of {line.thread_id}"}
    return line.config(line.at), made, told, {}


def _put(memory: Memory, drive: Drive, name: str, put: Any) -> None:
    drive(memory.checkpointer.put, *put)


def _put_again(memory: Memory, drive: Drive, name: str, put: Any) -> None:
    """Put the second checkpoint again with other content."""
    _parent, made, told, versions = put
    middle = Line(memory, name, drive=drive).tuples()[1]
    made = {**made, "id": middle.checkpoint["id"]}
    drive(memory.checkpointer.put, middle.parent_config, made, told, versions)


def _put_aside(memory: Memory, drive: Drive, name: str, put: Any) -> None:
    """Put on the first checkpoint, so that a branch begins."""
    _parent, *rest = put
    drive(memory.checkpointer.put, config(name, Line(memory, name, drive=drive).ids()[-1]), *rest)


def _put_inside(memory: Memory, drive: Drive, name: str, put: Any) -> None:
    drive(memory.checkpointer.put, config(name, None, "new namespace"), *put[1:])


def _write(memory: Memory, drive: Drive, name: str, put: Any) -> None:
    place = config(name, put[1]["id"])
    writes = [("messages", put[1]["channel_values"]["messages"]), ("new channel of " + name, "x" * 300)]
    drive(memory.checkpointer.put_writes, place, writes, "task", "~__pregel_pull, model")


def _interrupt(memory: Memory, drive: Drive, name: str, put: Any) -> None:
    drive(memory.checkpointer.put_writes, put[0], [("__interrupt__", ["?" * 300])], "task 0")


def _append(memory: Memory, drive: Drive, name: str, put: Any) -> None:
    drive(memory.threads.get(name).append, [HumanMessage("by hand", id="by hand"), AIMessage("new", id="h0")])


def _update(memory: Memory, drive: Drive, name: str, put: Any) -> None:
    drive(memory.threads.get(name).update, title="another", metadata={"k": 2, "l": [1]})


def _record_usage(memory: Memory, drive: Drive, name: str, put: Any) -> None:
    sent = [SystemMessage("rules"), *put[1]["channel_values"]["messages"]]
    usage = {"input_tokens": 5, "output_tokens": 2}
    drive(memory.record_usage, name, usage, call_id="call", messages=sent, tools=[{"name": "f"}])


def _delete_messages(memory: Memory, drive: Drive, name: str, put: Any) -> None:
    drive(memory.threads.get(name).delete_messages, ["h0"])


ACTIONS: dict[str, Action] = {
    "first put": Action(_empty, _put),
    "put": Action(_filled, _put),
    "put again": Action(_filled, _put_again),
    "put aside": Action(_filled, _put_aside),
    "put in a namespace": Action(_filled, _put_inside),
    "early write": Action(_empty, _write),
    "write": Action(_filled, _write),
    "interrupt": Action(_filled, _interrupt),
    "first append": Action(_empty, _append),
    "append": Action(_filled, _append),
    "fork": Action(_filled, lambda m, drive, name, put: drive(m.threads.get(name).fork, before="h1")),
    "update": Action(_filled, _update),
    "prune": Action(_filled, lambda m, drive, name, put: drive(m.threads.prune, [name])),
    "prune all": Action(
        _filled, lambda m, drive, name, put: drive(m.threads.prune, [name], strategy="delete")
    ),
    "delete": Action(_filled, lambda m, drive, name, put: drive(m.threads.get(name).delete)),
    "delete for runs": Action(
        _filled, lambda m, drive, name, put: drive(m.checkpointer.delete_for_runs, [f"run 3 of {name}"])
    ),
    "record usage": Action(_filled, _record_usage),
    "pin": Action(_filled, lambda m, drive, name, put: drive(m.threads.get(name).pin, "h0")),
    "delete messages": Action(_filled, _delete_messages),
    "copy": Action(_filled, lambda m, drive, name, put: drive(m.threads.copy, name, f"copy of {name}")),
}
"""Everything that changes the storage."""


class CrashContract(Harness):
    """Operations that are stopped half-way."""

    @needs("sql")
    @pytest.mark.parametrize("what", list(ACTIONS))
    def test_stopped_before_any_statement(
        self, memory: Memory, store: Store, drive: Drive, what: str
    ) -> None:
        """The storage is as before, for this memory and for others, and a retry does what the first try would."""
        prepare, act = ACTIONS[what]
        act(memory, drive, "whole", prepare(memory, drive, "whole"))
        expected = [shown(memory, name) for name in ("whole", "copy of whole")]
        driver = CrashingDriver.around(memory)
        readers = [memory, *([store.open()] if self.capabilities.shared else [])]
        stopped = True
        number = 0
        while stopped:
            number += 1
            name = f"stopped before {number}"
            ready = prepare(memory, drive, name)
            before, told = self.dump(memory), [shown(reader, name) for reader in readers]
            driver.stop_before(number)
            stopped = _stops(act, memory, drive, name, ready)
            # What was stopped while it read its own answer had been done.
            half = stopped and (driver.writing[-1] or not any(driver.writing))
            driver.watch()
            if half:
                assert self.dump(memory) == before, number
                for reader, known in zip(readers, told, strict=True):
                    assert difference(shown(reader, name), known) is None, number
                act(memory, drive, name, ready)
            for reader in readers:
                found = [shown(reader, thread) for thread in (name, f"copy of {name}")]
                assert difference(renamed(found, name, "whole"), expected) is None, number
            assert memory.doctor() == ()
            for thread in (name, f"copy of {name}"):
                memory.threads.delete(thread)
        assert number > 3

    @pytest.mark.parametrize("what", ["put", "write", "append", "prune", "delete"])
    def test_interrupted_before_any_statement(self, memory: Memory, what: str) -> None:
        """Ctrl-C in the middle of a call: it was done or it was not, and whatever follows works."""
        drive = Drive("sync")
        prepare, act = ACTIONS[what]
        act(memory, drive, "whole", prepare(memory, drive, "whole"))
        expected = shown(memory, "whole")
        driver = CrashingDriver.around(memory)
        stopped = True
        number = 0
        while stopped:
            number += 1
            name = f"interrupted before {number}"
            ready = prepare(memory, drive, name)
            before = shown(memory, name)
            driver.stop_before(number, KeyboardInterrupt)
            stopped = _stops(act, memory, drive, name, ready)
            driver.watch()
            now = shown(memory, name)
            assert (
                difference(now, before) is None or difference(renamed(now, name, "whole"), expected) is None
            )
            if what != "append" or difference(now, before) is None:
                act(memory, drive, name, ready)
            assert difference(renamed(shown(memory, name), name, "whole"), expected) is None
            assert memory.doctor() == ()
        assert number > 3

    def test_reading_stopped_before_any_statement(self, memory: Memory, drive: Drive) -> None:
        """A call that reads can be repeated, whichever of its statements failed."""
        _filled(memory, drive, "t")
        _filled(memory, drive, "u")
        driver = CrashingDriver.around(memory)
        thread, saver = memory.threads.get("t"), memory.checkpointer
        reads: list[Callable[[], Any]] = [
            lambda: drive(thread.info),
            lambda: drive(thread.state),
            lambda: drive(thread.messages),
            lambda: drive(thread.history),
            lambda: drive(thread.branches),
            lambda: drive(thread.calls),
            lambda: drive(memory.threads.list),
            lambda: drive(memory.threads.stats, "t"),
            lambda: drive(memory.threads.prune, dry_run=True),
            lambda: [found.checkpoint for found in drive(saver.list, None)],
            lambda: drive(saver.get_tuple, Line(memory, run=True).config()).checkpoint,
            lambda: drive(memory.stats),
            lambda: drive(memory.doctor),
        ]
        for n, read in enumerate(reads):
            driver.watch()
            expected = read()
            for number in range(1, len(driver.statements) + 1):
                memory._engine.threads.drop_all()
                driver.stop_before(number)
                try:
                    read()
                except Crash:
                    driver.watch()
                    assert_same(read(), expected)
                else:
                    assert number > 1, f"read {n} looked at nothing"

    def test_one_of_many_writes_fails(self, memory: Memory) -> None:
        """Writes that are committed together do not fall together: one fails at most, the others are stored."""
        driver = CrashingDriver.around(memory)
        saver: Any = memory.checkpointer

        async def main(number: int) -> None:
            puts = [_next(Line(memory, f"{number} {n}"), 1) for n in range(5)]
            driver.stop_before(number)
            outcomes = await asyncio.gather(*(saver.aput(*put) for put in puts), return_exceptions=True)
            driver.watch()
            failed = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, Crash)]
            assert len(failed) <= 1
            assert all(isinstance(outcome, dict | Crash) for outcome in outcomes)
            for n, put in enumerate(puts):
                assert memory.threads.get(f"{number} {n}").exists() is (n not in failed)
                await saver.aput(*put)
                assert len(Line(memory, f"{number} {n}").ids()) == 1

        for number in range(1, 40, 2):
            asyncio.run(main(number))

    def test_an_input_that_could_not_be_stored_is_told(self, memory: Memory, drive: Drive) -> None:
        """A put that returns early fails at the run's next call, or at close; a retry stores it."""
        driver = CrashingDriver.around(memory)
        for number in range(1, 9):
            line = Line(memory, f"t{number}", drive=drive, run=True)
            driver.stop_before(number, only_writes=True)
            at = line.put({"__start__": {"messages": []}}, source="input")
            try:
                line.put({"a": 1})
            except Crash:
                driver.watch()
                line.at = None
                line.put({"__start__": {"messages": []}}, source="input", checkpoint_id=at)
                line.put({"a": 1})
            driver.watch()
            assert line.ids()[1:] == [at]
        line = Line(memory, "last", drive=drive, run=True)
        driver.stop_before(3, only_writes=True)
        line.put({"__start__": 1}, source="input")
        with pytest.raises(Crash):
            drive(memory.close)
        assert memory.closed


def _stops(act: Callable[..., Any], *arguments: Any) -> bool:
    """Do something, and return whether it was stopped half-way."""
    try:
        act(*arguments)
    except (Crash, KeyboardInterrupt):
        return True
    return False
