"""LangGraph's own types, and exceptions as LangGraph's savers give them back."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph import types as lg
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.errors import GraphInterrupt, GraphRecursionError, NodeCancelledError
from langgraph.store.base import GetOp, Item, SearchItem
from langgraph.types import Command, Interrupt, Overwrite, Send, TimeoutPolicy
from pydantic import BaseModel, ValidationError

from tests.unit.serde.kit import Refs, same, serde
from threadkeep.errors import SerializationError
from threadkeep.serde import Serde, UnknownType

NOW = datetime(2026, 1, 2, tzinfo=UTC)

VALUES = {
    "send": Send("node", {"messages": [HumanMessage("x")], "n": (1,)}),
    "send with a timeout": Send("node", 1, timeout=timedelta(seconds=3)),
    "timeout": TimeoutPolicy(run_timeout=1.5, idle_timeout=None, refresh_on="heartbeat"),
    "interrupt": Interrupt({"question": ("a", 1)}, id="i"),
    "interrupt with a schema": Interrupt("?", "i", response_schema={"type": "string"}),
    "interrupts": (Interrupt("a", "1"), Interrupt("b", "2")),
    "command": Command(),
    "full command": Command(
        graph=Command.PARENT, update={"x": {1}}, resume={"i": 1}, goto=[Send("n", 1), "m"]
    ),
    "command of tuples": Command(update=[("a", 1)], goto="n"),
    "overwrite": Overwrite([AIMessage("x")]),
    "delta": _DeltaSnapshot([HumanMessage("x"), AIMessage("y")]),
    "item": Item(value={"a": 1}, key="k", namespace=("n", "m"), created_at=NOW, updated_at=NOW),
    "search item": SearchItem(("n",), "k", {"a": 1}, NOW, NOW, score=0.5),
    "get": GetOp(("n",), "k", refresh_ttl=False),
    "update": lg.StateUpdate({"a": 1}, "node"),
    "cache key": lg.CacheKey(("n",), "k", 60),
    "task": lg.PregelTask("id", "name", ("path", 1), interrupts=(Interrupt("x", "i"),)),
    "snapshot": lg.StateSnapshot({"a": 1}, ("n",), {"configurable": {}}, None, None, None, (), ()),
    "call with state": {"__type": "tool_call_with_context", "state": {"messages": [AIMessage("x")]}},
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_langgraph_comes_back(name: str) -> None:
    value = VALUES[name]
    back = serde().decode(serde().encode(value))
    assert back == value and type(back) is type(value)
    assert same(back, value)
    assert repr(back) == repr(value)
    refs = Refs()
    assert same(serde().decode(serde().encode(value, refs=refs), refs), value)


def test_every_field_of_a_dataclass_is_stored() -> None:
    """A field that a later LangGraph adds must be added to the registration."""
    for value in VALUES.values():
        if dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
            changed = dataclasses.replace(value) if type(value) is not Interrupt else value
            for name in names:
                object.__setattr__(changed, name, f"changed {name}")
            back = serde().decode(serde().encode(changed))
            assert {name: getattr(back, name) for name in names} == {
                name: f"changed {name}" for name in names
            }


def test_a_part_that_is_missing_gets_its_default() -> None:
    """Stored by an older LangGraph whose class had fewer fields."""
    codec = Serde()
    codec.register("lg.Overwrite", Overwrite, lambda value: [value.value], lambda parts: Overwrite(*parts))
    codec.register("lg.Command", Command, lambda value: [None, value.update], lambda parts: Command(*parts))
    assert serde().decode(codec.encode(Overwrite([1]))) == Overwrite([1])
    assert serde().decode(codec.encode(Command(update=2))) == Command(update=2)


def test_without_the_adapter_a_value_is_unknown() -> None:
    data = serde().encode([Send("n", 1)])
    (unknown,) = Serde().decode(data)
    assert isinstance(unknown, UnknownType) and unknown.name == "lg.Send"
    assert serde().decode(Serde().encode([unknown])) == [Send("n", 1)]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (Send("n", {"a": object()}), "task.arg.a"),
        (Command(update={"a": [object()]}), "task.update.a[0]"),
        (Interrupt({"a": object()}), "task.value.a"),
        (_DeltaSnapshot([object()]), "task.value[0]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_place_of_what_is_refused(value: Any, place: str) -> None:
    with pytest.raises(SerializationError) as caught:
        serde().encode(value, path="task")
    assert caught.value.path == place


class Model(BaseModel):
    a: int


def _invalid() -> BaseException:
    try:
        Model(a="x")  # type: ignore[arg-type]
    except ValidationError as error:
        return error
    raise AssertionError


class Broken(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


ERRORS = {
    "plain": ValueError("wrong", 1, {"a": (1,)}),
    "without arguments": KeyError(),
    "surrogate": ValueError("\ud800"),
    "cancelled": asyncio.CancelledError(),
    "keyboard": KeyboardInterrupt(),
    "of langgraph": GraphRecursionError("limit"),
    "interrupt": GraphInterrupt([Interrupt("x", "i")]),
    "cancelled node": NodeCancelledError("n"),
    "validation": _invalid(),
    "unstorable argument": ValueError(object),
    "group": ExceptionGroup("many", [ValueError(1), TypeError(2)]),
    "with a cause": OSError(2, "no such file", "/x"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_exception_comes_back_as_langgraphs_savers_give_it(name: str) -> None:
    official = JsonPlusSerializer()
    error = ERRORS[name]
    back = serde().decode(serde().encode(error))
    expected = repr(error) if name == "surrogate" else official.loads_typed(official.dumps_typed(error))
    assert back == expected and type(back) is str


def test_an_exception_that_cannot_be_shown() -> None:
    assert "Broken" in serde().decode(serde().encode(Broken(1)))

    class Mute(Exception):
        def __repr__(self) -> str:
            raise RuntimeError

    assert serde().decode(serde().encode(Mute())).endswith("Mute>")


def test_an_exception_inside_a_state_is_refused() -> None:
    """It would come back as a text, which is another type."""
    with pytest.raises(SerializationError, match=r"^cannot store state\.errors\[0\]: exception 'builtins"):
        serde().encode({"errors": [ValueError("x")]}, path="state")


def test_the_bytes_of_an_exception_hold_name_text_and_arguments() -> None:
    data = serde().encode(ValueError("wrong", 42))
    for part in (b"builtins:ValueError", b"('wrong', 42)", b"ValueError('wrong', 42)"):
        assert part in data
