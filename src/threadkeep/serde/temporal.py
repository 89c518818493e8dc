"""Dates, times, durations and zones. A zone is kept as its key, so that its rules stay current."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ormsgpack import Ext

from threadkeep.serde import wire
from threadkeep.serde.paths import Refused
from threadkeep.serde.reader import Read, Reader
from threadkeep.serde.writer import Write, Writer


def _write_date(writer: Writer, value: date, depth: int) -> Ext:
    return Ext(wire.DATE, struct.pack(">HBB", value.year, value.month, value.day))


def _write_datetime(writer: Writer, value: datetime, depth: int) -> Ext:
    parts: list[Any] = [value.year, value.month, value.day]
    parts += [value.hour, value.minute, value.second, value.microsecond, value.fold]
    return Ext(wire.DATETIME, wire.pack(parts + _zone(writer, value.tzinfo, depth)))


def _write_time(writer: Writer, value: time, depth: int) -> Ext:
    parts: list[Any] = [value.hour, value.minute, value.second, value.microsecond, value.fold]
    return Ext(wire.TIME, wire.pack(parts + _zone(writer, value.tzinfo, depth)))


def _zone(writer: Writer, zone: tzinfo | None, depth: int) -> list[Any]:
    if zone is None:
        return []
    try:
        return [writer.value(zone, depth + 1)]
    except Refused as refused:
        refused.steps.append("tzinfo")
        raise


def _read_datetime(reader: Reader, data: bytes) -> datetime:
    year, month, day, hour, minute, second, micro, fold, *zone = reader.unpack(data)
    return datetime(year, month, day, hour, minute, second, micro, *zone[:1], fold=fold)


def _read_time(reader: Reader, data: bytes) -> time:
    hour, minute, second, micro, fold, *zone = reader.unpack(data)
    return time(hour, minute, second, micro, *zone[:1], fold=fold)


def _write_timedelta(writer: Writer, value: timedelta, depth: int) -> Ext:
    return Ext(wire.TIMEDELTA, struct.pack(">iII", value.days, value.seconds, value.microseconds))


def _write_timezone(writer: Writer, value: timezone, depth: int) -> Ext:
    if value is UTC:
        return Ext(wire.TIMEZONE, b"\x90")
    arguments = value.__getinitargs__()  # type: ignore[attr-defined]
    return Ext(wire.TIMEZONE, wire.pack(writer.items(arguments, depth)))


def _read_timezone(reader: Reader, data: bytes) -> timezone:
    arguments = reader.unpack(data)
    return timezone(*arguments) if arguments else UTC


def _write_zone(writer: Writer, value: ZoneInfo, depth: int) -> Ext:
    if value.key is None:
        raise Refused("this ZoneInfo was read from a file and has no key; use ZoneInfo('Area/City')")
    return Ext(wire.ZONE, value.key.encode())


def _read_zone(reader: Reader, data: bytes) -> ZoneInfo:
    try:
        return ZoneInfo(data.decode())
    except (ZoneInfoNotFoundError, OSError) as exc:
        raise wire.Damaged(f"this machine has no time zone {data.decode()!r}: {exc}") from exc


WRITE: Final[dict[type, Write]] = {
    date: _write_date,
    datetime: _write_datetime,
    time: _write_time,
    timedelta: _write_timedelta,
    timezone: _write_timezone,
    ZoneInfo: _write_zone,
}

READ: Final[dict[int, Read]] = {
    wire.DATE: lambda reader, data: date(*struct.unpack(">HBB", data)),
    wire.DATETIME: _read_datetime,
    wire.TIME: _read_time,
    wire.TIMEDELTA: lambda reader, data: timedelta(*struct.unpack(">iII", data)),
    wire.TIMEZONE: _read_timezone,
    wire.ZONE: _read_zone,
}
