"""What a message was, to see whether its object was changed in place."""

from __future__ import annotations

import copy
from collections import deque
from operator import attrgetter
from typing import Any, Final

from langchain_core.messages import BaseMessage

from threadkeep.serde.messages import set_dict as _set_dict
from threadkeep.serde.messages import set_extra as _set_extra
from threadkeep.serde.messages import set_fields as _set_fields
from threadkeep.serde.messages import set_private as _set_private

_ATOMIC: Final = frozenset({type(None), bool, int, float, str, bytes})
_new: Final = object.__new__
_state: Final = attrgetter("__class__", "__dict__", "__pydantic_extra__", "__pydantic_private__")


class Snapshot:
    """The class and the values of a message, deeply copied. Made by `snapshot`.

    `values` is the copy of the message's `__dict__`, for those who compare many at once.
    """

    __slots__ = ("fields_set", "parts", "state", "values")

    parts: _Parts | None

    def __init__(self, message: BaseMessage) -> None:
        cls, values, extra, private = _state(message)
        self.parts = None
        self.values: dict[str, Any] = _copy_dict(values)
        self.state = (cls, self.values, _copy(extra), _copy(private))
        self.fields_set = message.__pydantic_fields_set__.copy()


def snapshot(message: BaseMessage) -> Snapshot:
    """Return a snapshot that later changes of the message do not reach."""
    return Snapshot(message)


def owned_snapshot(message: BaseMessage) -> Snapshot:
    """Return a snapshot that takes a message over, which nobody else may hold: nothing is copied."""
    taken = Snapshot.__new__(Snapshot)
    taken.state = _state(message)
    taken.values = taken.state[1]
    taken.parts = None
    taken.fields_set = message.__pydantic_fields_set__
    return taken


def matches(message: BaseMessage, snapshot: Snapshot) -> bool:
    """Tell whether a message still is what it was, by class and by equality of all its values.

    Equality is Python's: 1, 1.0 and True are not told apart here, unlike in encoded bytes.
    """
    try:
        equal = bool(_state(message) == snapshot.state)
    except Exception:  # arrays answer == with an array, and a user's __eq__ may raise
        equal = False
    return equal or _same(_state(message), snapshot.state)


def copy_of(snapshot: Snapshot, message_id: str | None = None) -> BaseMessage:
    """Return a new message that shares no container with the snapshot.

    A `message_id` that is not None replaces the id.
    """
    parts = snapshot.parts
    if parts is None:
        parts = snapshot.parts = _parts(snapshot)
    cls, stored, dicts, lists, others, extra, private = parts
    values = stored.copy()
    for name in dicts:
        values[name] = {}
    for name in lists:
        values[name] = []
    for name, item in others:
        values[name] = _copy(item)
    given = snapshot.fields_set.copy()
    if message_id is not None:
        values["id"] = message_id
        given.add("id")
    message: BaseMessage = _new(cls)
    _set_dict(message, values)
    _set_fields(message, given)
    _set_extra(message, extra if extra is None else _copy_dict(extra) if extra else {})
    _set_private(message, private if private is None else _copy(private))
    return message


_Parts = tuple[type, dict[str, Any], list[str], list[str], list[tuple[str, Any]], Any, Any]


def _parts(snapshot: Snapshot) -> _Parts:
    """Return a snapshot as it is copied: its class and values, and which of these are empty or hold something."""
    cls, stored, extra, private = snapshot.state
    dicts = [name for name, item in stored.items() if type(item) is dict and not item]
    lists = [name for name, item in stored.items() if type(item) is list and not item]
    done = {*dicts, *lists}
    others = [(name, item) for name, item in stored.items() if type(item) not in _ATOMIC and name not in done]
    return cls, stored, dicts, lists, others, extra, private


def _copy(value: Any) -> Any:
    kind = type(value)
    if kind in _ATOMIC:
        return value
    if kind is dict:
        return _copy_dict(value) if value else {}
    if kind is list:
        return _copy_list(value) if value else []
    return copy.deepcopy(value)


def _copy_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    out = value.copy()
    for key, item in value.items():
        if type(item) not in _ATOMIC:
            out[key] = _copy(item)
    return out


def _copy_list(value: list[Any]) -> list[Any]:
    out = value.copy()
    for at, item in enumerate(value):
        if type(item) not in _ATOMIC:
            out[at] = _copy(item)
    return out


def _same(left: Any, right: Any) -> bool:
    """Compare what == cannot: NaN, arrays, and objects that hold them."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple, deque)):
        return len(left) == len(right) and all(map(_same, left, right))
    if hasattr(left, "tobytes") and hasattr(left, "dtype"):
        form = left.dtype == right.dtype and left.shape == right.shape
        return bool(form and left.tobytes() == right.tobytes())
    return _equal(left, right) or _same_attributes(left, right)


def _equal(left: Any, right: Any) -> bool:
    try:
        return bool(left == right) or bool(left != left and right != right)
    except Exception:  # the == of an object that holds an array
        return False


def _same_attributes(left: Any, right: Any) -> bool:
    names = [name for cls in type(left).__mro__ for name in getattr(cls, "__slots__", ())]
    attributes = [name for name in ("__dict__", *names) if hasattr(left, name) or hasattr(right, name)]
    return bool(attributes) and all(
        _same(getattr(left, name, None), getattr(right, name, None)) for name in attributes
    )
