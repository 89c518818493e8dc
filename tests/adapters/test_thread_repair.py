"""`thread.repair()`: the messages of a state made valid, on request."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, interrupt

import threadkeep
from threadkeep.context import repair, validate
from threadkeep.errors import ConfigurationError, ThreadNotFound
from threadkeep.testing.histories import random_history

CALLS = [{"name": "ask", "args": {}, "id": one} for one in ("a", "b")]
CONFIG: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def memory() -> Any:
    with threadkeep.open("memory://") as opened:
        yield opened


def messages(thread: threadkeep.Thread) -> list[BaseMessage]:
    return list(thread.state().values["messages"])


def test_an_open_call_is_closed_by_one_checkpoint_and_an_audit_entry(memory: threadkeep.Memory) -> None:
    thread = memory.threads.get("t")
    thread.append(
        [HumanMessage("hi", id="h"), AIMessage("", tool_calls=CALLS[:1], id="c"), HumanMessage("?", id="q")]
    )
    before = thread.info().checkpoints

    stored = thread.repair(actor="anna")

    assert stored is not None
    assert thread.state().checkpoint == stored
    assert thread.info().checkpoints == before + 1
    kept = messages(thread)
    assert [message.type for message in kept] == ["human", "ai", "tool", "human"]
    assert validate(kept) == ()
    entry = thread.audit()[0]
    assert (entry.action, entry.actor, entry.message_ids) == ("repair", "anna", (kept[2].id,))


def test_a_valid_state_stays_and_nothing_is_stored(memory: threadkeep.Memory) -> None:
    thread = memory.threads.get("t")
    thread.append([HumanMessage("hi"), AIMessage("hello")])
    before = thread.state()
    assert thread.repair() is None
    assert thread.state().checkpoint == before.checkpoint
    assert thread.audit() == ()


async def test_the_same_with_await(memory: threadkeep.Memory) -> None:
    thread = memory.threads.get("t")
    await thread.aappend([HumanMessage("hi"), ToolMessage("ok", tool_call_id="x")])
    assert await thread.arepair() is not None
    assert [message.type for message in messages(thread)] == ["human"]
    assert [message.type for message in thread.messages()] == ["human", "tool"]
    assert await thread.arepair() is None


def test_a_thread_that_is_not_there(memory: threadkeep.Memory) -> None:
    with pytest.raises(ThreadNotFound):
        memory.threads.get("t").repair()


def graph(memory: threadkeep.Memory, second: Any) -> Any:
    """A graph whose model calls two tools at once; the first answers, the second does as it is told."""

    def tool(state: Any) -> Any:
        if state == "a":
            return {"messages": [ToolMessage("42 crates", tool_call_id="a", id="ra")]}
        return second()

    built = StateGraph(MessagesState)
    built.add_node("model", lambda state: {"messages": [AIMessage("", tool_calls=CALLS, id="c")]})
    built.add_node("tool", tool)
    built.add_edge(START, "model")
    built.add_conditional_edges("model", lambda state: [Send("tool", one) for one in ("a", "b")], ["tool"])
    return built.compile(checkpointer=memory.checkpointer)


def test_a_result_that_did_finish_is_taken_from_the_writes(memory: threadkeep.Memory) -> None:
    def fail() -> Any:
        raise OSError("the line is cut")

    with pytest.raises(OSError, match="cut"):
        graph(memory, fail).invoke({"messages": [HumanMessage("hi")]}, CONFIG)
    thread = memory.threads.get("t")
    assert [message.type for message in messages(thread)] == ["human", "ai"]

    thread.repair()

    results = messages(thread)[2:]
    assert [getattr(message, "tool_call_id", None) for message in results] == ["a", "b"]
    assert results[0].content == "42 crates"
    assert validate(messages(thread)) == ()


def test_a_pause_for_a_human_is_left_alone(memory: threadkeep.Memory) -> None:
    agent = graph(memory, lambda: {"messages": [ToolMessage(interrupt("sure?"), tool_call_id="b")]})
    agent.invoke({"messages": [HumanMessage("hi")]}, CONFIG)
    thread = memory.threads.get("t")
    assert thread.repair() is None
    assert agent.get_state(CONFIG).interrupts


def test_what_would_end_a_pause_is_refused(memory: threadkeep.Memory) -> None:
    agent = graph(memory, lambda: {"messages": [ToolMessage(interrupt("sure?"), tool_call_id="b")]})
    agent.invoke({"messages": [HumanMessage("hi"), ToolMessage("ok", tool_call_id="orphan")]}, CONFIG)
    thread = memory.threads.get("t")
    with pytest.raises(ConfigurationError, match="'t' waits for a human"):
        thread.repair()
    assert agent.get_state(CONFIG).interrupts


def test_any_state_becomes_valid(memory: threadkeep.Memory) -> None:
    for seed in range(25):
        history = [message for message in random_history(seed, size=15) if message.type != "remove"]
        if not history:
            continue
        thread = memory.threads.get(f"t{seed}")
        thread.append([message.model_copy(update={"id": f"m{n}"}) for n, message in enumerate(history)])
        thread.repair()
        kept = messages(thread)
        if any(message.type != "system" for message in kept):
            assert validate(kept) == (), seed
            assert [message.content for message in repair(kept)] == [message.content for message in kept]
