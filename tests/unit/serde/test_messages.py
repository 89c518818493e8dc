"""Messages of every class, with every field, as they are built, changed and streamed."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import numpy
import ormsgpack
import pytest
from langchain_core import messages as lc
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.base import BaseMessageChunk

from tests.unit.serde.kit import Note, Plan, same, serde
from threadkeep.errors import SerializationError
from threadkeep.serde import Serde, UnknownMessage
from threadkeep.serde.messages import CLASSES, FIELDS

USAGE: Any = {
    "input_tokens": 350,
    "output_tokens": 240,
    "total_tokens": 590,
    "input_token_details": {"audio": 10, "cache_creation": 200, "cache_read": 100},
    "output_token_details": {"audio": 10, "reasoning": 200},
}
CALL: Any = {"name": "weather", "args": {"city": "Kyiv", "days": [1, 2]}, "id": "call_1"}
BAD_CALL: Any = {"name": "weather", "args": "{'city", "id": "call_2", "error": "no JSON"}
BLOCKS: Any = [
    "text",
    {"type": "text", "text": "hello"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
]
OPEN: Any = {
    "additional_kwargs": {"refusal": None, "f": {"x": (1, 2)}},
    "response_metadata": {"model_name": "m"},
}

MESSAGES = {
    "human": HumanMessage("hi"),
    "human blocks": HumanMessage(BLOCKS, name="ann", id="1", **OPEN),
    "human extra": HumanMessage("hi", mood="good", scores=[1, {"a": None}]),
    "system": lc.SystemMessage("be kind", id="s"),
    "ai": AIMessage("hello", id="run-1"),
    "ai empty": AIMessage(""),
    "ai blocks": AIMessage(BLOCKS, **OPEN),
    "ai calls": AIMessage("", tool_calls=[CALL, {**CALL, "id": None}], invalid_tool_calls=[BAD_CALL]),
    "ai usage": AIMessage("x", usage_metadata=USAGE),
    "ai everything": AIMessage(BLOCKS, id="9", name="bot", tool_calls=[CALL], usage_metadata=USAGE, **OPEN),
    "tool": ToolMessage("sunny", tool_call_id="call_1"),
    "tool error": ToolMessage(
        "no", tool_call_id="c", status="error", artifact={"raw": b"\x00", "t": (1,)}, name="w"
    ),
    "tool blocks": ToolMessage(BLOCKS, tool_call_id=""),
    "remove": lc.RemoveMessage("gone"),
    "remove all": lc.RemoveMessage("__remove_all__"),
    "chat": lc.ChatMessage("x", role="critic"),
    "function": lc.FunctionMessage("x", name="f"),
    "base": BaseMessage(content="x", type="custom"),
    "base chunk": BaseMessageChunk(content="x", type="custom chunk"),
    "human chunk": lc.HumanMessageChunk("x"),
    "system chunk": lc.SystemMessageChunk("x"),
    "tool chunk": lc.ToolMessageChunk("x", tool_call_id="c"),
    "chat chunk": lc.ChatMessageChunk("x", role="r"),
    "function chunk": lc.FunctionMessageChunk("x", name="f"),
    "ai chunk": AIMessageChunk("x", usage_metadata=USAGE, chunk_position="last"),
    "ai chunk calls": AIMessageChunk(
        "",
        tool_call_chunks=[
            {"name": "w", "args": '{"a": 1}', "id": "c", "index": 0, "type": "tool_call_chunk"}
        ],
    ),
    "ai chunks added": AIMessageChunk("a", id="1") + AIMessageChunk("b", response_metadata={"x": 1}),
    "text type given": HumanMessage("x", type="human"),
    "user's": Note("x", stars=3, id="n"),
    "user's default": Plan("x"),
    "user's changed": Plan("x", steps=["act"], scores={}, tool_calls=[CALL]),
    "unchecked": AIMessage.model_construct(content=None, tool_calls=("odd",), usage_metadata={"a": 1.5}),
    "without kwargs": AIMessage.model_construct(content="x", additional_kwargs=None, response_metadata=None),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_comes_back_as_it_was(name: str) -> None:
    codec, message = serde(), MESSAGES[name]
    body = codec.message_body(message)
    back = codec.message(body, message.id)
    assert back == message and type(back) is type(message)
    assert same(back, message)
    assert list(back.__dict__) == list(message.__dict__)
    assert back.model_dump(warnings=False) == message.model_dump(warnings=False)
    assert codec.message_body(back) == body
    assert same(codec.decode(codec.encode({"deep": [message]})), {"deep": [message]})


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_that_came_back_behaves(name: str) -> None:
    codec, message = serde(), MESSAGES[name]
    back = codec.message(codec.message_body(message), message.id)
    assert pickle.loads(pickle.dumps(back)) == message
    assert back.model_copy(update={"id": "new"}).id == "new"
    assert copy.deepcopy(back) == message
    assert repr(back) == repr(message)
    if not name.startswith(("unchecked", "without")):
        assert _blocks(back) == _blocks(message)
        assert back.text == message.text
        assert type(back).model_validate(back.model_dump()) == type(message).model_validate(
            message.model_dump()
        )
    back.additional_kwargs = {"changed": True}
    assert message.additional_kwargs != {"changed": True}


def _blocks(message: BaseMessage) -> list[Any]:
    """Return the content blocks without the ids that LangChain draws at random."""
    return [{key: item for key, item in block.items() if key != "id"} for block in message.content_blocks]


def test_every_class_and_field_of_langchain_is_tried() -> None:
    tried = {type(message) for message in MESSAGES.values()}
    assert tried >= set(CLASSES)
    stored = {name for cls in CLASSES for name in cls.model_fields}
    assert set(FIELDS) == stored - {"content", "id"}


def test_messages_share_no_container_with_each_other() -> None:
    codec = serde()
    body = codec.message_body(AIMessage("x"))
    one, other = codec.message(body, "1"), codec.message(body, "2")
    one.additional_kwargs["a"] = 1
    one.tool_calls.append(CALL)  # type: ignore[attr-defined]
    assert other == AIMessage("x", id="2")
    plan, next_plan = (codec.message(codec.message_body(Plan("x")), None) for _ in range(2))
    plan.steps.append("act")  # type: ignore[attr-defined]
    assert next_plan == Plan("x")


def test_the_id_is_no_part_of_the_body() -> None:
    codec = serde()
    assert codec.message_body(AIMessage("x", id="1")) == codec.message_body(AIMessage("x"))
    assert codec.message(codec.message_body(AIMessage("x", id="1")), None).id is None
    assert codec.message(codec.message_body(AIMessage("x")), "2") == AIMessage("x", id="2")


def test_equal_messages_have_equal_bytes_however_they_were_built() -> None:
    codec = serde()
    given = AIMessage(content="x", tool_calls=[], additional_kwargs={}, name=None, usage_metadata=None)
    assert given.model_fields_set != AIMessage("x").model_fields_set
    assert codec.message_body(given) == codec.message_body(AIMessage("x"))


@pytest.mark.parametrize(
    "message",
    [
        Note.model_construct(content="x", stars=False),
        Note.model_construct(content="x", stars=0.0),
        AIMessage.model_construct(content="x", additional_kwargs=OrderedDict(), tool_calls=()),
        ToolMessage.model_construct(content="x", tool_call_id="c", artifact=numpy.zeros(2)),
    ],
    ids=repr,
)
def test_what_equals_a_default_without_being_it(message: Any) -> None:
    assert same(serde().message(serde().message_body(message), None), message)


@pytest.mark.parametrize("one", [1, True, 1.0, "1", (1,), [1]], ids=repr)
@pytest.mark.parametrize("other", [1, True, 1.0, "1", (1,), [1]], ids=repr)
def test_values_that_differ_have_different_bytes(one: Any, other: Any) -> None:
    codec = serde()
    for build in (
        lambda value: HumanMessage("x", additional_kwargs={"a": value}),
        lambda value: HumanMessage.model_construct(content="x", mood=value),
        lambda value: AIMessage.model_construct(content="x", tool_calls=[{**CALL, "args": {"a": value}}]),
        lambda value: AIMessage.model_construct(content="x", usage_metadata={**USAGE, "input_tokens": value}),
        lambda value: ToolMessage.model_construct(content="x", tool_call_id="c", artifact=value),
    ):
        same_type = type(one) is type(other)
        assert (codec.message_body(build(one)) == codec.message_body(build(other))) is same_type


@pytest.mark.parametrize(
    "calls",
    [
        [{"name": "n", "args": {}, "id": "i", "type": "tool_call"}],
        [{"args": {}, "name": "n", "id": "i", "type": "tool_call"}],
        [{"name": "n", "args": {}, "id": "i"}],
        [{"name": "n", "args": {}, "id": "i", "type": "tool_call", "index": 0}],
        [{"name": "n", "args": {}, "id": "i", "type": "other"}],
        [{"name": "n", "args": {}, "id": "i", "type": None}],
        [["n", {}, "i"]],
        ["n", {}, "i"],
        [],
        (),
        None,
        "n",
    ],
    ids=repr,
)
def test_tool_calls_of_every_shape(calls: Any) -> None:
    codec = serde()
    message = AIMessage.model_construct(content="", tool_calls=calls)
    assert same(codec.message(codec.message_body(message), None), message)


@pytest.mark.parametrize(
    "usage",
    [
        USAGE,
        {name: USAGE[name] for name in ("input_tokens", "output_tokens", "total_tokens")},
        {**USAGE, "input_token_details": {}},
        {**USAGE, "input_token_details": {"cache_read": 1, "audio": 2}},
        {**USAGE, "input_token_details": None},
        {**USAGE, "input_token_details": {"ephemeral_5m_input_tokens": 4}},
        {**USAGE, "output_token_details": {"reasoning": 2**70}},
        {**USAGE, "more": 1},
        {"output_tokens": 1, "input_tokens": 2, "total_tokens": 3},
        {**USAGE, "input_tokens": 1.0},
        {**USAGE, "input_tokens": True},
        {**USAGE, "input_tokens": [1]},
        {},
        [],
        "x",
        dict(reversed(list(USAGE.items()))),
    ],
    ids=lambda usage: str(usage)[:60],
)
def test_usage_of_every_shape(usage: Any) -> None:
    codec = serde()
    message = AIMessage.model_construct(content="", usage_metadata=usage)
    assert same(codec.message(codec.message_body(message), None), message)


def test_a_body_is_small() -> None:
    codec = serde()
    assert len(codec.message_body(HumanMessage("hello", id="x" * 36))) == 8
    message = AIMessage("hello", tool_calls=[CALL], usage_metadata=USAGE)
    assert len(codec.message_body(message)) < 75
    assert len(ormsgpack.packb(message.model_dump())) > 300


def test_fields_are_counted_as_given_when_they_are_not_the_default() -> None:
    codec = serde()
    back = codec.message(codec.message_body(AIMessage("x", tool_calls=[CALL], name=None)), "1")
    assert back.model_fields_set == {"content", "tool_calls", "id"}
    assert codec.message(codec.message_body(AIMessage("x")), None).model_fields_set == {"content"}


def test_an_undeclared_class_is_refused() -> None:
    for store in (Serde().encode, Serde().message_body):
        with pytest.raises(SerializationError, match=r"kit:Note' is not declared; .*memory\.allow\(Note\)"):
            store(Note("x"))


def test_a_message_whose_class_is_unknown_keeps_its_bytes() -> None:
    writer, reader = serde(), Serde()
    body = writer.message_body(Note("hello", stars=2))
    back = reader.message(body, "7")
    assert isinstance(back, UnknownMessage)
    assert (back.id, back.content, back.class_name) == ("7", "hello", "tests.unit.serde.kit:Note")
    assert back.raw == reader.message_body(back) == body
    assert same(writer.message(reader.message_body(back), "7"), Note("hello", stars=2, id="7"))
    inline = writer.encode([Note("hello", stars=2, id="7")])
    (found,) = reader.decode(inline)
    assert found == back and found.raw == body
    assert reader.encode([found]) == inline
    assert copy.deepcopy(back) == back != reader.message(writer.message_body(Note("hello")), "7")


def test_a_message_field_that_its_class_no_longer_has_becomes_an_extra() -> None:
    codec = serde()
    body = ormsgpack.packb([0, "x", ["removed_field", [1]]])
    back = codec.message(body, None)
    assert same(back, HumanMessage("x", removed_field=[1]))


def test_a_message_without_a_field_that_its_class_needs_is_refused() -> None:
    with pytest.raises(SerializationError, match=r"ToolMessage needs a field 'tool_call_id'"):
        serde().message(ormsgpack.packb([2, "x"]), None)


@pytest.mark.parametrize("missing", ["content", "tool_call_id", "status"])
def test_a_message_that_lost_a_field_is_refused(missing: str) -> None:
    message = ToolMessage("x", tool_call_id="c")
    del message.__dict__[missing]
    for store in (serde().encode, serde().message_body):
        with pytest.raises(SerializationError, match=missing):
            store(message)


def test_ids_of_other_types_come_back() -> None:
    message = HumanMessage("x")
    message.id = 5  # type: ignore[assignment]
    assert same(serde().decode(serde().encode([message])), [message])
