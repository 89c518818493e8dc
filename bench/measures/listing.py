"""The 20 newest of 1,000 threads: one query, beside a walk over the peer's checkpoints."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.sqlite import SqliteSaver

from bench import lanes
from bench.results import Cells, Goal, Row, Section
from bench.run import Run
from bench.scenario import Script
from bench.timing import Samples, Subject, interleave

GOAL = Goal(limit=50, at_least=True)
NEWEST = 20
TURNS = 50
CONVERSATIONS = 10


def _conversation(number: int) -> list[AnyMessage]:
    script = Script(f"listing-{number % CONVERSATIONS}")
    return [message for turn in range(TURNS) for message in script.messages(turn)]


def _checkpoint(messages: list[AnyMessage]) -> dict[str, Any]:
    return {
        "v": 4,
        "id": str(uuid6()),
        "ts": datetime.now(UTC).isoformat(),
        "channel_values": {"messages": messages},
        "channel_versions": {"messages": "1"},
        "versions_seen": {},
        "updated_channels": ["messages"],
    }


def _fill_peer(run: Run, threads: int) -> sqlite3.Connection:
    """Put one checkpoint, the newest, for every thread."""
    connection = sqlite3.connect(run.path("listing-peer"), check_same_thread=False)
    connection.execute("pragma synchronous=off")
    saver, tick = SqliteSaver(connection), run.ticker("peer's threads", threads)
    for number in range(threads):
        config: Any = {"configurable": {"thread_id": f"thread-{number}", "checkpoint_ns": ""}}
        metadata: Any = {"source": "loop", "step": 4 * TURNS, "parents": {}}
        checkpoint: Any = _checkpoint(_conversation(number))
        saver.put(config, checkpoint, metadata, {"messages": "1"})
        tick(number)
    return connection


def _fill_ours(run: Run, threads: int) -> Any:
    """Append each thread's whole conversation at once."""
    import threadkeep

    memory = threadkeep.open(f"sqlite:///{run.path('listing')}")
    tick = run.ticker("threads", threads)
    for number in range(threads):
        memory.threads.get(f"thread-{number}").append(_conversation(number))
        tick(number)
    return memory


def _walk(saver: SqliteSaver, threads: int) -> Callable[[], list[str]]:
    """Return a function that walks `list()` until `threads` threads were seen."""

    def walk() -> list[str]:
        seen: dict[str, None] = {}
        checkpoints = saver.list(None)
        for found in checkpoints:
            seen[found.config["configurable"]["thread_id"]] = None
            if len(seen) == threads:
                break
        checkpoints.close()  # type: ignore[attr-defined]
        return list(seen)

    return walk


def _page(memory: Any, threads: int) -> Callable[[], list[str]]:
    """Return a function that lists the newest threads, and check what it lists once."""

    def page() -> list[str]:
        return [info.thread_id for info in memory.threads.list(limit=NEWEST)]

    newest = [f"thread-{number}" for number in range(threads - 1, threads - 1 - NEWEST, -1)]
    if page() != newest:
        raise RuntimeError(f"threads.list gave {page()} instead of {newest}")
    counts = {info.messages for info in memory.threads.list(limit=NEWEST)}
    if counts != {4 * TURNS}:
        raise RuntimeError(f"threads.list counts {counts} messages instead of {4 * TURNS}")
    return page


def _row(what: str, samples: Samples, ours: float | None, goal: Goal | None = None) -> Row:
    cells: Cells = {"how": what, "ms": samples.median}
    if ours is None:
        return Row(cells=cells)
    times = samples.median / ours
    return Row(cells={**cells, "times slower": times}, judged=times, goal=goal)


def measure(run: Run) -> list[Section]:
    """Compare a page of threads with walks over the peer's newest checkpoints, and over all of them."""
    threads = 100 if run.quick else 1000
    run.say(f"listing: writing {threads:,} threads of {TURNS} turns for each saver")
    connection = _fill_peer(run, threads)
    saver = SqliteSaver(connection)
    (until_seen,) = interleave([Subject(lanes.SQLITE, _walk(saver, NEWEST))], 5, warm=1)
    (everything,) = interleave([Subject(lanes.SQLITE, _walk(saver, threads + 1))], 2, warm=0)
    connection.close()
    rows, ours = [], None
    if run.has_threadkeep:
        memory = _fill_ours(run, threads)
        run.say("listing: reading")
        (page,) = interleave([Subject(lanes.THREADKEEP, _page(memory, threads))], 50)
        memory.close()
        ours = page.median
        rows.append(_row("threads.list(limit=20)", page, None))
    rows.append(
        _row(f"SqliteSaver.list(), stopped at {NEWEST} threads", until_seen, ours, GOAL if ours else None)
    )
    rows.append(_row("SqliteSaver.list(), all checkpoints", everything, ours))
    title = f"The {NEWEST} newest of {threads:,} threads of {TURNS} turns"
    return [Section(name="listing", title=title, rows=tuple(rows), notes=NOTES)]


NOTES = (
    "Threadkeep: one append per thread. SqliteSaver: one put per thread, its newest checkpoint only, where a"
    f" conversation of {TURNS} turns leaves 250 that the walk would also read: the peer's best case.",
)
