"""ContextMiddleware: summaries are paid for once, fail without harm, and outlive a crash."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from langchain.agents.middleware import ModelFallbackMiddleware, ModelRetryMiddleware
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

import threadkeep
from threadkeep import Memory
from threadkeep.context import Entities, SummaryBuffer, Window, validate

from .kit import Drive, Scripted, human, says, thread
from .middleware_kit import (
    ASKED,
    BADGE,
    TOLD,
    agent,
    chatter,
    knowing,
    sent,
    small,
    summaries_in,
    summarizer,
    talk,
)


def failing(times: int, after: int) -> Scripted:
    """A model that answers, but for some calls in a row after the first `after`."""
    count = [0]

    def reply(messages: list[BaseMessage]) -> AIMessage:
        count[0] += 1
        if after < count[0] <= after + times:
            raise RuntimeError("the provider is down")
        return says("Yes.")

    return Scripted(reply=reply)


@pytest.mark.crosswise
@pytest.mark.parametrize("again", ["resume", "ask again", "new agent"])
def test_three_failing_answers_cost_one_summary(memory: Memory, drive: Drive, again: str) -> None:
    model, writer = failing(3, after=4), summarizer()
    policy = small(trigger=("messages", 8))
    graph = agent(model, policy, memory.checkpointer, model=writer)
    talk(drive, graph, chatter(4))
    assert writer.seen == []
    given: Any = human("And now?")
    for _ in range(3):
        with pytest.raises(RuntimeError, match="provider is down"):
            drive(graph.invoke, given, thread())
        given = human("And now?") if again == "ask again" else None
        if again == "new agent":
            graph = agent(model, policy, memory.checkpointer, model=writer)
    drive(graph.invoke, given, thread())
    assert summaries_in(sent(model)) and len(writer.seen) == 1
    assert [c.status for c in drive(memory.threads.get("t").calls) if c.purpose == "summary"] == ["finished"]
    assert len(drive(memory.threads.get("t").summaries)) == 1


def test_retries_and_fallbacks_outside_cost_one_summary(drive: Drive) -> None:
    """Without any memory of ours, too."""
    model, writer = failing(2, after=3), summarizer()
    around = [ModelRetryMiddleware(max_retries=3, initial_delay=0, jitter=False)]
    graph = agent(model, small(), InMemorySaver(), model=writer, around=around)
    talk(drive, graph, chatter(5))
    assert len(model.seen) == 7 and len(writer.seen) == 1
    other = Scripted(reply=lambda messages: says("The other one."))
    broken = failing(99, after=3)
    graph = agent(broken, small(), InMemorySaver(), model=writer, around=[ModelFallbackMiddleware(other)])
    out = talk(drive, graph, chatter(4))
    assert out["messages"][-1].text == "The other one." and len(writer.seen) == 2
    assert summaries_in(sent(other))


@pytest.mark.crosswise
@pytest.mark.parametrize("text", ["", "I'm sorry, but I can't help with that.", "boxes " * 400, None])
def test_a_useless_summary_changes_nothing(
    memory: Memory, drive: Drive, text: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The turn goes on, with everything that fits, and tries again later: not at every turn."""
    caplog.set_level(logging.WARNING)
    writer = summarizer("", fails=99) if text is None else summarizer(text)
    model = knowing()
    graph = agent(model, small(), memory.checkpointer, model=writer)
    out = talk(drive, graph, [TOLD, *chatter(2), ASKED])
    assert len(writer.seen) == 1 and BADGE in out["messages"][-1].text
    assert "no summary for policy 'summary-buffer'" in caplog.text
    talk(drive, graph, chatter(6))
    assert 2 <= len(writer.seen) <= 4
    assert drive(memory.threads.get("t").summaries) == ()
    assert all(validate(call) == () for call in model.seen)
    assert len(sent(model)) < 16


@pytest.mark.crosswise
def test_after_a_failure_it_succeeds(memory: Memory, drive: Drive) -> None:
    model, writer = knowing(), summarizer(fails=1)
    graph = agent(model, small(), memory.checkpointer, model=writer)
    talk(drive, graph, [TOLD, *chatter(9)])
    assert len(writer.seen) >= 2 and summaries_in(sent(model))
    assert TOLD in "".join(m.text for m in writer.seen[1])
    statuses = [c.status for c in drive(memory.threads.get("t").calls) if c.purpose == "summary"]
    assert statuses[0] == "failed" and set(statuses[1:]) == {"finished"}


@pytest.mark.crosswise
def test_without_a_summarizer_no_model_is_asked(memory: Memory, drive: Drive) -> None:
    model = knowing()
    graph = agent(model, small(), memory.checkpointer)
    out = talk(drive, graph, [TOLD, *chatter(8), ASKED])
    assert BADGE in out["messages"][-1].text
    assert len(model.seen) == 10
    (first, *_) = drive(memory.threads.get("t").summaries)
    assert TOLD in first.text and first.model is None


@pytest.mark.crosswise
def test_the_policys_own_model_counts_first(memory: Memory, drive: Drive) -> None:
    own, other = summarizer("By the policy's own."), summarizer("By the other.")
    graph = agent(knowing(), small(model=own), memory.checkpointer, model=other)
    talk(drive, graph, chatter(5))
    assert own.seen and not other.seen


@pytest.mark.on_file
def test_a_crash_between_summary_and_answer_costs_one_summary(url: str, drive: Drive) -> None:
    writer = summarizer()
    with threadkeep.open(url) as memory:
        graph = agent(failing(9, after=3), small(), memory.checkpointer, model=writer)
        talk(drive, graph, chatter(3))
        with pytest.raises(RuntimeError):
            talk(drive, graph, ["And now?"])
    with threadkeep.open(url) as memory:
        model = knowing()
        drive(agent(model, small(), memory.checkpointer, model=writer).invoke, None, thread())
    assert summaries_in(sent(model)) and len(writer.seen) == 1


def test_a_cancelled_summary_cancels_the_run(memory: Memory) -> None:
    class Slow(Scripted):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(30)

    model = knowing()
    writer = Slow(reply=lambda messages: says(""))
    graph = agent(model, small(), memory.checkpointer, model=writer)

    async def scenario() -> None:
        for text in chatter(3):
            await graph.ainvoke(human(text), thread())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await graph.ainvoke(human("And now?"), thread())

    asyncio.run(scenario())
    assert len(model.seen) == 3
    calls = memory.threads.get("t").calls()
    assert [c.status for c in calls if c.purpose == "summary"] == ["cancelled"]


@pytest.mark.crosswise
def test_entities_are_found_and_stored_once(memory: Memory, drive: Drive) -> None:
    found = '[{"name": "Olena", "kind": "person", "fact": "works in the north hall", "messages": [1]}]'
    writer = Scripted(reply=lambda messages: says(found))
    model = knowing()
    policy = Entities(every=2) | Window(messages=4)
    graph = agent(model, policy, memory.checkpointer, model=writer)
    talk(drive, graph, ["Olena works in the north hall.", *chatter(5)])
    assert "works in the north hall" in sent(model)[-1].text
    asked = len(writer.seen)
    assert asked >= 1
    fresh = agent(model, policy, memory.checkpointer, model=writer)
    talk(drive, fresh, ["Go on."])
    assert len(writer.seen) <= asked + 1
    purposes = {c.purpose for c in drive(memory.threads.get("t").calls)}
    assert purposes == {"answer", "extraction"}


@pytest.mark.crosswise
def test_the_summarizer_sees_everything_that_leaves(memory: Memory, drive: Drive) -> None:
    model, writer = knowing(), summarizer()
    graph = agent(model, SummaryBuffer(trigger=("messages", 8), keep=2), memory.checkpointer, model=writer)
    talk(drive, graph, chatter(20))
    shown = "\n".join(m.text for call in writer.seen for m in call)
    left = [m.text for m in drive(graph.get_state, thread()).values["messages"][:30]]
    assert all(text in shown for text in left)
