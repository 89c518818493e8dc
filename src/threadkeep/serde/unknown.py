"""What is given back for a type that this process does not know, with its bytes intact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import ormsgpack
from langchain_core.messages import BaseMessage
from ormsgpack import Ext
from pydantic import PrivateAttr

from threadkeep.serde import wire


class UnknownType:
    """A stored value whose type was not declared to this process.

    `name` is the stable name of the type (`module:qualname`), `raw` its stored bytes. Storing it
    again writes the same bytes. Equal by name and bytes.
    """

    __slots__ = ("name", "raw")

    def __init__(self, name: str, raw: bytes) -> None:
        self.name = name
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UnknownType):
            return NotImplemented
        return (self.name, self.raw) == (other.name, other.raw)

    def __hash__(self) -> int:
        return hash((self.name, self.raw))

    def __repr__(self) -> str:
        return f"UnknownType(name={self.name!r}, raw=<{len(self.raw)} bytes>)"

    def __copy__(self) -> UnknownType:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> UnknownType:
        return self


class UnknownMessage(BaseMessage):
    """A stored message whose class was not declared to this process.

    Its content can be read; its other fields are kept as bytes and written again unchanged, so
    changes made to this object are not stored.
    """

    type: Literal["unknown"] = "unknown"
    class_name: str = ""
    _raw: bytes = PrivateAttr(default=b"")

    @property
    def raw(self) -> bytes:
        """The stored body of the message."""
        return self._raw


def unknown_message(name: str, content: Any, raw: bytes, message_id: Any) -> UnknownMessage:
    """Return the stand-in of a message of an undeclared class."""
    message = UnknownMessage.model_construct(content=content, id=message_id, class_name=name)
    message._raw = raw
    return message


class _Inliner(wire.Nesting):
    """Writes in place what raw bytes refer to, so that they can be kept outside their thread."""

    __slots__ = ("_resolve",)

    def __init__(self, resolve: Callable[[int, bytes], Any]) -> None:
        super().__init__()
        self._resolve = resolve

    def extension(self, code: int, data: bytes) -> Any:
        if code >= wire.NESTED:
            return Ext(code, wire.pack(self.unpack(data)))
        return Ext(code, data) if code >= wire.LEAF else self._resolve(code, data)


def inlined(raw: bytes, resolve: Callable[[int, bytes], Any]) -> bytes:
    """Return raw bytes with `resolve(code, payload)`, a wire value, in place of each reference."""
    return wire.pack(ormsgpack.unpackb(raw, ext_hook=_Inliner(resolve).extension))
