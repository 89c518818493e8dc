"""`update_state`, forks from an old checkpoint, replay, and what they leave in the record."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.errors import InvalidUpdateError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, StateUpdate, interrupt

from .kit import Drive, Log, calls, echo, human, says, script, texts, thread, tool_user

pytestmark = pytest.mark.crosswise


def abc(saver: Any, runs: list[str] | None = None, **options: Any) -> Any:
    """Three nodes in a row that log their names."""

    def node(name: str) -> Any:
        def run(state: Log) -> dict[str, Any]:
            if runs is not None:
                runs.append(name)
            return {"log": [f"{name}{len(state['log'])}"]}

        return run

    graph = StateGraph(Log)
    for before, name in ((START, "a"), ("a", "b"), ("b", "c")):
        graph.add_node(name, node(name))
        graph.add_edge(before, name)
    return graph.compile(checkpointer=saver, **options)


def at(drive: Drive, graph: Any, following: tuple[str, ...], thread_id: Any = "t") -> Any:
    """The newest state whose next nodes are `following`."""
    history = drive(graph.get_state_history, thread(thread_id))
    return next(state for state in history if state.next == following)


def test_update_state_goes_through_the_reducer(saver: Any, drive: Drive) -> None:
    graph = abc(saver)
    drive(graph.invoke, {"log": ["x"]}, thread())
    config = drive(graph.update_state, thread(), {"log": ["by hand"]})
    state = drive(graph.get_state, thread())
    assert state.values["log"] == ["x", "a1", "b2", "c3", "by hand"]
    assert state.metadata["source"] == "update"
    assert state.config["configurable"] == config["configurable"]


def test_update_state_as_node_decides_what_is_next(saver: Any, drive: Drive) -> None:
    runs: list[str] = []
    graph = abc(saver, runs)
    drive(graph.update_state, thread(), {"log": ["as a"]}, as_node="a")
    assert drive(graph.get_state, thread()).next == ("b",)
    assert drive(graph.invoke, None, thread())["log"] == ["as a", "b1", "c2"]
    assert runs == ["b", "c"]


def test_update_state_as_input(saver: Any, drive: Drive) -> None:
    graph = abc(saver)
    drive(graph.update_state, thread(), {"log": ["in"]}, as_node="__input__")
    state = drive(graph.get_state, thread())
    assert (state.metadata["source"], state.next) == ("input", ("__start__",))
    assert drive(graph.invoke, None, thread())["log"] == ["in", "a1", "b2", "c3"]


def test_update_as_end_clears_what_was_waiting(saver: Any, drive: Drive) -> None:
    graph = abc(saver, interrupt_before=["b"])
    drive(graph.invoke, {"log": []}, thread())
    assert drive(graph.get_state, thread()).next == ("b",)
    drive(graph.update_state, thread(), None, as_node=END)
    state = drive(graph.get_state, thread())
    assert (state.next, state.values["log"]) == ((), ["a0"])
    assert drive(graph.invoke, {"log": ["new"]}, thread())["log"] == ["a0", "new", "a2"]


def test_copy_of_a_checkpoint_is_a_sibling(saver: Any, drive: Drive) -> None:
    graph = abc(saver)
    drive(graph.invoke, {"log": []}, thread())
    origin = at(drive, graph, ("b",))
    drive(graph.update_state, origin.config, None, as_node="__copy__")
    copied = drive(graph.get_state, thread())
    assert copied.metadata["source"] == "fork"
    assert copied.parent_config == origin.parent_config
    assert (copied.values, copied.next) == (origin.values, ("b",))
    assert drive(graph.invoke, None, thread())["log"] == ["a0", "b1", "c2"]


def test_copy_with_changes_in_one_go(saver: Any, drive: Drive) -> None:
    graph = abc(saver)
    drive(graph.invoke, {"log": []}, thread())
    origin = at(drive, graph, ("b",))
    drive(graph.update_state, origin.config, [({"log": ["B"]}, "b")], as_node="__copy__")
    assert drive(graph.get_state, thread()).values["log"] == ["a0", "B"]
    assert drive(graph.invoke, None, thread())["log"] == ["a0", "B", "c2"]


def test_bulk_update(saver: Any, drive: Drive) -> None:
    graph = abc(saver)
    drive(
        graph.bulk_update_state,
        thread(),
        [
            [StateUpdate({"log": ["in"]}, "__input__")],
            [StateUpdate({"log": ["in"]}, "__start__")],
            [StateUpdate({"log": ["A"]}, "a")],
            [StateUpdate({"log": ["B"]}, "b")],
        ],
    )
    history = drive(graph.get_state_history, thread())
    assert [s.values.get("log") for s in history] == [["in", "A", "B"], ["in", "A"], ["in"], []]
    assert history[0].next == ("c",)


def test_copying_nothing_is_refused(saver: Any, drive: Drive) -> None:
    with pytest.raises(InvalidUpdateError, match="non-existent"):
        drive(abc(saver).update_state, thread(), None, as_node="__copy__")


def test_replay_runs_only_what_came_after(saver: Any, drive: Drive) -> None:
    runs: list[str] = []
    graph = abc(saver, runs)
    drive(graph.invoke, {"log": []}, thread())
    runs.clear()
    result = drive(graph.invoke, None, at(drive, graph, ("b",)).config)
    assert (result["log"], runs) == (["a0", "b1", "c2"], ["b", "c"])


def test_a_fork_leaves_the_old_branch_readable(saver: Any, drive: Drive) -> None:
    graph = abc(saver)
    drive(graph.invoke, {"log": []}, thread())
    old_tip = drive(graph.get_state, thread())
    old = drive(graph.get_state_history, thread())
    fork = drive(graph.update_state, at(drive, graph, ("b",)).config, {"log": ["forked"]})
    result = drive(graph.invoke, None, fork)
    assert result["log"] == ["a0", "forked", "b2", "c3"]
    assert drive(graph.get_state, thread()).values["log"] == result["log"]
    assert drive(graph.get_state, old_tip.config).values["log"] == ["a0", "b1", "c2"]
    for state in old:
        again = drive(graph.get_state, state.config)
        assert (again.values, again.next, again.metadata) == (state.values, state.next, state.metadata)
    assert len(drive(graph.get_state_history, thread())) == len(old) + 3


def test_branches_with_equal_channel_versions_stay_apart(saver: Any, drive: Drive) -> None:
    graph = abc(saver)
    drive(graph.invoke, {"log": ["root"]}, thread())
    base = at(drive, graph, ("b",)).config
    tips = [drive(graph.update_state, base, {"log": [f"branch {n}"]}, as_node="b") for n in range(4)]
    for n, tip in enumerate(tips):
        assert drive(graph.get_state, tip).values["log"] == ["root", "a1", f"branch {n}"]
    for n, tip in enumerate(tips):
        assert drive(graph.invoke, None, tip)["log"] == ["root", "a1", f"branch {n}", "c3"]
    for n, tip in enumerate(tips):
        assert drive(graph.get_state, tip).values["log"] == ["root", "a1", f"branch {n}"]


def test_a_new_input_at_an_old_checkpoint(saver: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    for text in ("one", "two"):
        drive(agent.invoke, human(text), thread())
    history = drive(agent.get_state_history, thread())
    after_one = next(s for s in history if texts(s.values["messages"])[-1] == "1: one")
    result = drive(agent.invoke, human("instead"), after_one.config)
    assert texts(result["messages"]) == ["one", "1: one", "instead", "3: instead"]
    # The newest put is the head, so the thread goes on where the fork left it.
    more = drive(agent.invoke, human("more"), thread())
    assert texts(more["messages"])[2:] == ["instead", "3: instead", "more", "5: more"]
    assert texts(drive(agent.get_state, history[0].config).values["messages"])[2:] == ["two", "3: two"]


def test_editing_an_agents_message_and_going_on(saver: Any, drive: Drive) -> None:
    @tool
    def weather(city: str) -> str:
        """Weather."""
        return f"rain in {city}"

    agent = create_agent(
        tool_user("weather", city="Kyiv"), [weather], checkpointer=saver, interrupt_before=["tools"]
    )
    drive(agent.invoke, human("?"), thread())
    asked = drive(agent.get_state, thread()).values["messages"][-1]
    call = {**asked.tool_calls[0], "args": {"city": "Lviv"}}
    drive(agent.update_state, thread(), {"messages": [AIMessage("", id=asked.id, tool_calls=[call])]})
    state = drive(agent.get_state, thread())
    assert (len(state.values["messages"]), state.next) == (2, ("tools",))
    assert texts(drive(agent.invoke, None, thread())["messages"])[-1] == "the tool said: rain in Lviv"
    # What was replaced is still what it was, one checkpoint earlier.
    earlier = [
        s.values["messages"][-1].tool_calls[0]["args"]["city"]
        for s in drive(agent.get_state_history, thread())
        if s.next == ("tools",)
    ]
    assert earlier == ["Lviv", "Kyiv"]


def test_answering_for_the_tool(saver: Any, drive: Drive) -> None:
    @tool
    def never() -> str:
        """Never runs."""
        raise AssertionError("ran")

    model = script(lambda: calls("never"), lambda: says("fine"))
    agent = create_agent(model, [never], checkpointer=saver, interrupt_before=["tools"])
    drive(agent.invoke, human("?"), thread())
    call = drive(agent.get_state, thread()).values["messages"][-1].tool_calls[0]
    result = ToolMessage("by hand", tool_call_id=call["id"])
    drive(agent.update_state, thread(), {"messages": [result]}, as_node="tools")
    assert texts(drive(agent.invoke, None, thread())["messages"]) == ["?", "", "by hand", "fine"]


def test_removing_a_message_by_update(saver: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    drive(agent.invoke, human("secret", "s"), thread())
    drive(agent.update_state, thread(), {"messages": [RemoveMessage(id="s")]})
    assert texts(drive(agent.get_state, thread()).values["messages"]) == ["1: secret"]
    drive(agent.update_state, thread(), {"messages": [HumanMessage("again", id="s")]})
    assert texts(drive(agent.get_state, thread()).values["messages"]) == ["1: secret", "again"]


def test_resume_at_an_already_answered_checkpoint(saver: Any, drive: Drive) -> None:
    graph = StateGraph(Log)
    graph.add_node("ask", lambda state: {"log": [interrupt("?")]})
    graph.add_node("after", lambda state: {"log": [f"after {state['log'][-1]}"]})
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "after")
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, {"log": []}, thread())
    asked = drive(app.get_state, thread()).config
    assert drive(app.invoke, Command(resume="yes"), thread())["log"] == ["yes", "after yes"]
    tip = drive(app.get_state, thread()).config
    # LangGraph keeps the first answer with the checkpoint; what matters is that the run is let through.
    again = drive(app.invoke, Command(resume="no"), asked)
    assert drive(app.get_state, thread()).values == again
    assert drive(app.get_state, tip).values["log"] == ["yes", "after yes"]
    assert len([s for s in drive(app.get_state_history, thread()) if not s.next]) == 2


def test_replaying_an_interrupt_asks_again(saver: Any, drive: Drive) -> None:
    graph = StateGraph(Log)
    graph.add_node("first", lambda state: {"log": ["first"]})
    graph.add_node("ask", lambda state: {"log": [interrupt("?")]})
    graph.add_edge(START, "first")
    graph.add_edge("first", "ask")
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, {"log": []}, thread())
    before = at(drive, app, ("ask",)).config
    drive(app.invoke, Command(resume="one"), thread())
    replayed = drive(app.invoke, None, before)
    assert len(replayed["__interrupt__"]) == 1
    assert drive(app.invoke, Command(resume="two"), thread())["log"] == ["first", "two"]


def test_history_filters(saver: Any, drive: Drive) -> None:
    graph = abc(saver)
    for n in range(2):
        drive(graph.invoke, {"log": [n]}, {**thread(), "metadata": {"n": n}})
    every = drive(graph.get_state_history, thread())
    assert len(drive(graph.get_state_history, thread(), limit=3)) == 3
    inputs = drive(graph.get_state_history, thread(), filter={"source": "input"})
    assert [s.metadata["step"] for s in inputs] == [4, -1]
    first = drive(graph.get_state_history, thread(), filter={"n": 0})
    assert {s.metadata["n"] for s in first} == {0}
    before = drive(graph.get_state_history, thread(), before=every[2].config)
    assert [s.config for s in before] == [s.config for s in every[3:]]
