"""Walk a thread's checkpoints: pages of its history, and the writes a DeltaChannel is rebuilt from."""

from __future__ import annotations

from collections.abc import Sequence

from threadkeep.backends.base import Op, Row, Statement
from threadkeep.ids import decode_text, unpack_id
from threadkeep.ops import packing
from threadkeep.ops.load import (
    FULL_EVERY,
    Manifest,
    Stored,
    checkpoint_row,
    entries_of,
    know_names,
    locate,
    resolve,
    with_names,
)
from threadkeep.ops.names import Names
from threadkeep.ops.packing import Entry
from threadkeep.ops.rows import LAST, VISIBLE, LoadedCheckpoint, ThreadRef, key, number, span
from threadkeep.ops.threads import find

_CHAIN = 64


class Walk:
    """Pages through one thread's checkpoints, newest first; nothing is held open between pages."""

    def __init__(self, thread: ThreadRef, namespace: str | None, names: Names) -> None:
        self.thread = thread
        self.namespace = namespace
        self.names = names
        self.below: int | None = None
        self.done = False
        self.stored = Stored()
        self.spaces: dict[int, str] = {0: ""}
        self._memo: dict[int, Manifest] = {}
        self._runs: dict[int, bytes] = {}

    def start(self, before: bytes | None) -> Op[bool]:
        """Place the walk below a checkpoint of any namespace; return False when the thread has none with this id.

        LangGraph replays a subgraph from before its parent graph's checkpoint, which it names alone.
        """
        row = yield from find(self.thread)
        if row is None:
            self.done = True
            return True
        if before is not None:
            found = yield Statement("find_checkpoint_anywhere", (before, *span(row.id)))
            seqs = [number(line[0]) for line in found if line[1] == VISIBLE]
            if not seqs:
                return False
            self.below = max(seqs)
        return True

    def page(self, size: int) -> Op[list[Manifest]]:
        """Read the manifests of the next page."""
        row = yield from find(self.thread)
        if row is None or self.done:
            self.done = True
            return []
        low, _ = span(row.id)
        high = key(row.id, LAST if self.below is None else min(self.below - 1, LAST))
        if self.namespace is None:
            yield from self._read_spaces(row.id)
            rows = yield Statement("checkpoints_before_any", (low, high, size))
        else:
            _, space = yield from locate(row, self.namespace, None)
            self.spaces[space] = self.namespace
            rows = yield Statement("checkpoints_before", (low, high, space, size))
        self.done = len(rows) < size
        found = [checkpoint_row(line) for line in rows]
        manifests = []
        for line in reversed(found):
            manifests.append((yield from self._manifest(row.id, line)))
        if found:
            self.below = number(found[-1].key)
        manifests.reverse()
        return manifests

    def one(self, checkpoint: bytes) -> Op[Manifest | None]:
        """Read the manifest of one checkpoint by its id."""
        self.done = True
        row = yield from find(self.thread)
        if row is None:
            return None
        seq, space = yield from locate(row, self.namespace or "", checkpoint)
        if seq is None:
            return None
        self.spaces[space] = self.namespace or ""
        rows = yield Statement("checkpoint", (key(row.id, seq),))
        return (yield from self._manifest(row.id, checkpoint_row(rows[0])))

    def writes(self, manifests: Sequence[Manifest]) -> Op[list[list[Row]]]:
        """Read the pending writes of some checkpoints, and everything they and the values refer to."""
        row = yield from find(self.thread)
        if row is None:
            return [[] for _ in manifests]
        found = []
        entries: list[Entry] = []
        for manifest in manifests:
            writes = yield Statement("writes", (row.id, manifest.row.id, manifest.row.namespace))
            yield from know_names(self.names, writes)
            entries += [*manifest.values.values(), *entries_of(writes)]
            found.append(writes)
        yield from self.stored.fetch(row.id, entries)
        return found

    def _read_spaces(self, thread: int) -> Op[None]:
        rows = yield Statement("namespaces", (thread,))
        self.spaces.update({space: decode_text(name) for name, space, _ in rows})

    def _manifest(self, thread: int, row: LoadedCheckpoint) -> Op[Manifest]:
        seq = number(row.key)
        if (known := self._memo.get(seq)) is not None and known.run_body:
            return known
        body = packing.unpack_checkpoint(row.body)
        if body.depth and row.parent not in self._memo:
            lines = yield Statement("checkpoint_chain", (row.key, FULL_EVERY))
            chain = [checkpoint_row(line) for line in lines]
        else:
            chain = [row]
        manifest: Manifest = yield from with_names(self.names, lambda: resolve(chain, self.names, self._memo))
        if row.run not in self._runs:
            runs = yield Statement("run", (key(thread, row.run),))
            self._runs[row.run] = runs[0][1]
        manifest.run_body = self._runs[row.run]
        if row.parent is None:
            manifest.parent_id = body.extra.get("parent")
        elif (parent := self._memo.get(row.parent)) is not None:
            manifest.parent_id = parent.row.id
        else:
            ids = yield Statement("checkpoint", (key(thread, row.parent),))
            manifest.parent_id = ids[0][2] if ids else None
        return manifest


class DeltaHistory:
    """The writes of some channels along a checkpoint's ancestors, oldest first, and the value they start from."""

    def __init__(self) -> None:
        self.stored = Stored()
        self.writes: dict[str, list[tuple[str, Entry]]] = {}
        self.seeds: dict[str, Entry] = {}


def delta_history(
    thread: ThreadRef, namespace: str, checkpoint: bytes | None, channels: Sequence[str], names: Names
) -> Op[DeltaHistory]:
    """Read what a DeltaChannel needs: each ancestor is visited once, down to the nearest stored value."""
    history = DeltaHistory()
    history.writes = {channel: [] for channel in channels}
    row = yield from find(thread)
    if row is None:
        return history
    seq, space = yield from locate(row, namespace, checkpoint)
    if seq is None:
        return history
    spans: dict[str, list[bytes]] = {channel: [] for channel in channels}
    active = set(channels)
    memo: dict[int, Manifest] = {}
    target = yield Statement("checkpoint", (key(row.id, seq),))
    at = target[0][3]
    while active and at is not None:
        manifests = yield from _ancestors(row.id, at, names, memo)
        at = manifests[-1].row.parent
        for manifest in manifests:
            for channel in list(active):
                spans[channel].append(manifest.row.id)
                entry = manifest.values.get(channel)
                if entry is not None:
                    history.seeds[channel] = entry
                    active.discard(channel)
            if not active:
                break
    yield from _delta_writes(row.id, space, spans, names, history)
    entries = [*history.seeds.values(), *(entry for writes in history.writes.values() for _, entry in writes)]
    yield from history.stored.fetch(row.id, entries)
    return history


def _ancestors(thread: int, seq: int, names: Names, memo: dict[int, Manifest]) -> Op[list[Manifest]]:
    """Read ancestors, nearest first, down to one that is stored whole."""
    lines = yield Statement("checkpoint_chain", (key(thread, seq), _CHAIN))
    chain = [checkpoint_row(line) for line in lines]
    whole = [n for n, line in enumerate(chain) if packing.unpack_checkpoint(line.body).depth == 0]
    chain = chain[: whole[-1] + 1]
    yield from with_names(names, lambda: resolve_all(chain, names, memo))
    return [memo[number(line.key)] for line in chain]


def resolve_all(chain: list[LoadedCheckpoint], names: Names, memo: dict[int, Manifest]) -> None:
    """Resolve every checkpoint of a chain whose last is stored whole."""
    for n in range(len(chain) - 1, -1, -1):
        resolve(chain[n:], names, memo)


def _delta_writes(
    thread: int, space: int, spans: dict[str, list[bytes]], names: Names, history: DeltaHistory
) -> Op[None]:
    checkpoints = {checkpoint for span in spans.values() for checkpoint in span}
    if not checkpoints:
        return
    rows = yield Statement("writes_between", (thread, min(checkpoints), max(checkpoints), space))
    found: dict[bytes, list[tuple[str, str, int, str, Entry]]] = {}

    def decode() -> None:
        found.clear()
        for checkpoint, task, body in rows:
            if checkpoint not in checkpoints:
                continue
            path, entries = packing.unpack_writes(body)
            for index, (name, *entry) in entries.items():
                line = (names.decode(path), unpack_id(task), index, names.decode(name), tuple(entry))
                found.setdefault(checkpoint, []).append(line)

    yield from with_names(names, decode)
    for channel, span_ in spans.items():
        for checkpoint in reversed(span_):
            lines = sorted(found.get(checkpoint, ()), key=lambda line: line[:3])
            history.writes[channel] += [(line[1], line[4]) for line in lines if line[3] == channel]
