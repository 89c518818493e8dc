"""A thread with a lively past is the same after reopening, copying and pruning."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

import threadkeep

from .kit import Drive, echo, human, texts, thread
from .test_differential import Walk, build_flow, record

pytestmark = [pytest.mark.stricter, pytest.mark.crosswise]


def walked(drive: Drive, memory: Any, seed: int) -> tuple[Any, list[Any]]:
    """A graph whose thread `t` was forked, resumed, failed and edited, and the record of it."""
    app = build_flow(memory.checkpointer)
    Walk(drive, seed, steps=8)(app)
    return app, record(drive, app, memory.checkpointer, thread())


def rows(memory: Any, thread_id: str) -> int:
    """How many rows a thread has, in all tables."""
    return sum(stats.rows for stats in memory.stats() if stats.thread_id == thread_id)


@pytest.mark.on_file
@pytest.mark.parametrize("seed", range(20, 24))
def test_reopened(memory: Any, url: str, drive: Drive, seed: int) -> None:
    """What one process kept in mind is what another reads from the rows."""
    _, before = walked(drive, memory, seed)
    with threadkeep.open(url, create=False) as other:
        app = build_flow(other.checkpointer)
        assert record(drive, app, other.checkpointer, thread()) == before
        drive(app.invoke, {"messages": ["on"], "log": ["on"]}, thread())
        grown = record(drive, app, other.checkpointer, thread())
        assert grown[: len(before)] == before
    # The first one notices what the other wrote.
    assert record(drive, build_flow(memory.checkpointer), memory.checkpointer, thread()) == grown


class Turns:
    """Graphs of several processes that take turns, at random, on the same file."""

    def __init__(self, seed: int, *apps: Any) -> None:
        self.dice, self.apps, self.flow = random.Random(seed), apps, apps[0].flow

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dice.choice(self.apps), name)


@pytest.mark.on_file
@pytest.mark.parametrize("seed", range(60, 66))
def test_processes_take_turns(memory: Any, url: str, drive: Drive, seed: int) -> None:
    """What each keeps in mind of a thread is used only while it is what the file says."""
    walk, reference = Walk(drive, seed, steps=9), InMemorySaver()
    alone = build_flow(reference)
    walk(alone)
    with threadkeep.open(url) as second, threadkeep.open(url) as third:
        first = build_flow(memory.checkpointer)
        others = [first.flow.compiled(each.checkpointer) for each in (second, third)]
        walk(Turns(seed, first, *others))
        expected = record(drive, alone, reference, thread())
        for app in (first, *others):
            assert record(drive, app, app.checkpointer, thread()) == expected


@pytest.mark.on_file
def test_names_that_another_process_added(memory: Any, url: str, drive: Drive) -> None:
    config = thread("t", checkpoint_ns="")
    task = "00000000-0000-0000-0000-000000000001"
    with threadkeep.open(url) as other:
        for n in range(3):
            checkpoint = empty_checkpoint()
            at = drive(memory.checkpointer.put, config, checkpoint, {"source": "loop", "step": n}, {})
            drive(other.checkpointer.put_writes, at, [("a channel", n)], task, "a path")
            found = drive(memory.checkpointer.get_tuple, at)
            assert found.pending_writes == [(task, "a channel", n)]


@pytest.mark.on_file
def test_a_conversation_held_by_three_processes(memory: Any, url: str, drive: Drive) -> None:
    """Each goes on with the list that another one made longer, and a fourth reads it."""
    with threadkeep.open(url) as second, threadkeep.open(url) as third:
        agents = [create_agent(echo(), checkpointer=m.checkpointer) for m in (memory, second, third)]
        said: list[str] = []
        for turn in range(18):
            agent = agents[(turn * turn + turn // 5) % 3]
            result = drive(agent.invoke, human(f"m{turn}"), thread())
            said += [f"m{turn}", f"{2 * turn + 1}: m{turn}"]
            assert texts(result["messages"]) == said
            with threadkeep.open(url) as reader:
                assert texts(drive(reader.threads.get("t").messages)) == said
                fresh = create_agent(echo(), checkpointer=reader.checkpointer)
                assert texts(drive(fresh.get_state, thread()).values["messages"]) == said


@pytest.mark.on_file
def test_a_copy_made_with_numbers_that_were_claimed_long_ago(memory: Any, url: str, drive: Drive) -> None:
    """Then a list is stored under a smaller number than the one that it is a change of."""
    with threadkeep.open(url) as other:
        mine, theirs = (create_agent(echo(), checkpointer=m.checkpointer) for m in (memory, other))
        drive(theirs.invoke, human("first"), thread())
        drive(mine.invoke, human("second"), thread())
        for n in range(5):
            drive(theirs.invoke, human(f"more {n}"), thread())
        for place in range(1, 18, 3):
            origin = drive(theirs.get_state_history, thread())[place]
            drive(mine.update_state, origin.config, None, as_node="__copy__")
            for app in (mine, theirs):
                assert drive(app.get_state, thread()).values == origin.values
            with threadkeep.open(url) as reader:
                fresh = create_agent(echo(), checkpointer=reader.checkpointer)
                assert drive(fresh.get_state, thread()).values == origin.values


@pytest.mark.parametrize("seed", range(30, 34))
def test_copied(memory: Any, drive: Drive, seed: int) -> None:
    app, before = walked(drive, memory, seed)
    saver = memory.checkpointer
    drive(saver.copy_thread, "t", "copy")
    assert record(drive, app, saver, thread("copy")) == before
    drive(app.invoke, {"messages": ["only in the copy"], "log": []}, thread("copy"))
    assert record(drive, app, saver, thread()) == before
    assert texts(drive(memory.threads.get("copy").messages))[: len(before)]
    drive(saver.delete_thread, "t")
    assert rows(memory, "t") == 0
    copied = record(drive, app, saver, thread("copy"))
    assert copied[: len(before)] == before
    with pytest.raises(threadkeep.ConfigurationError, match="copy"):
        drive(saver.copy_thread, "copy", "copy")


@pytest.mark.parametrize("seed", range(40, 44))
def test_pruned_to_the_head(memory: Any, drive: Drive, seed: int) -> None:
    app, before = walked(drive, memory, seed)
    saver = memory.checkpointer
    head, transcript = drive(app.get_state, thread()), drive(memory.threads.get("t").messages)
    kept_rows = rows(memory, "t")
    report = drive(saver.prune, ["t"], strategy="keep_latest", dry_run=True)
    assert (report.dry_run, record(drive, app, saver, thread())) == (True, before)
    done = drive(saver.prune, ["t"], strategy="keep_latest")
    assert (done.checkpoints, done.dry_run) == (report.checkpoints, False)
    assert rows(memory, "t") < kept_rows
    (stored,) = drive(app.get_state_history, thread())
    left = drive(app.get_state, thread())
    assert (left.values, left.next, left.config) == (head.values, head.next, head.config)
    assert (left.tasks, left.interrupts) == (head.tasks, head.interrupts)
    assert drive(memory.threads.get("t").messages) == transcript
    result = drive(app.invoke, {"messages": ["on"], "log": ["on"]}, thread())
    log = stored.values.get("log", [])  # without what unfinished tasks wrote: a new input drops those
    assert result["log"][: len(log) + 1] == [*log, "on"]


@pytest.mark.parametrize("keep", [1, 3, 8, 1000])
def test_pruned_to_the_last_n(memory: Any, drive: Drive, keep: int) -> None:
    app, _ = walked(drive, memory, 50)
    states = drive(app.get_state_history, thread())
    drive(memory.checkpointer.prune, ["t"], keep_last=keep)
    left = drive(app.get_state_history, thread())
    assert [(s.values, s.next, s.config) for s in left] == [
        (s.values, s.next, s.config) for s in states[:keep]
    ]


def test_pruned_by_age(memory: Any, drive: Drive) -> None:
    app, before = walked(drive, memory, 51)
    drive(memory.checkpointer.prune, ["t"], older_than=timedelta(hours=1))
    assert record(drive, app, memory.checkpointer, thread()) == before
    drive(memory.checkpointer.prune, ["t"], older_than=timedelta(0))
    assert len(drive(app.get_state_history, thread())) == 1


def test_pruning_what_is_not_there(memory: Any, drive: Drive) -> None:
    assert drive(memory.checkpointer.prune, ["nobody"]).checkpoints == 0
    drive(memory.checkpointer.prune, [])
    with pytest.raises(ValueError, match="strategy"):
        drive(memory.checkpointer.prune, ["t"], strategy="keep_some")


def test_deleting_leaves_no_row(memory: Any, drive: Drive) -> None:
    app, _ = walked(drive, memory, 52)
    agent = create_agent(echo(), checkpointer=memory.checkpointer)
    drive(agent.invoke, human("hi"), thread("neighbour"))
    drive(memory.checkpointer.delete_thread, "t")
    drive(memory.checkpointer.delete_thread, "t")
    assert rows(memory, "t") == 0
    assert drive(memory.checkpointer.list, thread()) == []
    assert drive(app.get_state, thread()).values == {}
    assert texts(drive(agent.get_state, thread("neighbour")).values["messages"]) == ["hi", "1: hi"]


@pytest.mark.parametrize("victim", range(4))
def test_runs_deleted_one_by_one(memory: Any, drive: Drive, victim: int) -> None:
    agent = create_agent(echo(), checkpointer=memory.checkpointer)
    for n in range(4):
        drive(agent.invoke, human(f"m{n}", f"h{n}"), {**thread(), "metadata": {"run_id": f"r{n}"}})
    states = drive(agent.get_state_history, thread())
    drive(memory.checkpointer.delete_for_runs, [f"r{victim}", "unknown"])
    left = drive(agent.get_state_history, thread())
    kept = [s for s in states if s.metadata["run_id"] != f"r{victim}"]
    assert [(s.values, s.config) for s in left] == [(s.values, s.config) for s in kept]
    last = texts(left[0].values["messages"])
    result = drive(agent.invoke, human("on"), thread())
    assert texts(result["messages"])[: len(last)] == last
