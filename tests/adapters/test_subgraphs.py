"""Subgraphs: without memory of their own, with it (`checkpointer=True`), and nested twice."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from .kit import Chat, Drive, Log, echo, human, texts, thread, tool_user


def line(*nodes: tuple[str, Any], state: type = Log, **options: Any) -> Any:
    """A compiled graph that runs `nodes` one after another."""
    graph = StateGraph(state)
    before = START
    for name, node in nodes:
        graph.add_node(name, node)
        graph.add_edge(before, name)
        before = name
    return graph.compile(**options)


def note(text: str) -> Any:
    return lambda state: {"log": [text]}


def count_own(state: Log) -> dict[str, Any]:
    return {"log": [f"inner saw {len(state['log'])}"]}


def test_a_stateless_subgraph_starts_fresh_each_time(saver: Any, drive: Drive) -> None:
    inner = line(("count", count_own))
    outer = line(("call", lambda s: {"log": [inner.invoke({"log": ["x"]})["log"][-1]]}),
                 checkpointer=saver)  # fmt: skip
    for _ in range(3):
        result = drive(outer.invoke, {"log": []}, thread())
    assert result["log"] == ["inner saw 1"] * 3


def test_a_stateful_subgraph_remembers_within_the_thread(saver: Any, drive: Drive) -> None:
    inner = line(("count", count_own), checkpointer=True)
    outer = line(("sub", inner), checkpointer=saver)
    for _ in range(3):
        result = drive(outer.invoke, {"log": ["q"]}, thread())
    # The subgraph is given the outer log and adds it to the one it remembers.
    assert sum(entry.startswith("inner saw") for entry in result["log"]) >= 3
    inner_state = drive(outer.get_state, {"configurable": {"thread_id": "t", "checkpoint_ns": "sub"}})
    assert len(inner_state.values["log"]) > len(result["log"]) / 2
    assert drive(outer.invoke, {"log": ["q"]}, thread("u"))["log"][-1] == "inner saw 1"


def test_the_state_of_a_paused_subgraph_is_readable(saver: Any, drive: Drive) -> None:
    inner = line(("one", note("one")), ("ask", lambda s: {"log": [interrupt("?")]}))
    outer = line(("before", note("before")), ("sub", inner), checkpointer=saver)
    drive(outer.invoke, {"log": []}, thread())
    state = drive(outer.get_state, thread(), subgraphs=True)
    (task,) = state.tasks
    assert task.name == "sub"
    assert task.state.values["log"] == ["before", "one"]
    assert task.state.next == ("ask",)
    assert task.state.config["configurable"]["checkpoint_ns"].startswith("sub:")
    result = drive(outer.invoke, Command(resume="answer"), thread())
    assert result["log"][-1] == "answer"


def test_nested_twice(saver: Any, drive: Drive) -> None:
    innermost = line(("deep", note("deep")), ("ask", lambda s: {"log": [f"deep {interrupt('?')}"]}))
    middle = line(("mid", note("mid")), ("in", innermost))
    outer = line(("top", note("top")), ("sub", middle), ("end", note("end")), checkpointer=saver)
    drive(outer.invoke, {"log": []}, thread())
    state = drive(outer.get_state, thread(), subgraphs=True)
    inside = state.tasks[0].state.tasks[0].state
    assert (inside.values["log"], inside.next) == (["top", "mid", "deep"], ("ask",))
    namespaces = {t.config["configurable"]["checkpoint_ns"] for t in drive(saver.list, thread())}
    assert sorted(ns.count("|") for ns in namespaces) == [0, 0, 1]
    result = drive(outer.invoke, Command(resume="answer"), thread())
    assert [e for e in result["log"] if "deep" in e][-1] == "deep answer"
    assert result["log"][-1] == "end"


def test_a_subgraph_is_updated_while_it_waits(saver: Any, drive: Drive) -> None:
    inner = line(("one", note("one")), ("two", note("two")), interrupt_before=["two"])
    outer = line(("sub", inner), checkpointer=saver)
    drive(outer.invoke, {"log": []}, thread())
    paused = drive(outer.get_state, thread(), subgraphs=True).tasks[0].state
    drive(outer.update_state, paused.config, {"log": ["edited"]})
    result = drive(outer.invoke, None, thread())
    assert result["log"][-3:] == ["one", "edited", "two"]


def test_parents_map_leads_from_the_subgraph_to_its_parent(saver: Any, drive: Drive) -> None:
    inner = line(("one", note("one")))
    outer = line(("sub", inner), checkpointer=saver)
    drive(outer.invoke, {"log": []}, thread())
    stored = drive(saver.list, thread())
    roots = {t.checkpoint["id"] for t in stored if not t.config["configurable"]["checkpoint_ns"]}
    inside = [t for t in stored if t.config["configurable"]["checkpoint_ns"]]
    assert inside
    assert all(t.metadata["parents"][""] in roots for t in inside)


def test_an_agent_inside_a_graph_shares_messages(saver: Any, drive: Drive) -> None:
    @tool
    def look(word: str) -> str:
        """Look a word up."""
        return f"{word} found"

    agent = create_agent(tool_user("look", word="tea"), [look])
    outer = line(("agent", agent), ("after", lambda s: {"messages": [AIMessage("bye")]}),
                 state=Chat, checkpointer=saver)  # fmt: skip
    for text in ("one", "two"):
        drive(outer.invoke, human(text), thread())
    messages = drive(outer.get_state, thread()).values["messages"]
    assert texts(messages) == [
        "one", "", "tea found", "the tool said: tea found", "bye",
        "two", "", "tea found", "the tool said: tea found", "bye",
    ]  # fmt: skip
    assert len({m.id for m in messages}) == 10
    counts = [len(s.values.get("messages", [])) for s in drive(outer.get_state_history, thread())]
    assert counts == [10, 9, 6, 5, 5, 4, 1, 0]


def test_a_stateful_agent_as_a_tool(saver: Any, drive: Drive) -> None:
    """A sub-agent with memory of its own, called by another agent's tool."""
    helper = create_agent(echo(), checkpointer=True, name="helper")

    @tool
    def ask_helper(question: str) -> str:
        """Ask the helper."""
        return str(helper.invoke(human(question))["messages"][-1].text)

    agent = create_agent(tool_user("ask_helper", question="why"), [ask_helper], checkpointer=saver)
    for _ in range(2):
        result = drive(agent.invoke, human("go"), thread())
    answers = [m.text for m in result["messages"] if m.type == "tool"]
    assert answers == ["1: why", "3: why"]


def test_parallel_stateful_subgraphs(saver: Any, drive: Drive) -> None:
    left = line(("left", note("left")), ("left2", count_own), checkpointer=True)
    right = line(("right", note("right")), ("right2", count_own), checkpointer=True)
    graph = StateGraph(Log)
    graph.add_node("l", left)
    graph.add_node("r", right)
    graph.add_edge(START, "l")
    graph.add_edge(START, "r")
    outer = graph.compile(checkpointer=saver)
    for _ in range(3):
        drive(outer.invoke, {"log": ["q"]}, thread())
    namespaces = {t.config["configurable"]["checkpoint_ns"] for t in drive(saver.list, thread())}
    assert namespaces == {"", "l", "r"}
    for name in ("l", "r"):
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": name}}
        steps = [t.metadata["step"] for t in drive(saver.list, config)]
        assert steps == sorted(steps, reverse=True)
        assert len(steps) == 12


def test_subgraph_history_belongs_to_its_namespace(saver: Any, drive: Drive) -> None:
    inner = line(("one", note("one")), checkpointer=True)
    outer = line(("sub", inner), checkpointer=saver)
    drive(outer.invoke, {"log": ["a"]}, thread())
    mine = drive(saver.list, {"configurable": {"thread_id": "t", "checkpoint_ns": ""}})
    theirs = drive(saver.list, {"configurable": {"thread_id": "t", "checkpoint_ns": "sub"}})
    everything = drive(saver.list, thread())
    assert (len(mine), len(theirs), len(everything)) == (3, 3, 6)
    latest = drive(saver.get_tuple, {"configurable": {"thread_id": "t", "checkpoint_ns": "sub"}})
    assert latest.checkpoint["id"] == theirs[0].checkpoint["id"]


def test_command_to_the_parent_graph(saver: Any, drive: Drive) -> None:
    inner = line(("jump", lambda s: Command(graph=Command.PARENT, goto="end", update={"log": ["up"]})))
    graph = StateGraph(Log)
    graph.add_node("sub", inner)
    graph.add_node("end", note("end"))
    graph.add_edge(START, "sub")
    outer = graph.compile(checkpointer=saver)
    assert drive(outer.invoke, {"log": []}, thread())["log"] == ["up", "end"]
    assert drive(outer.get_state, thread()).next == ()


def test_time_travel_with_a_stateful_subgraph(saver: Any, drive: Drive) -> None:
    inner = line(("count", count_own), checkpointer=True)
    outer = line(("first", note("first")), ("sub", inner), checkpointer=saver)
    for _ in range(2):
        drive(outer.invoke, {"log": ["q"]}, thread())
    before_sub = next(s for s in drive(outer.get_state_history, thread()) if s.next == ("sub",))
    replayed = drive(outer.invoke, None, before_sub.config)
    assert replayed["log"][: len(before_sub.values["log"])] == before_sub.values["log"]
    assert drive(outer.get_state, thread()).next == ()
