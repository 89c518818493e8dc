"""What a message was, to see whether its object was changed in place."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from langchain_core.messages import BaseMessage

from threadkeep.serde.messages import new_model

_ATOMIC: Final = frozenset({type(None), bool, int, float, str, bytes})


class Snapshot:
    """The type and the values of a message, deeply copied. Made by `snapshot`."""

    __slots__ = ("cls", "extra", "fields_set", "mutable", "private", "values")

    def __init__(self, message: BaseMessage) -> None:
        values = message.__dict__
        self.cls = type(message)
        self.mutable = tuple(name for name, value in values.items() if type(value) not in _ATOMIC)
        self.values = _copied(values, self.mutable)
        self.extra = _copy(message.__pydantic_extra__)
        self.private = _copy(message.__pydantic_private__)
        self.fields_set = message.__pydantic_fields_set__.copy()


def snapshot(message: BaseMessage) -> Snapshot:
    """Return a snapshot that later changes of the message do not reach."""
    return Snapshot(message)


def matches(message: BaseMessage, snapshot: Snapshot) -> bool:
    """Tell whether a message still is what it was, by type and by equality of all its values.

    Equality is Python's: 1, 1.0 and True are not told apart here, unlike in encoded bytes.
    """
    try:
        return (
            message.__dict__ == snapshot.values
            and message.__pydantic_extra__ == snapshot.extra
            and message.__pydantic_private__ == snapshot.private
            and type(message) is snapshot.cls
        )
    except Exception:  # arrays answer == with an array, and a user's __eq__ may raise
        return type(message) is snapshot.cls and _same(_state(message), _kept(snapshot))


def copy_of(snapshot: Snapshot, message_id: str | None = None) -> BaseMessage:
    """Return a new message that shares no container with the snapshot.

    A `message_id` that is not None replaces the id.
    """
    values = _copied(snapshot.values, snapshot.mutable)
    given = snapshot.fields_set.copy()
    if message_id is not None:
        values["id"] = message_id
        given.add("id")
    extra, private = snapshot.extra, snapshot.private
    message: BaseMessage = new_model(
        snapshot.cls, values, given, _copy(extra) if extra else extra and {}, _copy(private)
    )
    return message


def _copied(values: dict[str, Any], mutable: tuple[str, ...]) -> dict[str, Any]:
    out = values.copy()
    for name in mutable:
        out[name] = _copy(values[name])
    return out


def _copy(value: Any) -> Any:
    copier = _COPIERS.get(type(value))
    if copier is not None:
        return copier(value)
    if type(value) in _ATOMIC:
        return value
    return copy.deepcopy(value)


def _copy_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    if not value:
        return {}
    return {key: item if type(item) in _ATOMIC else _copy(item) for key, item in value.items()}


def _copy_list(value: list[Any]) -> list[Any]:
    return [item if type(item) in _ATOMIC else _copy(item) for item in value]


_COPIERS: Final[dict[type, Callable[[Any], Any]]] = {dict: _copy_dict, list: _copy_list}


def _state(message: BaseMessage) -> list[Any]:
    return [message.__dict__, message.__pydantic_extra__, message.__pydantic_private__]


def _kept(snapshot: Snapshot) -> list[Any]:
    return [snapshot.values, snapshot.extra, snapshot.private]


def _same(left: Any, right: Any) -> bool:
    """Compare containers item by item, and what cannot be compared by the bytes it exposes."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    try:
        return bool(left is right or left == right)
    except Exception:  # no truth value: an array of several elements
        return _same_buffer(left, right)


def _same_buffer(left: Any, right: Any) -> bool:
    try:
        one, other = memoryview(left), memoryview(right)
    except TypeError:
        return False
    same_form = (one.format, one.shape) == (other.format, other.shape)
    return same_form and one.tobytes() == other.tobytes()
