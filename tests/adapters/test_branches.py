"""Parallel branches: `Send`, order of writes, failures and what is not run again."""

from __future__ import annotations

import asyncio
import operator
import threading
import time
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.errors import GraphRecursionError, NodeError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, RetryPolicy, Send

from .kit import Counted, Drive, Log, thread


class Work(TypedDict, total=False):
    items: list[Any]
    item: Any
    log: Annotated[list[Any], operator.add]


def fan(node: Any, saver: Any, **options: Any) -> Any:
    graph = StateGraph(Work)
    graph.add_node("split", lambda state: {"log": ["split"]})
    graph.add_node("work", node)
    graph.add_node("join", lambda state: {"log": [f"join {len(state['log'])}"]})
    graph.add_edge(START, "split")
    graph.add_conditional_edges(
        "split", lambda state: [Send("work", {"item": item}) for item in state["items"]], ["work"]
    )
    graph.add_edge("work", "join")
    return graph.compile(checkpointer=saver, **options)


def wide(saver: Any, *nodes: Counted, **options: Any) -> Any:
    """A graph whose nodes all run in the same step."""
    graph = StateGraph(Log)
    for node in nodes:
        graph.add_node(node.name, node, **options)
        graph.add_edge(START, node.name)
    return graph.compile(checkpointer=saver)


def test_send_fans_out_and_joins_in_order(saver: Any, drive: Drive) -> None:
    graph = fan(lambda state: {"log": [state["item"]]}, saver)
    items = [f"item {n}" for n in range(12)]
    result = drive(graph.invoke, {"items": items}, thread())
    assert result["log"] == ["split", *items, "join 13"]
    assert drive(graph.get_state, thread()).values["log"] == result["log"]


def test_sends_are_kept_in_the_checkpoint_that_made_them(saver: Any, drive: Drive) -> None:
    graph = fan(lambda state: {"log": [state["item"]]}, saver, interrupt_before=["work"])
    values = [{"n": 1, "nested": {"a": [1, 2]}}, "two", None, 3.5]
    drive(graph.invoke, {"items": values}, thread())
    paused = drive(graph.get_state, thread())
    assert paused.next == ("work",) * 4
    drive(graph.invoke, None, thread())
    assert drive(graph.get_state, thread()).values["log"] == ["split", *values, "join 5"]


@pytest.mark.stricter
def test_a_tuple_inside_a_send_stays_a_tuple(saver: Any, drive: Drive) -> None:
    graph = fan(lambda state: {"log": [state["item"]]}, saver, interrupt_before=["work"])
    drive(graph.invoke, {"items": [(1, (2, [3]))]}, thread())
    drive(graph.invoke, None, thread())
    assert repr(drive(graph.get_state, thread()).values["log"][1]) == "(1, (2, [3]))"


def test_writes_of_one_step_apply_by_task_path_not_by_time(saver: Any) -> None:
    """`writes_sort_key`: the order in which tasks finish does not show."""
    order: list[str] = []

    async def slow(state: Any) -> dict[str, Any]:
        await asyncio.sleep(0.03)
        order.append("a")
        return {"log": ["a"]}

    async def quick(state: Any) -> dict[str, Any]:
        order.append("b")
        return {"log": ["b"]}

    graph = StateGraph(Log)
    graph.add_node("a", slow)
    graph.add_node("b", quick)
    graph.add_edge(START, "a")
    graph.add_edge(START, "b")
    app = graph.compile(checkpointer=saver)
    result = asyncio.run(app.ainvoke({"log": []}, thread()))
    assert (order, result["log"]) == (["b", "a"], ["a", "b"])
    assert app.get_state(thread()).values["log"] == ["a", "b"]


def test_finished_siblings_of_a_failed_task_do_not_run_again(saver: Any, drive: Drive) -> None:
    broken = [True]

    def bad(state: Any) -> dict[str, Any]:
        """Fail once what the siblings wrote is stored, which happens before the step ends."""
        if broken:
            broken.clear()
            stored: set[Any] = set()
            deadline = time.monotonic() + 10
            while not {"good", "other"} <= stored and time.monotonic() < deadline:
                time.sleep(0.002)
                found = saver.get_tuple(thread())  # None while the input is on its way
                pending = found.pending_writes if found else []
                stored = {value[0] for _, channel, value in pending if channel == "log"}
            raise ValueError("bad failed")
        return {"log": ["bad"]}

    good, other = Counted("good"), Counted("other")
    graph = StateGraph(Log)
    for name, node in (("bad", bad), ("good", good), ("other", other)):
        graph.add_node(name, node)
        graph.add_edge(START, name)
    app = graph.compile(checkpointer=saver)
    with pytest.raises(ValueError, match="bad failed"):
        drive(app.invoke, {"log": []}, thread())
    failed = drive(app.get_state, thread())
    assert failed.next == ("bad",)
    assert "bad failed" in repr([task.error for task in failed.tasks])
    assert drive(app.invoke, None, thread())["log"] == ["bad", "good", "other"]
    assert (good.runs, other.runs) == (1, 1)


def test_writes_of_a_failed_step_are_pending_until_it_is_repeated(saver: Any, drive: Drive) -> None:
    started = threading.Event()

    def good(state: Any) -> dict[str, Any]:
        started.set()
        return {"log": ["good"]}

    def bad(state: Any) -> dict[str, Any]:
        assert started.wait(5)
        raise KeyError("key")

    graph = StateGraph(Log)
    graph.add_node("good", good)
    graph.add_node("bad", bad)
    graph.add_edge(START, "good")
    graph.add_edge(START, "bad")
    app = graph.compile(checkpointer=saver)
    with pytest.raises(KeyError):
        drive(app.invoke, {"log": ["start"]}, thread())
    stored = drive(saver.get_tuple, thread())
    channels = [channel for _, channel, _ in stored.pending_writes]
    assert "__error__" in channels
    error = next(value for _, channel, value in stored.pending_writes if channel == "__error__")
    assert "KeyError" in repr(error)
    assert stored.checkpoint["channel_values"]["log"] == ["start"]
    (task,) = [t for t in drive(app.get_state, thread()).tasks if t.name == "bad"]
    assert "KeyError" in str(task.error)


def test_a_new_input_discards_the_failed_step(saver: Any, drive: Drive) -> None:
    bad = Counted("bad", fail=1)
    graph = wide(saver, bad)
    with pytest.raises(ValueError):
        drive(graph.invoke, {"log": ["first"]}, thread())
    result = drive(graph.invoke, {"log": ["second"]}, thread())
    assert result["log"] == ["first", "second", "bad"]


def test_retries_leave_one_set_of_writes(saver: Any, drive: Drive) -> None:
    policy = RetryPolicy(initial_interval=0.001, max_attempts=4, jitter=False, retry_on=OSError)
    flaky = Counted("flaky", fail=3, error=OSError)
    graph = wide(saver, flaky, Counted("steady"), retry_policy=policy)
    result = drive(graph.invoke, {"log": []}, thread())
    assert (result["log"], flaky.runs) == (["flaky", "steady"], 4)
    channels = [c for s in drive(saver.list, thread()) for _, c, _ in s.pending_writes]
    assert "__error__" not in channels
    assert channels.count("log") == 3  # the input and the two nodes


def test_an_error_handler_goes_on_with_the_thread(saver: Any, drive: Drive) -> None:
    handled: list[str] = []

    def repair(state: Log, error: NodeError) -> Command[Any]:
        handled.append(str(error.error))
        return Command(update={"log": [f"repaired {error.node}"]}, goto=END)

    graph = StateGraph(Log)
    graph.add_node("bad", Counted("bad", fail=99), error_handler=repair)
    graph.add_edge(START, "bad")
    app = graph.compile(checkpointer=saver)
    result = drive(app.invoke, {"log": []}, thread())
    assert (result["log"], handled) == (["repaired bad"], ["bad failed"])
    assert drive(app.get_state, thread()).next == ()


def test_recursion_limit_leaves_a_thread_that_can_go_on(saver: Any, drive: Drive) -> None:
    graph = StateGraph(Log)
    graph.add_node("step", lambda state: {"log": [len(state["log"])]})
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda s: "step" if len(s["log"]) < 6 else END, ["step", END])
    app = graph.compile(checkpointer=saver)
    with pytest.raises(GraphRecursionError):
        drive(app.invoke, {"log": []}, {**thread(), "recursion_limit": 3})
    assert drive(app.get_state, thread()).next == ("step",)
    assert drive(app.invoke, None, thread())["log"] == [0, 1, 2, 3, 4, 5]


def test_command_goto_and_update(saver: Any, drive: Drive) -> None:
    graph = StateGraph(Log)
    graph.add_node("a", lambda s: Command(update={"log": ["a"]}, goto=["b", Send("c", {"x": 1})]))
    graph.add_node("b", lambda state: {"log": ["b"]})
    graph.add_node("c", lambda state: {"log": [f"c{state['x']}"]})
    graph.add_edge(START, "a")
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, {"log": []}, thread())
    assert drive(app.get_state, thread()).values["log"] == ["a", "b", "c1"]


def test_waiting_edges_and_deferred_nodes(saver: Any, drive: Drive) -> None:
    graph = StateGraph(Log)
    for name in ("a", "b", "b2", "join", "last"):
        graph.add_node(name, Counted(name), defer=name == "last")
    graph.add_edge(START, "a")
    graph.add_edge(START, "b")
    graph.add_edge("b", "b2")
    graph.add_edge(["a", "b2"], "join")
    graph.add_edge("a", "last")
    app = graph.compile(checkpointer=saver, interrupt_after=["a", "b2"])
    drive(app.invoke, {"log": []}, thread())
    rounds = 1
    while drive(app.get_state, thread()).next:
        drive(app.invoke, None, thread())
        rounds += 1
    log = drive(app.get_state, thread()).values["log"]
    assert log == ["a", "b", "b2", "join", "last"]
    assert rounds == 3


def test_a_cancelled_run_can_be_resumed(saver: Any) -> None:
    gate: list[bool] = []
    finished = Counted("finished")

    async def blocked(state: Any) -> dict[str, Any]:
        if not gate:
            gate.append(True)
            await asyncio.sleep(60)
        return {"log": ["blocked"]}

    graph = StateGraph(Log)
    graph.add_node("finished", finished)
    graph.add_node("blocked", blocked)
    graph.add_edge(START, "finished")
    graph.add_edge("finished", "blocked")
    app = graph.compile(checkpointer=saver)

    async def main() -> Any:
        task = asyncio.create_task(app.ainvoke({"log": []}, thread(), durability="sync"))
        while not gate:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await app.aget_state(thread())).next == ("blocked",)
        return await app.ainvoke(None, thread())

    assert asyncio.run(main())["log"] == ["finished", "blocked"]
    assert finished.runs == 1


def test_max_concurrency_one(saver: Any, drive: Drive) -> None:
    """A waiting write must not hold the only worker that would end its wait."""
    graph = fan(lambda state: {"log": [state["item"]]}, saver)
    config = {**thread(), "max_concurrency": 1}
    result = drive(graph.invoke, {"items": list(range(6))}, config)
    assert result["log"] == ["split", 0, 1, 2, 3, 4, 5, "join 7"]
    assert drive(graph.get_state, thread()).values["log"] == result["log"]


@pytest.mark.parametrize("mode", ["sync", "async", "exit"])
def test_runs_cancelled_at_any_moment(saver: Any, mode: str) -> None:
    """Whatever had become of its puts: the thread is whole, and goes on."""

    async def step(state: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"log": [len(state["log"])]}

    graph = StateGraph(Log)
    for before, name in ((START, "a"), ("a", "b"), ("b", "c")):
        graph.add_node(name, step)
        graph.add_edge(before, name)
    app = graph.compile(checkpointer=saver)

    async def main() -> None:
        for n in range(16):
            run = asyncio.create_task(app.ainvoke({"log": [f"in {n}"]}, thread(), durability=mode))
            await asyncio.sleep(n * 0.0007)
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
            log = (await app.aget_state(thread())).values.get("log", [])
            assert [entry for at, entry in enumerate(log) if isinstance(entry, int) and entry != at] == []
        if mode == "async":
            # LangGraph leaves puts of a cancelled run in flight: another writer, for a moment.
            await asyncio.sleep(0.4)
        before = (await app.aget_state(thread())).values.get("log", [])
        result = await app.ainvoke({"log": ["last"]}, thread(), durability=mode)
        at = len(before)
        assert result["log"] == [*before, "last", at + 1, at + 2, at + 3]
        assert (await app.aget_state(thread())).values == result

    asyncio.run(main())
