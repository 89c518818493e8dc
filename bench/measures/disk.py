"""Bytes on disk per byte of message text: all tables and indexes, every step addressable, after close."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench import lanes
from bench.results import Cells, Goal, Row, Section
from bench.run import LONG_SEED, Run
from bench.scenario import nested_agent, turn_text

GOAL = Goal(limit=3.5, aim=2)
NESTED_GOAL = Goal(limit=4.5)
Open = Callable[[Path, lanes.Plan], lanes.Lane]


def _row(saver: str, agent: str, turns: int, path: Path, text: int, goal: Goal | None) -> Row:
    size = lanes.disk_bytes(path)
    cells: Cells = {
        "saver": saver,
        "agent": agent,
        "turns": turns,
        "text KB": text / 1024,
        "disk KB": size / 1024,
        "disk / text": size / text,
    }
    return Row(cells=cells, judged=size / text, goal=goal)


def _played(
    run: Run, name: str, open_lane: Open, turns: int, nested: bool = False, goal: Goal | None = None
) -> Row:
    agent = "subgraph" if nested else "plain"
    run.say(f"disk: {name}, {agent} agent, {turns:,} turns")
    path = run.path(f"disk-{turns}-{agent}")
    plan = lanes.Plan(seed="disk", build=nested_agent) if nested else lanes.Plan(seed="disk")
    lane = open_lane(path, plan)
    lane.live(turns, run.ticker("turns", turns))
    lane.close()
    return _row(name, agent, turns, path, turn_text("disk", turns), goal)


def _long(run: Run) -> Row:
    run.say(f"disk: {lanes.THREADKEEP}, plain agent, {run.long_turns:,} turns")
    long = run.long()
    long.advance(run.long_turns)
    return _row(lanes.THREADKEEP, "plain", long.turns, long.path, turn_text(LONG_SEED, long.turns), GOAL)


def measure(run: Run) -> list[Section]:
    """Measure files after playing every turn; peers at lengths that take seconds."""
    turns, nested_peer = (100, 20) if run.quick else (200, 60)
    rows = []
    if run.has_threadkeep:
        rows.append(_played(run, lanes.THREADKEEP, lanes.threadkeep, turns, goal=GOAL))
        rows.append(_long(run))
    rows.append(_played(run, lanes.SQLITE, lanes.sqlite, turns))
    rows.append(_played(run, lanes.SQLITE_DELTA, lanes.sqlite_delta, turns))
    if run.has_threadkeep:
        rows.append(_played(run, lanes.THREADKEEP, lanes.threadkeep, turns, nested=True, goal=NESTED_GOAL))
    rows.append(_played(run, lanes.SQLITE, lanes.sqlite, nested_peer, nested=True))
    return [Section(name="disk", title="Disk per byte of message text", rows=tuple(rows), notes=NOTES)]


NOTES = (
    "Text: UTF-8 bytes of message contents and tool arguments. Messages also carry ids, token counts"
    " and the response metadata of langchain-openai, which is not counted as text.",
    "Subgraph: the agent is a node of a graph that shares `messages`. LangGraph's file is quadratic"
    " in the number of turns.",
)
