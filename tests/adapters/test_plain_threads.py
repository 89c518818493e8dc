"""A thread kept by hand and a thread kept by an agent are the same thread."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import after_model
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool

from .kit import Drive, echo, human, kinds, texts, thread, tool_user

pytestmark = pytest.mark.stricter


def test_an_agent_reads_what_was_appended(memory: Any, drive: Drive) -> None:
    plain = memory.threads.get("t")
    drive(plain.append, [("user", "My bicycle is green."), {"role": "assistant", "content": "Noted."}])
    agent = create_agent(echo(), checkpointer=memory.checkpointer)
    assert texts(drive(agent.get_state, thread()).values["messages"]) == ["My bicycle is green.", "Noted."]
    result = drive(agent.invoke, human("What colour?"), thread())
    assert texts(result["messages"])[-1] == "3: What colour?"
    assert texts(drive(plain.messages)) == [
        "My bicycle is green.",
        "Noted.",
        "What colour?",
        "3: What colour?",
    ]


def test_what_an_agent_said_is_read_and_continued_by_hand(memory: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=memory.checkpointer)
    drive(agent.invoke, human("one"), thread())
    plain = memory.threads.get("t")
    assert texts(drive(plain.messages)) == ["one", "1: one"]
    drive(plain.append, [HumanMessage("by hand"), AIMessage("answered by hand")])
    result = drive(agent.invoke, human("two"), thread())
    assert texts(result["messages"]) == [
        "one",
        "1: one",
        "by hand",
        "answered by hand",
        "two",
        "5: two",
    ]
    assert drive(plain.messages) == result["messages"]


def test_a_plain_loop_around_a_chat_model(memory: Any, drive: Drive) -> None:
    model, plain = echo(), memory.threads.get("loop")
    for text in ("one", "two", "three"):
        drive(plain.append, [("user", text)])
        drive(plain.append, [model.invoke(drive(plain.messages))])
    assert texts(drive(plain.messages)) == ["one", "1: one", "two", "3: two", "three", "5: three"]
    history = drive(plain.history)
    assert len(history) == 6  # one durable checkpoint for each call
    assert [c.messages for c in history] == [6, 5, 4, 3, 2, 1]
    assert [c.parent_id for c in history] == [c.checkpoint_id for c in history.items[1:]] + [None]
    info = drive(plain.info)
    assert (info.messages, info.checkpoints, info.title) == (6, 6, "one")


def test_appending_keeps_the_other_fields_of_the_state(memory: Any, drive: Drive) -> None:
    class Booking(AgentState):
        guest: str

    agent = create_agent(echo(), state_schema=Booking, checkpointer=memory.checkpointer)
    drive(agent.invoke, {**human("one"), "guest": "Olena"}, thread())
    drive(memory.threads.get("t").append, [("user", "by hand")])
    state = drive(agent.get_state, thread())
    assert state.values["guest"] == "Olena"
    assert drive(agent.invoke, human("two"), thread())["guest"] == "Olena"


def test_a_tool_round_kept_by_hand(memory: Any, drive: Drive) -> None:
    plain = memory.threads.get("t")
    call = {"name": "look", "args": {"x": 1}, "id": "c1", "type": "tool_call"}
    round_ = [HumanMessage("look"), AIMessage("", tool_calls=[call]), ToolMessage("found", tool_call_id="c1")]
    drive(plain.append, round_)
    agent = create_agent(echo(), checkpointer=memory.checkpointer)
    messages = drive(agent.invoke, human("and?"), thread())["messages"]
    assert kinds(messages) == ["human", "ai", "tool", "human", "ai"]
    assert messages[1].tool_calls == [call]
    assert all(m.id for m in messages)
    assert [m.id for m in round_] == [None] * 3  # a caller's object is never changed


def test_the_transcript_outlives_removal_from_the_state(memory: Any, drive: Drive) -> None:
    @after_model
    def trim(state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"messages": [RemoveMessage(id=m.id) for m in state["messages"][:-2]]}

    agent = create_agent(echo(), middleware=[trim], checkpointer=memory.checkpointer)
    for text in ("one", "two", "three"):
        drive(agent.invoke, human(text), thread())
    assert texts(drive(agent.get_state, thread()).values["messages"]) == ["three", "3: three"]
    assert texts(drive(memory.threads.get("t").messages)) == [
        "one", "1: one", "two", "3: two", "three", "3: three",
    ]  # fmt: skip


def test_forking_by_message_and_going_on_with_an_agent(memory: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=memory.checkpointer)
    for n, text in enumerate(("one", "two", "three")):
        drive(agent.invoke, human(text, f"h{n}"), thread())
    plain = memory.threads.get("t")
    drive(plain.fork, before="h1")
    assert texts(drive(agent.get_state, thread()).values["messages"]) == ["one", "1: one"]
    result = drive(agent.invoke, human("instead"), thread())
    assert texts(result["messages"]) == ["one", "1: one", "instead", "3: instead"]
    assert texts(drive(plain.messages)) == texts(result["messages"])
    branches = drive(plain.branches)
    assert [b.current for b in branches] == [False, True]
    old = drive(plain.messages, branch=branches[0].branch)
    assert texts(old) == ["one", "1: one", "two", "3: two", "three", "5: three"]


def test_forking_at_a_checkpoint_of_the_history(memory: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=memory.checkpointer)
    for text in ("one", "two"):
        drive(agent.invoke, human(text), thread())
    plain = memory.threads.get("t")
    after_one = next(c for c in drive(plain.history) if c.messages == 2)
    drive(plain.fork, after_one.checkpoint_id)
    assert texts(drive(agent.invoke, human("x"), thread())["messages"]) == ["one", "1: one", "x", "3: x"]


def test_usage_of_an_agents_calls(memory: Any, drive: Drive) -> None:
    @tool
    def look() -> str:
        """Look."""
        return "found"

    agent = create_agent(tool_user("look"), [look], checkpointer=memory.checkpointer)
    drive(agent.invoke, human("?"), thread())
    usage = drive(memory.threads.get("t").usage)
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (2, 20, 5)
    assert usage.last.input_tokens == 10
    assert len(drive(memory.threads.get("t").calls)) == 2


def test_state_and_history_agree_with_the_graph(memory: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=memory.checkpointer)
    drive(agent.invoke, human("one"), thread())
    plain = memory.threads.get("t")
    mine, theirs = drive(plain.history), drive(agent.get_state_history, thread())
    assert [(c.checkpoint_id, c.step, c.source) for c in mine] == [
        (s.config["configurable"]["checkpoint_id"], s.metadata["step"], s.metadata["source"]) for s in theirs
    ]
    assert drive(plain.state).values["messages"] == theirs[0].values["messages"]
    for info, snapshot in zip(mine, theirs, strict=True):
        values = drive(plain.state, info.checkpoint_id).values
        assert values.get("messages", []) == snapshot.values.get("messages", [])


def test_status_follows_a_run(memory: Any, drive: Drive) -> None:
    @tool
    def fail() -> str:
        """Fail."""
        raise OSError("broken")

    seen: list[str] = []

    @after_model
    def look(state: Any, runtime: Any) -> None:
        seen.append(memory.threads.get("t").info().status)

    sane = create_agent(echo(), middleware=[look], checkpointer=memory.checkpointer)
    drive(sane.invoke, human("one"), thread(), durability="sync")
    assert seen == ["running"]
    plain = memory.threads.get("t")
    assert drive(plain.info).status == "idle"
    paused = create_agent(
        tool_user("fail"), [fail], checkpointer=memory.checkpointer, interrupt_before=["tools"]
    )
    drive(paused.invoke, human("two"), thread())
    broken = create_agent(tool_user("fail"), [fail], checkpointer=memory.checkpointer)
    with pytest.raises(OSError, match="broken"):
        drive(broken.invoke, None, thread())
    assert drive(plain.info).status == "failed"


def test_deleting_a_thread_forgets_it_for_both(memory: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=memory.checkpointer)
    drive(agent.invoke, human("one"), thread())
    assert drive(memory.threads.get("t").delete) is True
    assert drive(agent.get_state, thread()).values == {}
    assert drive(memory.threads.get("t").exists) is False
    assert texts(drive(agent.invoke, human("new"), thread())["messages"]) == ["new", "1: new"]


def test_owners_do_not_see_each_other(memory: Any, drive: Drive) -> None:
    for name in ("alice", "bob"):
        agent = create_agent(echo(), checkpointer=memory.as_owner(name).checkpointer)
        drive(agent.invoke, human(f"I am {name}"), thread())
    for name in ("alice", "bob"):
        owned = memory.as_owner(name)
        assert texts(drive(owned.threads.get("t").messages))[0] == f"I am {name}"
        assert [i.thread_id for i in drive(owned.threads.list)] == ["t"]
    assert drive(memory.threads.list).items == ()
