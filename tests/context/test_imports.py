"""Files of messages in the forms of OpenAI, Anthropic and LangChain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)

from threadkeep import ConfigurationError, InvalidMessages
from threadkeep.context.files.imports import load_messages
from threadkeep.testing.histories import valid_history

OPENAI = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "Weather in Oslo?", "name": "ann"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
            },
            {"id": "c2", "type": "function", "function": {"name": "clock", "arguments": "{bad"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "4 °C"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "no"}]},
    {"role": "assistant", "content": "Four degrees."},
]


def kinds(messages: list[BaseMessage]) -> list[str]:
    return [message.type for message in messages]


def test_openai_chat_with_calls_that_parse_and_one_that_does_not() -> None:
    messages = load_messages({"model": "gpt-4o", "messages": OPENAI})
    assert kinds(messages) == ["system", "human", "ai", "tool", "tool", "ai"]
    asked, answer = messages[1], messages[2]
    assert isinstance(answer, AIMessage)
    assert asked.name == "ann"
    assert [(c["name"], c["args"], c["id"]) for c in answer.tool_calls] == [
        ("weather", {"city": "Oslo"}, "c1")
    ]
    assert [(c["id"], c["args"]) for c in answer.invalid_tool_calls] == [("c2", "{bad")]
    assert messages[4].content == "no"


def test_the_old_function_role_becomes_a_pair() -> None:
    messages = load_messages(
        [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "1"},
        ]
    )
    answer, result = messages[1:]
    assert isinstance(answer, AIMessage) and isinstance(result, ToolMessage)
    assert result.tool_call_id == answer.tool_calls[0]["id"]


def test_openai_responses_items_of_one_answer_are_one_message() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'}
    messages = load_messages(
        {
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                reasoning,
                call,
                {"type": "function_call_output", "call_id": "c1", "output": "ok"},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "done"}],
                },
            ],
        }
    )
    assert kinds(messages) == ["system", "human", "ai", "tool", "ai"]
    answer = messages[2]
    assert isinstance(answer, AIMessage)
    assert answer.content == [reasoning, call]
    assert answer.tool_calls[0]["args"] == {"a": 1}
    assert (messages[1].content, messages[4].content) == ("hi", "done")


ANTHROPIC = {
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "boom", "is_error": True},
                {"type": "text", "text": "go on"},
            ],
        },
    ],
}


def test_anthropic_results_come_out_of_the_users_message() -> None:
    messages = load_messages(ANTHROPIC)
    assert kinds(messages) == ["system", "human", "ai", "tool", "human"]
    system, _, answer, result, last = messages
    assert isinstance(answer, AIMessage) and isinstance(result, ToolMessage)
    assert system.content == "Be brief."
    assert answer.content == ANTHROPIC["messages"][1]["content"]  # type: ignore[index]
    assert (answer.tool_calls[0]["name"], answer.tool_calls[0]["args"]) == ("f", {"a": 1})
    assert (result.content, result.status, result.tool_call_id) == ("boom", "error", "t1")
    assert last.content == "go on"


LANGCHAIN: list[BaseMessage] = [
    SystemMessage("s", id="0"),
    HumanMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], id="1"),
    AIMessage(
        "x",
        id="2",
        tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"}],
        usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        response_metadata={"model_name": "m"},
    ),
    ToolMessage("r", tool_call_id="c", name="f", id="3"),
]


@pytest.mark.parametrize(
    "written",
    [
        messages_to_dict(LANGCHAIN),
        [dumpd(message) for message in LANGCHAIN],
        [message.model_dump(mode="json") for message in LANGCHAIN],
        {"messages": messages_to_dict(LANGCHAIN)},
        {"values": {"messages": [message.model_dump(mode="json") for message in LANGCHAIN], "other": 1}},
    ],
    ids=["messages_to_dict", "dumpd", "model_dump", "an object", "a state"],
)
def test_langchains_forms_come_back_equal(written: Any) -> None:
    assert load_messages(json.dumps(written)) == LANGCHAIN


@pytest.mark.parametrize("seed", range(40))
def test_random_histories_come_back_equal(seed: int) -> None:
    history = valid_history(seed)
    assert load_messages(json.dumps(messages_to_dict(history))) == history


def test_no_class_is_loaded_by_its_name() -> None:
    evil = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain_core", "prompts", "PromptTemplate"],
        "kwargs": {"content": "x"},
    }
    with pytest.raises(InvalidMessages, match="PromptTemplate"):
        load_messages([evil])


def test_paths_bytes_texts_and_lines(tmp_path: Path) -> None:
    expected = load_messages(OPENAI)
    text = json.dumps(OPENAI, ensure_ascii=False)
    lines = "\n".join(json.dumps(one) for one in OPENAI) + "\n\n"
    (tmp_path / "a.json").write_text("\ufeff" + text, "utf-8")
    (tmp_path / "b.jsonl").write_text(lines, "utf-8")
    for source in (text, text.encode(), lines, tmp_path / "a.json", str(tmp_path / "b.jsonl"), "  " + text):
        assert load_messages(source) == expected
    single = json.dumps({"messages": OPENAI})
    assert load_messages(single) == load_messages(single + "\n") == expected
    assert load_messages({"role": "user", "content": "hi"}) == [HumanMessage("hi")]


def test_a_form_that_is_given_is_the_form() -> None:
    plain = [{"role": "user", "content": "hi"}]
    for form in ("openai", "openai-responses", "anthropic"):
        assert load_messages(plain, form=form) == [HumanMessage("hi")]  # type: ignore[arg-type]
    with pytest.raises(InvalidMessages, match="type None"):
        load_messages(plain, form="langchain")
    with pytest.raises(ConfigurationError, match=r"'claude'.*anthropic"):
        load_messages(plain, form="claude")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "index", "found", "expected"),
    [
        ([], 0, "no message", "at least one"),
        (
            [{"role": "user", "content": "a"}, {"role": "robot", "content": "b"}],
            1,
            "role 'robot'",
            "assistant",
        ),
        ([{"role": "user", "content": "a"}, {"role": "user"}], 1, "null", "a text"),
        ([{"role": "user", "content": "a"}, 3], 1, "int 3", "an object"),
        ([{"role": "user", "content": {"a": 1}}], 0, "an object with the keys 'a'", "a text"),
        ([{"role": "tool", "content": "x"}], 0, "tool_call_id: null", "'tool_call_id'"),
        ([{"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]}], 0, "the keys 'id'", "function"),
        (
            [{"type": "human", "content": "a"}, {"type": "martian", "content": "a"}],
            1,
            "type 'martian'",
            "human",
        ),
        (
            [{"type": "human", "content": "a"}, {"type": "tool", "content": "a"}],
            1,
            "tool_call_id",
            "langchain",
        ),
        ([{"type": "remove", "content": "", "id": "1"}], 0, "type 'remove'", "human"),
        ([{"messages": OPENAI}, {"messages": OPENAI}], 0, "a conversation among several", "split"),
        ({"a": 1}, 0, "an object with the keys 'a'", "messages"),
        ("[1, 2", 0, "no JSON", "JSON"),
        ('{"role": "user", "content": "a"}\n{oops', 1, "a line that is no JSON", "one JSON value a line"),
        (b"\xff\xfe", 0, "not UTF-8", "UTF-8"),
        (b"[" * 100_000, 0, "nested too deeply", "a list"),
        (7, 0, "int", "a path"),
    ],
)
def test_what_does_not_fit_is_named(source: Any, index: int, found: str, expected: str) -> None:
    with pytest.raises(InvalidMessages) as caught:
        load_messages(source)
    assert caught.value.index == index  # type: ignore[attr-defined]
    assert found in str(caught.value)
    assert expected in str(caught.value)


def test_a_missing_file_is_the_systems_error() -> None:
    with pytest.raises(FileNotFoundError):
        load_messages("no-such-file.json")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["user", "assistant", "tool", "ai", "human", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "role content type data kwargs lc id tool_calls function name arguments messages system input "
                "function_call tool_call_id text source call_id output".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(JSON)
def test_any_json_is_read_or_refused_with_the_reason(value: Any) -> None:
    try:
        messages = load_messages(json.dumps(value).encode())
    except InvalidMessages as error:
        assert "expected" in str(error)
    else:
        assert messages and all(isinstance(message, BaseMessage) for message in messages)
