"""A second writer on a thread is told so, and nobody else is."""

from __future__ import annotations

import operator
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

import threadkeep
from threadkeep.errors import StaleRun

from .kit import Drive, Log, thread

pytestmark = [pytest.mark.stricter, pytest.mark.crosswise]

MODES = ["sync", "async", "exit"]


def elsewhere(call: Callable[[], Any]) -> None:
    """Run `call` as another program would: on a thread that shares no context with this one."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)

    worker = threading.Thread(target=run)
    worker.start()
    worker.join()
    if failures:
        raise failures[0]


def counting(saver: Any, hooks: dict[str, Callable[[], Any]] | None = None, **options: Any) -> Any:
    """Two nodes in a row; a hook runs once, in the node or the reducer it names."""
    hooks = {} if hooks is None else hooks

    def fire(place: str) -> None:
        if hook := hooks.pop(place, None):
            elsewhere(hook)

    def add(old: list[Any], new: list[Any]) -> list[Any]:
        fire("reducer")
        return [*old, *new]

    State = TypedDict("State", {"log": Annotated[list, add]})  # noqa: UP013

    def node(name: str) -> Any:
        def run(state: Any) -> dict[str, Any]:
            fire(name)
            return {"log": [f"{name}{len(state['log'])}"]}

        return run

    graph = StateGraph(State)
    graph.add_node("a", node("a"))
    graph.add_node("b", node("b"))
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    return graph.compile(checkpointer=saver, **options)


def stale() -> Any:
    return pytest.raises(StaleRun)


def log_of(drive: Drive, graph: Any, config: Any = None) -> list[Any]:
    return drive(graph.get_state, config or thread()).values["log"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", ["reducer", "a", "b"])
@pytest.mark.parametrize("empty", [True, False], ids=["new thread", "old thread"])
def test_a_run_that_was_overtaken(saver: Any, drive: Drive, mode: str, place: str, empty: bool) -> None:
    """Both loaded the same head: before its first put, between its puts, and before its last one."""
    lost: dict[str, StaleRun] = {}
    other = counting(saver)
    if not empty:
        drive(other.invoke, {"log": ["old"]}, thread())

    def run(name: str, call: Callable[[], Any]) -> None:
        try:
            call()
        except StaleRun as error:
            lost[name] = error

    hooks = {place: lambda: run("other", lambda: other.invoke({"log": ["other"]}, thread()))}
    graph = counting(saver, hooks)
    run("mine", lambda: drive(graph.invoke, {"log": ["mine"]}, thread(), durability=mode))
    assert not hooks
    ((loser, error),) = lost.items()
    # What was put is not always stored yet in "async", and then it is the other run that comes late.
    assert loser == "mine" or mode == "async"
    assert (error.thread_id, error.retryable) == ("t", True)
    assert error.expected != error.actual
    assert "'t'" in str(error)
    assert "\n" not in str(error)
    assert pickle.loads(pickle.dumps(error)).actual == error.actual
    # The winner's work is whole, and a second try of the loser adds to it.
    winner = "other" if loser == "mine" else "mine"
    won = log_of(drive, other)
    assert winner in won
    assert won[0] == ("old" if not empty else won[0])
    result = drive(graph.invoke, {"log": [loser]}, thread(), durability=mode)
    assert result["log"][: len(won) + 1] == [*won, loser]


def test_two_streams_on_one_head(saver: Any) -> None:
    graph = counting(saver)
    graph.invoke({"log": ["old"]}, thread())
    first = graph.stream({"log": ["first"]}, thread(), stream_mode="updates", durability="sync")
    next(first)
    second = graph.stream({"log": ["second"]}, thread(), stream_mode="updates", durability="sync")
    next(second)
    with stale():
        list(first)
    list(second)
    assert "first" in graph.get_state(thread()).values["log"]  # its steps before the other began
    assert graph.get_state(thread()).values["log"][-1].startswith("b")


def test_an_update_that_was_overtaken(saver: Any, drive: Drive) -> None:
    other = counting(saver)
    drive(other.invoke, {"log": ["old"]}, thread())
    hooks = {"reducer": lambda: other.invoke({"log": ["other"]}, thread())}
    graph = counting(saver, hooks)
    with stale():
        drive(graph.update_state, thread(), {"log": ["mine"]}, as_node="b")
    assert not hooks
    assert "mine" not in log_of(drive, other)
    drive(graph.update_state, thread(), {"log": ["mine"]}, as_node="b")
    assert log_of(drive, other)[-1] == "mine"


def test_a_run_that_an_update_overtook(saver: Any, drive: Drive) -> None:
    other = counting(saver)
    drive(other.invoke, {"log": ["old"]}, thread())
    hooks = {"a": lambda: other.update_state(thread(), {"log": ["corrected"]}, as_node="b")}
    with stale():
        drive(counting(saver, hooks).invoke, {"log": ["mine"]}, thread(), durability="sync")
    assert log_of(drive, other)[-1] == "corrected"


def test_a_fork_started_inside_a_run_makes_that_run_stale(saver: Any, drive: Drive) -> None:
    other = counting(saver)
    drive(other.invoke, {"log": ["old"]}, thread())
    origin = drive(other.get_state_history, thread())[1].config
    hooks = {"a": lambda: other.update_state(origin, {"log": ["forked"]}, as_node="a")}
    with stale():
        drive(counting(saver, hooks).invoke, {"log": ["mine"]}, thread(), durability="sync")


def test_a_parent_that_no_longer_exists(saver: Any, drive: Drive) -> None:
    other = counting(saver)
    drive(other.invoke, {"log": ["old"]}, thread())
    hooks = {"a": lambda: saver.delete_thread("t")}
    with stale():
        drive(counting(saver, hooks).invoke, {"log": ["mine"]}, thread(), durability="sync")


def test_other_threads_do_not_matter(saver: Any, drive: Drive) -> None:
    other = counting(saver)
    hooks = {place: lambda: other.invoke({"log": ["x"]}, thread("u")) for place in ("a", "b", "reducer")}
    graph = counting(saver, hooks)
    assert drive(graph.invoke, {"log": ["m"]}, thread(), durability="sync")["log"] == ["m", "a1", "b2"]


@pytest.mark.parametrize("mode", MODES)
def test_reading_during_a_run_is_no_second_writer(saver: Any, drive: Drive, mode: str) -> None:
    reader = counting(saver)

    def read() -> None:
        reader.get_state(thread())
        list(reader.get_state_history(thread()))

    graph = counting(saver, {"a": read, "b": read, "reducer": read})
    for _ in range(2):
        drive(graph.invoke, {"log": ["m"]}, thread(), durability=mode)


@pytest.mark.parametrize("mode", MODES)
def test_no_alarm_for_forks_and_replays(saver: Any, drive: Drive, mode: str) -> None:
    graph = counting(saver)
    for n in range(2):
        drive(graph.invoke, {"log": [n]}, thread(), durability="sync")
    history = drive(graph.get_state_history, thread())
    for state in history:
        drive(graph.invoke, None, state.config, durability=mode)  # replay
        drive(graph.invoke, {"log": ["new"]}, state.config, durability=mode)  # a new input there
        fork = drive(graph.update_state, state.config, {"log": ["fork"]}, as_node="a")
        drive(graph.invoke, None, fork, durability=mode)
        drive(graph.update_state, state.config, None, as_node="__copy__")
        drive(graph.invoke, {"log": ["on the head"]}, thread(), durability=mode)
    for state in history:
        assert drive(graph.get_state, state.config).values == state.values


@pytest.mark.parametrize("mode", MODES)
def test_no_alarm_for_a_resume_at_an_answered_checkpoint(saver: Any, drive: Drive, mode: str) -> None:
    graph = StateGraph(Log)
    graph.add_node("ask", lambda state: {"log": [interrupt("?")]})
    graph.add_node("after", lambda state: {"log": ["after"]})
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "after")
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, {"log": []}, thread(), durability=mode)
    asked = drive(app.get_state, thread()).config
    for answer in ("one", "two", "three"):
        drive(app.invoke, Command(resume=answer), asked, durability=mode)
    assert log_of(drive, app)[-1] == "after"


def stateful(name: str) -> Any:
    inner = StateGraph(Log)
    inner.add_node("one", lambda state: {"log": [f"{name}.one"]})
    inner.add_node("two", lambda state: {"log": [f"{name}.two"]})
    inner.add_edge(START, "one")
    inner.add_edge("one", "two")
    return inner.compile(checkpointer=True)


@pytest.mark.parametrize("mode", MODES)
def test_no_alarm_for_parallel_and_nested_subgraphs(saver: Any, drive: Drive, mode: str) -> None:
    nested = StateGraph(Log)
    nested.add_node("deep", stateful("deep"))
    nested.add_edge(START, "deep")
    graph = StateGraph(Log)
    graph.add_node("left", stateful("left"))
    graph.add_node("right", stateful("right"))
    graph.add_node("nested", nested.compile())
    for name in ("left", "right", "nested"):
        graph.add_edge(START, name)
    app = graph.compile(checkpointer=saver)
    for _ in range(3):
        result = drive(app.invoke, {"log": ["q"]}, thread(), durability=mode)
    assert {"left.two", "right.two", "deep.two"} <= set(result["log"])
    assert log_of(drive, app) == result["log"]


@pytest.mark.parametrize("mode", MODES)
def test_no_alarm_for_a_failed_run_that_goes_on(saver: Any, drive: Drive, mode: str) -> None:
    def fail() -> None:
        raise OSError("once")

    graph = counting(saver, {"b": fail})
    with pytest.raises(OSError, match="once"):
        drive(graph.invoke, {"log": ["m"]}, thread(), durability=mode)
    assert drive(graph.invoke, None, thread(), durability=mode)["log"] == ["m", "a1", "b2"]


def test_no_alarm_for_sends_in_one_step(saver: Any, drive: Drive) -> None:
    class Wide(TypedDict, total=False):
        n: int
        log: Annotated[list[Any], operator.add]

    graph = StateGraph(Wide)
    graph.add_node("work", lambda state: {"log": [state["n"]]})
    graph.add_conditional_edges(START, lambda s: [Send("work", {"n": n}) for n in range(20)], ["work"])
    app = graph.compile(checkpointer=saver)
    for _ in range(3):
        drive(app.invoke, {"log": []}, thread(), durability="sync")
    assert log_of(drive, app) == [*range(20)] * 3


def test_no_alarm_for_a_program_without_a_graph(saver: Any, drive: Drive) -> None:
    """It says itself which parent it means; siblings are its business."""
    base = thread("t", checkpoint_ns="")
    metadata = {"source": "loop", "step": 0}
    root = drive(saver.put, base, empty_checkpoint(), metadata, {})
    for _ in range(3):
        drive(saver.put, root, empty_checkpoint(), metadata, {})
    assert len(drive(saver.list, thread())) == 4


@pytest.mark.on_file
def test_no_alarm_across_two_checkpointers_one_after_the_other(memory: Any, url: str, drive: Drive) -> None:
    """Two processes that take turns are no second writers."""
    with threadkeep.open(url) as other:
        graphs = [counting(memory.checkpointer), counting(other.checkpointer)]
        for n in range(4):
            result = drive(graphs[n % 2].invoke, {"log": [n]}, thread())
        assert [entry for entry in result["log"] if isinstance(entry, int)] == [0, 1, 2, 3]


@pytest.mark.on_file
def test_two_checkpointers_on_one_file_at_once(memory: Any, url: str, drive: Drive) -> None:
    with threadkeep.open(url) as other:
        rival = counting(other.checkpointer)
        drive(rival.invoke, {"log": ["old"]}, thread())
        hooks = {"b": lambda: rival.invoke({"log": ["rival"]}, thread())}
        graph = counting(memory.checkpointer, hooks)
        with stale():
            drive(graph.invoke, {"log": ["mine"]}, thread(), durability="sync")
        assert log_of(drive, graph) == log_of(drive, rival)


@pytest.mark.parametrize("mode", MODES)
def test_many_writers_that_try_again_lose_nothing(saver: Any, mode: str) -> None:
    """Each acknowledged run is in the thread once; each refused one is told."""
    graph = StateGraph(Log)
    graph.add_node("n", lambda state: {"log": [f"after {state['log'][-1]}"]})
    graph.add_edge(START, "n")
    app = graph.compile(checkpointer=saver)
    refused: list[str] = []

    def write(name: str) -> None:
        for n in range(4):
            while True:
                try:
                    app.invoke({"log": [f"{name}{n}"]}, thread(), durability=mode)
                    break
                except StaleRun:
                    refused.append(name)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "wxyz"))
    log = app.get_state(thread()).values["log"]
    finished = [entry for entry in log if entry.startswith("after ")]
    assert sorted(set(finished)) == sorted(f"after {name}{n}" for name in "wxyz" for n in range(4))
    # In "exit" a run is stored whole or not at all; otherwise a refused one may have left its input.
    if mode == "exit":
        assert len(log) == 32
    assert len(finished) == 16
