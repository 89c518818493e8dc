"""Fair clocks: subjects take turns, medians count, and an empty commit is timed between them."""

from __future__ import annotations

import gc
import sqlite3
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

COLLECT_EVERY = 5


class EmptyCommit:
    """The smallest durable transaction of SQLite on this disk: one row, WAL, `synchronous=FULL`."""

    def __init__(self, directory: Path) -> None:
        self._connection = sqlite3.connect(directory / "empty-commit.db", isolation_level=None)
        self._connection.executescript(
            "pragma journal_mode=wal; pragma synchronous=full;"
            "create table if not exists t(n); insert into t values (0);"
        )

    def time(self) -> float:
        """Commit once and return the milliseconds it took."""
        start = time.perf_counter()
        self._connection.execute("update t set n = n + 1")
        return (time.perf_counter() - start) * 1000

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@dataclass(kw_only=True)
class Samples:
    """Milliseconds of one subject, by the clock and of processor time in all threads."""

    name: str
    values: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def cpu_median(self) -> float:
        """The median of the processor time, which waiting and other programs leave alone."""
        return statistics.median(self.cpu)

    @property
    def quartiles(self) -> tuple[float, float]:
        if len(self.values) < 2:
            return self.median, self.median
        low, _, high = statistics.quantiles(self.values, n=4)
        return low, high


@dataclass(frozen=True, slots=True)
class Subject:
    """Something to time: `ready` is called before each run and not counted."""

    name: str
    run: Callable[[], object]
    ready: Callable[[], object] = lambda: None


def interleave(
    subjects: Sequence[Subject],
    rounds: int,
    commit: EmptyCommit | None = None,
    warm: int = 3,
    into: Sequence[Samples] | None = None,
) -> list[Samples]:
    """Run every subject once per round, in changing order, and return their times and the empty commits'.

    Garbage is collected between rounds, never inside what is timed.
    """
    results = list(into) if into else [Samples(name=subject.name) for subject in subjects]
    if into is None and commit is not None:
        results.append(Samples(name="empty commit"))
    gc.collect()
    gc.disable()
    try:
        for number in range(-warm, rounds):
            _one_round(subjects, results, number, commit)
            if number % COLLECT_EVERY == 0:
                gc.collect()
    finally:
        gc.enable()
    return results


def _one_round(
    subjects: Sequence[Subject], results: list[Samples], number: int, commit: EmptyCommit | None
) -> None:
    order = range(len(subjects)) if number % 2 else reversed(range(len(subjects)))
    for at in order:
        subjects[at].ready()
        start, cpu = time.perf_counter(), time.process_time()
        subjects[at].run()
        elapsed, used = time.perf_counter() - start, time.process_time() - cpu
        if number >= 0:
            results[at].values.append(elapsed * 1000)
            results[at].cpu.append(used * 1000)
    if commit is not None and number >= 0:
        results[-1].values.append(commit.time())
