"""What the engine gives the serializer so that content is stored once per thread."""

from __future__ import annotations

from typing import Any, Protocol

import ormsgpack
from langchain_core.messages import BaseMessage

from threadkeep.errors import SerializationError
from threadkeep.serde import wire


class RefSink(Protocol):
    """Asked while encoding; each answer is a number to refer to, or None for "write it here".

    One value may be asked for more than once in one call; the same object gets the same answer.
    """

    def message(self, message: BaseMessage) -> int | None:
        """Return the content number of a message."""

    def text(self, text: str) -> int | None:
        """Return the content number of a text of at least `LEAF_MIN` characters."""

    def sequence(self, items: list[Any]) -> int | None:
        """Return the sequence number of a list whose first or last item is a message."""


class RefSource(Protocol):
    """Asked while decoding for what the encoded bytes refer to."""

    def message(self, number: int) -> BaseMessage:
        """Return the message with this content number."""

    def text(self, number: int) -> str:
        """Return the text with this content number."""

    def sequence(self, number: int) -> list[Any]:
        """Return the list with this sequence number."""


class _Collector(wire.Nesting):
    __slots__ = ("contents", "sequences")

    def __init__(self) -> None:
        super().__init__()
        self.contents: list[int] = []
        self.sequences: list[int] = []

    def extension(self, code: int, data: bytes) -> None:
        if code >= wire.NESTED:
            self.unpack(data)
        elif code == wire.REF_SEQUENCE:
            self.sequences.append(int.from_bytes(data, "big"))
        elif code < wire.LEAF:
            self.contents.append(int.from_bytes(data, "big"))


def references(data: bytes) -> tuple[list[int], list[int]]:
    """Return the numbers of the contents and of the sequences that encoded bytes refer to.

    In the order in which they occur, with repetitions. No object of any type is built.
    Raises SerializationError for bytes that no `Serde` wrote.
    """
    found = _Collector()
    try:
        ormsgpack.unpackb(data, ext_hook=found.extension)
    except (ValueError, TypeError, RecursionError) as exc:
        raise SerializationError(f"stored bytes are damaged: {exc}", damaged=True) from exc
    return found.contents, found.sequences
