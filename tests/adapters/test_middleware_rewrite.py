"""ContextMiddleware in rewrite mode: a small state, a whole record."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

import threadkeep
from threadkeep import ConfigurationError, Memory
from threadkeep.context import (
    Buffer,
    Entities,
    HeadTail,
    Offload,
    Policy,
    SummaryBuffer,
    ToolResults,
    Window,
    validate,
)

from .kit import Drive, Scripted, calls, human, kinds, says, texts, thread
from .middleware_kit import (
    ASKED,
    BADGE,
    TOLD,
    agent,
    chatter,
    knowing,
    rounds,
    sent,
    small,
    summaries_in,
    summarizer,
    talk,
    weigh,
)


def rewriting(llm: Any, policy: Any, memory: Memory, **options: Any) -> Any:
    return agent(llm, policy, memory.checkpointer, memory=memory, mode="rewrite", **options)


@pytest.mark.crosswise
def test_the_state_is_small_and_the_record_whole(memory: Memory, drive: Drive) -> None:
    model = knowing()
    graph = rewriting(model, small(), memory, model=summarizer())
    said = chatter(12)
    for text in said:
        out = talk(drive, graph, [text])
        assert len(out["messages"]) <= 7
        assert out["messages"][-1].type == "ai"
    record = drive(memory.threads.get("t").messages)
    assert texts(record)[::2] == said and len(record) == 24
    earlier = [s for s in drive(graph.get_state_history, thread()) if len(s.values.get("messages", ())) == 6]
    assert earlier and earlier[-1].values["messages"][0].text == said[0]


@pytest.mark.crosswise
def test_the_view_is_that_of_view_mode(memory: Memory, drive: Drive) -> None:
    """Taking messages out of the state changes nothing of what the model sees."""
    seen = {}
    for mode in ("view", "rewrite"):
        model = Scripted(reply=lambda messages: says("Yes."))
        options: Any = {"memory": memory, "mode": mode, "model": summarizer()}
        graph = agent(model, SummaryBuffer(trigger=("messages", 8), keep=4), memory.checkpointer, **options)
        talk(drive, graph, [TOLD, *chatter(14)], name=mode)
        seen[mode] = [texts(call) for call in model.seen]
    assert seen["view"] == seen["rewrite"]


@pytest.mark.crosswise
def test_tool_rounds_leave_whole(memory: Memory, drive: Drive) -> None:
    model = rounds(30)
    graph = rewriting(model, SummaryBuffer(trigger=("messages", 12), keep=4), memory, tools=[weigh])
    out = drive(graph.invoke, human("Weigh all boxes."), {**thread(), "recursion_limit": 300})
    assert len(out["messages"]) <= 14
    assert validate(out["messages"]) == ()
    assert all(validate(call) == () and len(call) <= 13 for call in model.seen)
    assert kinds(drive(memory.threads.get("t").messages)) == ["human", *["ai", "tool"] * 30, "ai"]


@pytest.mark.crosswise
def test_an_answer_with_a_known_id_is_not_removed(memory: Memory, drive: Drive) -> None:
    """A scripted or cached model answers under one id again and again."""
    model = Scripted(reply=lambda messages: AIMessage("Yes.", id="same"))
    graph = rewriting(model, Window(messages=4), memory)
    out = talk(drive, graph, chatter(8))
    assert out["messages"][-1].id == "same" or any(m.id == "same" for m in out["messages"])


@pytest.mark.crosswise
def test_repairs_of_invalid_calls_and_removals_go_together(memory: Memory, drive: Drive) -> None:
    """LangChain rewrites the whole list when it closes invalid calls; the answer and the rest must survive that."""
    broken = AIMessage(
        "", invalid_tool_calls=[{"name": "weigh", "args": "{", "id": "c1", "error": "cut off"}]
    )
    answers = iter([says("Yes."), says("Yes."), broken, says("A"), says("B"), says("C"), says("D")])
    model = Scripted(reply=lambda messages: next(answers))
    graph = rewriting(model, Window(messages=4), memory, tools=[weigh])
    out = talk(drive, graph, chatter(7))
    assert out["messages"][-1].text == "D"
    assert len(out["messages"]) <= 7
    assert [m.text for m in drive(memory.threads.get("t").messages) if m.type == "human"] == chatter(7)


@pytest.mark.crosswise
def test_recall_reads_the_record_of_the_runs_own_thread(memory: Memory, drive: Drive) -> None:
    def reply(messages: Any) -> AIMessage:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            return says(f"I found: {last.text}")
        return calls("search_history", query="badge secret") if "search" in last.text else says("Yes.")

    model = Scripted(reply=reply)
    graph = rewriting(model, Offload(trigger=("messages", 6), keep=2), memory)
    others = memory.as_owner("somebody else")
    agent(model, Buffer(), others.checkpointer).invoke(human("The secret badge is theirs."), thread())
    talk(drive, graph, ["The secret badge is another thread's."], name="u")
    out = talk(drive, graph, [TOLD, *chatter(8), "Please search."])
    assert TOLD in out["messages"][-1].text
    assert "theirs" not in out["messages"][-1].text and "another thread" not in out["messages"][-1].text
    assert not any(m.text == TOLD for m in out["messages"])


def test_a_page_of_a_long_message_is_bounded(memory: Memory) -> None:
    long = "It stands in the third row. " * 2_000

    def reply(messages: Any) -> AIMessage:
        last = messages[-1]
        if isinstance(last, ToolMessage) or "read" not in last.text:
            return says("Yes.")
        lines = (line for message in messages for line in message.text.split("\n"))
        return calls("read_history", reference=next(one.split(":")[0] for one in lines if "third row" in one))

    graph = agent(
        Scripted(reply=reply),
        Offload(trigger=("messages", 6), keep=2),
        memory.checkpointer,
        recall_tokens=300,
    )
    for text in [long, *chatter(4), "Please read it."]:
        out = graph.invoke(human(text), thread())
    (result,) = [m for m in out["messages"] if m.type == "tool"]
    assert "third row" in result.text and "[page 1" in result.text
    assert len(result.text) < 3_000


def talkative(seed: int) -> Scripted:
    """A model that answers or makes one to three calls at once, as a seed has it."""
    chance, count = random.Random(seed), itertools.count()

    def reply(messages: list[BaseMessage]) -> AIMessage:
        n = next(count)
        if chance.random() < 0.45:
            boxes = [chance.randint(0, 99) for _ in range(chance.randint(1, 3))]
            made = [{"name": "weigh", "args": {"box": box}, "id": f"c{n}-{i}"} for i, box in enumerate(boxes)]
            return AIMessage(chance.choice(["", "Let me see."]), tool_calls=made)
        return AIMessage(f"It is on shelf {n}. " * chance.randint(1, 12))

    return Scripted(reply=reply)


MANY: list[Policy] = [
    SummaryBuffer(trigger=("messages", 10), keep=4),
    SummaryBuffer(trigger=("tokens", 400), keep=("tokens", 150)),
    Window(turns=3),
    HeadTail(head=("messages", 2), trigger=("messages", 10), tail=("messages", 4)),
    Offload(trigger=("messages", 10), keep=4),
    ToolResults(keep=2) | SummaryBuffer(trigger=("messages", 12), keep=4),
    Entities(every=2) | Window(messages=8),
]


@pytest.mark.parametrize("mode", ["view", "rewrite"])
@pytest.mark.parametrize("policy", MANY, ids=lambda policy: policy.name)
@pytest.mark.parametrize("seed", [3])
def test_whatever_is_talked_about(policy: Policy, seed: int, mode: Any) -> None:
    """Each call is a valid request, the state is one as well, and the record has everything once, in order."""
    with threadkeep.open("memory://") as memory:
        model, said = talkative(seed), [f"Question {n} about box {n}. " * (n % 5 + 1) for n in range(12)]
        options: Any = {
            "memory": memory,
            "mode": mode,
            "tools": [weigh],
            "model": summarizer() if seed % 2 else None,
        }
        for part in (said[:7], said[7:]):  # the second with a middleware that knows nothing of the first
            graph = agent(model, policy, memory.checkpointer, **options)
            for text in part:
                out = graph.invoke(human(text), {**thread(), "recursion_limit": 200})
        assert [found for call in [*model.seen, out["messages"]] for found in validate(call)] == []
        record = memory.threads.get("t").messages()
        assert [m.text for m in record if m.type == "human"] == said
        assert (
            sum(m.type == "ai" for m in record)
            == len(model.seen)
            == len({m.id for m in record if m.type == "ai"})
        )
        assert mode == "view" or len(out["messages"]) < 35
        assert memory.doctor() == ()


@pytest.mark.on_file
def test_a_new_process_finds_what_left_the_state(url: str, drive: Drive) -> None:
    with threadkeep.open(url) as memory:
        before = knowing()
        talk(drive, rewriting(before, small(), memory, model=summarizer()), [TOLD, *chatter(7)])
    with threadkeep.open(url) as memory:
        model, writer = knowing(), summarizer("Somebody else's words.")
        talk(drive, rewriting(model, small(), memory, model=writer), ["Go on."])
        assert summaries_in(sent(model))[0] == summaries_in(sent(before))[0]
        assert writer.seen == []


@pytest.mark.crosswise
@pytest.mark.parametrize(
    "policy", [small(keep=4), Offload(trigger=("messages", 6), keep=2)], ids=lambda one: one.name
)
def test_another_policy_begins_with_the_whole_record(memory: Memory, drive: Drive, policy: Any) -> None:
    """What left the state under one policy is not forgotten under the next, or under other settings."""
    talk(drive, rewriting(knowing(), small(), memory), [TOLD, *chatter(8)])
    model = knowing(searches=policy.recalls)
    out = talk(drive, rewriting(model, policy, memory), [*chatter(3, 20), ASKED])
    assert BADGE in out["messages"][-1].text
    assert len(out["messages"]) <= 10 and all(len(call) <= 10 for call in model.seen)
    assert drive(memory.threads.get("t").messages)[0].text == TOLD


@pytest.mark.crosswise
def test_a_larger_window_shows_what_had_left_the_state(memory: Memory, drive: Drive) -> None:
    talk(drive, rewriting(knowing(), Window(messages=4), memory), [TOLD, *chatter(4)])
    model = knowing()
    out = talk(drive, rewriting(model, Window(messages=12), memory), [ASKED])
    assert BADGE in out["messages"][-1].text
    out = talk(drive, rewriting(model, Window(messages=12), memory), chatter(8))
    assert len(out["messages"]) <= 14
    assert all(validate(call) == () for call in model.seen)


@pytest.mark.crosswise
def test_a_deleted_message_that_had_left_is_nowhere(memory: Memory, drive: Drive) -> None:
    model, writer = knowing(), summarizer()
    graph = rewriting(model, small() | Offload(trigger=("messages", 50)), memory, model=writer)
    talk(drive, graph, [TOLD, *chatter(6)])
    assert BADGE in repr(sent(model))
    thread_ = memory.threads.get("t")
    drive(thread_.delete_messages, [drive(thread_.messages)[0].id])
    out = talk(drive, graph, ["Go on."])
    assert BADGE not in repr(sent(model)) and BADGE not in repr(writer.seen[-1])
    searching = rewriting(knowing(searches=True), Offload(trigger=("messages", 6), keep=2), memory)
    out = talk(drive, searching, [ASKED])
    assert out["messages"][-1].text == "I do not know your badge number."


def test_another_checkpointer_is_refused(memory: Memory) -> None:
    for saver in (None, InMemorySaver()):
        graph = agent(knowing(), small(), saver, memory=memory, mode="rewrite")
        with pytest.raises(ConfigurationError, match=r"memory\.checkpointer"):
            graph.invoke(human("hi"), thread())
