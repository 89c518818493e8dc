"""The byte format: MessagePack, and extension codes for what MessagePack does not know.

Codes are append-only: a stored thread is read by every later version. Below `LEAF` an extension
refers to something stored elsewhere, from `LEAF` on its payload is opaque, and from `NESTED` on its
payload is MessagePack again.
"""

from __future__ import annotations

from typing import Any, Final

import ormsgpack
from ormsgpack import Ext

LEAF_MIN: Final = 96
"""Texts of at least this many characters are offered to `RefSink.text`."""

MAX_DEPTH: Final = 200
"""Containers inside containers, at most. A list or a dict counts once, anything else three times."""

# Reading a payload takes Python frames, five a level, where lists and dicts take none: what can be
# stored must also be readable from within a deep stack.
NESTED_COST: Final = 2

MAX_BYTES: Final = 256 * 1024 * 1024
"""Bytes of one encoded value, at most, unless `Serde(max_bytes=...)` says otherwise."""

REF_MESSAGE: Final = 1
REF_TEXT: Final = 2
REF_SEQUENCE: Final = 3

LEAF: Final = 16
INTEGER: Final = 16
TEXT: Final = 17
BYTEARRAY: Final = 18
DECIMAL: Final = 19
COMPLEX: Final = 20
UUID: Final = 21
DATE: Final = 22
TIMEDELTA: Final = 23
ZONE: Final = 24
PATH: Final = 25
ADDRESS: Final = 26
RANGE: Final = 27
FRACTION: Final = 28
ELLIPSIS: Final = 29
URL: Final = 30

NESTED: Final = 64
MAP: Final = 64
TUPLE: Final = 65
SET: Final = 66
FROZENSET: Final = 67
DEQUE: Final = 68
ORDERED: Final = 69
DEFAULTS: Final = 70
DATETIME: Final = 71
TIME: Final = 72
TIMEZONE: Final = 73
PATTERN: Final = 74
SLICE: Final = 75
ARRAY: Final = 76
COUNTER: Final = 77
TEXT_ACCESSOR: Final = 78
ADDABLE: Final = 79
MESSAGE: Final = 96
OBJECT: Final = 97
ERROR: Final = 98

PLAIN: Final = (
    ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_UUID
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_BIG_INT
)

# Arrays inside one payload may be 1,024 deep for the C decoder, and every extension starts to count
# anew: some ten payloads of that kind inside each other overflow the C stack and kill the process.
_FREE_LEVELS: Final = 4
_MAX_LEVELS: Final = 1000
_HEADERS: Final = {*range(0x80, 0xA0), *range(0xC7, 0xCA), *range(0xD4, 0xD9), *range(0xDC, 0xE0)}
_NO_HEADER: Final = bytes({*range(256)} - _HEADERS)


def integer(value: int) -> bytes:
    """Return the shortest two's complement form of an integer of any size."""
    return value.to_bytes((value.bit_length() + 8) // 8, "big", signed=True)


def _big(value: Any) -> Ext:
    if type(value) is int:
        return Ext(INTEGER, integer(value))
    raise TypeError(f"{type(value).__name__} has no place in plain MessagePack")


def pack(value: Any) -> bytes:
    """Pack exact plain values, integers of any size and `Ext`; TypeError for anything else.

    Not checked, because the C encoder does not tell: a bytearray becomes bytes, and a key that is a
    subclass of str becomes str.
    """
    return ormsgpack.packb(value, default=_big, option=PLAIN)


def joined(items: list[bytes]) -> bytes:
    """Return the packed list of items that are packed already."""
    size = len(items)
    head = bytes([0x90 | size]) if size < 16 else b"\xdd" + size.to_bytes(4, "big")
    return head + b"".join(items)


def reference(code: int, number: int) -> Ext:
    """Return the extension that refers to content or sequence `number`."""
    size = 1 if number < 1 << 8 else 2 if number < 1 << 16 else 4 if number < 1 << 32 else 8
    return Ext(code, number.to_bytes(size, "big"))


class Damaged(ValueError):
    """Bytes that no `Serde` wrote."""


class Nesting:
    """Counts how deep payloads and their arrays nest while bytes are read, and refuses too much.

    The first levels are free. From then on, a payload with few bytes that may be the header of a
    container or of an extension cannot be too deep, nor can what is inside it; others are counted.
    """

    __slots__ = ("_bounded", "_level", "_used")

    def __init__(self) -> None:
        self._bounded = False
        self._level = 0
        self._used = 0

    def extension(self, code: int, data: bytes) -> Any:
        """Return what stands for one extension."""
        raise NotImplementedError

    def unpack(self, data: bytes) -> Any:
        """Unpack a payload found inside another."""
        if self._level < _FREE_LEVELS:
            self._level += 1
            value = ormsgpack.unpackb(data, ext_hook=self.extension)
            self._level -= 1
            return value
        return self._deep(data)

    def _deep(self, data: bytes) -> Any:
        if self._bounded:
            return ormsgpack.unpackb(data, ext_hook=self.extension)
        if len(data.translate(None, _NO_HEADER)) < _MAX_LEVELS:
            self._bounded = True
            value = ormsgpack.unpackb(data, ext_hook=self.extension)
            self._bounded = False
            return value
        depth = 1 + _depth(data)
        if self._used + depth > _MAX_LEVELS:
            raise Damaged(f"values are nested deeper than {MAX_DEPTH} levels")
        self._used += depth
        value = ormsgpack.unpackb(data, ext_hook=self.extension)
        self._used -= depth
        return value


_SIZED: Final = {
    0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1),
    0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0),
}  # fmt: skip
_FIXED: Final = {
    0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2,
    0xD2: 4, 0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17,
}  # fmt: skip
_COUNTED: Final = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


def _depth(data: bytes) -> int:
    """Return how deep arrays and maps nest in a payload, without looking into its extensions."""
    at, deepest = 0, 0
    open_: list[int] = [1]
    while open_:
        if not open_[-1]:
            open_.pop()
            continue
        open_[-1] -= 1
        at, items = _step(data, at)
        if items is not None:
            open_.append(items)
            deepest = max(deepest, len(open_))
            if deepest > _MAX_LEVELS:
                break
    return deepest


def _step(data: bytes, at: int) -> tuple[int, int | None]:
    """Skip one header and its bytes: the next position, and the number of items of a container."""
    if at >= len(data):
        raise Damaged("unexpected end of data")
    tag, at = data[at], at + 1
    if tag < 0x80 or tag >= 0xE0:
        return at, None
    if tag < 0xA0:
        return at, (tag & 0x0F) * (2 if tag < 0x90 else 1)
    if tag < 0xC0:
        return at + (tag & 0x1F), None
    if tag in _FIXED:
        return at + _FIXED[tag], None
    if tag in _SIZED:
        width, extra = _SIZED[tag]
        return at + width + extra + int.from_bytes(data[at : at + width], "big"), None
    if tag in _COUNTED:
        width, factor = _COUNTED[tag]
        return at + width, factor * int.from_bytes(data[at : at + width], "big")
    raise Damaged("a reserved byte")
