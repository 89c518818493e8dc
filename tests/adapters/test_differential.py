"""The same program on LangGraph's InMemorySaver and on ours leaves the same record.

A record is everything that `list` and `get_state` tell: steps, sources, parents, values, versions
seen, pending writes, tasks, interrupts and errors. Random ids are replaced by the order in which
they first appear.
"""

from __future__ import annotations

import operator
import random
import re
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.messages.base import BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, Send, interrupt

from .kit import Drive, calls, human, says, thread, tool_user

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|call_\d+")


class Names:
    """Gives each random id the number of its first appearance."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def plain(self, value: Any) -> Any:
        if isinstance(value, BaseMessage):
            return self.plain({"kind": type(value).__name__, **value.model_dump()})
        if isinstance(value, dict):
            return {self.plain(k): self.plain(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(item) for item in value]
        if isinstance(value, str):
            return ID.sub(lambda found: self.known.setdefault(found[0], f"id{len(self.known)}"), value)
        if isinstance(value, int | float | None):
            return value
        return self.plain(repr(value))


def by_task(writes: list[tuple[str, str, Any]]) -> list[list[Any]]:
    """Writes grouped by task, special ones first in each, and tasks in the order of what they wrote.

    LangGraph 1.2.11 orders tasks by their random ids.
    """
    tasks: dict[str, list[Any]] = {}
    for task, channel, value in writes:
        tasks.setdefault(task, []).append([channel, value])
    for written in tasks.values():
        written.sort(key=lambda write: WRITES_IDX_MAP.get(write[0], 0))
    return sorted(([task, *written] for task, written in tasks.items()), key=lambda group: repr(group[1:]))


def record(drive: Drive, graph: Any, saver: Any, config: dict[str, Any]) -> list[Any]:
    """The thread as `list` and `get_state` show it, oldest first."""
    names, told = Names(), []
    # Savers differ in how they mix namespaces; LangGraph's ids are in the order of time.
    for stored in sorted(drive(saver.list, config), key=lambda each: each.checkpoint["id"]):
        place = stored.config["configurable"]
        told.append(
            names.plain(
                [
                    place["checkpoint_ns"],
                    place["checkpoint_id"],
                    stored.parent_config and stored.parent_config["configurable"]["checkpoint_id"],
                    stored.metadata,
                    sorted(stored.checkpoint["channel_values"].items()),
                    sorted(stored.checkpoint["channel_versions"]),
                    {node: sorted(seen) for node, seen in sorted(stored.checkpoint["versions_seen"].items())},
                    stored.checkpoint.get("updated_channels"),
                    by_task(stored.pending_writes),
                ]
            )
        )
        if place["checkpoint_ns"] == "":
            state = drive(graph.get_state, stored.config)
            tasks = [(t.name, t.path, t.error, t.interrupts, t.result) for t in state.tasks]
            told.append(names.plain([state.next, state.values, state.interrupts, tasks]))
    return told


def same_record(saver: Any, drive: Drive, build: Callable[[Any], Any], play: Callable[..., None]) -> int:
    """Play on both savers; fail at the first thing told differently; return how much was told."""
    told = []
    for each in (InMemorySaver(), saver):
        graph = build(each)
        play(graph)
        told.append(record(drive, graph, each, thread()))
    for reference, ours in zip(*told, strict=True):
        assert ours == reference
    return len(told[0])


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[Any], operator.add]
    n: int
    note: str


class Flow:
    """A graph with a bit of everything, steered by the text of its newest message."""

    def __init__(self) -> None:
        self.failing = False
        self.graph = graph = StateGraph(State)
        for name in ("plan", "work", "check", "ask", "edit"):
            graph.add_node(name, getattr(self, name))
        graph.add_edge(START, "plan")
        graph.add_conditional_edges("plan", self.route, ["work", "ask", "edit"])
        graph.add_edge("work", "check")
        graph.add_edge("ask", "check")
        graph.add_edge("edit", "check")
        graph.add_edge("check", END)

    def compiled(self, saver: Any) -> Any:
        """The graph on a saver; what its callers can steer is at its attribute `flow`."""
        app: Any = self.graph.compile(checkpointer=saver)
        app.flow = self
        return app

    def plan(self, state: State) -> dict[str, Any]:
        return {"n": state.get("n", 0) + 1, "log": [f"plan {len(state.get('messages', []))}"]}

    def route(self, state: State) -> Any:
        text = state["messages"][-1].text if state.get("messages") else ""
        if "wide" in text:
            return [Send("work", {"n": n, "note": text}) for n in range(3)]
        return ["ask", "work"] if "ask" in text else ["edit"] if "edit" in text else ["work"]

    def work(self, state: State) -> dict[str, Any]:
        if self.failing:
            self.failing = False
            raise ValueError("work failed")
        number = state.get("n", 0)
        answer = AIMessage(f"answer {number}", id=f"work-{number}-{len(state.get('messages', []))}")
        return {"messages": [answer], "log": [{"n": number}]}

    def ask(self, state: State) -> dict[str, Any]:
        return {"log": [interrupt({"question": state["n"]})]}

    def edit(self, state: State) -> dict[str, Any]:
        messages = state["messages"]
        if len(messages) > 6:
            keep = [m.model_copy() for m in messages[-2:]]
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *keep]}
        changed = messages[0].model_copy(update={"content": f"edited {len(messages)}"})
        return {"messages": [changed, *[RemoveMessage(id=m.id) for m in messages[1:-1]]]}

    def check(self, state: State) -> Command[Any]:
        return Command(update={"note": f"checked {len(state['log'])}"})


MOVES = ["say", "say", "say", "fail", "update", "old", "copy", "replay", "end", "resume"]


class Walk:
    """A random but repeatable sequence of what callers do to a thread."""

    def __init__(self, drive: Drive, seed: int, steps: int) -> None:
        self.drive, self.seed, self.steps = drive, seed, steps

    def __call__(self, app: Any) -> None:
        flow: Flow = app.flow
        dice = random.Random(self.seed)
        for step in range(self.steps):
            mode = dice.choice(["sync", "sync", "exit"])
            what = dice.choice(
                ["say", "say", "say", "fail", "update", "old", "copy", "replay", "end", "resume"]
            )
            states = self.drive(app.get_state_history, thread())
            # The state to start from is chosen by place, which is the same on both savers.
            origin = states[dice.randrange(len(states))].config if states else thread()
            text = dice.choice(["plain", "wide", "ask", "edit"])
            said = {"messages": [HumanMessage(f"{text} {step}", id=f"h{step}")]}
            asked = [i for s in states[:1] for i in s.interrupts]
            if what == "say" or not states:
                self.drive(app.invoke, said, thread(), durability=mode)
            elif what == "fail":
                # Without siblings: which of them had finished is a matter of timing.
                said["messages"][0].content = "plain"
                flow.failing = True
                try:
                    self.drive(app.invoke, said, thread(), durability=mode)
                except ValueError:
                    self.drive(app.invoke, None, thread(), durability=mode)
                flow.failing = False
            elif what == "update":
                self.drive(app.update_state, thread(), {**said, "log": ["by hand"]}, as_node="work")
            elif what == "old":
                self.drive(app.invoke, said, origin, durability=mode)
            elif what == "copy" and states:
                self.drive(app.update_state, origin, None, as_node="__copy__")
            elif what == "replay":
                self.drive(app.invoke, None, origin, durability=mode)
            elif what == "end":
                self.drive(app.update_state, thread(), None, as_node=END)
            elif what == "resume" and asked:
                answers = {i.id: f"answered {step}" for i in asked}
                self.drive(app.invoke, Command(resume=answers), thread(), durability=mode)


def build_flow(saver: Any) -> Any:
    return Flow().compiled(saver)


@pytest.mark.crosswise
@pytest.mark.parametrize("seed", range(12))
def test_random_walks_over_a_thread(saver: Any, drive: Drive, seed: int) -> None:
    assert same_record(saver, drive, build_flow, Walk(drive, seed, steps=9)) > 20


def test_an_agent_with_tools(saver: Any, drive: Drive) -> None:
    @tool
    def weather(city: str) -> str:
        """Weather."""
        return f"rain in {city}"

    def build(each: Any) -> Any:
        return create_agent(tool_user("weather", city="Kyiv"), [weather], checkpointer=each)

    def play(agent: Any) -> None:
        for n in range(3):
            drive(agent.invoke, human(f"q{n}", f"h{n}"), {**thread(), "metadata": {"turn": n}})
        drive(agent.update_state, thread(), {"messages": [RemoveMessage(id="h0")]})
        drive(agent.invoke, human("last", "h9"), thread(), durability="exit")

    assert same_record(saver, drive, build, play) == 2 * (15 + 1 + 1)


def test_subgraphs_and_interrupts(saver: Any, drive: Drive) -> None:
    def build(each: Any) -> Any:
        inner = StateGraph(State)
        inner.add_node("one", lambda state: {"log": ["one"]})
        inner.add_node("ask", lambda state: {"log": [interrupt("?")]})
        inner.add_edge(START, "one")
        inner.add_edge("one", "ask")
        outer = StateGraph(State)
        outer.add_node("before", lambda state: {"messages": [AIMessage("b", id=f"b{state['n']}")]})
        outer.add_node("plain", inner.compile())
        outer.add_node("stateful", inner.compile(checkpointer=True))
        outer.add_edge(START, "before")
        outer.add_edge("before", "plain")
        outer.add_edge("plain", "stateful")
        return outer.compile(checkpointer=each)

    def play(app: Any) -> None:
        for n in range(2):
            drive(app.invoke, {"n": n, "log": [n]}, thread())
            for answer in ("a", "b"):
                drive(app.invoke, Command(resume=answer), thread())

    assert same_record(saver, drive, build, play) > 20


@pytest.mark.crosswise
@pytest.mark.parametrize("mode", ["sync", "async", "exit"])
def test_time_travel_over_subgraphs(saver: Any, drive: Drive, mode: str) -> None:
    """A replayed subgraph starts from what it remembered before the replayed checkpoint.

    LangGraph asks for it by `list(before=...)` with the id of a checkpoint of the parent graph, which
    may not have been stored yet.
    """

    def build(each: Any) -> Any:
        inner = StateGraph(State)
        inner.add_node("count", lambda state: {"log": [f"inner {len(state['log'])}"]})
        inner.add_edge(START, "count")
        outer = StateGraph(State)
        outer.add_node("first", lambda state: {"log": [f"first {len(state['log'])}"]})
        outer.add_node("memo", inner.compile(checkpointer=True))
        outer.add_node("plain", inner.compile())
        outer.add_edge(START, "first")
        outer.add_edge("first", "memo")
        outer.add_edge("memo", "plain")
        return outer.compile(checkpointer=each)

    def play(app: Any) -> None:
        for n in range(3):
            drive(app.invoke, {"log": [f"in {n}"]}, thread(), durability="sync")
        states = drive(app.get_state_history, thread())
        for state in [s for s in states if s.next in (("memo",), ("plain",))][1:4]:
            drive(app.invoke, None, state.config, durability=mode)
            fork = drive(app.update_state, state.config, {"log": ["forked"]}, as_node="first")
            drive(app.invoke, None, fork, durability=mode)
            drive(app.invoke, {"log": ["again"]}, thread(), durability=mode)

    assert same_record(saver, drive, build, play) > 20


def test_messages_of_every_kind(saver: Any, drive: Drive) -> None:
    blocks = [
        {"type": "text", "text": "look"},
        {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
        {"type": "reasoning", "reasoning": "because", "extras": {"signature": "s"}},
    ]
    call = calls("x", a=[1, {"b": None}])
    call_id = call.tool_calls[0]["id"]
    messages = [
        HumanMessage(blocks, id="1", name="olena"),
        AIMessage(blocks, id="2", response_metadata={"model": "m", "logprobs": [0.5, None]}),
        call.model_copy(update={"id": "3", "additional_kwargs": {"refusal": None}}),
        ToolMessage("done", tool_call_id=call_id, id="4", artifact={"rows": [1, 2]}, status="error"),
        says("ok").model_copy(update={"id": "5"}),
        AIMessage("", id="6", invalid_tool_calls=[{"name": "x", "args": "{", "id": "i", "error": "bad"}]),
    ]

    def build(each: Any) -> Any:
        graph = StateGraph(State)
        graph.add_node("n", lambda state: {"messages": [m.model_copy(deep=True) for m in messages]})
        graph.add_edge(START, "n")
        return graph.compile(checkpointer=each)

    def play(app: Any) -> None:
        for n in range(2):
            drive(app.invoke, {"messages": [HumanMessage("go", id=f"h{n}")]}, thread())
        assert drive(app.get_state, thread()).values["messages"][1:7] == messages

    assert same_record(saver, drive, build, play) == 12
