"""Pauses for a human: dynamic and static, one and several, across restarts."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, Send, interrupt

from .kit import Drive, Log, calls_all, human, says, script, texts, thread, tool_user

pytestmark = pytest.mark.crosswise


def asking(saver: Any, *names: str, before: list[str] | None = None) -> tuple[Any, dict[str, int]]:
    """A graph with a node for each name, all in one step, that ask and log the answer."""
    runs: dict[str, int] = dict.fromkeys(names, 0)

    def node(name: str) -> Any:
        def ask(state: Any) -> dict[str, Any]:
            runs[name] += 1
            return {"log": [f"{name}: {interrupt({'question': name})}"]}

        return ask

    graph = StateGraph(Log)
    for name in names:
        graph.add_node(name, node(name))
        graph.add_edge(START, name)
    return graph.compile(checkpointer=saver), runs


def test_ask_and_resume(saver: Any, drive: Drive) -> None:
    graph, runs = asking(saver, "a")
    paused = drive(graph.invoke, {"log": []}, thread())
    (asked,) = paused["__interrupt__"]
    assert isinstance(asked, Interrupt)
    state = drive(graph.get_state, thread())
    assert (state.next, state.interrupts) == (("a",), (asked,))
    assert state.tasks[0].interrupts == (asked,)
    assert drive(graph.invoke, Command(resume="yes"), thread())["log"] == ["a: yes"]
    assert drive(graph.get_state, thread()).interrupts == ()
    assert runs == {"a": 2}


@pytest.mark.parametrize("answer", [None, False, 0, "", [], {"k": [1, {"deep": None}]}, "ответ 🙂"])
def test_any_answer_resumes(saver: Any, drive: Drive, answer: Any) -> None:
    graph = StateGraph(Log)
    graph.add_node("a", lambda state: {"log": [interrupt("?")]})
    graph.add_edge(START, "a")
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, {"log": []}, thread())
    if answer is None:  # LangGraph takes a bare None for "no answer", so it is sent by id
        (asked,) = drive(app.get_state, thread()).interrupts
        assert drive(app.invoke, Command(resume={asked.id: None}), thread())["log"] == [None]
    else:
        assert drive(app.invoke, Command(resume=answer), thread())["log"] == [answer]


def test_several_questions_in_one_node(saver: Any, drive: Drive) -> None:
    def form(state: Any) -> dict[str, Any]:
        name = interrupt("name")
        age = interrupt("age")
        return {"log": [name, age, interrupt("sure?")]}

    graph = StateGraph(Log)
    graph.add_node("form", form)
    graph.add_edge(START, "form")
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, {"log": []}, thread())
    asked = []
    for answer in ("Olena", 41, True):
        asked.append(drive(app.get_state, thread()).interrupts[0].value)
        result = drive(app.invoke, Command(resume=answer), thread())
    assert asked == ["name", "age", "sure?"]
    assert result["log"] == ["Olena", 41, True]


def test_parallel_interrupts_resumed_together(saver: Any, drive: Drive) -> None:
    graph, runs = asking(saver, "a", "b", "c")
    drive(graph.invoke, {"log": []}, thread())
    asked = drive(graph.get_state, thread()).interrupts
    assert [i.value["question"] for i in asked] == ["a", "b", "c"]
    answers = {i.id: f"re {i.value['question']}" for i in asked}
    result = drive(graph.invoke, Command(resume=answers), thread())
    assert result["log"] == ["a: re a", "b: re b", "c: re c"]
    assert runs == {"a": 2, "b": 2, "c": 2}


def test_parallel_interrupts_resumed_one_by_one(saver: Any, drive: Drive) -> None:
    graph, _ = asking(saver, "a", "b", "c")
    drive(graph.invoke, {"log": []}, thread())
    asked = {i.value["question"]: i.id for i in drive(graph.get_state, thread()).interrupts}
    for name in ("b", "c", "a"):
        result = drive(graph.invoke, Command(resume={asked[name]: name.upper()}), thread())
    assert result["log"] == ["a: A", "b: B", "c: C"]
    assert drive(graph.get_state, thread()).next == ()


def test_one_answer_to_several_questions_is_refused(saver: Any, drive: Drive) -> None:
    graph, _ = asking(saver, "a", "b")
    drive(graph.invoke, {"log": []}, thread())
    with pytest.raises(RuntimeError, match="multiple pending interrupts"):
        drive(graph.invoke, Command(resume="x"), thread())
    assert len(drive(graph.get_state, thread()).interrupts) == 2


def test_a_finished_sibling_does_not_run_again_on_resume(saver: Any, drive: Drive) -> None:
    runs: list[str] = []

    def quick(state: Any) -> dict[str, Any]:
        runs.append("quick")
        return {"log": ["quick"]}

    graph = StateGraph(Log)
    graph.add_node("ask", lambda state: {"log": [interrupt("?")]})
    graph.add_node("quick", quick)
    graph.add_edge(START, "ask")
    graph.add_edge(START, "quick")
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, {"log": []}, thread())
    result = drive(app.invoke, Command(resume="ok"), thread())
    assert (result["log"], runs) == (["ok", "quick"], ["quick"])


def test_interrupts_in_sends(saver: Any, drive: Drive) -> None:
    class Orders(TypedDict, total=False):
        order: str
        log: Annotated[list[Any], operator.add]

    graph = StateGraph(Orders)
    graph.add_node("split", lambda state: {})
    graph.add_node("approve", lambda s: {"log": [f"{s['order']}={interrupt(s['order'])}"]})
    graph.add_edge(START, "split")
    graph.add_conditional_edges(
        "split", lambda state: [Send("approve", {"order": o}) for o in "xyz"], ["approve"]
    )
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, {"log": []}, thread())
    asked = drive(app.get_state, thread()).interrupts
    assert sorted(i.value for i in asked) == ["x", "y", "z"]
    answers = {i.id: i.value * 2 for i in asked}
    assert drive(app.invoke, Command(resume=answers), thread())["log"] == ["x=xx", "y=yy", "z=zz"]


def test_resume_with_update_and_goto(saver: Any, drive: Drive) -> None:
    graph, _ = asking(saver, "a")
    drive(graph.invoke, {"log": []}, thread())
    result = drive(graph.invoke, Command(resume="yes", update={"log": ["note"]}), thread())
    assert sorted(result["log"]) == ["a: yes", "note"]


def test_static_interrupt_before_and_after(saver: Any, drive: Drive) -> None:
    graph = StateGraph(Log)
    for name in ("a", "b", "c"):
        graph.add_node(name, lambda state, name=name: {"log": [name]})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    graph.add_edge("b", "c")
    app = graph.compile(checkpointer=saver, interrupt_before=["b"], interrupt_after=["b"])
    assert drive(app.invoke, {"log": []}, thread())["log"] == ["a"]
    assert drive(app.get_state, thread()).next == ("b",)
    assert drive(app.invoke, None, thread())["log"] == ["a", "b"]
    assert drive(app.get_state, thread()).next == ("c",)
    assert drive(app.invoke, None, thread())["log"] == ["a", "b", "c"]
    assert drive(app.get_state, thread()).next == ()


def test_agent_static_interrupts(saver: Any, drive: Drive) -> None:
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    agent = create_agent(tool_user("pay", amount=5), [pay], checkpointer=saver, interrupt_before=["tools"])
    drive(agent.invoke, human("pay 5"), thread())
    paused = drive(agent.get_state, thread())
    assert (paused.next, paused.values["messages"][-1].tool_calls[0]["args"]) == (
        ("tools",),
        {"amount": 5},
    )
    result = drive(agent.invoke, None, thread())
    assert texts(result["messages"])[-1] == "the tool said: paid 5"


def test_two_tools_ask_at_once(saver: Any, drive: Drive) -> None:
    @tool
    def sign(document: str) -> str:
        """Sign a document."""
        return f"{document}: {interrupt(document)}"

    model = script(
        lambda: calls_all(("sign", {"document": "lease"}), ("sign", {"document": "deed"})),
        lambda: says("filed"),
    )
    agent = create_agent(model, [sign], checkpointer=saver)
    drive(agent.invoke, human("sign both"), thread())
    asked = drive(agent.get_state, thread()).interrupts
    assert sorted(i.value for i in asked) == ["deed", "lease"]
    answers = {i.id: "signed" for i in asked}
    result = drive(agent.invoke, Command(resume=answers), thread())
    assert texts(result["messages"]) == [
        "sign both", "", "lease: signed", "deed: signed", "filed",
    ]  # fmt: skip


def test_a_new_message_instead_of_an_answer(saver: Any, drive: Drive) -> None:
    graph, _ = asking(saver, "a")
    drive(graph.invoke, {"log": ["first"]}, thread())
    drive(graph.invoke, {"log": ["never mind"]}, thread())
    state = drive(graph.get_state, thread())
    assert state.values["log"] == ["first", "never mind"]
    assert len(state.interrupts) == 1
    assert drive(graph.invoke, Command(resume="ok"), thread())["log"][-1] == "a: ok"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_an_interrupt_outlives_the_graph_object(saver: Any, drive: Drive, durability: str) -> None:
    first, _ = asking(saver, "a", "b")
    drive(first.invoke, {"log": []}, thread(), durability=durability)
    second, _ = asking(saver, "a", "b")
    asked = drive(second.get_state, thread()).interrupts
    assert len(asked) == 2
    result = drive(second.invoke, Command(resume={i.id: 1 for i in asked}), thread(), durability=durability)
    assert result["log"] == ["a: 1", "b: 1"]
