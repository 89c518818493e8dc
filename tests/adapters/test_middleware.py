"""ContextMiddleware: what the model sees, what the state keeps, and what a UI is shown."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

import threadkeep
from threadkeep import ConfigurationError, Memory
from threadkeep.context import (
    Budget,
    Buffer,
    ContextMiddleware,
    HeadTail,
    Offload,
    Policy,
    SummaryBuffer,
    Window,
    validate,
)
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.planning.caching import cached_share

from .kit import Drive, Scripted, calls_all, echo, human, says, texts, thread
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

POLICIES: dict[str, Policy] = {
    "summary-buffer": small(),
    "head-tail": HeadTail(head=("messages", 2), trigger=("messages", 8), tail=("messages", 4)),
    "offload": Offload(trigger=("messages", 6), keep=2),
}


@pytest.mark.crosswise
@pytest.mark.parametrize("name", list(POLICIES))
@pytest.mark.parametrize("mode", ["view", "rewrite"])
def test_a_fact_of_the_first_message_is_answered(memory: Memory, drive: Drive, name: str, mode: Any) -> None:
    """Also where the summarizer keeps nothing of it."""
    model, writer = knowing(searches=name == "offload"), summarizer()
    graph = agent(model, POLICIES[name], memory.checkpointer, model=writer, memory=memory, mode=mode)
    out = talk(drive, graph, [TOLD, *chatter(8), ASKED])
    assert BADGE in out["messages"][-1].text
    if name != "head-tail":
        assert not any(m.text == TOLD for m in model.seen[8])


@pytest.mark.crosswise
def test_a_window_is_honest(memory: Memory, drive: Drive) -> None:
    graph = agent(knowing(), Window(messages=6), memory.checkpointer)
    out = talk(drive, graph, [TOLD, *chatter(8), ASKED])
    assert out["messages"][-1].text == "I do not know your badge number."
    assert out["messages"][0].text == TOLD


@pytest.mark.crosswise
def test_one_question_with_sixty_rounds_stays_small_and_valid(memory: Memory, drive: Drive) -> None:
    model = rounds(60)
    policy = SummaryBuffer(trigger=("messages", 20), keep=8)
    graph = agent(model, policy, memory.checkpointer, tools=[weigh])
    out = drive(graph.invoke, human("Weigh all boxes."), {**thread(), "recursion_limit": 300})
    assert len(out["messages"]) == 122
    assert max(len(call) for call in model.seen) < 20
    assert all(any(m.text == "Weigh all boxes." for m in call) for call in model.seen)
    assert [found for call in model.seen for found in validate(call)] == []


@pytest.mark.crosswise
def test_the_state_keeps_everything_and_a_small_reference(memory: Memory, drive: Drive) -> None:
    graph = agent(knowing(), small(), memory.checkpointer, model=summarizer())
    out = talk(drive, graph, chatter(10))
    assert list(out) == ["messages"]
    values = drive(graph.get_state, thread()).values
    assert len(values["messages"]) == len(out["messages"]) == 20
    reference = values["_threadkeep_context"]
    assert len(json.dumps(reference)) < 200
    assert "greeted" not in json.dumps(reference)
    for schema in (graph.get_input_jsonschema(), graph.get_output_jsonschema()):
        assert "_threadkeep_context" not in json.dumps(schema)


def test_an_input_cannot_set_the_reference(memory: Memory) -> None:
    graph = agent(echo(), small(), memory.checkpointer)
    graph.invoke({**human("hi"), "_threadkeep_context": {"f": "x"}}, thread())
    assert "_threadkeep_context" not in graph.get_state(thread()).values


@pytest.mark.crosswise
def test_a_ui_is_shown_no_summary(memory: Memory, drive: Drive) -> None:
    writer = summarizer()
    graph = agent(knowing(), small(), memory.checkpointer, model=writer)
    shown: list[Any] = []
    for text in chatter(6):
        modes = ["messages", "updates", "values", "custom", "tasks"]
        shown += drive(graph.stream, human(text), thread(), stream_mode=modes)
    assert len(writer.seen) >= 1
    assert "greeted" not in repr(shown)
    spoken = [part[0] for mode, part in shown if mode == "messages"]
    assert [m.type for m in spoken] == ["ai"] * 6


@pytest.mark.parametrize("saver", [None, "in memory"])
def test_without_a_memory_of_ours(drive: Drive, saver: Any) -> None:
    """Texts live in the process then, and still cost one call for each content."""
    model, writer = knowing(), summarizer()
    graph = agent(model, small(), InMemorySaver() if saver else None, model=writer)
    if saver:
        out = talk(drive, graph, [TOLD, *chatter(8), ASKED])
        assert BADGE in out["messages"][-1].text
        assert 1 <= len(writer.seen) <= 5
        assert drive(graph.get_state, thread()).values["messages"][0].text == TOLD
        return
    told: list[Any] = [HumanMessage(TOLD)]
    for text in [*chatter(8), ASKED]:
        told = [*told, HumanMessage(text)]
        told = drive(graph.invoke, {"messages": told})["messages"]
    assert BADGE in told[-1].text
    assert len(sent(model)) < 8
    assert len(writer.seen) <= 5


@pytest.mark.on_file
def test_a_new_process_goes_on_where_the_old_one_was(url: str, drive: Drive) -> None:
    model, writer = knowing(), summarizer()
    with threadkeep.open(url) as memory:
        talk(drive, agent(model, small(), memory.checkpointer, model=writer), [TOLD, *chatter(7)])
        before, calls = sent(model), len(writer.seen)
    again, other = knowing(), summarizer("Somebody else's words.")
    with threadkeep.open(url) as memory:
        talk(drive, agent(again, small(), memory.checkpointer, model=other), ["Fine so far?"])
    assert other.seen == [] and calls >= 2
    assert texts(sent(again))[: len(before)] == texts(before)


@pytest.mark.crosswise
def test_between_reductions_the_prefix_is_the_same(memory: Memory, drive: Drive) -> None:
    model = Scripted(reply=lambda messages: says("It weighs as much as the other one did. " * 4))
    policy = SummaryBuffer(trigger=("tokens", 2_000))
    writer = summarizer("They moved boxes. " * 12)
    graph = agent(model, policy, memory.checkpointer, model=writer)
    talk(drive, graph, [f"Where is box number {n}, and what is in it? " * 5 for n in range(60)])
    share = cached_share(model.seen, Counter())
    assert share.peak < 3_000
    assert share.share >= 0.88
    assert 2 <= len(writer.seen) <= 8


@pytest.mark.crosswise
def test_an_edit_of_what_is_covered_takes_the_summary_away(memory: Memory, drive: Drive) -> None:
    model, writer = knowing(), summarizer("Everything about the red kite.")
    graph = agent(model, small(), memory.checkpointer, model=writer)
    talk(drive, graph, chatter(6))
    assert summaries_in(sent(model))
    first = drive(graph.get_state, thread()).values["messages"][0]
    drive(graph.update_state, thread(), {"messages": [HumanMessage("Forget the kite.", id=first.id)]})
    asked = len(writer.seen)
    talk(drive, graph, ["Go on."])
    assert len(writer.seen) == asked + 1
    assert "Forget the kite." in writer.seen[-1][-1].text


@pytest.mark.crosswise
def test_a_deleted_message_is_nowhere(memory: Memory, drive: Drive) -> None:
    model, writer = knowing(), summarizer()
    graph = agent(model, small(), memory.checkpointer, model=writer)
    talk(drive, graph, [TOLD, *chatter(6)])
    assert BADGE in repr(sent(model))
    first = drive(graph.get_state, thread()).values["messages"][0]
    drive(memory.threads.get("t").delete_messages, [first.id])
    talk(drive, graph, ["Go on."])
    assert BADGE not in repr(sent(model)) and BADGE not in repr(writer.seen[-1])


@pytest.mark.crosswise
def test_time_travel_pays_nothing_again(memory: Memory, drive: Drive) -> None:
    model, writer = knowing(), summarizer()
    graph = agent(model, small(), memory.checkpointer, model=writer)
    talk(drive, graph, chatter(9))
    asked, calls = len(writer.seen), len(model.seen)
    states = drive(graph.get_state_history, thread())
    earlier = next(s for s in states if len(s.values.get("messages", ())) == 13 and s.next == ("model",))
    before = next(call for call in model.seen if call[-1].text == earlier.values["messages"][-1].text)
    fresh = agent(model, small(), memory.checkpointer, model=writer)
    drive(fresh.invoke, None, earlier.config)
    assert len(model.seen) == calls + 1
    assert texts(sent(model)) == texts(before)
    assert len(writer.seen) == asked


@pytest.mark.crosswise
def test_a_fork_sees_its_own_branch_only(memory: Memory, drive: Drive) -> None:
    model = knowing(searches=True)
    graph = agent(model, POLICIES["offload"], memory.checkpointer)
    talk(drive, graph, chatter(2))
    fork = drive(graph.get_state, thread()).config
    talk(drive, graph, [TOLD, *chatter(6)])
    out: Any = None
    for n, text in enumerate([*chatter(6, 50), ASKED]):
        out = drive(graph.invoke, human(text), fork if n == 0 else thread())
    assert out["messages"][-1].text == "I do not know your badge number."
    (found,) = [m for m in out["messages"] if m.type == "tool"]
    assert ASKED in found.text and TOLD not in found.text


@pytest.mark.crosswise
def test_a_pinned_message_stays(memory: Memory, drive: Drive) -> None:
    model = knowing()
    graph = agent(model, Window(messages=4), memory.checkpointer)
    talk(drive, graph, [TOLD])
    drive(memory.threads.get("t").pin, drive(graph.get_state, thread()).values["messages"][0].id)
    out = talk(drive, graph, [*chatter(6), ASKED])
    assert BADGE in out["messages"][-1].text


@pytest.mark.crosswise
def test_a_result_that_finished_before_a_pause_is_used(memory: Memory, drive: Drive) -> None:
    """Two calls at once, one pauses for a human, who goes on to something else: the other's result is not lost."""
    from langchain_core.tools import tool
    from langgraph.types import interrupt

    @tool
    def ask_boss(question: str) -> str:
        """Ask."""
        return str(interrupt(question))

    script = iter([calls_all(("weigh", {"box": 7}), ("ask_boss", {"question": "may I?"})), says("So be it.")])
    model = Scripted(reply=lambda messages: next(script))
    graph = agent(model, Buffer(), memory.checkpointer, tools=[weigh, ask_boss])
    drive(graph.invoke, human("Weigh box 7 and ask."), thread())
    drive(graph.invoke, human("Never mind the boss."), thread())
    results = [m for m in sent(model) if isinstance(m, ToolMessage)]
    assert [r.text for r in results] == [
        "Box 7 weighs 17 kilograms.",
        "[No result: the call did not finish.]",
    ]
    assert validate(sent(model)) == ()


@pytest.mark.crosswise
def test_a_reduced_view_names_no_earlier_response(memory: Memory, drive: Drive) -> None:
    """With `use_previous_response_id` OpenAI would go on from all that was, and not from the view."""
    numbers = iter(range(100))

    def reply(messages: Any) -> AIMessage:
        return AIMessage("Yes.", response_metadata={"id": f"resp_{next(numbers)}"})

    model = Scripted(reply=reply)
    graph = agent(model, small(), memory.checkpointer, model=summarizer(), provider="openai-responses")
    talk(drive, graph, chatter(5))
    seen = [[m.response_metadata.get("id") for m in call if m.type == "ai"] for call in model.seen]
    assert seen[1] == ["resp_0"]
    assert summaries_in(sent(model)) and not any(seen[-1])


def test_many_conversations_at_once_do_not_mix(memory: Memory) -> None:
    model = knowing()
    graph = agent(model, small(), memory.checkpointer, model=summarizer())

    async def conversation(n: int) -> str:
        told = f"Hello, my badge number is ZX-{n:05}."
        out: Any = None
        for text in [told, *chatter(5), ASKED]:
            out = await graph.ainvoke(human(text), thread(f"t{n}"))
        return str(out["messages"][-1].text)

    async def scenario() -> list[str]:
        return await asyncio.gather(*(conversation(n) for n in range(8)))

    answers = asyncio.run(scenario())
    with ThreadPoolExecutor(4) as pool:
        answers += pool.map(lambda n: asyncio.run(conversation(n)), range(8, 14))
    assert answers == [f"Your badge number is ZX-{n:05}." for n in range(14)]


def test_mistakes_are_told_when_the_agent_is_built(memory: Memory) -> None:
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"policy": "window"}, "SummaryBuffer"),
        ({"mode": "rewrite"}, "memory=threadkeep.open"),
        ({"mode": "both"}, "'view' or 'rewrite'"),
        ({"memory": "sqlite:///x.db"}, "threadkeep.open"),
        ({"name": "a b"}, "identifier"),
        ({"provider": "acme"}, "anthropic"),
        ({"context_window": 0}, "context_window"),
    ]
    for options, told in mistakes:
        with pytest.raises(ConfigurationError, match=told):
            ContextMiddleware(**{"policy": Buffer(), **options})


def test_two_of_them_are_refused(memory: Memory) -> None:
    with pytest.raises(AssertionError, match="duplicate"):
        create_agent(
            echo(), [], middleware=[ContextMiddleware(Buffer()), ContextMiddleware(Buffer(), name="b")]
        )

    class Second(ContextMiddleware):
        pass

    graph = create_agent(echo(), [], middleware=[ContextMiddleware(Buffer()), Second(Buffer(), name="b")])
    with pytest.raises(
        ConfigurationError, match="two context middlewares, '_threadkeep_context' and '_threadkeep_b'"
    ):
        graph.invoke(human("hi"))


def test_a_budget_needs_a_thread() -> None:
    graph = agent(echo(), Buffer(), budget=Budget(tokens=1000))
    with pytest.raises(ConfigurationError, match="checkpointer"):
        graph.invoke(human("hi"))
