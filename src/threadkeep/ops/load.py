"""Read checkpoints with all that their values refer to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from threadkeep.backends.base import Op, Row, Statement
from threadkeep.ids import encode_text
from threadkeep.ops import packing
from threadkeep.ops.names import Names
from threadkeep.ops.packing import Element, Entry, SequenceRow
from threadkeep.ops.rows import VISIBLE, LoadedCheckpoint, ThreadRef, key, number, span
from threadkeep.ops.threads import ThreadRow, find
from threadkeep.serde import references

FULL_EVERY = 32
"""A checkpoint is stored whole after this many changes in a row."""
_CHUNK = 5000
_FEW = 20
_SPARSE = 6


class Known(Protocol):
    """What the process has already, so that it need not be read again."""

    def has_content(self, number: int) -> bool:
        """Return whether a content is at hand."""

    def list_items(self, number: int) -> list[Element] | None:
        """Return the items of a list version that still need a look: none when all are at hand."""


class Stored:
    """Contents and list versions by number, as they were read."""

    def __init__(self) -> None:
        self.contents: dict[int, tuple[int, bytes | None, bytes]] = {}
        self.lists: dict[int, tuple[list[Element], int, int]] = {}
        self._rows: dict[int, SequenceRow] = {}

    def fetch(self, thread: int, entries: Iterable[Entry], known: Known | None = None) -> Op[None]:
        """Read everything that entries refer to, directly or through other contents.

        Raises LookupError with the number of a content or list that is missing.
        """
        contents: set[int] = set()
        lists: set[int] = set()
        for entry in entries:
            collect(entry, contents, lists)
        while contents or lists:
            while lists:
                wanted = lists.pop()
                if wanted in self.lists:
                    continue
                items = known.list_items(wanted) if known is not None else None
                if items is None:
                    yield from self._fetch_list(thread, wanted)
                    items = self.lists[wanted][0]
                for item in items:
                    if isinstance(item, int):
                        contents.add(item)
                    else:
                        _add_references(item, contents, lists)
            numbers = [n for n in contents if n not in self.contents]
            if known is not None:
                numbers = [n for n in numbers if not known.has_content(n)]
            contents = set()
            yield from self._fetch_contents(thread, sorted(numbers), contents, lists)

    def _fetch_list(self, thread: int, wanted: int) -> Op[None]:
        rows = yield Statement("sequence", (key(thread, wanted),))
        if not rows:
            raise LookupError(f"list version {wanted}")
        row = packing.unpack_sequence(wanted, rows[0][1])
        self._rows[wanted] = row
        # Another list's range may have brought some of this one's versions, but not its older ones.
        if not self._resolvable(row):
            found = yield Statement("sequences_range", (key(thread, row.root), key(thread, wanted)))
            for k, body in found:
                self._rows[number(k)] = packing.unpack_sequence(number(k), body)
        try:
            items, changes = packing.resolve_sequence(wanted, self._rows)
        except KeyError as error:
            raise LookupError(f"list version {error.args[0]}") from error
        self.lists[wanted] = items, changes, row.root

    def _resolvable(self, row: SequenceRow | None) -> bool:
        while row is not None and row.base is not None:
            row = self._rows.get(row.base)
        return row is not None

    def _fetch_contents(
        self, thread: int, wanted: list[int], contents: set[int], lists: set[int]
    ) -> Op[None]:
        found = 0
        for row in (yield from _read_contents(thread, wanted)):
            codec, body = packing.open_content(row[1], row[3])
            self.contents[number(row[0])] = codec, row[2], body
            collect_content(codec, body, contents, lists)
            found += 1
        if found < len(wanted):
            missing = next(n for n in wanted if n not in self.contents)
            raise LookupError(f"content {missing}")


def _read_contents(thread: int, wanted: list[int]) -> Op[list[Row]]:
    if not wanted:
        return []
    first, last = wanted[0], wanted[-1]
    if len(wanted) > _FEW and last - first < len(wanted) * _SPARSE:
        rows = yield Statement("contents_range", (key(thread, first), key(thread, last)))
        chosen = set(wanted)
        return [row for row in rows if number(row[0]) in chosen]
    found: list[Row] = []
    for at in range(0, len(wanted), _CHUNK):
        keys = packing.numbers([key(thread, n) for n in wanted[at : at + _CHUNK]])
        found += yield Statement("contents_list", (keys,))
    return found


def collect(entry: Entry, contents: set[int], lists: set[int]) -> None:
    """Add what an entry refers to."""
    kind = entry[0]
    if kind == packing.INLINE:
        _add_references(entry[1], contents, lists)
    elif kind == packing.CONTENT:
        contents.add(entry[1])
    elif kind == packing.ITEMS:
        for item in packing.unpack_items(entry[1]):
            if isinstance(item, int):
                contents.add(item)
            else:
                _add_references(item, contents, lists)
    elif kind in (packing.LIST, packing.MAPPING, packing.SNAPSHOT):
        lists.add(entry[1])


def collect_content(codec: int, body: bytes, contents: set[int], lists: set[int]) -> None:
    """Add what a content refers to."""
    if codec == packing.ALIAS:
        contents.add(int.from_bytes(body, "big"))
    elif codec in (packing.VALUE_REFS, packing.MESSAGE_REFS):
        _add_references(body, contents, lists)


def _add_references(data: bytes, contents: set[int], lists: set[int]) -> None:
    found, sequences = references(data)
    contents.update(found)
    lists.update(sequences)


class Manifest:
    """A checkpoint without its values: where each is, with versions, what nodes have seen, and metadata."""

    __slots__ = ("body", "parent_id", "row", "run_body", "seen", "values", "versions")

    def __init__(
        self,
        row: LoadedCheckpoint,
        body: packing.CheckpointBody,
        versions: dict[str, Any],
        values: dict[str, Entry],
        seen: dict[str, dict[str, Any]],
    ) -> None:
        self.row = row
        self.body = body
        self.versions = versions
        self.values = values
        self.seen = seen
        self.run_body = b""
        self.parent_id: bytes | None = None


def checkpoint_row(row: Row) -> LoadedCheckpoint:
    """Return a row of the checkpoints table."""
    return LoadedCheckpoint(*row)


def resolve(chain: list[LoadedCheckpoint], names: Names, memo: dict[int, Manifest] | None = None) -> Manifest:
    """Return the first checkpoint of a chain (nearest first, down to a whole or a remembered one)."""
    manifest: Manifest | None = None
    bodies = []
    for row in chain:
        if memo is not None and (manifest := memo.get(number(row.key))) is not None:
            break
        body = packing.unpack_checkpoint(row.body)
        bodies.append((row, body))
        if body.depth == 0:
            break
        if memo is not None and row.parent is not None and (manifest := memo.get(row.parent)) is not None:
            break
    for row, body in reversed(bodies):
        manifest = _apply(manifest, row, body, names)
        if memo is not None:
            memo[number(row.key)] = manifest
    assert manifest is not None
    return manifest


def _apply(
    base: Manifest | None, row: LoadedCheckpoint, body: packing.CheckpointBody, names: Names
) -> Manifest:
    versions = dict(base.versions) if base and body.depth else {}
    values = dict(base.values) if base and body.depth else {}
    seen = dict(base.seen) if base and body.depth else {}
    text = names.decode
    for name, version in body.versions.items():
        versions[text(name)] = version
    for name, entry in body.values.items():
        if entry[0] == packing.ABSENT:
            values.pop(text(name), None)
        else:
            values[text(name)] = entry
    for node, inner in body.seen.items():
        seen[text(node)] = {**seen.get(text(node), {}), **{text(name): v for name, v in inner.items()}}
    for name in body.extra.get("gone", ()):
        versions.pop(text(name), None)
    for node, gone in body.extra.get("unseen", ()):
        if gone is None:
            seen.pop(text(node), None)
        else:
            seen[text(node)] = {
                k: v for k, v in seen[text(node)].items() if k not in {text(name) for name in gone}
            }
    return Manifest(row, body, versions, values, seen)


def whole_body(manifest: Manifest, names: Names, new_names: list[bytes]) -> bytes:
    """Return a checkpoint's body stored whole, for one whose parent is not to be relied on."""

    def name(text: str) -> packing.Name:
        return names.encode(text, new_names)

    old = manifest.body
    body = packing.CheckpointBody(
        0,
        old.time,
        {name(k): v for k, v in manifest.versions.items()},
        {name(k): entry for k, entry in manifest.values.items()},
        {name(node): {name(k): v for k, v in seen.items()} for node, seen in manifest.seen.items()},
        old.updated,
        {k: v for k, v in old.extra.items() if k not in ("gone", "unseen", "parent")},
    )
    return packing.pack_checkpoint(body)


def load_manifest(
    thread: int, seq: int, names: Names, memo: dict[int, Manifest] | None = None
) -> Op[Manifest]:
    """Read a checkpoint's manifest with its run and its parent's id."""
    rows = yield Statement("checkpoint_chain", (key(thread, seq), FULL_EVERY))
    chain = [checkpoint_row(row) for row in rows]
    manifest = yield from with_names(names, lambda: resolve(chain, names, memo))
    return (yield from complete(thread, manifest))


def complete(thread: int, manifest: Manifest) -> Op[Manifest]:
    """Read a manifest's run and its parent's id where they are missing."""
    row = manifest.row
    runs = yield Statement("run", (key(thread, row.run),))
    manifest.run_body = runs[0][1]
    if row.parent is not None and manifest.parent_id is None:
        ids = yield Statement("checkpoint", (key(thread, row.parent),))
        if ids:
            manifest.parent_id = ids[0][2]
    elif row.parent is None:
        manifest.parent_id = manifest.body.extra.get("parent")
    return manifest


def with_names(names: Names, action: Any) -> Op[Any]:
    """Return what `action` does, reading the dictionary of names again when a number is unknown."""
    try:
        return action()
    except KeyError:
        yield from names.refresh()
        return action()


def locate(
    row: ThreadRow, namespace: str, checkpoint: bytes | None, *, hidden: bool = False
) -> Op[tuple[int | None, int]]:
    """Return the number of a checkpoint, the newest when none is named, and of its namespace.

    With `hidden` also one that is kept only for what descends from it.
    """
    space = 0
    head = row.head
    if namespace:
        rows = yield Statement("namespace", (row.id, encode_text(namespace)))
        if not rows:
            return None, -1
        space, head = rows[0]
    if checkpoint is None:
        return head, space
    found = yield Statement("find_checkpoint", (checkpoint, *span(row.id), space))
    visible = [number(line[0]) for line in found if hidden or line[7] == VISIBLE]
    return (visible[-1] if visible else None), space


class Loaded:
    """A checkpoint as it was read, with its pending writes and everything both refer to."""

    __slots__ = ("manifest", "row", "stored", "writes")

    def __init__(self, row: ThreadRow, manifest: Manifest, writes: list[Row], stored: Stored) -> None:
        self.row = row
        self.manifest = manifest
        self.writes = writes
        self.stored = stored


def entries_of(writes: list[Row]) -> list[Entry]:
    """Return the entries of pending writes as they were read."""
    return [tuple(entry[1:]) for row in writes for entry in packing.unpack_writes(row[-1])[1].values()]


def know_names(names: Names, writes: list[Row]) -> Op[None]:
    """Make sure that the names in pending writes can be told; another process may have added some."""

    def look() -> None:
        for row in writes:
            path, entries = packing.unpack_writes(row[-1])
            for name in (path, *(entry[0] for entry in entries.values())):
                names.decode(name)

    if writes:
        yield from with_names(names, look)


def load(
    thread: ThreadRef,
    namespace: str,
    checkpoint: bytes | None,
    names: Names,
    known: Known | None = None,
    *,
    hidden: bool = False,
) -> Op[Loaded | None]:
    """Read a checkpoint, the newest of its namespace when none is named, or None."""
    row = yield from find(thread)
    if row is None:
        return None
    seq, space = yield from locate(row, namespace, checkpoint, hidden=hidden)
    if seq is None:
        return None
    manifest = yield from load_manifest(row.id, seq, names)
    writes = yield Statement("writes", (row.id, manifest.row.id, space))
    stored = Stored()
    # A thread that changed by other hands may have swept what this process knows.
    if known is not None and (thread.key != row.id or thread.sweep != row.sweep):
        known = None
    yield from know_names(names, writes)
    entries = [*manifest.values.values(), *entries_of(writes)]
    yield from stored.fetch(row.id, entries, known)
    return Loaded(row, manifest, writes, stored)


def peek(
    thread: ThreadRef,
    namespace: str,
    checkpoint: bytes,
    entries: Iterable[Entry],
    names: Names,
    known: Known,
) -> Op[tuple[ThreadRow, list[Row], Stored] | None]:
    """Read what is missing of a head this process has, or None when the thread is at another version."""
    row = yield from find(thread)
    if row is None or row.id != thread.key or row.version != thread.version or row.sweep != thread.sweep:
        return None
    if row.next_content > thread.claimed:
        return None
    space = 0
    if namespace:
        rows = yield Statement("namespace", (row.id, encode_text(namespace)))
        if not rows:
            return None
        space = rows[0][0]
    writes = yield Statement("writes", (row.id, checkpoint, space))
    yield from know_names(names, writes)
    stored = Stored()
    yield from stored.fetch(row.id, [*entries, *entries_of(writes)], known)
    return row, writes, stored
