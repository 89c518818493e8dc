"""The rules as data, and one broken request for each."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from threadkeep.context.validity.rules import PROVIDERS, RULES
from threadkeep.context.validity.validate import validate
from threadkeep.errors import ConfigurationError
from threadkeep.testing.histories import random_history, valid_history

HELLO = HumanMessage("hello", id="h")
TEXT: dict[str, Any] = {"type": "text", "text": "hello"}
MARK: dict[str, Any] = {**TEXT, "cache_control": {"type": "ephemeral"}}
THOUGHT: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
CLAUDE = {"model_provider": "anthropic"}


def call(call_id: str | None = "call_1", name: str = "search", **fields: Any) -> AIMessage:
    return AIMessage(
        fields.pop("content", ""), tool_calls=[{"name": name, "args": {}, "id": call_id}], **fields
    )


def result(call_id: str = "call_1", **fields: Any) -> ToolMessage:
    return ToolMessage("ok", tool_call_id=call_id, **fields)


def block(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


BROKEN: list[tuple[int, str, list[BaseMessage], int]] = [
    (1, "generic", [HELLO, call(), HELLO], 1),
    (1, "generic", [HELLO, call(), result(), result()], 1),
    (1, "generic", [HELLO, AIMessage("", invalid_tool_calls=[
        {"name": "f", "args": "{", "id": "x", "error": None, "type": "invalid_tool_call"}])], 1),
    (1, "generic", [HELLO, AIMessage([block("tool_use", id="x", name="f", input={})])], 1),
    (1, "generic", [HELLO, AIMessage([block("function_call", call_id="x", name="f", arguments="{}")])], 1),
    (2, "generic", [HELLO, result()], 1),
    (2, "generic", [HELLO, result(), call(), result()], 1),
    (2, "generic", [HELLO, FunctionMessage("ok", name="f")], 1),
    (3, "generic", [HELLO, call(), HELLO, result()], 3),
    (4, "generic", [HELLO, call(), result(), call(), result()], 3),
    (4, "generic", [HELLO, call(None)], 1),
    (5, "generic", [HELLO, RemoveMessage(id="h")], 1),
    (6, "generic", [SystemMessage("be kind")], 0),
    (6, "generic", [], 0),
    (7, "generic", [HELLO, call(content=[block("tool_use", id="x", name="f", input={})]), result()], 1),
    (7, "generic", [HELLO, call(content=[block("tool_use", id="call_1", name="search", input={"a": 1})])], 1),
    (7, "generic", [HELLO, AIMessage("hi", additional_kwargs={"function_call": {"name": "f"}})], 1),
    (8, "generic", [HELLO, call(name="my tool!"), result()], 1),
    (8, "generic", [HELLO, call(name="x" * 65), result()], 1),
    (8, "generic", [HELLO, call(name="поиск"), result()], 1),
    (9, "openai", [HELLO, AIMessage("")], 1),
    (9, "openai-responses", [HumanMessage([])], 0),
    (10, "openai", [HELLO, call("c" * 41), result("c" * 41)], 1),
    (11, "openai-responses", [HELLO, AIMessage([REASONING])], 1),
    (11, "openai-responses", [HELLO, AIMessage([REASONING, TEXT]), AIMessage([REASONING, TEXT])], 2),
    (11, "openai-responses", [HELLO, call(content=[
        block("function_call", id="fc_1", call_id="call_1", name="search", arguments="{}")]), result()], 1),
    (14, "anthropic", [SystemMessage("a"), HELLO, SystemMessage("b")], 2),
    (15, "anthropic", [SystemMessage("a"), AIMessage("hi"), HELLO], 1),
    (16, "anthropic", [HumanMessage(" \n")], 0),
    (16, "anthropic", [HumanMessage([TEXT, block("text", text="")])], 0),
    (16, "anthropic", [HELLO, AIMessage(""), HELLO], 1),
    (17, "anthropic", [HELLO, AIMessage("I say: ")], 1),
    (17, "anthropic", [HELLO, AIMessage([block("text", text="I say:\n")])], 1),
    (18, "anthropic", [HumanMessage([TEXT, block("tool_result", tool_use_id="x", content="ok")])], 0),
    (19, "anthropic", [HELLO, AIMessage([TEXT, THOUGHT], response_metadata=CLAUDE)], 1),
    (19, "anthropic", [HELLO, AIMessage([THOUGHT, TEXT], response_metadata={"model_provider": "google_genai"})], 1),
    (19, "anthropic", [HELLO, AIMessage([block("thinking", thinking="hm"), TEXT])], 1),
    (20, "anthropic", [HumanMessage([MARK, MARK, MARK, MARK, MARK])], 0),
    (21, "google", [AIMessage("hi"), HELLO], 0),
    (21, "google", [HELLO, AIMessage("hi"), call(), result()], 2),
    (22, "google", [HELLO, call(), result(name="other")], 2),
    (23, "google", [HumanMessage("")], 0),
    (23, "google", [HELLO, AIMessage([])], 1),
    (24, "google", [HELLO, call(), result(), call(), result()], 3),
    (25, "google", [HELLO, call(additional_kwargs={
        "__gemini_function_call_thought_signatures__": {"other": "c2ln"}}), result()], 1),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "provider", "messages", "index"), BROKEN)
def test_a_broken_rule_is_found_where_it_is_broken(
    rule: int, provider: str, messages: list[BaseMessage], index: int
) -> None:
    found = [one for one in validate(messages, provider) if one.rule == rule]
    assert [one.index for one in found][:1] == [index]
    assert found[0].text
    assert found[0].message_id == (messages[index].id if messages else None)


@pytest.mark.parametrize(
    ("rule", "provider", "messages", "options"),
    [
        (12, "openai-responses", [HELLO, AIMessage([REASONING, TEXT])], {"store": False}),
        (
            13,
            "openai-responses",
            [HELLO, AIMessage("a", response_metadata={"id": "resp_1"})],
            {"reduced": True},
        ),
        (17, "anthropic", [HELLO, AIMessage("a")], {"prefill": False}),
        (19, "anthropic", [HELLO, call(), result()], {"thinking": True}),
    ],
)
def test_some_rules_depend_on_the_request(
    rule: int, provider: str, messages: list[BaseMessage], options: dict[str, Any]
) -> None:
    assert rule not in {one.rule for one in validate(messages, provider)}
    assert rule in {one.rule for one in validate(messages, provider, **options)}


def test_every_rule_has_a_broken_request_here() -> None:
    assert {rule for rule, *_ in BROKEN} | {12, 13} == {rule.number for rule in RULES}


def test_there_are_25_rules_each_with_providers_and_a_source() -> None:
    assert [rule.number for rule in RULES] == list(range(1, 26))
    for rule in RULES:
        assert rule.text
        assert set(rule.providers) <= set(PROVIDERS)
        assert rule.source in ("tried", "wire", "documentation")
    assert all("generic" in rule.providers for rule in RULES[:8])
    assert not any("generic" in rule.providers for rule in RULES[8:])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_plain_conversation_breaks_nothing(provider: str) -> None:
    messages = [SystemMessage("be kind"), HELLO, call(), result(name="search"), AIMessage("done"), HELLO]
    assert validate(messages, provider) == ()


def test_a_pause_for_a_human_is_no_fault_while_it_is_the_head() -> None:
    two = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": one} for one in ("a", "b")])
    assert validate([HELLO, two, result("a")], paused={"b"}) == ()
    assert [one.rule for one in validate([HELLO, two, result("a"), HELLO], paused={"b"})] == [1]
    assert [one.rule for one in validate([HELLO, two, result("a")])] == [1]


def test_valid_histories_are_valid_and_random_ones_break_every_common_rule() -> None:
    for seed in range(100):
        assert validate(valid_history(seed)) == ()
    broken = {one.rule for seed in range(200) for one in validate(random_history(seed))}
    assert broken == set(range(1, 9))


def test_an_unknown_provider_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"'mistral'.*anthropic"):
        validate([HELLO], "mistral")
