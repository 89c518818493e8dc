"""Check the invariants of stored threads: rows can be read, what they refer to is there, counts are right."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import Any

import ormsgpack

from threadkeep.backends.base import Op, Row, Statement
from threadkeep.ids import decode_text, digest, unpack_message_id
from threadkeep.models import Problem
from threadkeep.ops import packing
from threadkeep.ops.calls import ORIGINS, PURPOSES, STATUSES, CallBody
from threadkeep.ops.history import resolve_all
from threadkeep.ops.load import Manifest, checkpoint_row, collect, collect_content, entries_of, with_names
from threadkeep.ops.names import Names
from threadkeep.ops.notes import ACTIONS, KINDS
from threadkeep.ops.packing import Entry
from threadkeep.ops.rows import VISIBLE, LoadedCheckpoint, number, span
from threadkeep.ops.threads import NAMED, RANGED, ThreadRow
from threadkeep.serde import references

_CHUNK = 500
_LISTS = (packing.LIST, packing.MAPPING, packing.SNAPSHOT)


def check_database() -> Op[list[Problem]]:
    """Check the file itself, and that no row is left of a thread that is gone."""
    problems = []
    for (line,) in (yield Statement("integrity")):
        if line != "ok":
            problems.append(Problem(thread_id="", table="", detail=f"the database file is damaged: {line}"))
    for table in (*RANGED, *NAMED):
        for (thread,) in (yield Statement(f"stray_{table}")):
            problems.append(
                Problem(
                    thread_id="",
                    table=table,
                    detail=f"rows of thread number {thread}, which is gone",
                    fields={"thread": thread},
                )
            )
    return problems


def check_thread(thread: bytes, thread_id: str, names: Names) -> Op[list[Problem]]:
    """Check one thread, found by its digest: every row, every reference, heads, counts and the record."""
    rows = yield Statement("thread", (thread,))
    if not rows:
        return []
    check = _Check(ThreadRow._make(rows[0]), thread_id)
    yield from check.names(thread)
    yield from check.contents()
    yield from check.sequences()
    yield from check.checkpoints(names)
    yield from check.writes()
    yield from check.record()
    yield from check.calls()
    yield from check.notes()
    yield from check.numbers()
    check.report_missing()
    return check.problems


class _Check:
    """One thread's check: what is there is gathered first, then everything that refers is held against it."""

    def __init__(self, row: ThreadRow, thread_id: str) -> None:
        self.row = row
        self.thread_id = thread_id
        self.problems: list[Problem] = []
        self._contents: set[int] = set()
        self._lists: dict[int, int | None] = {}
        self._referring: list[tuple[str, str, tuple[set[int], set[int]]]] = []
        self._missing: dict[tuple[str, str], list[str]] = {}

    def report(self, table: str, detail: str) -> None:
        self.problems.append(Problem(thread_id=self.thread_id, table=table, detail=detail))

    def readable(self, table: str, what: str, read: Callable[[], Any]) -> Any:
        """Return what `read` does, or None after a report; damaged bytes may raise anything."""
        try:
            return read()
        except Exception as error:
            self.report(table, f"{what} cannot be read: {type(error).__name__}: {error}")
            return None

    # what is there

    def names(self, thread: bytes) -> Op[None]:
        """Check the texts of the thread's row."""
        rows = yield Statement("thread_info", (thread,))
        _, owner, thread_id, title, preview, metadata, *_ = rows[0]

        def read() -> None:
            if digest(decode_text(owner), decode_text(thread_id)) != thread:
                raise ValueError("its digest is that of another id")
            decode_text(title or b"")
            decode_text(preview)
            references(metadata or b"\x80")

        self.readable("threads", f"the row of thread number {self.row.id}", read)

    def contents(self) -> Op[None]:
        """Check that every content can be read, and note what it refers to."""
        keys = [line[0] for line in (yield Statement("content_keys", span(self.row.id)))]
        self._contents = {number(k) for k in keys}
        for at in range(0, len(keys), _CHUNK):
            for k, codec, _, body in (
                yield Statement("contents_list", (packing.numbers(keys[at : at + _CHUNK]),))
            ):
                what = f"content {number(k)}"
                found = self.readable("contents", what, partial(_content, codec, body))
                if found is not None and (found[0] or found[1]):
                    self._referring.append((what, "contents", found))

    def sequences(self) -> Op[None]:
        """Check that every list version can be built, and note what it refers to."""
        for k, body in (yield Statement("sequences_range", span(self.row.id))):
            n = number(k)
            what = f"list version {n}"
            row = self.readable("sequences", what, partial(packing.unpack_sequence, n, body))
            self._lists[n] = None
            if row is None:
                continue
            lists = set() if row.base is None else {row.base}
            contents = {item for item in row.inserted if isinstance(item, int)}
            for item in row.inserted:
                if not isinstance(item, int):
                    found = self.readable("sequences", what, partial(_entries, [(packing.INLINE, item)]))
                    contents |= found[0] if found else set()
                    lists |= found[1] if found else set()
            self._referring.append((what, "sequences", (contents, lists)))
            base = 0 if row.base is None else self._lists.get(row.base)
            if base is None:
                continue
            if not 0 <= row.removed <= row.back <= base:
                self.report("sequences", f"{what} changes {row.back} items of a list of {base}")
            self._lists[n] = base - row.removed + len(row.inserted)

    # what refers

    def checkpoints(self, names: Names) -> Op[None]:
        """Check that every checkpoint can be built, and that each namespace's head is its newest one."""
        rows = [checkpoint_row(line) for line in (yield Statement("checkpoints_all", span(self.row.id)))]
        runs = {number(line[0]) for line in (yield from self.runs())}
        memo: dict[int, Manifest] = {}
        known = set()
        lost: dict[int, list[int]] = {}
        for row in rows:
            seq = number(row.key)
            what = f"checkpoint {seq}"
            if row.parent is not None and row.parent not in known:
                self.report("checkpoints", f"{what} names parent {row.parent}, which is not there")
            if row.run not in runs:
                self.report("checkpoints", f"{what} names run {row.run}, which is not there")
            known.add(seq)
            if row.parent in lost and _is_change(row):
                lost[seq] = lost[row.parent]
                lost[seq].append(seq)
                continue
            try:
                manifest = yield from with_names(names, partial(_build, row, names, memo))
            except Exception as error:
                self.report("checkpoints", f"{what} cannot be read: {type(error).__name__}: {error}")
                lost[seq] = [seq]
                continue
            self.entries("checkpoints", what, map(tuple, manifest.body.values.values()))
        for seq, following in lost.items():
            if following[0] == seq and len(following) > 1:
                count = len(following) - 1
                what = f"checkpoint {following[1]}" + (f" and {count - 1} more" if count > 1 else "")
                self.report("checkpoints", f"{what} cannot be read without checkpoint {seq}")
        yield from self.heads(rows)
        visible = sum(row.hidden == VISIBLE for row in rows)
        if visible != self.row.checkpoints:
            self.report("threads", f"counts {self.row.checkpoints} checkpoints, but {visible} are there")

    def runs(self) -> Op[list[tuple[int, ...]]]:
        """Check that what checkpoints have in common can be read; return the rows."""
        rows = yield Statement("runs_range", span(self.row.id))
        for line in rows:
            self.readable("runs", f"run {number(line[0])}", partial(references, line[2]))
        return rows

    def writes(self) -> Op[None]:
        """Check that every pending write can be read."""
        for line in (yield Statement("writes_all", (self.row.id,))):
            what = f"a write at {line[0].hex()}"
            entries = self.readable("writes", what, partial(entries_of, [line]))
            self.entries("writes", what, entries or ())

    def heads(self, rows: list[LoadedCheckpoint]) -> Op[None]:
        """Check that each namespace's head is its newest checkpoint."""
        newest = {row.namespace: number(row.key) for row in rows if row.hidden == VISIBLE}
        if newest.get(0) != self.row.head:
            self.report("threads", f"head is checkpoint {self.row.head}, but the newest is {newest.get(0)}")
        for name, space, head in (yield Statement("namespaces", (self.row.id,))):
            if head is not None and newest.get(space) != head:
                shown = name.decode("utf-8", "backslashreplace")
                newer = newest.get(space)
                self.report("namespaces", f"head of {shown!r} is {head}, but the newest is {newer}")

    def record(self) -> Op[None]:
        """Check that every entry of the record has its message, and names a branch that there is."""
        branches = {0} | {number(line[0]) for line in (yield Statement("branches", span(self.row.id)))}
        for k, content, _, branch, _ in (yield Statement("transcript", span(self.row.id))):
            what = f"entry {number(k)}"
            self.refer("transcript", what, {content}, set())
            if branch not in branches:
                self.report("transcript", f"{what} names branch {branch}, which is not there")
        counted = yield Statement("count_messages", span(self.row.id))
        if counted[0][0] != self.row.messages:
            self.report("threads", f"counts {self.row.messages} messages, but {counted[0][0]} are there")

    def calls(self) -> Op[None]:
        """Check that every model call can be read, and that what it was sent is there."""
        for line in (yield Statement("calls", span(self.row.id))):
            what = f"call {number(line[0])}"
            found = self.readable("calls", what, partial(_call, line))
            if found is not None:
                self.refer("calls", what, *found)
        for _, content in (yield Statement("sent_all", (self.row.id,))):
            self.refer("sent", "a digest", {content}, set())

    def notes(self) -> Op[None]:
        """Check that what policies noted, what is set aside, and the audit can be read."""
        for kind, policy, _, _, body in (yield Statement("notes_all", (self.row.id,))):
            what = f"a note of policy {policy.decode('utf-8', 'backslashreplace')!r}"
            self.readable("notes", what, partial(_note, kind, body))
        for k, _, action, actor, body in (yield Statement("audit", span(self.row.id))):
            self.readable("audit", f"entry {number(k)}", partial(_audit, action, actor, body))
        for k, money in (yield Statement("reservations", span(self.row.id))):
            self.readable("reservations", f"reservation {number(k)}", partial(Decimal, money or 0))

    def numbers(self) -> Op[None]:
        """Check that no row has a number that is still to be given."""
        limits = {
            "contents": self.row.next_content,
            "sequences": self.row.next_content,
            "checkpoints": self.row.next_seq,
            "runs": self.row.next_run,
            "transcript": self.row.next_position,
            "calls": self.row.next_call,
        }
        for table, limit in limits.items():
            rows = yield Statement(f"last_{table}", span(self.row.id))
            if rows and rows[0][0] is not None and number(rows[0][0]) >= limit:
                self.report(table, f"number {number(rows[0][0])} is in use, but the next would be {limit}")

    # whether it is there

    def entries(self, table: str, what: str, entries: Iterable[Entry]) -> None:
        """Note what entries refer to, and check the lengths of the lists among them."""
        found = list(entries)
        referred = self.readable(table, what, partial(_entries, found))
        if referred is not None:
            self.refer(table, what, *referred)
        for entry in found:
            length = self._lists.get(entry[1]) if entry[0] in _LISTS else None
            if length is not None and length != entry[2]:
                self.report(table, f"{what} has {entry[2]} items in list version {entry[1]} of {length}")

    def refer(self, table: str, what: str, contents: set[int], lists: set[int]) -> None:
        """Note which of the contents and lists that a row refers to are missing."""
        lost = [f"content {n}" for n in sorted(contents - self._contents)]
        lost += [f"list version {n}" for n in sorted(lists - self._lists.keys())]
        for target in lost:
            self._missing.setdefault((table, target), []).append(what)

    def report_missing(self) -> None:
        """Report each missing content and list once, however many rows refer to it."""
        for what, table, referred in self._referring:
            self.refer(table, what, *referred)
        for (table, target), rows in self._missing.items():
            more = f" and {len(rows) - 1} more refer" if len(rows) > 1 else " refers"
            self.report(table, f"{rows[0]}{more} to {target}, which is not there")


def _content(codec: int, body: bytes) -> tuple[set[int], set[int]]:
    """Return what a content refers to; raise for one that cannot be read."""
    codec, body = packing.open_content(codec, body)
    found: tuple[set[int], set[int]] = set(), set()
    collect_content(codec, body, *found)
    if codec in (packing.MESSAGE, packing.MESSAGE_REFS, packing.VALUE, packing.VALUE_REFS):
        references(body)
    elif codec == packing.TEXT:
        decode_text(body)
    elif codec != packing.ALIAS:
        raise ValueError(f"codec {codec} is none")
    return found


def _entries(entries: Iterable[Entry]) -> tuple[set[int], set[int]]:
    """Return what entries refer to; raise for one that cannot be read."""
    found: tuple[set[int], set[int]] = set(), set()
    for entry in entries:
        collect(entry, *found)
    return found


def _is_change(row: LoadedCheckpoint) -> bool:
    """Tell whether a checkpoint is stored as changes to its parent; damaged bytes may say anything."""
    try:
        return packing.unpack_checkpoint(row.body).depth > 0
    except Exception:
        return False


def _build(row: LoadedCheckpoint, names: Names, memo: dict[int, Manifest]) -> Manifest:
    if packing.unpack_checkpoint(row.body).depth and row.parent not in memo:
        raise ValueError(f"it is stored as changes to checkpoint {row.parent}")
    resolve_all([row], names, memo)
    return memo[number(row.key)]


def _note(kind: int, body: bytes) -> None:
    if not 0 <= kind < len(KINDS):
        raise ValueError(f"kind {kind} is none of {', '.join(KINDS)}")
    references(body)


def _audit(action: int, actor: bytes, body: bytes) -> None:
    if not 0 <= action < len(ACTIONS):
        raise ValueError(f"action {action} is none of {', '.join(ACTIONS)}")
    decode_text(actor)
    for message_id in ormsgpack.unpackb(body):
        unpack_message_id(message_id)


def _call(line: Row) -> tuple[set[int], set[int]]:
    """Return what a model call refers to; raise for one that cannot be read."""
    _, _, _, _, _, status, purpose, origin, model, provider, *rest = line
    for names, n in ((STATUSES, status), (PURPOSES, purpose), (ORIGINS, origin)):
        if not 0 <= n < len(names):
            raise ValueError(f"{n} is none of {', '.join(names)}")
    decode_text(model or b"")
    decode_text(provider or b"")
    if any(count is not None and not isinstance(count, int) for count in rest[:5]):
        raise ValueError("these are not five numbers of tokens")
    Decimal(rest[5] or 0)
    found: tuple[set[int], set[int]] = set(), set()
    CallBody.unpack(rest[6]).collect(*found)
    return found
