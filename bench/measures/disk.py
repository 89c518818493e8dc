"""Bytes on disk per byte of message text: all tables and indexes, every step addressable, after close."""

from __future__ import annotations

from pathlib import Path

from bench import lanes
from bench.results import Cells, Goal, Row, Section
from bench.run import LONG_SEED, Run
from bench.scenario import nested_agent, turn_text

GOAL = Goal(limit=3.5, aim=2)
NESTED_GOAL = Goal(limit=4.5)
PLANS = {
    "agent": lanes.Plan(seed="disk"),
    "agent in a subgraph": lanes.Plan(seed="disk", build=nested_agent),
    "agent, OpenAI metadata": lanes.Plan(seed="disk", shape="openai"),
}
OPEN = {
    lanes.THREADKEEP: lanes.threadkeep,
    lanes.SQLITE: lanes.sqlite,
    lanes.SQLITE_DELTA: lanes.sqlite_delta,
}


def _row(saver: str, played: str, turns: int, path: Path, text: int, goal: Goal | None) -> Row:
    size = lanes.disk_bytes(path)
    cells: Cells = {
        "played": played,
        "turns": turns,
        "saver": saver,
        "text KB": text / 1024,
        "disk KB": size / 1024,
        "disk / text": size / text,
    }
    return Row(cells=cells, judged=size / text, goal=goal)


def _played(run: Run, saver: str, played: str, turns: int, goal: Goal | None = None) -> Row:
    run.say(f"disk: {saver}, {played}, {turns:,} turns")
    path = run.path("disk")
    lane = OPEN[saver](path, PLANS[played])
    lane.live(turns, run.ticker("turns", turns))
    lane.close()
    return _row(saver, played, turns, path, turn_text("disk", turns), goal)


def _long(run: Run) -> Row:
    run.say(f"disk: {lanes.THREADKEEP}, agent, {run.long_turns:,} turns")
    long = run.long()
    long.advance(run.long_turns)
    text = turn_text(LONG_SEED, long.turns)
    return _row(lanes.THREADKEEP, "agent", long.turns, long.path, text, None if run.quick else GOAL)


def _ours(run: Run, turns: int) -> list[Row]:
    return [
        _played(run, lanes.THREADKEEP, "agent", turns, GOAL),
        _long(run),
        _played(run, lanes.THREADKEEP, "agent in a subgraph", turns, NESTED_GOAL),
        _played(run, lanes.THREADKEEP, "agent, OpenAI metadata", turns),
    ]


def _theirs(run: Run, turns: int, nested: int) -> list[Row]:
    return [
        _played(run, lanes.SQLITE, "agent", turns),
        _played(run, lanes.SQLITE_DELTA, "agent", turns),
        _played(run, lanes.SQLITE, "agent in a subgraph", nested),
        _played(run, lanes.SQLITE_DELTA, "agent, OpenAI metadata", turns),
    ]


def measure(run: Run) -> list[Section]:
    """Measure files after playing every turn; LangGraph's at lengths that take seconds."""
    theirs = _theirs(run, 100, 20) if run.quick else _theirs(run, 200, 60)
    rows = [*(_ours(run, 200) if run.has_threadkeep else []), *theirs]
    return [Section(name="disk", title="Disk per byte of message text", rows=tuple(rows), notes=NOTES)]


NOTES = (
    "Text: UTF-8 bytes of message contents and tool arguments. Ids, token counts, model name and finish"
    " reason of each message are stored as well and not counted as text.",
    "OpenAI metadata: everything that langchain-openai puts into messages, 1.7 KB a turn as JSON beside"
    " 1 KB of text; shown, not judged.",
    "Subgraph: the agent is a node of a graph that shares `messages`. LangGraph's file is quadratic"
    " in the number of turns.",
)
