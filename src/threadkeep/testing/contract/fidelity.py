"""What is put is what is got: equal in type, value and order, or refused."""

from __future__ import annotations

import collections
import dataclasses
import enum
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from threadkeep import Memory, SerializationError
from threadkeep.testing.checkpoints import Line
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import VALUES, assert_same, difference, messages


class _Text(str):
    pass


class _Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass
class _Undeclared:
    n: int


def _circle() -> list[Any]:
    circle: list[Any] = [1]
    circle.append(circle)
    return circle


def _deep() -> list[Any]:
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    return deep


REFUSED: dict[str, Callable[[], Any]] = {
    "object": object,
    "function": lambda: len,
    "class": lambda: int,
    "generator": lambda: (n for n in range(3)),
    "undeclared dataclass": lambda: _Undeclared(1),
    "undeclared enum": lambda: _Colour.RED,
    "subclass of text": lambda: _Text("a"),
    "subclass of dict": lambda: type("_Dict", (dict,), {})(a=1),
    "circle": _circle,
    "too deep": _deep,
    "foreign factory": lambda: collections.defaultdict(lambda: 7, a=1),
    "file": lambda: open(__file__),  # noqa: SIM115 - closed by the test
}
"""What cannot come back equal."""


class FidelityContract(Harness):
    """What is put is what is got."""

    def test_every_kind_of_value_as_a_channel(self, memory: Memory, drive: Drive) -> None:
        """Each value comes back as it was, in a run's own view, everybody's, the list and the state."""
        line = Line(memory, drive=drive, run=True)
        at = line.put(VALUES)
        views = {
            "run": line.values(),
            "named": Line(memory, drive=drive).values(at),
            "list": Line(memory, drive=drive).tuples()[0].checkpoint["channel_values"],
            "state": drive(memory.threads.get("t").state).values,
        }
        assert {view: difference(values, VALUES) for view, values in views.items()} == dict.fromkeys(views)

    @needs("shared")
    def test_every_kind_of_value_in_another_memory(self, memory: Memory, store: Store, drive: Drive) -> None:
        """Each value comes back as it was where nothing of it is kept in the process."""
        Line(memory, drive=drive).put(VALUES)
        assert_same(Line(store.open(), drive=drive).values(), VALUES)
        assert_same(Line(store.open(), drive=drive, run=True).load().checkpoint["channel_values"], VALUES)

    @pytest.mark.parametrize("nest", ["list", "long list", "dict", "long dict", "tuple", "message"])
    def test_every_kind_of_value_inside_others(self, memory: Memory, drive: Drive, nest: str) -> None:
        """Each value comes back as it was inside short and long lists, mappings, tuples and messages."""
        values = {name: _nested(nest, value) for name, value in VALUES.items()}
        line = Line(memory, drive=drive)
        line.put(values)
        assert_same(line.values(), values)
        line.put(dict(reversed(values.items())))
        assert_same(Line(memory, drive=drive, run=True).values(), dict(reversed(values.items())))

    def test_every_kind_of_value_as_a_pending_write(self, memory: Memory, drive: Drive) -> None:
        """Each value comes back as it was from a task's writes, in their order."""
        line = Line(memory, drive=drive)
        line.put({})
        line.write(list(VALUES.items()))
        assert_same(line.pending(), [("task", name, value) for name, value in VALUES.items()])

    def test_every_kind_of_value_in_metadata(self, memory: Memory, drive: Drive) -> None:
        """Each value comes back as it was from a checkpoint's and from a thread's metadata."""
        line = Line(memory, drive=drive)
        line.put({}, metadata=VALUES)
        expected = {"source": "loop", "step": 0, "parents": {}, **VALUES}
        found = line.get().metadata
        assert_same({key: found[key] for key in expected}, expected)
        thread = memory.threads.get("t")
        assert_same(drive(thread.update, metadata=VALUES).metadata, VALUES)
        assert_same(drive(memory.threads.list).items[0].metadata, VALUES)

    def test_messages_of_every_class(self, memory: Memory, drive: Drive) -> None:
        """Messages keep their class and every field; what has no id stays without."""
        line = Line(memory, drive=drive, run=True)
        line.put(
            {"messages": messages(), "one": messages()[3], "some": [messages()[4]], "mixed": [1, *messages()]}
        )
        expected = {
            "messages": messages(),
            "one": messages()[3],
            "some": [messages()[4]],
            "mixed": [1, *messages()],
        }
        assert_same(line.values(), expected)
        assert_same(Line(memory, drive=drive).values(), expected)
        assert_same(list(drive(memory.threads.get("t").messages)), messages())

    def test_one_value_after_another_of_the_same_channel(self, memory: Memory, drive: Drive) -> None:
        """A value that equals its predecessor in Python only (1, True, 1.0) is stored as what it is."""
        chain: list[Any] = [
            1,
            True,
            1.0,
            "1",
            b"1",
            [1],
            [True],
            (1,),
            {"a": 1},
            {"a": True},
            {1: "a"},
            {True: "a"},
        ]
        chain += [
            0.0,
            -0.0,
            0,
            False,
            None,
            "",
            [],
            {},
            1,
            "é",
            "e\u0301",
            {"b": 1, "a": 2},
            {"a": 2, "b": 1},
        ]
        long = [[value] * 12 for value in chain]
        line = Line(memory, drive=drive)
        placed = [
            (line.put({"c": short, "l": items}), short, items)
            for short, items in zip(chain, long, strict=True)
        ]
        for at, short, items in placed:
            assert_same(line.values(at), {"c": short, "l": items})

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (1, True),
            (True, 1),
            (1, 1.0),
            (0.0, -0.0),
            ([1], [True]),
            ({"a": 0}, {"a": False}),
            ((1,), (True,)),
        ],
        ids=repr,
    )
    def test_a_message_that_changed_in_type_only(
        self, memory: Memory, drive: Drive, before: Any, after: Any
    ) -> None:
        """A message that equals the stored one of its id in Python only is stored as what it is."""
        line = Line(memory, drive=drive)
        first = line.put({"messages": [AIMessage("x", id="m", additional_kwargs={"v": before})]})
        second = line.put({"messages": [AIMessage("x", id="m", additional_kwargs={"v": after})]})
        assert_same(line.values(first)["messages"][0].additional_kwargs, {"v": before})
        assert_same(line.values(second)["messages"][0].additional_kwargs, {"v": after})

    @pytest.mark.parametrize("size", [0, 1, 40, 41, 127, 128, 129, 1023, 1024, 1025, 70_000, 1_500_000])
    def test_texts_and_bytes_of_every_size(self, memory: Memory, drive: Drive, size: int) -> None:
        """Where a value is stored depends on its size; what comes back does not."""
        text, data = "x" * size, bytes(n % 251 for n in range(size))
        values = {"text": text, "data": data, "both": [text, data], "map": {"t": text, "d": data}}
        values["messages"] = [HumanMessage(text, id="m"), AIMessage(text, id="n")]
        line = Line(memory, drive=drive)
        line.put(values)
        line.write([("text", text), ("data", data), ("message", HumanMessage(text, id="w"))])
        assert_same(line.values(), values)
        assert_same([value for _, _, value in line.pending()], [text, data, HumanMessage(text, id="w")])

    @pytest.mark.parametrize("name", list(REFUSED))
    def test_what_would_not_come_back_equal_is_refused(self, memory: Memory, drive: Drive, name: str) -> None:
        """The error names the place; nothing is stored, and the thread goes on with a value that can be."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        value = REFUSED[name]()
        with pytest.raises(SerializationError, match=r"state\.cart"):
            line.put({"cart": {"items": [1, value]}})
        assert not drive(thread.exists)
        line.put({"cart": 1, "messages": [HumanMessage("a", id="1")]})
        before = line.get()
        with pytest.raises(SerializationError, match=r"state\.cart"):
            line.put({"messages": [HumanMessage("b", id="2")], "cart": {"items": [1, value]}})
        with pytest.raises(SerializationError, match=r"writes\.cart"):
            line.write([("fine", 1), ("cart", value)])
        with pytest.raises(SerializationError, match="metadata"):
            line.put({"cart": 2}, metadata={"odd": value})
        with pytest.raises(SerializationError, match="metadata"):
            drive(thread.update, metadata={"odd": value})
        with pytest.raises(SerializationError):
            drive(thread.append, HumanMessage("c", id="3", additional_kwargs={"odd": value}))
        assert difference(line.get().checkpoint, before.checkpoint) is None
        assert line.pending() == []
        line.put({"cart": 2, "messages": [HumanMessage("a", id="1"), HumanMessage("b", id="2")]})
        assert [m.id for m in drive(thread.messages)] == ["1", "2"]
        if hasattr(value, "close"):
            value.close()

    def test_one_object_in_several_places(self, memory: Memory, drive: Drive) -> None:
        """An object that stands in several channels comes back equal in each, and as several objects."""
        shared = {"items": [1, 2]}
        message = HumanMessage("same", id="m")
        line = Line(memory, drive=drive)
        line.put({"a": shared, "b": [shared, shared], "messages": [message], "copy": {"m": message}})
        values = line.values()
        assert_same(values["b"], [{"items": [1, 2]}, {"items": [1, 2]}])
        values["a"]["items"].append(3)
        values["messages"][0].content = "changed"
        assert values["b"] == [{"items": [1, 2]}, {"items": [1, 2]}]
        assert values["copy"]["m"].content == "same"


def _nested(nest: str, value: Any) -> Any:
    """Return a value that holds another one."""
    if nest == "list":
        return [1, value]
    if nest == "long list":
        return ["filler of some length, number " + str(n) for n in range(40)] + [value, value]
    if nest == "dict":
        return {"a": {"b": value}}
    if nest == "long dict":
        return {**{f"key {n}": "filler of some length" for n in range(60)}, "last": value}
    if nest == "tuple":
        return ([value], {"k": (value,)})
    return AIMessage("holds", id="m", additional_kwargs={"value": value}, response_metadata={"r": [value]})
