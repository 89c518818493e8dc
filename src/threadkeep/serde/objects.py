"""Objects stored by a name: those an adapter registers, and those a user declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from threadkeep.serde import wire
from threadkeep.serde.writer import Writer


class ObjectCodec(Protocol):
    """How the values of one class are stored under one name."""

    cls: type
    name: str

    def write(self, writer: Writer, value: Any, depth: int) -> list[Any]:
        """Return the wire values that make up a value."""

    def read(self, parts: list[Any]) -> Any:
        """Return the value of these parts; ValueError or TypeError when they do not fit."""


class PartsCodec:
    """An object as a fixed list of parts."""

    def __init__(
        self,
        name: str,
        cls: type,
        to_parts: Callable[[Any], Iterable[Any]],
        from_parts: Callable[[list[Any]], Any],
        fields: Sequence[str],
    ) -> None:
        self.name = name
        self.cls = cls
        self._to_parts = to_parts
        self._from_parts = from_parts
        self._fields = tuple(fields)

    def write(self, writer: Writer, value: Any, depth: int) -> list[Any]:
        """Return the wire values that make up a value."""
        parts = list(self._to_parts(value))
        if len(self._fields) < len(parts):
            return writer.items(parts, depth)
        return writer.named(zip(self._fields, parts, strict=False), depth)

    def read(self, parts: list[Any]) -> Any:
        """Return the value of these parts."""
        return self._from_parts(parts)


def checked(parts: Any) -> tuple[str, list[Any]]:
    """Return name and parts of a stored object."""
    if type(parts) is not list or not parts or type(parts[0]) is not str:
        raise wire.Damaged("an object without a name")
    return parts[0], parts[1:]
