"""Reading a thread: its newest state while it is in use, and its whole history."""

from __future__ import annotations

from collections.abc import Callable

from bench import lanes
from bench.results import Cells, Goal, Row, Section
from bench.run import Run
from bench.timing import Samples, Subject, interleave

STATE_GOAL = Goal(limit=0.25)
HISTORY_GOAL = Goal(limit=5, at_least=True)
CHECKPOINTS_A_TURN = 5
_OPEN = {
    lanes.THREADKEEP: lanes.threadkeep,
    lanes.SQLITE: lanes.sqlite,
    lanes.SQLITE_DELTA: lanes.sqlite_delta,
}


def _lanes(run: Run, turns: int, live: Callable[[str], int]) -> list[lanes.Lane]:
    """Open each saver with `turns` turns, the last `live(name)` of them played."""
    found = []
    for name, open_lane in _OPEN.items():
        if name == lanes.THREADKEEP and not run.has_threadkeep:
            continue
        lane = open_lane(run.path(f"reads-{turns}"), lanes.Plan(seed="reads"))
        lane.prefill(turns - live(name))
        lane.live(turns, run.ticker(f"{name}, turns", turns))
        found.append(lane)
    return found


def _state(lane: lanes.Lane, turns: int) -> Callable[[], None]:
    def read() -> None:
        held = len(lane.graph.get_state(lane.config).values["messages"])
        if held != 4 * turns:
            raise RuntimeError(f"{lane.name} holds {held} messages instead of {4 * turns}")

    return read


def _history(lane: lanes.Lane, checkpoints: int) -> Callable[[], None]:
    def read() -> None:
        held = sum(1 for _ in lane.graph.get_state_history(lane.config))
        if held != checkpoints:
            raise RuntimeError(f"{lane.name} holds {held} checkpoints instead of {checkpoints}")

    return read


def _get_state(run: Run) -> Section:
    turns = 100 if run.quick else 200
    run.say(f"reads: get_state of {turns} turns")
    opened = _lanes(run, turns, lambda name: turns if name == lanes.THREADKEEP else 20)
    floor = lanes.floor(lanes.Plan(seed="reads"))
    floor.prefill(turns)
    subjects = [Subject(lane.name, _state(lane, turns)) for lane in (*opened, floor)]
    samples = {each.name: each for each in interleave(subjects, 15 if run.quick else 40)}
    for lane in opened:
        lane.close()
    rows = tuple(_state_row(each, samples[lanes.SQLITE].median) for each in samples.values())
    return Section(name="get_state", title=f"get_state of a warm thread of {turns} turns", rows=rows)


def _state_row(samples: Samples, peer: float) -> Row:
    ratio = samples.median / peer
    cells: Cells = {
        "saver": samples.name,
        "ms": samples.median,
        "× SqliteSaver": ratio,
    }
    return Row(cells=cells, judged=ratio, goal=STATE_GOAL if samples.name == lanes.THREADKEEP else None)


def _get_history(run: Run) -> Section:
    checkpoints = 100 if run.quick else 300
    turns = checkpoints // CHECKPOINTS_A_TURN
    run.say(f"reads: get_state_history of {checkpoints} checkpoints")
    opened = _lanes(run, turns, lambda name: turns)
    subjects = [Subject(lane.name, _history(lane, checkpoints)) for lane in opened]
    samples = {each.name: each for each in interleave(subjects, 2 if run.quick else 5, warm=1)}
    for lane in opened:
        lane.close()
    rows = tuple(_history_row(each, samples[lanes.SQLITE].median) for each in samples.values())
    return Section(
        name="history",
        title=f"get_state_history of {checkpoints} checkpoints",
        rows=rows,
        notes=HISTORY_NOTES,
    )


def _history_row(samples: Samples, peer: float) -> Row:
    times = peer / samples.median
    cells: Cells = {
        "saver": samples.name,
        "ms": samples.median,
        "times faster than SqliteSaver": times,
    }
    return Row(cells=cells, judged=times, goal=HISTORY_GOAL if samples.name == lanes.THREADKEEP else None)


def measure(run: Run) -> list[Section]:
    """Read states and histories, the savers in turn."""
    return [_get_state(run), _get_history(run)]


HISTORY_NOTES = (
    "Every state's values are there: LangGraph gives lists of messages, and their number is checked.",
)
