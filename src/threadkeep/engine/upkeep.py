"""Flows over the whole database: measure it, give disk back, check it."""

from __future__ import annotations

from threadkeep import ids
from threadkeep.backends.base import Op, Row
from threadkeep.engine import flows, records
from threadkeep.engine.engine import Engine, Flow, Read
from threadkeep.models import CompactReport, Problem, Progress, ThreadStats
from threadkeep.ops import doctor as checking
from threadkeep.ops import threads

_PAGE = 200


def stats(engine: Engine, progress: Progress | None = None) -> Flow[tuple[ThreadStats, ...]]:
    """Return bytes and rows of every thread, largest first."""
    total = 0 if progress is None else (yield Read(threads.count(None)))
    found: list[ThreadStats] = []
    after = 0
    while True:

        def op(after: int = after) -> Op[list[tuple[Row, dict[str, tuple[int, int]]]]]:
            lines = []
            for row in (yield from threads.page(after, _PAGE)):
                lines.append((row, (yield from threads.stats(row[0]))))
            return lines

        page = yield Read(op())
        for row, tables in page:
            found.append(records.thread_stats(ids.decode_text(row[4]), ids.decode_text(row[3]), tables))
            after = row[0]
        if progress is not None:
            progress(len(found), max(total, len(found)))
        if len(page) < _PAGE:
            found.sort(key=lambda item: -item.bytes)
            return tuple(found)


def compact(engine: Engine) -> Flow[CompactReport]:
    """Rewrite the database without free pages."""
    engine.driver.flush()
    before = engine.driver.size()
    complete = engine.driver.compact()
    return CompactReport(before=before, after=engine.driver.size(), complete=complete)
    yield


def doctor(
    engine: Engine, owner: str, thread_id: object, progress: Progress | None = None
) -> Flow[tuple[Problem, ...]]:
    """Check every invariant of one thread, or of the whole database."""
    problems: list[Problem] = []
    if thread_id is not None:
        ref = engine.ref(owner, thread_id)
        if not (yield from records.exists(engine, ref)):
            raise flows.not_found(ref)
        problems += yield Read(checking.check_thread(ref.digest, ref.thread_id, engine.names))
        if progress is not None:
            progress(1, 1)
        return tuple(problems)
    total = 0 if progress is None else (yield Read(threads.count(None)))
    done = 0
    problems += yield Read(checking.check_database())
    after = 0
    while True:
        page = yield Read(threads.page(after, _PAGE))
        for row in page:
            # Damaged bytes of an id are the check's to report.
            thread = row[4].decode("utf-8", "backslashreplace")
            problems += yield Read(checking.check_thread(row[1], thread, engine.names))
            after = row[0]
            done += 1
            if progress is not None:
                progress(done, max(total, done))
        if len(page) < _PAGE:
            return tuple(problems)
