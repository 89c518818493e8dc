"""Repair: what a user notices of it, then the promises over random histories."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from threadkeep.context.validity.calls import call_ids, is_human, result_id
from threadkeep.context.validity.repair import UNFINISHED, UNREADABLE, repair
from threadkeep.context.validity.rules import PROVIDERS
from threadkeep.context.validity.validate import validate
from threadkeep.testing.histories import random_history, valid_history

HISTORIES = 500
HELLO = HumanMessage("hello", id="h")


def call(*ids: str | None, name: str = "search", **fields: Any) -> AIMessage:
    calls = [{"name": name, "args": {"n": n}, "id": one} for n, one in enumerate(ids)]
    return AIMessage(fields.pop("content", ""), tool_calls=calls, **fields)


def result(call_id: str, content: Any = "ok", **fields: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id=call_id, **fields)


def same(one: list[BaseMessage], other: list[BaseMessage]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


# What happens to calls


def test_a_call_without_result_is_closed_right_after_its_message() -> None:
    messages = [HELLO, call("a", "b"), result("a"), HumanMessage("are you there?")]
    view = repair(messages)
    assert [message.type for message in view] == ["human", "ai", "tool", "tool", "human"]
    closing = view[3]
    assert isinstance(closing, ToolMessage)
    assert (closing.tool_call_id, closing.content, closing.status) == ("b", UNFINISHED, "error")
    assert closing.name == "search"
    assert closing.id == repair(messages)[3].id is not None


def test_a_result_that_did_finish_closes_its_call() -> None:
    finished = result("b", "42 crates", id="r")
    view = repair([HELLO, call("a", "b"), result("a"), HELLO], results={"b": finished})
    assert view[3] is finished


def test_a_pause_is_left_alone_while_it_is_the_head_and_closed_once_it_is_not() -> None:
    messages = [HELLO, call("a", "b"), result("a")]
    assert same(repair(messages, paused={"b"}), messages)
    view = repair([*messages, HumanMessage("never mind")], paused={"b"})
    assert [message.type for message in view] == ["human", "ai", "tool", "tool", "human"]
    assert view[3].content == UNFINISHED


def test_a_late_result_moves_to_its_call() -> None:
    late = result("a", "at last")
    view = repair([HELLO, call("a"), HumanMessage("and?"), SystemMessage("hurry"), late])
    assert view[2] is late
    assert [message.type for message in view] == ["human", "ai", "tool", "human", "system"]


def test_a_result_without_its_call_leaves() -> None:
    assert repair([result("x"), HELLO, result("y")]) == [HELLO]


def test_of_two_results_of_one_call_the_first_stays() -> None:
    first = result("a", "one")
    assert repair([HELLO, call("a"), first, result("a", "two")])[2:] == [first]


def test_an_id_that_repeats_is_made_unique_with_its_own_result() -> None:
    messages = [HELLO, call("a"), result("a", "one"), call("a"), result("a", "two")]
    view = repair(messages)
    assert same(view[:3], messages[:3])
    assert call_ids(view[3]) == (result_id(view[4]),) != ("a",)
    assert view[4].content == "two"


def test_calls_of_one_message_that_share_an_id_are_told_apart() -> None:
    view = repair([HELLO, call("a", "a"), result("a", "one"), result("a", "two")])
    assert len(set(call_ids(view[1]))) == 2
    assert [result_id(message) for message in view[2:]] == list(call_ids(view[1]))
    assert [message.content for message in view[2:]] == ["one", "two"]


def test_a_call_without_id_is_given_one_with_its_result() -> None:
    view = repair([HELLO, call(None), result("", "found")])
    assert call_ids(view[1]) == (result_id(view[2]),) != ("",)
    assert view[2].content == "found"


def test_a_call_whose_arguments_did_not_parse_is_closed() -> None:
    bad = {"name": None, "args": '{"q', "id": None, "error": "bad", "type": "invalid_tool_call"}
    view = repair([HELLO, AIMessage("", invalid_tool_calls=[bad]), HELLO])
    assert view[2].content == UNREADABLE
    assert view[1].invalid_tool_calls[0]["name"]  # type: ignore[attr-defined]
    assert validate(view) == ()


def test_a_call_edited_away_does_not_come_back_from_the_content() -> None:
    blocks = [{"type": "tool_use", "id": one, "name": "search", "input": {"n": 0}} for one in ("a", "b")]
    raw = {"function_call": {"name": "search", "arguments": "{}"}}
    view = repair([HELLO, call("a", content=blocks, additional_kwargs=raw), result("a")])
    assert view[1].content == blocks[:1]
    view = repair([HELLO, AIMessage([{"type": "text", "text": "no"}, *blocks], additional_kwargs=raw)])
    assert view[1].content == [{"type": "text", "text": "no"}]
    assert view[1].additional_kwargs == {}


def test_edited_arguments_are_those_that_are_sent() -> None:
    for block in (
        {"type": "tool_use", "id": "a", "name": "search", "input": {"old": True}},
        {"type": "function_call", "call_id": "a", "name": "search", "arguments": '{"old": true}'},
    ):
        view = repair([HELLO, call("a", content=[block]), result("a")])
        assert "old" not in str(view[1].content)
        assert validate(view) == ()


def test_a_call_that_only_the_content_holds_keeps_its_result() -> None:
    block = {"type": "tool_use", "id": "a", "name": "search", "input": {"q": 1}}
    view = repair([HELLO, AIMessage([block]), result("a")])
    assert [message.type for message in view] == ["human", "ai", "tool"]
    assert view[1].tool_calls[0]["args"] == {"q": 1}  # type: ignore[attr-defined]


def test_names_become_ones_that_providers_take_and_results_follow() -> None:
    view = repair([HELLO, call("a", name="my tool!"), result("a", name="my tool!")])
    assert view[1].tool_calls[0]["name"] == view[2].name == "my_tool_"  # type: ignore[attr-defined]


def test_long_ids_are_shortened_for_openai_alike_for_call_and_result() -> None:
    long = "x" * 60
    messages = [HELLO, call(long), result(long)]
    assert same(repair(messages), messages)
    for provider in ("openai", "openai-responses"):
        view = repair(messages, provider=provider)
        assert len(call_ids(view[1])[0]) <= 40
        assert call_ids(view[1]) == (result_id(view[2]),)


def test_a_message_written_twice_does_not_call_twice() -> None:
    asked = call("a", id="m1")
    view = repair([HELLO, asked, asked.model_copy(), result("a")])
    assert same(view[:2], [HELLO, asked])
    assert [message.type for message in view] == ["human", "ai", "tool"]


# What happens to other messages


def test_removals_and_empty_answers_leave_and_an_empty_human_message_stays_a_turn() -> None:
    messages = [HELLO, AIMessage(""), RemoveMessage(id="h"), HumanMessage("", id="e"), AIMessage(" \n")]
    view = repair(messages)
    assert [message.id for message in view] == ["h", "e"]
    assert view[1].text.strip()


def test_a_system_message_in_the_middle_stays_there_as_a_note_where_the_provider_takes_none() -> None:
    messages = [
        SystemMessage("be kind"),
        HELLO,
        SystemMessage("now be brief", id="s"),
        AIMessage("hi"),
        HELLO,
    ]
    assert same(repair(messages), messages)
    for provider in ("anthropic", "google"):
        view = repair(messages, provider=provider)
        assert view[0] is messages[0]
        assert is_human(view[2])
        assert "now be brief" in view[2].text
        assert view[2].id == "s"


def test_the_user_begins_where_the_provider_wants_it() -> None:
    messages = [SystemMessage("be kind"), AIMessage("hi"), HELLO]
    assert same(repair(messages, provider="openai"), messages)
    for provider in ("anthropic", "google"):
        view = repair(messages, provider=provider)
        assert [message.type for message in view] == ["system", "human", "ai", "human"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_conversation_of_nothing_is_still_a_request(provider: str) -> None:
    for messages in ([], [SystemMessage("be kind")]):
        view = repair(messages, provider=provider)
        assert view[: len(messages)] == messages
        assert is_human(view[-1])


def test_a_freely_named_role_becomes_one_that_every_package_knows() -> None:
    messages = [ChatMessage(content=role, role=role) for role in ("user", "assistant", "system", "critic")]
    view = repair(messages)
    assert [message.type for message in view] == ["human", "ai", "system", "human"]
    assert view[3].name == "critic"


def test_results_in_anthropics_own_form_become_messages() -> None:
    own = HumanMessage(
        [{"type": "tool_result", "tool_use_id": "a", "content": "42"}, {"type": "text", "text": "and?"}]
    )
    view = repair([HELLO, call("a"), own])
    assert [message.type for message in view] == ["human", "ai", "tool", "human"]
    assert (view[2].content, view[3].text) == ("42", "and?")


def test_the_newest_four_cache_marks_stay() -> None:
    def marked(number: int) -> HumanMessage:
        block = {"type": "text", "text": str(number), "cache_control": {"type": "ephemeral"}}
        return HumanMessage([block])

    view = repair([marked(number) for number in range(7)], provider="anthropic")
    kept = [message.text for message in view if "cache_control" in message.content[0]]  # type: ignore[operator]
    assert kept == ["3", "4", "5", "6"]


def test_what_a_model_does_not_take_is_named_instead() -> None:
    audio = HumanMessage([{"type": "audio", "base64": "UklGRg==", "mime_type": "audio/wav"}])
    assert same(repair([audio], provider="openai"), [audio])
    view = repair([audio], provider="anthropic")
    assert "audio/wav" in view[0].text


def test_reasoning_of_another_provider_does_not_go_to_claude() -> None:
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "hi"}]
    own = AIMessage(blocks, response_metadata={"model_provider": "anthropic"})
    other = AIMessage(blocks, response_metadata={"model_provider": "google_genai"})
    assert same(repair([HELLO, own], provider="anthropic"), [HELLO, own])
    assert repair([HELLO, other], provider="anthropic")[1].content == blocks[1:]


def test_a_reasoning_item_and_its_call_stay_or_leave_together() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    item = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "search", "arguments": '{"n": 0}'}
    whole = [HELLO, call("a", content=[reasoning, item]), result("a")]
    assert same(repair(whole, provider="openai-responses"), whole)
    without = [HELLO, call("a", content=[item]), result("a")]
    assert "fc_1" not in str(repair(without, provider="openai-responses")[1].content)
    alone = [HELLO, AIMessage([reasoning, item, {"type": "text", "text": ""}])]
    assert "rs_1" not in str(repair(alone, provider="openai-responses"))


def test_thought_signatures_follow_a_renamed_call() -> None:
    key = "__gemini_function_call_thought_signatures__"
    messages: list[BaseMessage] = []
    for n in range(2):
        messages += [HELLO, call("a", additional_kwargs={key: {"a": f"sig{n}"}}), result("a")]
    view = repair(messages, provider="google")
    assert view[4].additional_kwargs[key] == {call_ids(view[4])[0]: "sig1"}


# Promises over random histories


@pytest.fixture(scope="module")
def histories() -> list[list[BaseMessage]]:
    return [random_history(seed, size=seed % 50 + 1 if seed % 10 else None) for seed in range(HISTORIES)]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_repaired_history_breaks_no_rule(provider: str, histories: list[list[BaseMessage]]) -> None:
    for seed, messages in enumerate(histories):
        options: dict[str, Any] = {"prefill": seed % 2 == 0, "store": (None, False)[seed % 2]}
        options["reduced"] = seed % 3 == 0
        found = validate(repair(messages, provider=provider, **options), provider, **options)
        assert not found, (seed, found[:3])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_repairing_twice_is_repairing_once(provider: str, histories: list[list[BaseMessage]]) -> None:
    for messages in histories[:250]:
        view = repair(messages, provider=provider)
        assert same(repair(view, provider=provider), view)


def test_the_messages_given_are_never_changed(histories: list[list[BaseMessage]]) -> None:
    for seed, messages in enumerate(histories[:100]):
        before = copy.deepcopy(messages)
        repair(messages, provider=PROVIDERS[seed % len(PROVIDERS)])
        assert messages == before


def test_a_valid_history_stays_the_same_objects() -> None:
    for seed in range(150):
        messages = valid_history(seed)
        assert same(repair(messages), messages)


def test_what_people_and_models_said_is_still_there(histories: list[list[BaseMessage]]) -> None:
    """Repair leaves out removals, empty answers and orphans; a text that somebody wrote is never lost."""
    for seed, messages in enumerate(histories[:250]):
        provider = PROVIDERS[seed % len(PROVIDERS)]
        sent = "\n".join(message.text for message in repair(messages, provider=provider))
        for message in messages:
            if not isinstance(message, ToolMessage | RemoveMessage):
                assert message.text.rstrip() in sent, (seed, provider)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_messages_added_at_the_end_leave_the_prefix_as_it_was(provider: str) -> None:
    """What the provider has cached stays usable: only what was open at the end of the shorter view may change."""
    for seed in range(60):
        messages = random_history(seed, size=30)
        for length in range(0, len(messages), 5):
            view, longer = repair(messages[:length], provider=provider), repair(messages, provider=provider)
            settled = _settled(messages, length, view)
            for before, after in zip(view[:settled], longer, strict=False):
                assert _sent(before) == _sent(after), (seed, length)


def _settled(messages: list[BaseMessage], length: int, view: list[BaseMessage]) -> int:
    """Return how many messages of the view of the first `length` messages nothing later can change."""
    later = {result_id(message) for message in messages[length:]}
    for index, message in enumerate(view):
        open_calls = {one for one in call_ids(message) if one in later}
        waits = any(not one["id"] or one["id"] in later for one in getattr(message, "tool_calls", ()))
        if open_calls or waits or index == len(view) - 1:
            return index
        closed = view[index + 1 : index + 1 + len(call_ids(message))]
        if any(one.content in (UNFINISHED, UNREADABLE) for one in closed) and later:
            return index
    return len(view)


def _sent(message: BaseMessage) -> Any:
    content: Any = message.content
    if isinstance(content, list):
        # Cache marks move on to newer messages, and are no part of what is cached.
        content = [
            {k: v for k, v in b.items() if k != "cache_control"} if isinstance(b, dict) else b
            for b in content
        ]
    calls = [*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())]
    return message.type, content, calls, result_id(message), message.name


def test_a_round_keeps_its_results_together(histories: list[list[BaseMessage]]) -> None:
    for messages in histories[:150]:
        for before, after in pairwise(repair(messages)):
            if isinstance(after, ToolMessage):
                assert isinstance(before, ToolMessage) or after.tool_call_id in call_ids(before)
