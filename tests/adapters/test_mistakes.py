"""Common mistakes, each with a clear error or warning."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph

import threadkeep
from threadkeep.errors import DuplicateHistoryWarning, MemoryClosed, SerializationError

from .kit import Drive, Log, echo, human, says, texts, thread


@pytest.mark.parametrize(
    "config",
    [
        None,
        {},
        {"configurable": {}},
        pytest.param({"configurable": {"user": "x"}}, marks=pytest.mark.stricter),
    ],
)
def test_no_thread_id(saver: Any, drive: Drive, config: Any) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    with pytest.raises(ValueError, match="thread_id"):
        drive(agent.invoke, human("hi"), config)
    assert drive(saver.list, None) == []


@pytest.mark.stricter
def test_no_thread_id_when_the_saver_is_called_directly(saver: Any, drive: Drive) -> None:
    for method in (saver.get_tuple, saver.list):
        with pytest.raises(ValueError, match="thread_id"):
            drive(method, {"configurable": {}})


@pytest.mark.stricter
def test_the_history_passed_again_by_hand(saver: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    history: list[Any] = []
    for turn, text in enumerate(("one", "two")):
        history.append({"role": "user", "content": text})
        if turn == 0:
            result = drive(agent.invoke, {"messages": list(history)}, thread())
        else:
            with pytest.warns(DuplicateHistoryWarning, match=r"'t'.*3 messages"):
                result = drive(agent.invoke, {"messages": list(history)}, thread())
        history.append({"role": "assistant", "content": result["messages"][-1].text})
    # It is a warning: what the caller asked for is what is stored.
    assert texts(result["messages"]) == ["one", "1: one", "one", "1: one", "two", "5: two"]


@pytest.mark.stricter
@pytest.mark.parametrize("ids", ["none", "other"])
def test_history_as_message_objects(saver: Any, drive: Drive, ids: str) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    drive(agent.invoke, human("one"), thread())
    again = [HumanMessage("one", id="x" if ids == "other" else None), says("1: one"), HumanMessage("two")]
    with pytest.warns(DuplicateHistoryWarning):
        drive(agent.invoke, {"messages": again}, thread())


@pytest.mark.stricter
def test_no_warning_where_nothing_is_duplicated(saver: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = drive(agent.invoke, human("hello"), thread())
        # One equal message is somebody saying hello twice.
        result = drive(agent.invoke, human("hello"), thread())
        # The same ids replace the messages they name: nothing is stored twice.
        result = drive(agent.invoke, {"messages": [*result["messages"], HumanMessage("on")]}, thread())
        assert len(result["messages"]) == 6
        # Two messages that begin like others but are not the thread's first.
        drive(agent.invoke, {"messages": [HumanMessage("on"), HumanMessage("hello")]}, thread())
        # The same messages on a thread of their own.
        copies = [HumanMessage(m.text) for m in result["messages"]]
        drive(agent.invoke, {"messages": copies}, thread("fresh"))


@pytest.mark.stricter
def test_use_after_close(memory: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=memory.checkpointer)
    drive(agent.invoke, human("one"), thread())
    saver, plain = memory.checkpointer, memory.threads.get("t")
    memory.close()
    memory.close()  # twice is once
    assert memory.closed
    uses = [
        lambda: drive(agent.invoke, human("two"), thread()),
        lambda: drive(agent.get_state, thread()),
        lambda: drive(saver.list, thread()),
        lambda: drive(saver.delete_thread, "t"),
        lambda: drive(plain.messages),
        lambda: drive(plain.append, [("user", "x")]),
        lambda: drive(memory.threads.list),
    ]
    for use in uses:
        with pytest.raises(MemoryClosed, match="closed"):
            use()


@pytest.mark.stricter
def test_use_after_with(url: str, drive: Drive) -> None:
    """The checkpointer of a `with` that ended, as when an agent is built inside and used outside."""
    with threadkeep.open(url) as memory:
        agent = create_agent(echo(), checkpointer=memory.checkpointer)
    with pytest.raises(threadkeep.MemoryClosed, match="closed"):
        drive(agent.invoke, human("late"), thread())


@pytest.mark.stricter
def test_the_memory_itself_passed_as_checkpointer(memory: Any) -> None:
    with pytest.raises(Exception, match="checkpointer"):
        create_agent(echo(), checkpointer=memory).invoke(human("x"), thread())


@pytest.mark.stricter
def test_a_value_that_cannot_be_stored_names_its_place(saver: Any, drive: Drive) -> None:
    graph = StateGraph(Log)
    graph.add_node("n", lambda state: {"log": [{"file": object()}]})
    graph.add_edge(START, "n")
    app = graph.compile(checkpointer=saver)
    with pytest.raises(SerializationError, match=r"log.*file") as caught:
        drive(app.invoke, {"log": []}, thread(), durability="sync")
    assert "object" in str(caught.value)
    assert "\n" not in str(caught.value)
