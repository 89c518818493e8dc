"""What is asked of the engine while encoding, and what encoded bytes refer to."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.types import Command, Send

from tests.unit.serde.kit import Frozen, Note, Order, Refs, same, serde
from threadkeep.errors import StorageBusy, ThreadkeepError
from threadkeep.serde import LEAF_MIN, Serde, UnknownMessage, UnknownType, references

LONG = "w" * LEAF_MIN
SHORT = "w" * (LEAF_MIN - 1)
ANN, BOB = HumanMessage("hi", id="1"), AIMessage("hello", id="2")


def stored(value: Any, **takes: bool) -> tuple[Refs, bytes]:
    refs = Refs(**takes)
    data = serde().encode(value, refs=refs)
    assert same(serde().decode(data, refs), value)
    return refs, data


def test_a_message_is_a_reference() -> None:
    refs, data = stored(ANN)
    assert refs.kept == [ANN] and len(data) == 3
    assert references(data) == ([0], [])


def test_a_list_of_messages_is_one_reference() -> None:
    refs, data = stored({"messages": [ANN, BOB], "n": 1})
    assert refs.kept == [[ANN, BOB]] and references(data) == ([], [0])


@pytest.mark.parametrize("items", [[ANN, "x"], ["x", ANN], [ANN, 1, BOB]])
def test_a_list_that_starts_or_ends_with_a_message_is_offered(items: list[Any]) -> None:
    refs, _ = stored(items)
    assert refs.kept == [items]


def test_other_containers_of_messages_are_not_offered_as_sequences() -> None:
    for value in ((ANN, BOB), deque([ANN, BOB]), ["x", ANN, "y"], {"a": ANN, "b": BOB}):
        refs, data = stored(value)
        assert all(not isinstance(kept, list) for kept in refs.kept)
        assert references(data)[1] == [] and references(data)[0]


def test_a_list_not_taken_is_written_with_its_messages_as_references() -> None:
    refs, data = stored([ANN, BOB], sequences=False)
    assert references(data) == ([0, 1], []) and refs.kept == [ANN, BOB]


def test_what_is_not_taken_is_written_in_place() -> None:
    _, data = stored({"m": [ANN, BOB], "t": LONG}, messages=False, texts=False, sequences=False)
    assert references(data) == ([], [])
    assert same(serde().decode(data), {"m": [ANN, BOB], "t": LONG})


@pytest.mark.parametrize(
    "value",
    [
        LONG,
        {"a": LONG},
        [LONG],
        {"a": {"b": [LONG, 1]}},
        Send("n", {"text": LONG}),
        Command(update={"text": LONG}),
        Order(1, [LONG]),
        {"m": ("x", LONG)},
        {1: LONG},
        {"messages": [{"role": "user", "content": LONG}]},
        AIMessage([{"type": "text", "text": LONG}]).text,
    ],
    ids=lambda value: str(value)[:30],
)
def test_long_texts_are_offered(value: Any) -> None:
    refs, data = stored(value)
    assert refs.kept == [LONG] and references(data) == ([0], [])


def test_short_texts_keys_and_bytes_are_not_offered() -> None:
    refs, _ = stored({"a": SHORT, LONG: 1, "b": LONG.encode(), "c": [SHORT] * 30})
    assert refs.asked == []


def test_texts_are_counted_in_characters() -> None:
    refs, _ = stored(["é" * (LEAF_MIN - 1)])
    assert refs.asked == []
    refs, _ = stored(["é" * LEAF_MIN])
    assert refs.kept == ["é" * LEAF_MIN]


def test_deep_or_wide_plain_data_is_left_to_c() -> None:
    deep: Any = LONG
    for _ in range(6):
        deep = [deep]
    refs, _ = stored(deep)
    assert refs.asked == []
    refs, _ = stored([[LONG + str(number)] for number in range(120)])
    assert 50 < len(refs.kept) < 120
    refs, _ = stored([[LONG + str(number)] for number in range(5_000)])
    assert refs.asked == []


def test_messages_are_found_at_any_depth() -> None:
    deep: Any = (ANN,)
    for _ in range(20):
        deep = [{"k": deep}]
    refs, _ = stored(deep)
    assert refs.kept == [ANN]


def test_messages_inside_langgraph_values_are_found() -> None:
    refs, data = stored(Command(update={"messages": [ANN]}, goto=[Send("n", {"messages": [ANN, BOB]})]))
    assert refs.kept == [[ANN], [ANN, BOB]] and references(data) == ([], [0, 1])


def test_the_text_of_a_message_is_offered() -> None:
    for message in (
        HumanMessage(LONG),
        AIMessage([{"type": "text", "text": LONG}]),
        AIMessage("", tool_calls=[{"name": "w", "args": {"text": LONG}, "id": "c"}]),
        SystemMessage(LONG, additional_kwargs={"a": (1,)}),
    ):
        refs = Refs()
        body = serde().message_body(message, refs=refs)
        assert refs.kept == [LONG] and references(body) == ([0], [])
        assert same(serde().message(body, None, refs), message)


def test_a_message_is_not_offered_to_itself() -> None:
    refs = Refs()
    serde().message_body(ANN, refs=refs)
    assert refs.asked == []


def test_numbers_of_every_size() -> None:
    class Sink(Refs):
        def message(self, value: Any) -> Any:
            return numbers[value] if isinstance(value, int) else next(waiting)

    wanted = [0, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**40]
    numbers, waiting = dict.fromkeys(wanted, ANN), iter(wanted)
    data = serde().encode(tuple([ANN] * len(wanted)), refs=Sink())
    assert references(data) == (wanted, [])
    assert same(serde().decode(data, Sink()), tuple([ANN] * len(wanted)))


def test_references_are_listed_in_order_with_repetitions() -> None:
    refs = Refs()
    data = serde().encode((ANN, [BOB], LONG, ANN, {"a": ANN}), refs=refs)
    assert references(data) == ([0, 2, 0, 0], [1])


def test_an_error_of_the_engine_passes_through() -> None:
    class Broken(Refs):
        def message(self, value: Any) -> Any:
            raise StorageBusy("the database is locked")

        text = sequence = message

    for value in (ANN, [ANN], LONG, {"a": Frozen(LONG)}):
        with pytest.raises(StorageBusy, match="locked"):
            serde().encode(value, refs=Broken())
    refs = Refs()
    data = serde().encode({"a": (ANN, LONG, [BOB])}, refs=refs)
    with pytest.raises(StorageBusy, match="locked"):
        serde().decode(data, Broken())
    body = serde().message_body(HumanMessage(LONG), refs=refs)
    with pytest.raises(StorageBusy, match="locked"):
        serde().message(body, None, Broken())


def test_a_keyboard_interrupt_passes_through() -> None:
    class Stopped(Refs):
        def message(self, value: Any) -> Any:
            raise KeyboardInterrupt

    data = serde().encode((ANN,), refs=Refs())
    with pytest.raises(KeyboardInterrupt):
        serde().decode(data, Stopped())


def test_references_need_a_source() -> None:
    data = serde().encode([ANN], refs=Refs())
    with pytest.raises(ThreadkeepError, match="nothing to look it up in"):
        serde().decode(data)


def test_an_unknown_value_is_kept_without_references() -> None:
    """What its raw bytes refer to belongs to one thread, and the value may be stored in another."""
    refs = Refs()
    value = Order(1, [LONG, ANN, [BOB, ANN], (LONG, "\ud800")])
    data = serde().encode(value, refs=refs)
    unknown = Serde().decode(data, refs)
    assert isinstance(unknown, UnknownType)
    assert references(Serde().encode(unknown)) == ([], [])
    assert same(serde().decode(Serde().encode(unknown)), value)
    body = serde().message_body(Note(LONG, stars=1), refs=refs)
    message = Serde().message(body, None, refs)
    assert isinstance(message, UnknownMessage) and message.content == LONG
    assert same(serde().message(message.raw, None), Note(LONG, stars=1))
