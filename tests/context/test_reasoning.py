"""Reasoning: found in every provider's form, kept while it may be, dropped where its prefix changed."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from threadkeep.context.validity import reasoning
from threadkeep.context.validity.rules import PROVIDERS

HELLO = HumanMessage("hello")
THOUGHT: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
CALL: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "f", "input": {}}


def round_(number: int, *, thinks: bool) -> list[BaseMessage]:
    block = {**CALL, "id": f"c{number}"}
    calls = [{"name": "f", "args": {}, "id": f"c{number}"}]
    ai = AIMessage([THOUGHT, block] if thinks else [block], tool_calls=calls, id=f"m{number}")
    return [ai, ToolMessage("ok", tool_call_id=f"c{number}")]


@pytest.mark.parametrize(
    "message",
    [
        AIMessage([THOUGHT]),
        AIMessage([{"type": "redacted_thinking", "data": "eA=="}]),
        AIMessage([{"type": "reasoning", "id": "rs_1", "summary": []}]),
        AIMessage([{"type": "text", "text": "hi", "extras": {"signature": "c2ln"}}]),
        AIMessage("", additional_kwargs={"reasoning_content": "hm"}),
        AIMessage("", additional_kwargs={"reasoning": {"id": "rs_1"}}),
        AIMessage("", additional_kwargs={"__gemini_function_call_thought_signatures__": {"a": "c2ln"}}),
    ],
)
def test_reasoning_is_found_in_every_form(message: AIMessage) -> None:
    assert reasoning.has_reasoning(message)


def test_a_text_is_no_reasoning() -> None:
    assert not reasoning.has_reasoning(AIMessage("hi"))
    assert not reasoning.has_reasoning(AIMessage([{"type": "text", "text": "hi"}, CALL]))
    assert not reasoning.has_reasoning(HumanMessage([THOUGHT]))


def test_only_claude_binds_reasoning_to_its_prefix() -> None:
    assert [provider for provider in PROVIDERS if reasoning.bound(provider)] == ["anthropic"]


def test_bound_reasoning_leaves_from_where_the_prefix_changed_and_pairs_stay() -> None:
    messages = [HELLO, *round_(1, thinks=True), HELLO, *round_(2, thinks=True)]
    kept = reasoning.strip(messages, "anthropic", changed_from=3)
    assert all(one is other for one, other in zip(kept[:4], messages[:4], strict=True))
    assert kept[4].content == [{**CALL, "id": "c2"}]
    assert kept[4].tool_calls == messages[4].tool_calls  # type: ignore[attr-defined]
    assert kept[5] is messages[5]
    assert messages[4].content[0] == THOUGHT
    for provider in ("generic", "openai", "openai-responses", "google"):
        assert all(a is b for a, b in zip(reasoning.strip(messages, provider), messages, strict=True))


def test_in_an_open_loop_a_reduction_goes_past_the_last_bound_block() -> None:
    messages = [HELLO, *round_(1, thinks=True), *round_(2, thinks=True), *round_(3, thinks=False)]
    assert reasoning.safe_boundary(messages, "anthropic", 1) == 5
    assert reasoning.safe_boundary(messages, "anthropic", 5) == 5
    assert reasoning.safe_boundary(messages, "openai", 1) == 1


def test_a_loop_whose_last_round_thinks_is_not_reduced() -> None:
    messages = [HELLO, *round_(1, thinks=False), *round_(2, thinks=True)]
    assert reasoning.safe_boundary(messages, "anthropic", 1) is None


def test_reasoning_of_turns_that_are_over_holds_nothing_up() -> None:
    messages = [HELLO, *round_(1, thinks=True), AIMessage("done"), HELLO, *round_(2, thinks=False)]
    assert reasoning.safe_boundary(messages, "anthropic", 1) == 1
