"""Check the invariants of stored threads: rows can be read, what they refer to is there, counts are right."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import ormsgpack

from threadkeep.backends.base import Op, Statement
from threadkeep.ids import decode_text, digest, encode_text
from threadkeep.models import Problem
from threadkeep.ops import packing
from threadkeep.ops.history import resolve_all
from threadkeep.ops.load import Manifest, checkpoint_row, collect, collect_content, entries_of, with_names
from threadkeep.ops.names import Names
from threadkeep.ops.packing import Entry
from threadkeep.ops.rows import VISIBLE, LoadedCheckpoint, key, number, span
from threadkeep.ops.threads import RANGED, ThreadRow
from threadkeep.serde import references

_CHUNK = 500
_LISTS = (packing.LIST, packing.MAPPING, packing.SNAPSHOT)


def check_database() -> Op[list[Problem]]:
    """Check the file itself, and that no row is left of a thread that is gone."""
    problems = []
    for (line,) in (yield Statement("integrity")):
        if line != "ok":
            problems.append(Problem(thread_id="", table="", detail=f"the database file is damaged: {line}"))
    for table in (*RANGED, "writes", "namespaces", "labels"):
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
    manifests = yield from check.checkpoints(names)
    yield from check.writes()
    yield from check.heads(manifests)
    yield from check.record()
    yield from check.calls()
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
                found = self.readable("contents", what, lambda c=codec, b=body: _content(c, b))
                self._later.append(("contents", what, found))

    def sequences(self) -> Op[None]:
        """Check that every list version can be built, and note what it refers to."""
        for k, body in (yield Statement("sequences_range", span(self.row.id))):
            n = number(k)
            what = f"list version {n}"
            row = self.readable("sequences", what, lambda n=n, b=body: packing.unpack_sequence(n, b))
            self._lists[n] = None
            if row is None:
                continue
            lists = set() if row.base is None else {row.base}
            contents = {item for item in row.inserted if isinstance(item, int)}
            for item in row.inserted:
                if not isinstance(item, int):
                    found = self.readable("sequences", what, lambda i=item: _entries([(packing.INLINE, i)]))
                    contents |= found[0] if found else set()
                    lists |= found[1] if found else set()
            self._later.append(("sequences", what, (contents, lists)))
            base = 0 if row.base is None else self._lists.get(row.base)
            if base is None:
                continue
            if not 0 <= row.removed <= row.back <= base:
                self.report("sequences", f"{what} changes {row.back} items of a list of {base}")
            self._lists[n] = base - row.removed + len(row.inserted)

    # what refers
"""
"""
