"""Properties of the serializer over random values of the whole registry."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.serde.kit import Refs, same, serde
from tests.unit.serde.strategies import MESSAGES, PLAIN, VALUES
from threadkeep.errors import SerializationError
from threadkeep.serde import copy_of, matches, references, snapshot

CODEC = serde()


@given(VALUES)
@example([1, {"a": (True, b"", bytearray(b""))}])
def test_every_value_comes_back_as_it_was(value: Any) -> None:
    data = CODEC.encode(value)
    back = CODEC.decode(data)
    assert same(back, value)
    assert CODEC.encode(back) == data
    assert references(data) == ([], [])


@given(PLAIN)
def test_plain_data_comes_back_as_it_was(value: Any) -> None:
    assert same(CODEC.decode(CODEC.encode(value)), value)


@given(VALUES, st.booleans(), st.booleans(), st.booleans())
def test_references_change_nothing(value: Any, messages: bool, texts: bool, sequences: bool) -> None:
    refs = Refs(messages=messages, texts=texts, sequences=sequences)
    data = CODEC.encode(value, refs=refs)
    assert same(CODEC.decode(data, refs), value)
    contents, numbers = references(data)
    assert {*contents, *numbers} == set(range(len(refs.kept)))


@given(MESSAGES)
def test_every_message_comes_back_as_it_was(message: Any) -> None:
    body = CODEC.message_body(message)
    back = CODEC.message(body, message.id)
    assert same(back, message)
    assert list(back.__dict__) == list(type(message).model_fields)
    assert CODEC.message_body(back) == body
    other = CODEC.message(body, "another id")
    assert other.id == "another id" and CODEC.message_body(other) == body


@given(MESSAGES)
def test_references_in_messages_change_nothing(message: Any) -> None:
    refs = Refs()
    body = CODEC.message_body(message, refs=refs)
    assert same(CODEC.message(body, message.id, refs), message)
    contents, numbers = references(body)
    assert {*contents, *numbers} == set(range(len(refs.kept)))
    assert ("messages", message) not in [asked for asked in refs.asked if asked[1] is message]


@given(MESSAGES)
def test_snapshots_match_and_give_equal_copies(message: Any) -> None:
    kept = snapshot(message)
    copied = copy_of(kept)
    assert matches(message, kept) and matches(copied, kept)
    assert same(copied, message) and copied is not message
    assert copied.model_fields_set == message.model_fields_set


@given(VALUES, st.data())
def test_damaged_bytes_raise_one_kind_of_error(value: Any, data: st.DataObject) -> None:
    raw = bytearray(CODEC.encode(value, refs=Refs()))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    for bytes_ in (bytes(raw), bytes(raw[: data.draw(st.integers(0, len(raw)))])):
        for read in (CODEC.decode, references, lambda raw_: CODEC.message(raw_, "id")):
            try:
                read(bytes_)
            except SerializationError as error:
                assert str(error)
