"""ContextMiddleware: every provider call is one row, budgets hold, and what is too long is sent shorter once."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelFallbackMiddleware, ModelRetryMiddleware
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from threadkeep import BudgetExceeded, ContextTooLarge, Memory, MiddlewareOrderWarning, UnknownPrice
from threadkeep.adapters.agents.overflow import overflows
from threadkeep.context import Budget, Buffer, ContextMiddleware, SummaryBuffer, Window, validate
from threadkeep.testing.models import Reporting

from .kit import Drive, Scripted, calls, echo, human, says, thread
from .middleware_kit import (
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


class Box(BaseModel):
    """A box."""

    number: int


def rows(memory: Memory, name: str = "t") -> list[tuple[str, str]]:
    return [(call.purpose, call.status) for call in memory.threads.get(name).calls()]


@pytest.mark.crosswise
@pytest.mark.parametrize("streamed", [False, True])
def test_every_call_is_one_row(memory: Memory, drive: Drive, streamed: bool) -> None:
    model, writer = Reporting(), Reporting(name="gpt-5-nano")
    graph = agent(model, small(), memory.checkpointer, model=writer)
    for text in chatter(8):
        if streamed:
            drive(graph.stream, human(text), thread(), stream_mode="messages")
        else:
            drive(graph.invoke, human(text), thread())
    usage = drive(memory.threads.get("t").usage)
    assert usage.calls == model.calls + writer.calls
    assert usage.input_tokens == 100 * usage.calls
    assert usage.purposes["answer"].calls == 8 and usage.purposes["summary"].calls == writer.calls > 0
    assert {c.model for c in drive(memory.threads.get("t").calls) if c.purpose == "summary"} == {"gpt-5-nano"}


@pytest.mark.crosswise
def test_retries_and_fallbacks_are_rows(memory: Memory, drive: Drive) -> None:
    around = [
        ModelFallbackMiddleware(Reporting(name="other")),
        ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False, on_failure="error"),
    ]
    graph = agent(Reporting(fails=2), Buffer(), memory.checkpointer, around=around)
    talk(drive, graph, ["hi", "ho"])
    found = [(c.model, c.status, c.input_tokens) for c in drive(memory.threads.get("t").calls)]
    failed = ("gpt-5-mini", "failed", None)
    assert found == [failed, failed, ("other", "finished", 100), ("gpt-5-mini", "finished", 100)]


@pytest.mark.crosswise
def test_structured_output_that_is_tried_again(memory: Memory, drive: Drive) -> None:
    memory.allow(Box)
    answers = iter([calls("Box", number="many"), calls("Box", number=3)])
    model = Scripted(reply=lambda messages: next(answers))
    middleware = [ContextMiddleware(Buffer())]
    graph = create_agent(
        model, [], response_format=Box, middleware=middleware, checkpointer=memory.checkpointer
    )
    out = drive(graph.invoke, human("Which box?"), thread())
    assert out["structured_response"] == Box(number=3)
    assert drive(memory.threads.get("t").usage).input_tokens == 20
    assert rows(memory) == [("answer", "finished")] * 2


@pytest.mark.crosswise
def test_what_the_model_saw_and_why(memory: Memory, drive: Drive) -> None:
    model = knowing()
    graph = agent(model, small(), memory.checkpointer, model=summarizer())
    out = talk(drive, graph, chatter(6))
    calls = drive(memory.threads.get("t").calls)
    record = drive(memory.threads.get("t").call, calls[-1].number)
    assert [m.text for m in record.messages] == [m.text for m in sent(model)]
    assert record.policy == "summary-buffer"
    assert [reason.message.text for reason in record.reasons] == [m.text for m in out["messages"][:-1]]
    assert record.reasons[0].text.startswith("summarised by summary-buffer, generation ")
    assert record.reasons[-1].text == "kept"


# budgets


@pytest.mark.crosswise
def test_a_budget_of_tokens_ends_a_thread(memory: Memory, drive: Drive) -> None:
    model = Reporting()
    graph = agent(model, Buffer(), memory.checkpointer, budget=Budget(tokens=560, reserve=50))
    with pytest.raises(BudgetExceeded, match="thread 't' does not allow the next model call") as caught:
        talk(drive, graph, ["hi"] * 9)
    assert model.calls == 4
    assert caught.value.fields["spent_tokens"] == 480 and caught.value.fields["reserved_tokens"] == 0


@pytest.mark.crosswise
def test_a_budget_by_run_begins_anew(memory: Memory, drive: Drive) -> None:
    graph = agent(
        Reporting(), Buffer(), memory.checkpointer, budget=Budget(tokens=300, per="run", reserve=50)
    )
    talk(drive, graph, ["hi"] * 5)
    assert drive(memory.threads.get("t").usage).input_tokens == 500
    model = rounds(60)
    looping = agent(
        model, Buffer(), memory.checkpointer, tools=[weigh], budget=Budget(tokens=600, per="run", reserve=50)
    )
    with pytest.raises(BudgetExceeded, match="this run of thread 'u'"):
        drive(looping.invoke, human("Weigh all."), thread("u"))
    assert 1 < len(model.seen) < 60


@pytest.mark.crosswise
def test_a_run_is_one_with_the_agents_its_tools_call(memory: Memory, drive: Drive) -> None:
    inner = agent(Reporting(), Buffer())

    @tool
    def ask_clerk(question: str) -> str:
        """Ask the clerk."""
        return str(inner.invoke(human(question))["messages"][-1].text)

    asked = iter(range(9))
    outer = Scripted(
        reply=lambda messages: calls("ask_clerk", question="?") if next(asked) < 1 else says("So.")
    )
    graph = agent(outer, Buffer(), memory.checkpointer, tools=[ask_clerk])
    talk(drive, graph, ["Ask the clerk.", "And now?"])
    found = [(c.model, c.run_id) for c in drive(memory.threads.get("t").calls)]
    assert [model for model, _ in found].count("gpt-5-mini") == 1
    assert len({run for _, run in found[:3]}) == 1 and len({run for _, run in found}) == 2


def test_parallel_calls_cannot_both_pass(memory: Memory) -> None:
    model = Reporting(delay=0.4)
    graph = agent(model, Buffer(), memory.checkpointer, budget=Budget(tokens=200, reserve=100))
    begun = threading.Barrier(3)

    def ask(n: int) -> str:
        begun.wait()
        try:
            graph.invoke(human(f"question {n}"), thread())
        except BudgetExceeded:
            return "refused"
        except Exception as error:
            return type(error).__name__
        return "answered"

    with ThreadPoolExecutor(3) as pool:
        outcomes = sorted(pool.map(ask, range(3)))
    assert model.calls == 1 and outcomes.count("refused") == 2


@pytest.mark.crosswise
def test_a_budget_of_money(memory: Memory, drive: Drive) -> None:
    strange = agent(Reporting(name="acme-1"), Buffer(), memory.checkpointer, budget=Budget(money="1"))
    with pytest.raises(UnknownPrice, match="acme-1"):
        drive(strange.invoke, human("hi"), thread("s"))
    assumed = Budget(money="0.002", unknown_price="10")
    graph = agent(Reporting(name="acme-1"), Buffer(), memory.checkpointer, budget=assumed)
    with pytest.raises(BudgetExceeded, match=r"\$0\.0"):
        talk(drive, graph, ["hi"] * 9)


@pytest.mark.crosswise
def test_a_summary_counts_and_is_not_worth_a_failed_turn(memory: Memory, drive: Drive) -> None:
    """Where the budget has no room for the summary, the turn goes on without it."""
    writer = summarizer()
    budget = Budget(tokens=900, reserve=20)
    graph = agent(knowing(), small(limit=300), memory.checkpointer, model=writer, budget=budget)
    with pytest.raises(BudgetExceeded):
        talk(drive, graph, [f"Box {n}. " * 20 for n in range(40)])
    assert drive(memory.threads.get("t").usage).total_tokens <= 900


# too long


class Narrow(Scripted):
    """A model that refuses more than so many messages."""

    most: int = 4
    error: Any = ContextOverflowError("too long")
    refused: int = 0

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        if len(messages) > self.most:
            self.refused += 1
            raise self.error
        return super()._generate(messages, *args, **kwargs)


def narrow(most: int, error: Any = None) -> Narrow:
    more = {} if error is None else {"error": error}
    return Narrow(reply=lambda messages: says(f"I was given {len(messages)} messages."), most=most, **more)


@pytest.mark.crosswise
@pytest.mark.parametrize("policy", [SummaryBuffer(), Window(messages=100)], ids=lambda policy: policy.name)
def test_what_is_too_long_is_sent_shorter(memory: Memory, drive: Drive, policy: Any) -> None:
    model = narrow(9)
    graph = agent(model, policy, memory.checkpointer)
    talk(drive, graph, [text * 4 for text in chatter(6)])
    assert model.refused == 1
    assert len(sent(model)) < 9 and validate(sent(model)) == ()
    talk(drive, graph, [text * 4 for text in chatter(6)])
    assert model.refused <= 3
    statuses = [c.status for c in drive(memory.threads.get("t").calls)]
    assert statuses.count("failed") == model.refused and statuses.count("finished") == 12


@pytest.mark.crosswise
def test_what_is_still_too_long_names_both_sizes(memory: Memory, drive: Drive) -> None:
    model = narrow(0)
    graph = agent(model, SummaryBuffer(), memory.checkpointer)
    thread_ = memory.threads.get("t")
    drive(
        thread_.append,
        [("user" if n % 2 == 0 else "assistant", text * 4) for n, text in enumerate(chatter(8))],
    )
    with pytest.raises(
        ContextTooLarge, match=r"thread 't' of about .* tokens as too long, and refused"
    ) as caught:
        drive(graph.invoke, human("hi"), thread())
    error = caught.value
    assert 0 < error.fields["reduced_tokens"] < error.fields["tokens"]
    assert f"{error.fields['tokens']:,}" in str(error) and f"{error.fields['reduced_tokens']:,}" in str(error)
    assert isinstance(error.__cause__, ContextOverflowError)
    with pytest.raises(ContextTooLarge, match="nothing more to leave out"):
        drive(agent(narrow(0), Buffer(), memory.checkpointer).invoke, human("hi"), thread("u"))


@pytest.mark.parametrize(
    ("text", "status", "long"),
    [
        ("This model's maximum context length is 8192 tokens", 400, True),
        ("prompt is too long: 210000 tokens > 200000 maximum", 400, True),
        ("Requested tokens (2050) exceed context window of 2048", None, True),
        ("The input token count (1) exceeds the maximum number of tokens allowed (2)", 400, True),
        ("Rate limit: too many tokens per minute, maximum context", 429, False),
        ("Invalid schema", 400, False),
        ("overloaded", 529, False),
    ],
)
def test_a_refusal_is_known_by_status_and_text(text: str, status: int | None, long: bool) -> None:
    error = ValueError(text)
    if status is not None:
        error.status_code = status  # type: ignore[attr-defined]
    assert overflows(error) is long


def test_another_error_passes_as_it_is(memory: Memory) -> None:
    model = narrow(0, ValueError("no such model"))
    with pytest.raises(ValueError, match="no such model"):
        agent(model, SummaryBuffer(), memory.checkpointer).invoke(human("hi"), thread())
    assert model.refused == 1


# its place among other middlewares


class FakePromptCachingMiddleware(AgentMiddleware[Any, Any, Any]):
    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)


@pytest.mark.crosswise
def test_a_wrong_order_is_told_once(memory: Memory, drive: Drive) -> None:
    middleware = [ContextMiddleware(Buffer()), FakePromptCachingMiddleware(), ModelRetryMiddleware()]
    graph = create_agent(echo(), [], middleware=middleware, checkpointer=memory.checkpointer)
    with pytest.warns(
        MiddlewareOrderWarning, match="put ModelRetryMiddleware before ContextMiddleware"
    ) as told:
        drive(graph.invoke, human("hi"), thread())
    assert len(told) == 1
    drive(graph.invoke, human("hi"), thread())


@pytest.mark.crosswise
def test_the_right_order_is_not_told(memory: Memory, drive: Drive) -> None:
    middleware = [ModelRetryMiddleware(), ContextMiddleware(Buffer()), FakePromptCachingMiddleware()]
    graph = create_agent(echo(), [], middleware=middleware, checkpointer=memory.checkpointer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drive(graph.invoke, human("hi"), thread())


# counting


@pytest.mark.crosswise
def test_counting_learns_from_what_is_reported(memory: Memory, drive: Drive) -> None:
    """A model whose tokens are half as long as estimated: after some calls the trigger is reached in time."""

    def reply(messages: list[BaseMessage]) -> AIMessage:
        size = sum(len(m.text) for m in messages) // 2
        return AIMessage(
            "Yes.", usage_metadata={"input_tokens": size, "output_tokens": 1, "total_tokens": size + 1}
        )

    model = Scripted(reply=reply)
    graph = agent(model, SummaryBuffer(trigger=("tokens", 3_000)), memory.checkpointer)
    talk(drive, graph, [" ".join(chatter(6, n)) for n in range(40)])
    sizes = [sum(len(m.text) for m in call) // 2 for call in model.seen]
    assert max(sizes) < 3_600
    assert any(summaries_in(call) for call in model.seen)


@pytest.mark.on_file
def test_what_was_learned_outlives_the_process(url: str, memory: Memory, drive: Drive) -> None:
    text = " ".join(chatter(40))
    reported: Any = {"input_tokens": len(text) // 2, "output_tokens": 1, "total_tokens": len(text) // 2 + 1}
    model = Reporting(name="m-1", usage=reported)
    talk(drive, agent(model, Window(messages=1), memory.checkpointer), [text] * 4)
    first = drive(memory.threads.get("t").call, 1)
    assert first.call.input_tokens == len(text) // 2
    budget = Budget(tokens=10**9)
    fresh = agent(model, Window(messages=1), memory.checkpointer, budget=budget)
    talk(drive, fresh, [text], name="u")
    from threadkeep.adapters.agents.notes import Notes
    from threadkeep.context.counting.calibration import Calibration
    from threadkeep.context.counting.tokens import count_tokens

    stored = Calibration.from_json(drive(Notes(memory.threads.get("u")).calibration, "m-1"))
    estimate = count_tokens(sent_of(memory), model="m-1", calibration=stored)
    assert estimate.quality == "calibrated"
    assert abs(estimate.tokens / (len(text) // 2) - 1) < 0.15


def sent_of(memory: Memory) -> Any:
    return memory.threads.get("u").call(1).messages or ()
