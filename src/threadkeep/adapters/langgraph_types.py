"""The types of LangGraph that reach a saver, registered with the serializer.

Codes are append-only, and parts may only be added at the end: a later version reads what an earlier
one stored, and an older LangGraph without a part leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING
from typing import Any, Final

from langgraph import types as lg
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import GetOp, Item, SearchItem

from threadkeep.serde import Serde

_RECORDS: Final[tuple[tuple[str, type, tuple[str, ...]], ...]] = (
    ("lg.Send", lg.Send, ("node", "arg", "timeout")),
    ("lg.Timeout", lg.TimeoutPolicy, ("run_timeout", "idle_timeout", "refresh_on")),
    ("lg.Interrupt", lg.Interrupt, ("value", "id", "response_schema")),
    ("lg.Command", lg.Command, ("graph", "update", "resume", "goto")),
    ("lg.Overwrite", lg.Overwrite, ("value", "type")),
    ("lg.Item", Item, ("value", "key", "namespace", "created_at", "updated_at")),
    ("lg.SearchItem", SearchItem, ("value", "key", "namespace", "created_at", "updated_at", "score")),
)

_TUPLES: Final[tuple[tuple[str, type], ...]] = (
    ("lg.Delta", _DeltaSnapshot),
    ("lg.Snapshot", lg.StateSnapshot),
    ("lg.Task", lg.PregelTask),
    ("lg.StateUpdate", lg.StateUpdate),
    ("lg.CacheKey", lg.CacheKey),
    ("lg.GetOp", GetOp),
)


def register_langgraph(serde: Serde) -> None:
    """Register every type of LangGraph that a state, a write or a task may hold."""
    for code, cls, fields in _RECORDS:
        defaults = _defaults(cls, fields)
        to_parts, from_parts = _reader_of(fields, defaults), _maker_of(cls, fields, defaults)
        serde.register(code, cls, to_parts, from_parts, fields)
    for code, cls in _TUPLES:
        serde.register(code, cls, tuple, _named_tuple_of(cls), getattr(cls, "_fields", ()))


def _defaults(cls: type, fields: tuple[str, ...]) -> tuple[Any, ...]:
    known = getattr(cls, "__dataclass_fields__", {})
    defaults = (known[field].default if field in known else None for field in fields)
    return tuple(None if default is MISSING else default for default in defaults)


def _reader_of(fields: tuple[str, ...], defaults: tuple[Any, ...]) -> Callable[[Any], list[Any]]:
    def to_parts(value: Any) -> list[Any]:
        parts = [getattr(value, field, default) for field, default in zip(fields, defaults, strict=True)]
        while parts and parts[-1] is defaults[len(parts) - 1]:
            parts.pop()
        return parts

    return to_parts


def _maker_of(cls: type, fields: tuple[str, ...], defaults: tuple[Any, ...]) -> Callable[[list[Any]], Any]:
    """Return a function that makes an instance without __init__, which would coerce or warn."""
    known = tuple(_has(cls, field) for field in fields)

    def from_parts(parts: list[Any]) -> Any:
        made: Any = object.__new__(cls)
        values = (*parts, *defaults[len(parts) :])
        for field, present, value in zip(fields, known, values, strict=True):
            if present:
                object.__setattr__(made, field, value)
        return made

    return from_parts


def _has(cls: type, field: str) -> bool:
    slots = (name for base in cls.__mro__ for name in getattr(base, "__slots__", ()))
    return field in slots or field in getattr(cls, "__dataclass_fields__", ())


def _named_tuple_of(cls: type) -> Callable[[list[Any]], Any]:
    def from_parts(parts: list[Any]) -> Any:
        return cls(*parts)

    return from_parts
