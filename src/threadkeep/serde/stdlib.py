"""Containers and scalars of the standard library that MessagePack does not know."""

from __future__ import annotations

import re
import struct
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from pathlib import Path, PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any, Final
from uuid import UUID, SafeUUID

from ormsgpack import Ext

from threadkeep.serde import wire
from threadkeep.serde.paths import Element, Refused
from threadkeep.serde.reader import Read, Reader
from threadkeep.serde.writer import Write, Writer

_FACTORIES: Final[tuple[Any, ...]] = (None, list, dict, set, int, float, str, bool, tuple, frozenset, bytes)
_PATHS: Final[tuple[type[PurePath], ...]] = (
    PosixPath,
    WindowsPath,
    PurePosixPath,
    PureWindowsPath,
)
_ADDRESSES: Final[tuple[Callable[[str], Any], ...]] = (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)


def _write_tuple(writer: Writer, value: tuple[Any, ...], depth: int) -> Ext:
    return Ext(wire.TUPLE, wire.pack(writer.items(value, depth)))


def _read_tuple(reader: Reader, data: bytes) -> tuple[Any, ...]:
    return tuple(_list(reader, data))


def _list(reader: Reader, data: bytes) -> list[Any]:
    items = reader.unpack(data)
    if type(items) is not list:
        raise wire.Damaged("a list was expected")
    return items


def _set_writer(code: int) -> Write:
    def write(writer: Writer, value: Any, depth: int) -> Ext:
        try:
            packed = [wire.pack(writer.value(item, depth + 1)) for item in value]
        except Refused as refused:
            refused.steps.append(Element())
            raise
        # Sorted, because a set of texts has another order in every process.
        return Ext(code, wire.joined(sorted(packed)))

    return write


def _write_map(code: int) -> Write:
    def write(writer: Writer, value: dict[Any, Any], depth: int) -> Ext:
        return Ext(code, wire.pack(_flat(writer, value, depth)))

    return write


def _flat(writer: Writer, value: dict[Any, Any], depth: int) -> list[Any]:
    flat: list[Any] = []
    key: Any = None
    try:
        for key, item in value.items():
            flat.append(writer.value(key, depth + 1))
            flat.append(writer.value(item, depth + 1))
    except Refused as refused:
        refused.steps.append(key)
        raise
    return flat


def _pairs(items: list[Any]) -> zip[tuple[Any, Any]]:
    if len(items) % 2:
        raise wire.Damaged("a key without a value")
    return zip(items[::2], items[1::2], strict=True)


def _write_defaults(writer: Writer, value: defaultdict[Any, Any], depth: int) -> Ext:
    factory = value.default_factory
    if factory not in _FACTORIES:
        raise Refused(f"its default_factory {factory!r} cannot be stored; use a builtin type, or a dict")
    flat = _flat(writer, value, depth)
    return Ext(wire.DEFAULTS, wire.pack([_FACTORIES.index(factory), *flat]))


def _read_defaults(reader: Reader, data: bytes) -> defaultdict[Any, Any]:
    which, *items = _list(reader, data)
    return defaultdict(_FACTORIES[_index(which, _FACTORIES)], _pairs(items))


def _index(value: Any, table: tuple[Any, ...]) -> int:
    if type(value) is not int or not 0 <= value < len(table):
        raise wire.Damaged("an index out of range")
    return value


def _write_deque(writer: Writer, value: deque[Any], depth: int) -> Ext:
    return Ext(wire.DEQUE, wire.pack([value.maxlen, *writer.items(value, depth)]))


def _read_deque(reader: Reader, data: bytes) -> deque[Any]:
    maxlen, *items = _list(reader, data)
    return deque(items, maxlen)


def _write_decimal(writer: Writer, value: Decimal, depth: int) -> Ext:
    return Ext(wire.DECIMAL, str(value).encode())


def _write_fraction(writer: Writer, value: Fraction, depth: int) -> Ext:
    return Ext(wire.FRACTION, wire.pack([value.numerator, value.denominator]))


def _read_fraction(reader: Reader, data: bytes) -> Fraction:
    numerator, denominator = _list(reader, data)
    return Fraction(numerator, denominator)


def _write_uuid(writer: Writer, value: UUID, depth: int) -> Ext:
    if value.is_safe is SafeUUID.unknown:
        return Ext(wire.UUID, value.bytes)
    return Ext(wire.UUID, value.bytes + wire.integer(value.is_safe.value))


def _read_uuid(reader: Reader, data: bytes) -> UUID:
    if len(data) == 16:
        return UUID(bytes=data)
    return UUID(bytes=data[:16], is_safe=SafeUUID(int.from_bytes(data[16:], "big", signed=True)))


def _write_path(writer: Writer, value: PurePath, depth: int) -> Ext:
    raw = str(value).encode("utf-8", "surrogatepass")
    return Ext(wire.PATH, bytes([_PATHS.index(type(value))]) + raw)


def _read_path(reader: Reader, data: bytes) -> PurePath:
    kind = _PATHS[_index(data[0], _PATHS)]
    text = data[1:].decode("utf-8", "surrogatepass")
    if issubclass(kind, Path) and kind is not type(Path()):
        kind = PureWindowsPath if kind is WindowsPath else PurePosixPath
    return kind(text)


def _write_address(writer: Writer, value: Any, depth: int) -> Ext:
    return Ext(wire.ADDRESS, bytes([_ADDRESSES.index(type(value))]) + str(value).encode())


def _read_address(reader: Reader, data: bytes) -> Any:
    return _ADDRESSES[_index(data[0], _ADDRESSES)](data[1:].decode())


def _write_range(writer: Writer, value: range, depth: int) -> Ext:
    return Ext(wire.RANGE, wire.pack([value.start, value.stop, value.step]))


def _write_slice(writer: Writer, value: slice, depth: int) -> Ext:
    parts = (("start", value.start), ("stop", value.stop), ("step", value.step))
    return Ext(wire.SLICE, wire.pack(writer.named(parts, depth)))


def _write_pattern(writer: Writer, value: re.Pattern[Any], depth: int) -> Ext:
    return Ext(wire.PATTERN, wire.pack([writer.value(value.pattern, depth + 1), value.flags]))


def _read_pattern(reader: Reader, data: bytes) -> re.Pattern[Any]:
    pattern, flags = _list(reader, data)
    try:
        # Flags found in the pattern itself, and UNICODE for a text, are given again without harm.
        return re.compile(pattern, flags)
    except re.error as exc:
        raise wire.Damaged(f"a pattern that does not compile: {exc}") from exc


WRITE: Final[dict[type, Write]] = {
    tuple: _write_tuple,
    set: _set_writer(wire.SET),
    frozenset: _set_writer(wire.FROZENSET),
    deque: _write_deque,
    OrderedDict: _write_map(wire.ORDERED),
    Counter: _write_map(wire.COUNTER),
    defaultdict: _write_defaults,
    bytearray: lambda writer, value, depth: Ext(wire.BYTEARRAY, bytes(value)),
    Decimal: _write_decimal,
    Fraction: _write_fraction,
    complex: lambda writer, value, depth: Ext(wire.COMPLEX, struct.pack(">dd", value.real, value.imag)),
    UUID: _write_uuid,
    range: _write_range,
    slice: _write_slice,
    re.Pattern: _write_pattern,
    type(Ellipsis): lambda writer, value, depth: Ext(wire.ELLIPSIS, b""),
    **dict.fromkeys(_PATHS, _write_path),
    **{kind: _write_address for kind in _ADDRESSES if isinstance(kind, type)},
}

READ: Final[dict[int, Read]] = {
    wire.INTEGER: lambda reader, data: int.from_bytes(data, "big", signed=True),
    wire.TEXT: lambda reader, data: data.decode("utf-8", "surrogatepass"),
    wire.MAP: lambda reader, data: dict(_pairs(_list(reader, data))),
    wire.TUPLE: _read_tuple,
    wire.SET: lambda reader, data: set(_list(reader, data)),
    wire.FROZENSET: lambda reader, data: frozenset(_list(reader, data)),
    wire.DEQUE: _read_deque,
    wire.ORDERED: lambda reader, data: OrderedDict(_pairs(_list(reader, data))),
    wire.COUNTER: lambda reader, data: Counter(dict(_pairs(_list(reader, data)))),
    wire.DEFAULTS: _read_defaults,
    wire.BYTEARRAY: lambda reader, data: bytearray(data),
    wire.DECIMAL: lambda reader, data: Decimal(data.decode()),
    wire.FRACTION: _read_fraction,
    wire.COMPLEX: lambda reader, data: complex(*struct.unpack(">dd", data)),
    wire.UUID: _read_uuid,
    wire.PATH: _read_path,
    wire.ADDRESS: _read_address,
    wire.RANGE: lambda reader, data: range(*_list(reader, data)),
    wire.SLICE: lambda reader, data: slice(*_list(reader, data)),
    wire.PATTERN: _read_pattern,
    wire.ELLIPSIS: lambda reader, data: ...,
}
