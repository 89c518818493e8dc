"""The chat with a policy: what it sends, what /context shows, and what is told of a reduction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

import threadkeep
from tests.cli.chat_kit import Failing, Held, Streaming, echo, hold
from tests.cli.kit import run
from threadkeep.context import parse_policy
from threadkeep.memory import Memory

POLICY = "summary-buffer:messages=6,keep=2"
LINES = ["My locker number is 4471.", "My bike is red.", "I live in Lviv.", "And I sing.", "What next?"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with threadkeep.open(f"sqlite:///{tmp_path / 'chat.db'}") as memory:
        yield memory
        assert memory.doctor() == ()


def answer(messages: list[BaseMessage]) -> str:
    """Write a summary when asked for one, else answer from what is sent."""
    if messages[0].type == "system" and "summar" in messages[0].text.lower():
        return "They spoke of a locker and a bike."
    if "locker number?" in messages[-1].text:
        known = "4471" in "".join(message.text for message in messages[:-1])
        return "It is 4471." if known else "You have not told me that."
    return echo(messages)


def held(
    memory: Memory, lines: list[str], policy: str | None = POLICY, model: Streaming | None = None
) -> Held:
    return hold(
        memory,
        lines,
        model or Streaming(reply=answer, cached=None),
        policy=parse_policy(policy) if policy else None,
    )


def test_a_fact_that_left_the_view_is_still_answered(memory: Memory) -> None:
    model = Streaming(reply=answer)
    chat = held(memory, [*LINES, "What is my locker number?"], model=model)
    assert "It is 4471." in chat.lines
    assert max(map(len, model.seen)) <= 7, "six messages and the summary"
    assert len(memory.threads.get("default").messages()) == 12
    forgetful = held(memory, ["What is my locker number?"], "window:messages=2")
    assert "You have not told me that." in forgetful.lines


def test_the_line_after_a_turn_tells_of_a_reduction(memory: Memory) -> None:
    chat = held(memory, LINES)
    told = ["reduced" in line for line in chat.lines if line.startswith("turn")]
    assert told == [False, False, False, True, False]
    line = chat.line("turn 4")
    assert " · summary-buffer reduced the view: 5 summarised, 2 kept · " in line


def test_without_a_policy_everything_is_sent_and_the_calls_are_recorded(memory: Memory) -> None:
    model = Streaming(reply=answer)
    chat = held(memory, [*LINES, "/context"], None, model)
    assert len(model.seen[-1]) == 9
    assert "reduced" not in chat.text and "not sent" not in chat.text
    record = memory.threads.get("default").call(5)
    assert record.messages is not None and len(record.messages) == 9
    assert record.call.source == "recorder" and record.policy == "buffer"


def test_usage_tells_of_calls_that_failed(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    chat = hold(memory, ["hi", "and now?", "/usage"], Streaming(reply=Failing(2), cached=None))
    assert "the line is down" in capsys.readouterr().err
    assert chat.lines[-1] == (
        "1 model call reported 10 tokens in, and 11 out. 1 more call failed, or reported nothing."
    )


def test_context_shows_the_view_with_reasons_and_tokens(memory: Memory) -> None:
    chat = held(memory, [*LINES[:3], "/context And I sing."])
    shown = chat.text[chat.text.index("The next call") :].splitlines()
    assert shown[0].startswith("The next call is sent 3 messages, about ")
    assert shown[0].endswith(f" estimate). Policy: {POLICY}.")
    assert shown[1].startswith("  + human  the summary of what was taken out, ")
    assert any("My locker number is 4471." in line for line in shown)
    assert any(line.startswith("  7 human  kept, ") and line.endswith(" tokens") for line in shown)
    assert "    And I sing." in shown
    assert any(line.startswith("  6 ai ") and "  kept, " in line for line in shown)
    assert shown[-1] == "not sent: 1 to 5 (5 messages), summarised by summary-buffer, generation 1"


def test_context_asks_no_model_and_stores_nothing(memory: Memory) -> None:
    model = Streaming(reply=answer)
    policy = parse_policy(POLICY)
    chat = hold(memory, [*LINES[:3], "/context"], model, policy=policy, summarizer=model)
    assert len(model.seen) == 3
    thread = memory.threads.get("default")
    assert len(thread.calls()) == 3 and thread.summaries() == ()
    assert chat.lines[-1] == (
        "Before the call, summary-buffer asks a model for the summary of 5 messages; an extract stands for it here."
    )
    assert "    (your next message)" in chat.lines


def test_context_shows_what_the_call_is_sent(memory: Memory) -> None:
    """The view that was shown is the one that the call was recorded with."""
    texts = [*LINES, "What is my locker number?"]
    for text in texts:
        chat = held(memory, [f"/context {text}", text])
        thread = memory.threads.get("default")
        sent = thread.call(thread.calls()[-1].number).messages
        assert sent is not None
        shown = chat.text[: chat.text.index(f"estimate). Policy: {POLICY}.")]
        assert f"is sent {len(sent)} message" in shown
        for message in sent:
            assert all(line in chat.text for line in message.text.splitlines())


def test_context_before_anything_was_said(memory: Memory) -> None:
    chat = held(memory, ["/context"])
    assert "The next call is sent 1 message, about" in chat.text
    assert chat.text.index("(your next message)") > 0
    assert not memory.threads.get("default").exists()


def test_a_bad_policy_is_one_line() -> None:
    done = run("chat", "--db", "memory://", "--policy", "sumary-buffer:tokens=2000")
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert (
        line.startswith("Error: policy 'sumary-buffer:tokens=2000'")
        and "did you mean 'summary-buffer'" in line
    )


def test_the_demo_model_has_no_use_for_recall_tools() -> None:
    pytest.importorskip("xllamacpp")
    done = run("chat", "--db", "memory://", "--policy", "offload:messages=20")
    assert done.exit_code == 2
    assert (
        "policy 'offload:messages=20' gives the model tools" in done.stderr and done.stderr.count("\n") == 1
    )
