"""Whether a message changed in place is seen, and copies are independent."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import numpy
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from tests.unit.serde.kit import Note, Order, same
from tests.unit.serde.test_messages import MESSAGES, USAGE
from threadkeep.serde import copy_of, matches, snapshot


@pytest.mark.parametrize("name", MESSAGES)
def test_a_snapshot_matches_and_copies(name: str) -> None:
    message = MESSAGES[name]
    kept = snapshot(message)
    assert matches(message, kept)
    assert kept.values == message.__dict__ and kept.values is not message.__dict__
    assert same(copy_of(kept), message) and matches(copy_of(kept), kept)
    assert copy_of(kept).model_fields_set == message.model_fields_set


def build() -> Any:
    return AIMessage(
        [{"type": "text", "text": "a"}],
        id="1",
        tool_calls=[{"name": "n", "args": {"x": {"y": [1]}}, "id": "c"}],
        usage_metadata=USAGE,
        additional_kwargs={"k": {"deep": [1, 2]}},
        mood=["good"],
    )


def _set(path: str, value: Any) -> Any:
    def change(message: Any) -> None:
        setattr(message, path, value)

    return change


CHANGES: dict[str, Any] = {
    "content": _set("content", "b"),
    "block": lambda message: message.content[0].update(text="b"),
    "id": _set("id", "2"),
    "name": _set("name", "x"),
    "arguments": lambda message: message.tool_calls[0]["args"]["x"]["y"].append(2),
    "call": lambda message: message.tool_calls.append({}),
    "usage": lambda message: message.usage_metadata["input_token_details"].update(audio=11),
    "kwargs": lambda message: message.additional_kwargs["k"]["deep"].pop(),
    "metadata": lambda message: message.response_metadata.update(a=1),
    "extra": lambda message: message.mood.append("bad"),
    "new extra": _set("other", 1),
    "new attribute": lambda message: message.__dict__.update(other=1),
    "order of a list": lambda message: message.additional_kwargs["k"]["deep"].reverse(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_in_place_is_seen(name: str) -> None:
    message = build()
    kept = snapshot(message)
    CHANGES[name](message)
    assert not matches(message, kept)
    assert same(copy_of(kept), build())


@pytest.mark.parametrize("name", CHANGES)
def test_a_copy_is_independent(name: str) -> None:
    message = build()
    kept = snapshot(message)
    copied = copy_of(kept)
    CHANGES[name](copied)
    assert matches(message, kept) and same(copy_of(kept), message)


def test_another_class_does_not_match() -> None:
    class Other(HumanMessage):
        pass

    assert not matches(Other("x"), snapshot(HumanMessage("x")))


def test_private_attributes_are_seen() -> None:
    note = Note("x")
    kept = snapshot(note)
    assert matches(note, kept)
    note._seen = True
    assert not matches(note, kept) and copy_of(kept)._seen is False  # type: ignore[attr-defined]


def test_a_copy_may_get_another_id() -> None:
    kept = snapshot(HumanMessage("x"))
    assert copy_of(kept, "7") == HumanMessage("x", id="7") and copy_of(kept).id is None
    assert copy_of(kept, "7").model_fields_set == {"content", "id"}
    assert copy_of(snapshot(HumanMessage("x", id="1"))).id == "1"


@dataclasses.dataclass
class Holder:
    array: Any


ARTIFACTS = {
    "array": lambda: numpy.arange(3.0),
    "array of dates": lambda: numpy.array(["2026-01-01"], dtype="M8[D]"),
    "nan": lambda: [float("nan"), Decimal("NaN"), numpy.float64("nan")],
    "array in a dict": lambda: {"a": [numpy.arange(3), (numpy.array(1),)]},
    "array in a dataclass": lambda: Holder(numpy.arange(3)),
    "dataclass": lambda: Order(1, [Order(2)]),
    "set": lambda: {1, (2, 3)},
    "bytearray": lambda: bytearray(b"x"),
}


@pytest.mark.parametrize("name", ARTIFACTS)
def test_artifacts_that_python_cannot_compare(name: str) -> None:
    message = ToolMessage("x", tool_call_id="c", artifact=ARTIFACTS[name]())
    kept = snapshot(message)
    assert matches(message, kept)
    assert matches(copy_of(kept), kept)
    message.artifact = ARTIFACTS["array"]() + 1
    assert not matches(message, kept)


def test_a_change_inside_an_array_is_seen() -> None:
    message = ToolMessage("x", tool_call_id="c", artifact={"a": [Holder(numpy.arange(3))]})
    kept = snapshot(message)
    message.artifact["a"][0].array[1] = 9
    assert not matches(message, kept)
    assert matches(ToolMessage("x", tool_call_id="c", artifact={"a": [Holder(numpy.arange(3))]}), kept)
