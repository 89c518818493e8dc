"""Check the invariants of stored threads."""

from __future__ import annotations

from threadkeep.backends.base import Op, Statement
from threadkeep.ids import decode_text
from threadkeep.models import Problem
from threadkeep.ops import packing
from threadkeep.ops.history import resolve_all
from threadkeep.ops.load import Manifest, Stored, checkpoint_row, entries_of, with_names
from threadkeep.ops.names import Names
from threadkeep.ops.rows import VISIBLE, number, span
from threadkeep.ops.threads import RANGED, ThreadRow


def check_database() -> Op[list[Problem]]:
    """Check the file itself, and that no row is left of a thread that is gone."""
    problems = []
    for (line,) in (yield Statement("integrity")):
        if line != "ok":
            problems.append(Problem(thread_id="", table="", detail=f"the database file is damaged: {line}"))
    for table in RANGED:
        for (thread,) in (yield Statement(f"stray_{table}")):
            problems.append(
                Problem(thread_id="", table=table, detail=f"rows of thread number {thread}, which is gone")
            )
    for table in ("writes", "namespaces", "labels"):
        for (thread,) in (yield Statement(f"stray_{table}")):
            problems.append(
                Problem(thread_id="", table=table, detail=f"rows of thread number {thread}, which is gone")
            )
    return problems


def check_thread(digest: bytes, thread_id: str, names: Names) -> Op[list[Problem]]:
    """Check one thread: every reference resolves, heads and counts are right, the record is whole."""
    rows = yield Statement("thread", (digest,))
    if not rows:
        return []
    check = _Check(ThreadRow._make(rows[0]), thread_id)
    manifests = yield from check.checkpoints(names)
    if manifests is not None:
        yield from check.values(manifests)
        yield from check.heads(manifests)
    yield from check.record()
    yield from check.numbers()
    return check.problems


class _Check:
    def __init__(self, row: ThreadRow, thread_id: str) -> None:
        self.row = row
        self.thread_id = thread_id
        self.problems: list[Problem] = []

    def report(self, table: str, detail: str) -> None:
        self.problems.append(Problem(thread_id=self.thread_id, table=table, detail=detail))

    def checkpoints(self, names: Names) -> Op[dict[int, Manifest] | None]:
        lines = yield Statement("checkpoints_all", span(self.row.id))
        memo: dict[int, Manifest] = {}
        known = set()
        for line in lines:
            row = checkpoint_row(line)
            seq = number(row.key)
            if row.parent is not None and row.parent not in known:
                self.report("checkpoints", f"checkpoint {seq} names parent {row.parent}, which is not there")
                if packing.unpack_checkpoint(row.body).depth:
                    return None
            known.add(seq)
            yield from with_names(names, lambda row=row: resolve_all([row], names, memo))
        visible = sum(1 for manifest in memo.values() if manifest.row.hidden == VISIBLE)
        if visible != self.row.checkpoints:
            self.report("threads", f"counts {self.row.checkpoints} checkpoints, but {visible} are there")
        runs = {number(line[0]) for line in (yield Statement("runs_range", span(self.row.id)))}
        for seq, manifest in memo.items():
            if manifest.row.run not in runs:
                self.report(
                    "checkpoints", f"checkpoint {seq} names run {manifest.row.run}, which is not there"
                )
        return memo

    def values(self, manifests: dict[int, Manifest]) -> Op[None]:
        stored = Stored()
        for seq, manifest in manifests.items():
            try:
                yield from stored.fetch(self.row.id, manifest.values.values())
            except LookupError as error:
                self.report("contents", f"checkpoint {seq} refers to {error.args[0]}, which is not there")
        for line in (yield Statement("writes_all", (self.row.id,))):
            try:
                yield from stored.fetch(self.row.id, entries_of([line]))
            except LookupError as error:
                self.report(
                    "writes", f"a write at {line[0].hex()} refers to {error.args[0]}, which is not there"
                )

    def heads(self, manifests: dict[int, Manifest]) -> Op[None]:
        newest: dict[int, int] = {}
        for seq, manifest in manifests.items():
            if manifest.row.hidden == VISIBLE:
                newest[manifest.row.namespace] = max(seq, newest.get(manifest.row.namespace, 0))
        if newest.get(0) != self.row.head:
            self.report("threads", f"head is checkpoint {self.row.head}, but the newest is {newest.get(0)}")
        for name, space, head in (yield Statement("namespaces", (self.row.id,))):
            if head is not None and newest.get(space) != head:
                self.report(
                    "namespaces",
                    f"head of {decode_text(name)!r} is {head}, but the newest is {newest.get(space)}",
                )

    def record(self) -> Op[None]:
        keys = {number(k) for k, _ in (yield Statement("content_keys", span(self.row.id)))}
        for line in (yield Statement("transcript", span(self.row.id))):
            if line[1] not in keys:
                self.report(
                    "transcript", f"entry {number(line[0])} refers to content {line[1]}, which is not there"
                )

    def numbers(self) -> Op[None]:
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
