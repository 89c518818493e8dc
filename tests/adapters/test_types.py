"""The user's own types in a state: declared, read from a graph's schema, or refused."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.structured_output import ToolStrategy
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

import threadkeep
from threadkeep.errors import SerializationError

from .kit import Drive, calls, human, script, thread

pytestmark = pytest.mark.stricter


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Order:
    number: int
    sizes: list[Size] = field(default_factory=list)


class Invoice(BaseModel):
    order: Order
    total: float
    at: Point


class Shop(TypedDict, total=False):
    order: Order
    invoice: Annotated[Invoice | None, "latest"]
    anything: Any


VALUES = Shop(
    order=Order(7, [Size.SMALL, Size.LARGE]),
    invoice=Invoice(order=Order(7), total=9.5, at=Point(1, 2)),
    anything=[Size.LARGE, (Point(3, 4), {"k": Order(1)})],
)


def shop(saver: Any) -> Any:
    graph = StateGraph(Shop)
    graph.add_node("n", lambda state: VALUES)
    graph.add_edge(START, "n")
    return graph.compile(checkpointer=saver)


def test_undeclared_types_are_refused_with_the_remedy(saver: Any, drive: Drive) -> None:
    with pytest.raises(SerializationError, match=r"(Order|Invoice|Size|Point).*allow"):
        drive(shop(saver).invoke, {}, thread(), durability="sync")


@pytest.mark.parametrize("how", ["types", "graph"])
def test_declared_types_come_back_equal(memory: Any, drive: Drive, how: str) -> None:
    app = shop(memory.checkpointer)
    if how == "types":
        memory.allow(Order, Invoice, Size, Point)
    else:
        memory.allow(app)
    drive(app.invoke, {}, thread())
    values = drive(app.get_state, thread()).values
    assert values == VALUES
    assert repr(values) == repr(VALUES)
    assert type(values["anything"][1]) is tuple


@pytest.mark.on_file
def test_types_given_when_opening(url: str, drive: Drive) -> None:
    for turn in range(2):
        with threadkeep.open(url, types=[Order, Invoice, Size, Point]) as memory:
            app = shop(memory.checkpointer)
            if turn == 0:
                drive(app.invoke, {}, thread())
            assert drive(app.get_state, thread()).values == VALUES


def test_a_structured_response(memory: Any, drive: Drive) -> None:
    model = script(lambda: calls("Answer", city="Kyiv", rain=True))
    agent = create_agent(model, response_format=ToolStrategy(Answer), checkpointer=memory.checkpointer)
    memory.allow(Answer)  # the agent's schema says no more of it than "some type"
    drive(agent.invoke, human("?"), thread())
    assert drive(agent.get_state, thread()).values["structured_response"] == Answer(city="Kyiv", rain=True)


class Answer(BaseModel):
    """An answer."""

    city: str
    rain: bool


class Desk(AgentState):
    order: Order


def test_a_custom_agent_state_is_read_from_the_agent(memory: Any, drive: Drive) -> None:
    agent = create_agent(script(lambda: calls("none")), state_schema=Desk, checkpointer=memory.checkpointer)
    memory.allow(agent)
    drive(agent.update_state, thread(), {"order": Order(3, [Size.SMALL])}, as_node="model")
    assert drive(agent.get_state, thread()).values["order"] == Order(3, [Size.SMALL])


def test_types_in_interrupts_and_answers(memory: Any, drive: Drive) -> None:
    memory.allow(Order, Size)
    graph = StateGraph(Shop)
    graph.add_node("ask", lambda state: {"anything": interrupt(Order(1, [Size.LARGE]))})
    graph.add_edge(START, "ask")
    app = graph.compile(checkpointer=memory.checkpointer)
    drive(app.invoke, {"order": Order(5)}, thread())
    assert drive(app.get_state, thread()).interrupts[0].value == Order(1, [Size.LARGE])
    drive(app.invoke, Command(resume=Order(2)), thread())
    assert drive(app.get_state, thread()).values["anything"] == Order(2)


def test_a_pydantic_state(memory: Any, drive: Drive) -> None:
    graph = StateGraph(Invoice)
    graph.add_node("n", lambda state: {"total": state.total + 1})
    graph.add_edge(START, "n")
    app = graph.compile(checkpointer=memory.checkpointer)
    memory.allow(app)
    drive(app.invoke, Invoice(order=Order(1), total=1.0, at=Point(0, 0)), thread())
    values = drive(app.get_state, thread()).values
    assert values == {"order": Order(1), "total": 2.0, "at": Point(0, 0)}


STRICT = """
    import sys
    from dataclasses import dataclass
    from typing import TypedDict

    from langgraph.graph import START, StateGraph
    from pydantic import BaseModel
    import threadkeep

    @dataclass
    class Order:
        number: int

    class Invoice(BaseModel):
        order: Order

    class Shop(TypedDict, total=False):
        order: Order
        invoice: Invoice
        other: object

    class Stranger(BaseModel):
        x: int

    memory = threadkeep.open(sys.argv[1])
    original = memory.checkpointer

    def build(write):
        graph = StateGraph(Shop)
        graph.add_node("n", lambda state: write)
        graph.add_edge(START, "n")
        return graph.compile(checkpointer=original)

    config = {"configurable": {"thread_id": "t"}}
    app = build({"order": Order(1), "invoice": Invoice(order=Order(2))})
    app.invoke({}, config)
    assert app.get_state(config).values == {"order": Order(1), "invoice": Invoice(order=Order(2))}
    # The view that LangGraph was given shares everything with the checkpointer it came from.
    assert len(list(original.list(config))) == 3
    view = original.with_allowlist([("nowhere", "Nothing")])
    assert view.get_tuple(config).checkpoint["id"] == original.get_tuple(config).checkpoint["id"]
    try:
        build({"other": Stranger(x=1)}).invoke({}, config, durability="sync")
    except threadkeep.SerializationError as error:
        print("refused", error)
    memory.close()
    try:
        view.get_tuple(config)
    except threadkeep.MemoryClosed:
        print("closed")
"""


@pytest.mark.on_file
@pytest.mark.parametrize("strict", ["true", "false"])
def test_strict_msgpack_declares_a_graphs_own_types(url: str, strict: str) -> None:
    """With LangGraph's strict mode the graph's schema reaches the saver by `with_allowlist`."""
    program = textwrap.dedent(STRICT)
    if strict == "false":
        program = program.replace("app.invoke({}, config)", "memory.allow(app); app.invoke({}, config)")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, url],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": strict},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Stranger" in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[1] == "closed"
