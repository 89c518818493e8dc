"""`sync`, `async` and `exit`: what is stored, and when."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.errors import GraphDrained
from langgraph.graph import START, StateGraph
from langgraph.runtime import RunControl
from langgraph.types import Command, interrupt

import threadkeep

from .kit import Counted, Drive, Log, echo, human, texts, thread

pytestmark = pytest.mark.crosswise

MODES = ["sync", "async", "exit"]


def row(saver: Any, *nodes: Any, **options: Any) -> Any:
    graph = StateGraph(Log)
    before = START
    for n, node in enumerate(nodes):
        graph.add_node(f"n{n}", node)
        graph.add_edge(before, f"n{n}")
        before = f"n{n}"
    return graph.compile(checkpointer=saver, **options)


@pytest.mark.parametrize("mode", MODES)
def test_how_many_checkpoints(saver: Any, drive: Drive, mode: str) -> None:
    graph = row(saver, Counted("a"), Counted("b"))
    for run in (1, 2, 3):
        drive(graph.invoke, {"log": [run]}, thread(), durability=mode)
        history = drive(graph.get_state_history, thread())
        assert len(history) == run * (1 if mode == "exit" else 4)
        assert history[0].values["log"] == [x for n in range(1, run + 1) for x in (n, "a", "b")]
        assert history[0].next == ()


@pytest.mark.parametrize("mode", MODES)
def test_modes_may_change_from_run_to_run(saver: Any, drive: Drive, mode: str) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    for turn, durability in enumerate([mode, "exit", "sync", "async", mode]):
        drive(agent.invoke, human(f"m{turn}"), thread(), durability=durability)
    messages = drive(agent.get_state, thread()).values["messages"]
    assert texts(messages)[::2] == [f"m{turn}" for turn in range(5)]


def test_sync_has_stored_a_step_before_the_next_begins(saver: Any) -> None:
    seen: list[list[int]] = []

    def look(state: Log) -> dict[str, Any]:
        stored = [t.metadata["step"] for t in saver.list(thread())]
        seen.append(stored)
        return {"log": [len(seen)]}

    graph = row(saver, look, look, look)
    graph.invoke({"log": []}, thread(), durability="sync")
    # The first node may start before the input checkpoint is durable; later ones find each step.
    assert seen[1][0] >= 1
    assert seen[2][0] >= 2


@pytest.mark.stricter
@pytest.mark.on_file
def test_sync_is_readable_by_another_connection(saver: Any, tmp_path: Path) -> None:
    counts: list[int] = []

    def look(state: Log) -> dict[str, Any]:
        other = sqlite3.connect(tmp_path / "threads.db")
        counts.append(other.execute("select count(*) from checkpoints").fetchone()[0])
        other.close()
        return {}

    row(saver, look, look, look).invoke({"log": ["x"]}, thread(), durability="sync")
    assert counts[1] >= 2
    assert counts[2] >= 3


def test_exit_stores_nothing_before_the_end(saver: Any, drive: Drive) -> None:
    counts: list[int] = []

    def look(state: Log) -> dict[str, Any]:
        counts.append(len(list(saver.list(thread()))))
        return {"log": ["x"]}

    graph = row(saver, look, look)
    drive(graph.invoke, {"log": []}, thread(), durability="exit")
    assert counts == [0, 0]
    (only,) = drive(graph.get_state_history, thread())
    assert only.metadata["step"] == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_failed_run_is_resumed(saver: Any, drive: Drive, mode: str) -> None:
    good, bad = Counted("good"), Counted("bad", fail=1)
    graph = row(saver, good, bad)
    with pytest.raises(ValueError):
        drive(graph.invoke, {"log": []}, thread(), durability=mode)
    state = drive(graph.get_state, thread())
    assert (state.values["log"], state.next) == (["good"], ("n1",))
    assert drive(graph.invoke, None, thread(), durability=mode)["log"] == ["good", "bad"]
    assert (good.runs, bad.runs) == (1, 2)


@pytest.mark.parametrize("mode", MODES)
def test_a_finished_sibling_is_kept_in_every_mode(saver: Any, drive: Drive, mode: str) -> None:
    good = Counted("good")
    graph = StateGraph(Log)
    graph.add_node("good", good)
    graph.add_node("ask", lambda state: {"log": [interrupt("?")]})
    graph.add_edge(START, "good")
    graph.add_edge(START, "ask")
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, {"log": []}, thread(), durability=mode)
    result = drive(app.invoke, Command(resume="ok"), thread(), durability=mode)
    assert (sorted(result["log"]), good.runs) == (["good", "ok"], 1)


@pytest.mark.parametrize("mode", MODES)
def test_a_drained_run_is_resumed(saver: Any, drive: Drive, mode: str) -> None:
    """As a server does that is told to stop: the step in progress ends, and nothing more begins."""
    control, last = RunControl(), Counted("last")

    def drain(state: Log) -> dict[str, Any]:
        control.request_drain("deploy")
        return {"log": ["drained"]}

    graph = row(saver, drain, last)
    with pytest.raises(GraphDrained, match="deploy"):
        drive(graph.invoke, {"log": []}, thread(), durability=mode, control=control)
    assert (drive(graph.get_state, thread()).next, last.runs) == (("n1",), 0)
    assert drive(graph.invoke, None, thread(), durability=mode)["log"] == ["drained", "last"]


@pytest.mark.parametrize("mode", MODES)
def test_the_same_run_id_goes_on_with_its_run(saver: Any, drive: Drive, mode: str) -> None:
    """LangGraph takes an input with the run id of the newest checkpoint for a reconnection."""
    graph = row(saver, Counted("good"), Counted("bad", fail=1))
    config = {**thread(), "metadata": {"run_id": "run-1"}}
    with pytest.raises(ValueError):
        drive(graph.invoke, {"log": ["in"]}, config, durability=mode)
    assert drive(graph.invoke, {"log": ["in"]}, config, durability=mode)["log"] == ["in", "good", "bad"]


@pytest.mark.parametrize("mode", MODES)
def test_an_abandoned_stream_keeps_what_was_done(saver: Any, mode: str) -> None:
    graph = row(saver, Counted("a"), Counted("b"), Counted("c"))
    stream = graph.stream({"log": []}, thread(), stream_mode="updates", durability=mode)
    next(stream)
    next(stream)
    stream.close()
    state = graph.get_state(thread())
    assert state.values["log"][:1] == ["a"]
    assert state.next
    assert graph.invoke(None, thread(), durability=mode)["log"] == ["a", "b", "c"]


@pytest.mark.parametrize("mode", MODES)
def test_an_abandoned_async_stream(saver: Any, mode: str) -> None:
    graph = row(saver, Counted("a"), Counted("b"), Counted("c"))

    async def main() -> None:
        stream = graph.astream({"log": []}, thread(), stream_mode="updates", durability=mode)
        await anext(stream)
        await anext(stream)
        await stream.aclose()
        state = await graph.aget_state(thread())
        assert state.values["log"][:1] == ["a"]
        assert state.next
        assert (await graph.ainvoke(None, thread(), durability=mode))["log"] == ["a", "b", "c"]

    asyncio.run(main())


@pytest.mark.parametrize("mode", MODES)
def test_a_replay_in_every_mode(saver: Any, drive: Drive, mode: str) -> None:
    graph = row(saver, Counted("a"), Counted("b"), Counted("c"))
    drive(graph.invoke, {"log": []}, thread(), durability="sync")
    middle = next(s for s in drive(graph.get_state_history, thread()) if s.next == ("n1",))
    for _ in range(2):
        result = drive(graph.invoke, None, middle.config, durability=mode)
        assert result["log"] == ["a", "b", "c"]
        assert drive(graph.get_state, thread()).values["log"] == ["a", "b", "c"]
    assert drive(graph.invoke, {"log": ["on"]}, thread(), durability=mode)["log"][3:] == [
        "on", "a", "b", "c",
    ]  # fmt: skip


@pytest.mark.stricter
@pytest.mark.on_file
@pytest.mark.parametrize("mode", MODES)
def test_everything_is_there_after_reopening(url: str, memory: Any, drive: Drive, mode: str) -> None:
    agent = create_agent(echo(), checkpointer=memory.checkpointer)
    for text in ("one", "two"):
        drive(agent.invoke, human(text), thread(), durability=mode)
    before = drive(agent.get_state_history, thread())
    memory.close()
    with threadkeep.open(url) as again:
        reopened = create_agent(echo(), checkpointer=again.checkpointer)
        after = drive(reopened.get_state_history, thread())
        assert [(s.values, s.next, s.metadata, s.config) for s in after] == [
            (s.values, s.next, s.metadata, s.config) for s in before
        ]
        more = drive(reopened.invoke, human("three"), thread(), durability=mode)
    assert texts(more["messages"])[-1] == "5: three"
