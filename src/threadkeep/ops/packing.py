"""The bodies of rows, as compact msgpack arrays. Nothing here knows a value; entries stay packed.

An *entry* says where a channel's value is: `(kind,)` or `(kind, payload)` or, for lists and mappings,
`(kind, sequence number, length)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import ormsgpack

from threadkeep.ops.compression import grow, shrink

INLINE, CONTENT, LIST, NONE, ABSENT, MAPPING, SNAPSHOT, ITEMS = range(8)
"""Kinds: packed bytes · a content · a list · None · no value · a mapping · a DeltaChannel's list · a
short list whose items are contents."""
SIZES = {INLINE: 2, CONTENT: 2, LIST: 3, NONE: 1, ABSENT: 1, MAPPING: 3, SNAPSHOT: 3, ITEMS: 2}

VALUE, VALUE_REFS, MESSAGE, MESSAGE_REFS, ALIAS, TEXT = range(6)
"""Codecs: a value · one that refers to contents · a message · one that refers · another's body · text."""
COMPRESSED = 8

Entry = tuple[Any, ...]
Name = int | bytes
Element = int | bytes
"""An item of a list: the number of its content, or the packed item itself when it is small."""

_pack = ormsgpack.packb
_unpack = ormsgpack.unpackb


def numbers(values: Sequence[int]) -> str:
    """Return numbers as the JSON text that list parameters take."""
    return "[" + ",".join(map(str, values)) + "]"


def close_content(codec: int, body: bytes) -> tuple[int, bytes]:
    """Return a content's codec and body as they are stored."""
    packed = shrink(body) if codec != ALIAS else None
    return (codec, body) if packed is None else (codec | COMPRESSED, packed)


def open_content(codec: int, body: bytes) -> tuple[int, bytes]:
    """Return a content's codec and body as they were before they were stored."""
    return (codec & ~COMPRESSED, grow(body)) if codec & COMPRESSED else (codec, body)


def pack_items(items: list[Element]) -> bytes:
    """Return the payload of an ITEMS entry."""
    return _pack(items)


def unpack_items(payload: bytes) -> list[Element]:
    """Return the items of an ITEMS entry."""
    items: list[Element] = _unpack(payload)
    return items


class SequenceRow(NamedTuple):
    """One version of a list: `keep_back` items from the base's end are kept after `removed` ones."""

    number: int
    root: int
    base: int | None
    back: int
    removed: int
    inserted: list[Element]


def pack_sequence(row: SequenceRow) -> bytes:
    """Return the body of a list version; content numbers are stored as distances."""
    own = row.number
    if row.base is None:
        previous = 0
        items: list[Element] = []
        for item in row.inserted:
            if isinstance(item, int):
                items.append(item - previous)
                previous = item
            else:
                items.append(item)
        return _pack([0, *items])
    near = [own - item if isinstance(item, int) else item for item in row.inserted]
    return _pack([own - row.base, own - row.root, row.back, row.removed, *near])


def unpack_sequence(number: int, body: bytes) -> SequenceRow:
    """Return the list version that `pack_sequence` was given."""
    parts = _unpack(body)
    if parts[0] == 0:
        items: list[Element] = []
        previous = 0
        for part in parts[1:]:
            if isinstance(part, int):
                previous += part
                items.append(previous)
            else:
                items.append(part)
        return SequenceRow(number, number, None, 0, 0, items)
    far = [number - part if isinstance(part, int) else part for part in parts[4:]]
    return SequenceRow(number, number - parts[1], number - parts[0], parts[2], parts[3], far)


def resolve_sequence(number: int, rows: dict[int, SequenceRow]) -> tuple[list[Element], int]:
    """Return a version's items and the changes since its last full version; KeyError when one is missing."""
    chain = []
    row = rows[number]
    while row.base is not None:
        chain.append(row)
        row = rows[row.base]
    items = list(row.inserted)
    changes = 0
    for row in reversed(chain):
        at = len(items) - row.back
        items[at : at + row.removed] = row.inserted
        changes += len(row.inserted) + (row.removed > 0)
    return items, changes


class CheckpointBody(NamedTuple):
    """A checkpoint as changes to its parent, or whole when `depth` is 0. Dictionaries hold names."""

    depth: int
    time: int | str
    versions: dict[Name, Any]
    values: dict[Name, Entry]
    seen: dict[Name, dict[Name, Any]]
    updated: list[Name] | None
    extra: dict[str, Any]


def pack_checkpoint(body: CheckpointBody) -> bytes:
    """Return a checkpoint's body."""
    values: list[Any] = []
    for name, entry in body.values.items():
        values.append(name)
        values.extend(entry)
    parts: list[Any] = [body.depth, body.time, _flat(body.versions), values]
    parts.append([part for node, seen in body.seen.items() for part in (node, _flat(seen))])
    if body.extra:
        parts += [body.updated, body.extra]
    elif body.updated is not None:
        parts.append(body.updated)
    return _pack(parts)


def unpack_checkpoint(data: bytes) -> CheckpointBody:
    """Return the checkpoint that `pack_checkpoint` was given."""
    parts = _unpack(data)
    depth, time, versions, flat, seen = parts[:5]
    values: dict[Name, Entry] = {}
    at = 0
    while at < len(flat):
        size = SIZES[flat[at + 1]]
        values[flat[at]] = tuple(flat[at + 1 : at + 1 + size])
        at += 1 + size
    return CheckpointBody(
        depth,
        time,
        _paired(versions),
        values,
        {node: _paired(inner) for node, inner in _paired(seen).items()},
        parts[5] if len(parts) > 5 else None,
        parts[6] if len(parts) > 6 else {},
    )


def pack_writes(path: Name, entries: dict[int, list[Any]]) -> bytes:
    """Return a task's pending writes: index, channel name and entry of each."""
    parts: list[Any] = [path]
    for index, entry in entries.items():
        parts.append(index)
        parts.extend(entry)
    return _pack(parts)


def unpack_writes(data: bytes) -> tuple[Name, dict[int, list[Any]]]:
    """Return the task path and the writes that `pack_writes` was given."""
    parts = _unpack(data)
    entries: dict[int, list[Any]] = {}
    at = 1
    while at < len(parts):
        size = SIZES[parts[at + 2]]
        entries[parts[at]] = parts[at + 1 : at + 2 + size]
        at += 2 + size
    return parts[0], entries


def merge_writes(stored: bytes | None, path: Name, entries: dict[int, list[Any]]) -> bytes | None:
    """Return a task's writes with new ones merged in, or None when nothing changes.

    A regular write (index 0 and up) that is stored stays; a special one (below 0) is replaced.
    """
    if stored is None:
        return pack_writes(path, entries)
    old_path, merged = unpack_writes(stored)
    before = dict(merged)
    for index, entry in entries.items():
        if index < 0 or index not in merged:
            merged[index] = entry
    if merged == before:
        return None
    return pack_writes(old_path if before else path, merged)


def _flat(mapping: dict[Name, Any]) -> list[Any]:
    return [part for item in mapping.items() for part in item]


def _paired(flat: list[Any]) -> dict[Any, Any]:
    return dict(list(pairwise(flat))[::2])
