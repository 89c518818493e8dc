"""`memory://` beside LangGraph's InMemorySaver."""

from __future__ import annotations

from bench import lanes
from bench.results import Cells, Goal, Row, Section
from bench.run import Run
from bench.timing import Samples, Subject, interleave

GOAL = Goal(limit=1.0)


def _samples(run: Run, turns: int, loop: lanes.Loop | None) -> dict[str, Samples]:
    plan = lanes.Plan(seed="inprocess", loop=loop)
    rounds = 12 if run.quick else 30
    opened = [lanes.floor(plan), lanes.in_memory(plan)]
    if run.has_threadkeep:
        opened.append(lanes.threadkeep(None, plan))
    for lane in opened:
        lane.prefill(turns - rounds // 2)
    samples = interleave([Subject(lane.name, lane.play, lane.ready) for lane in opened], rounds)
    for lane in opened:
        lane.close()
    return {each.name: each for each in samples}


def measure(run: Run) -> list[Section]:
    """Measure a turn at 50 and 200 turns, by `invoke` and `ainvoke`."""
    rows = []
    with run.loop() as loop:
        for call, used in (("invoke", None), ("ainvoke", loop)):
            for turns in (50, 200):
                run.say(f"inprocess: {turns} turns, {call}")
                rows += _rows(call, turns, _samples(run, turns, used))
    return [Section(name="inprocess", title="In process: memory:// and InMemorySaver", rows=tuple(rows))]


def _rows(call: str, turns: int, samples: dict[str, Samples]) -> list[Row]:
    peer, floor = samples[lanes.IN_MEMORY].median, samples[lanes.FLOOR].median
    rows = []
    for name, each in samples.items():
        cells: Cells = {
            "turns": turns,
            "call": call,
            "saver": name,
            "turn ms": each.median,
            "× floor": each.median / floor,
            "× InMemorySaver": each.median / peer,
        }
        ours = name == lanes.THREADKEEP_MEMORY
        rows.append(Row(cells=cells, judged=each.median / peer, goal=GOAL if ours else None))
    return rows
