"""Bytes to values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import ormsgpack

from threadkeep.errors import SerializationError, ThreadkeepError
from threadkeep.serde import wire

if TYPE_CHECKING:
    from threadkeep.serde.refs import RefSource

Read = Callable[["Reader", bytes], Any]


class Reader(wire.Nesting):
    """One decoding of one value. Not shared between threads."""

    __slots__ = ("_failure", "_refs", "_table")

    def __init__(self, table: Mapping[int, Read], refs: RefSource | None) -> None:
        super().__init__()
        self._table = table
        self._refs = refs
        self._failure: BaseException | None = None

    def read(self, data: bytes) -> Any:
        """Return the value of encoded bytes.

        Raises SerializationError for anything that no `Serde` wrote; errors of the reference
        source pass through.
        """
        try:
            return ormsgpack.unpackb(data, ext_hook=self.extension)
        except (ValueError, TypeError, RecursionError) as exc:
            raise self.damage(exc) from (self._failure or exc)

    def damage(self, exc: BaseException) -> BaseException:
        """Return what to raise for an error met while reading."""
        cause = self._failure or exc
        if isinstance(cause, ThreadkeepError) or not isinstance(cause, Exception):
            return cause
        reason = f"stored bytes cannot be read: {type(cause).__name__}: {cause}"
        return SerializationError(reason, damaged=True)

    def extension(self, code: int, data: bytes) -> Any:
        """Return the value of one extension; the C decoder forgets errors, so the first is kept."""
        try:
            return self._table[code](self, data)
        except BaseException as exc:
            if self._failure is None:
                self._failure = exc
            raise

    @property
    def refs(self) -> RefSource:
        """The reference source; raises Damaged when there is none."""
        if self._refs is None:
            raise wire.Damaged("a reference to other content, and nothing to look it up in")
        return self._refs


def number(data: bytes) -> int:
    """Return the content or sequence number of a reference."""
    return int.from_bytes(data, "big")
