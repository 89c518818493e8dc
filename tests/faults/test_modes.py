"""What a kill costs in each durability mode, at known moments."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph

import threadkeep
from tests.faults import kit
from threadkeep.testing.checkpoints import Line

MODES = ["sync", "async", "exit"]
# Longer than the 2 ms that a queued write waits, and than a commit on a busy disk.
SETTLED = 0.5


class Log(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


class Steps:
    """Nodes that log their names; the one named by `last` kills the process, after a pause."""

    def __init__(self, last: str = "", pause: float = 0.0) -> None:
        self.last = last
        self.pause = pause
        self.ran: list[str] = []

    def __call__(self, name: str) -> Any:
        def node(state: Log) -> Log:
            self.ran.append(name)
            if name == self.last:
                time.sleep(self.pause)
                kit.die()
            return {"log": [name]}

        return node


def row(steps: Steps, saver: Any) -> Any:
    """START, a, b, c, one after the other."""
    graph = StateGraph(Log)
    for before, name in ((START, "a"), ("a", "b"), ("b", "c")):
        graph.add_node(name, steps(name))
        graph.add_edge(before, name)
    return graph.compile(checkpointer=saver)


def fan(steps: Steps, saver: Any) -> Any:
    """Three nodes side by side."""
    graph = StateGraph(Log)
    for name in ("a", "b", "c"):
        graph.add_node(name, steps(name))
        graph.add_edge(START, name)
    return graph.compile(checkpointer=saver)


CONFIG: Any = {"configurable": {"thread_id": "t"}}


def cut_off(path: Path, build: Any, steps: Steps, mode: str) -> None:
    """Have one run end well, and another be killed."""

    def child() -> None:
        memory = threadkeep.open(kit.url(path))
        build(Steps(), memory.checkpointer).invoke({"log": ["first"]}, CONFIG, durability=mode)
        build(steps, memory.checkpointer).invoke({"log": ["second"]}, CONFIG, durability=mode)

    kit.killed(child)


FIRST = ["first", "a", "b", "c"]


@pytest.mark.parametrize("last", ["a", "b", "c"])
def test_sync_loses_the_running_step_alone(place: Path, last: str) -> None:
    """However soon the kill comes, the steps before it are stored, and the run goes on from there."""
    path = place / "threads.db"
    cut_off(path, row, Steps(last), "sync")
    done = ["a", "b", "c"][: "abc".index(last)]
    with threadkeep.open(kit.url(path)) as memory:
        assert memory.doctor() == ()
        steps = Steps()
        graph = row(steps, memory.checkpointer)
        state = graph.get_state(CONFIG)
        assert state.values["log"] == [*FIRST, "second", *done]
        assert state.next == (last,)
        assert graph.invoke(None, CONFIG)["log"] == [*FIRST, "second", "a", "b", "c"]
        assert steps.ran == ["a", "b", "c"]["abc".index(last) :]


@pytest.mark.parametrize("pause", [0.0, SETTLED])
@pytest.mark.parametrize("last", ["a", "b", "c"])
def test_async_loses_at_most_what_was_on_its_way(place: Path, last: str, pause: float) -> None:
    """A step is stored while the next one runs: with a moment's time nothing before the kill is lost."""
    path = place / "threads.db"
    cut_off(path, row, Steps(last, pause), "async")
    before = [*FIRST, "second", *"abc"[: "abc".index(last)]]
    with threadkeep.open(kit.url(path)) as memory:
        assert memory.doctor() == ()
        graph = row(Steps(), memory.checkpointer)
        found = graph.get_state(CONFIG).values["log"]
        assert found == (before if pause else before[: len(found)])
        assert len(found) >= len(FIRST)
        given = None if graph.get_state(CONFIG).tasks else {"log": ["second"]}
        assert graph.invoke(given, CONFIG)["log"] == [*FIRST, "second", "a", "b", "c"]


@pytest.mark.parametrize("pause", [0.0, SETTLED])
@pytest.mark.parametrize("build", [row, fan])
def test_exit_loses_the_run(place: Path, build: Any, pause: float) -> None:
    """Nothing of a run is stored before its end: its input is gone as well; runs before it are whole."""
    path = place / "threads.db"
    cut_off(path, build, Steps("c", pause), "exit")
    with threadkeep.open(kit.url(path)) as memory:
        assert memory.doctor() == ()
        steps = Steps()
        graph = build(steps, memory.checkpointer)
        state = graph.get_state(CONFIG)
        assert (state.values["log"], state.next) == (FIRST, ())
        assert len(list(graph.get_state_history(CONFIG))) == 1
        assert sorted(graph.invoke({"log": ["second"]}, CONFIG)["log"][4:]) == ["a", "b", "c", "second"]
        assert sorted(steps.ran) == ["a", "b", "c"]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_finished_tasks_of_the_running_step_are_kept(place: Path, mode: str) -> None:
    """Their results are pending writes, stored within milliseconds; only the killed task runs again."""
    path = place / "threads.db"
    cut_off(path, fan, Steps("c", SETTLED), mode)
    with threadkeep.open(kit.url(path)) as memory:
        assert memory.doctor() == ()
        steps = Steps()
        graph = fan(steps, memory.checkpointer)
        assert [t.name for t in graph.get_state(CONFIG).tasks if not t.result] == ["c"]
        assert sorted(graph.invoke(None, CONFIG)["log"][5:]) == ["a", "b", "c"]
        assert steps.ran == ["c"]


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_returned_is_kept(place: Path, mode: str) -> None:
    """Not even the next instruction after `invoke` costs anything of it."""
    path = place / "threads.db"

    def child() -> None:
        memory = threadkeep.open(kit.url(path))
        graph = row(Steps(), memory.checkpointer)
        for n in range(3):
            graph.invoke({"log": [str(n)]}, CONFIG, durability=mode)
        kit.die()

    kit.killed(child)
    with threadkeep.open(kit.url(path)) as memory:
        found = row(Steps(), memory.checkpointer).get_state(CONFIG)
        assert (found.values["log"], found.next) == ([x for n in range(3) for x in (str(n), *"abc")], ())
        assert memory.doctor() == ()


def test_an_append_that_returned_is_kept(place: Path) -> None:
    path = place / "threads.db"

    def child() -> None:
        kit.fill(threadkeep.open(kit.url(path)), count=3)
        kit.die()

    kit.killed(child)
    kit.sound(path, 3)


def test_a_deletion_that_returned_is_kept(place: Path) -> None:
    path = kit.made(place / "threads.db")

    def child() -> None:
        threadkeep.open(kit.url(path)).threads.delete("t")
        kit.die()

    kit.killed(child)
    with threadkeep.open(kit.url(path)) as memory:
        assert not memory.threads.get("t").exists()
        assert memory.doctor() == ()


def test_memory_keeps_nothing() -> None:
    with threadkeep.open("memory://") as memory:
        kit.fill(memory)
    with threadkeep.open("memory://") as memory:
        assert kit.texts(memory) == []


def test_a_deleted_text_is_in_no_byte(place: Path) -> None:
    """After a deletion and a compaction neither file nor log hold a word of it."""
    path = place / "threads.db"
    secret = "the swallow flies at midnight over pier seventeen"
    memory = threadkeep.open(kit.url(path))
    kit.fill(memory)
    memory.threads.get("spy").append([("user", secret), ("ai", f"Noted: {secret}.")])
    files = [path, Path(f"{path}-wal")]
    assert any(b"swallow" in file.read_bytes() for file in files)
    memory.threads.delete("spy")
    assert memory.compact().complete
    for file in files:
        assert not any(word.encode() in file.read_bytes() for word in ("swallow", "midnight", "spy"))
    memory.close()
    assert b"swallow" not in path.read_bytes()
    kit.sound(path, 5)


def test_a_deletion_gives_the_disk_back(place: Path) -> None:
    path = place / "threads.db"
    memory = threadkeep.open(kit.url(path))
    kit.fill(memory)
    for _ in range(20):
        memory.threads.get("big").append(("user", os.urandom(30_000).hex()))
    assert memory.size() > 1_000_000
    memory.threads.delete("big")
    memory.close()
    assert path.stat().st_size < 150_000
    kit.sound(path, 5)


def test_the_end_of_an_interpreter_stores_what_is_queued(place: Path) -> None:
    """A program that forgets to close loses nothing, be it the input of a run that was queued a moment ago."""
    path = place / "threads.db"
    program = (
        "import sys, threadkeep\n"
        "from threadkeep.testing.checkpoints import Line\n"
        "memory = threadkeep.open(sys.argv[1])\n"
        "line = Line(memory, run=True)\n"
        "print(line.put({'n': 1}), line.put({'__start__': 'x'}, source='input'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, kit.url(path)], capture_output=True, text=True, check=True
    )
    with threadkeep.open(kit.url(path)) as memory:
        assert Line(memory).ids() == done.stdout.split()[::-1]
        assert memory.doctor() == ()
    assert done.stderr == ""
