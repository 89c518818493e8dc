"""What a turn costs, as a multiple of the floor, at several lengths of thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench import lanes
from bench.results import Cells, Goal, Row, Section
from bench.run import Run
from bench.timing import Samples, Subject, interleave

COMMITS = 4
SLOW_COMMIT_MS = 0.5
SETTLE = 20
NOISY = 1.5
GOALS = {
    ("invoke", 50): Goal(limit=1.6, aim=1.3),
    ("invoke", 200): Goal(limit=1.5, aim=1.3),
    ("invoke", 1000): Goal(limit=1.45, aim=1.3),
    ("ainvoke", 50): Goal(limit=1.75, aim=1.3),
    ("ainvoke", 200): Goal(limit=1.65, aim=1.3),
    ("ainvoke", 1000): Goal(limit=1.5, aim=1.3),
}
PEERS: dict[str, Callable[[Path, lanes.Plan], lanes.Lane]] = {
    lanes.SQLITE: lanes.sqlite,
    lanes.SQLITE_DELTA: lanes.sqlite_delta,
}


def window(
    run: Run, turns: int, pair: tuple[lanes.Lane, lanes.Lane], rounds: int, into: list[Samples] | None = None
) -> list[Samples]:
    """Time floor and saver in turn, in the turns around `turns`."""
    subjects = [Subject(lane.name, lane.play, lane.ready) for lane in pair]
    return interleave(subjects, rounds, run.commit, into=into)


def row(call: str, turns: int, samples: list[Samples]) -> Row:
    """Turn samples of floor, saver and empty commit into a row."""
    floor, saver, commit = (each.median for each in samples)
    ratio, bare = saver / floor, (saver - COMMITS * commit) / floor
    cells: Cells = {
        "turns": turns,
        "call": call,
        "saver": samples[1].name,
        "turn ms": saver,
        "floor ms": floor,
        "× floor": ratio,
        "CPU × floor": samples[1].cpu_median / samples[0].cpu_median,
        "empty commit ms": commit,
        "less 4 commits": bare,
    }
    if samples[1].name != lanes.THREADKEEP:
        return Row(cells=cells)
    judged = bare if commit >= SLOW_COMMIT_MS else ratio
    noisy = judged < 1 or floor > NOISY * samples[0].cpu_median
    return Row(cells=cells, judged=judged, goal=GOALS.get((call, turns)), noisy=noisy)


def _rounds(run: Run, turns: int) -> int:
    if run.quick:
        return 12
    return 20 if turns == 50 else 30


def _ours(run: Run, turns: int, call: str, loop: lanes.Loop | None) -> Row:
    """Measure threads whose every turn was played."""
    samples: list[Samples] | None = None
    rounds = _rounds(run, turns)
    for repeat in range(1 if run.quick else 3 if turns == 50 else 2):
        plan = lanes.Plan(seed=f"turns-{repeat}", loop=loop)
        floor, saver = lanes.floor(plan), lanes.threadkeep(run.path(f"turns-{turns}-{call}"), plan)
        start = turns - rounds // 2
        floor.prefill(start)
        saver.live(start)
        samples = window(run, turns, (floor, saver), rounds, samples)
        saver.close()
    assert samples is not None
    return row(call, turns, samples)


def _long(run: Run, turns: int, call: str, loop: lanes.Loop | None) -> Row:
    """Measure on the long thread, which other measures use as well."""
    rounds = _rounds(run, turns)
    long = run.long()
    long.advance(turns - rounds - 3)
    saver = long.open(loop)
    floor = lanes.floor(lanes.Plan(seed="long", loop=loop))
    floor.prefill(saver.turns)
    samples = window(run, turns, (floor, saver), rounds)
    long.keep(saver)
    return row(call, turns, samples)


def _peer(run: Run, turns: int, call: str, loop: lanes.Loop | None, name: str) -> Row:
    """Measure a thread that was prefilled but for the turns around `turns`."""
    rounds = min(_rounds(run, turns), 12 if turns >= 1000 else 20)
    plan = lanes.Plan(seed="turns-0", loop=loop)
    floor, saver = lanes.floor(plan), PEERS[name](run.path(f"peer-{turns}-{call}"), plan)
    start = turns - rounds // 2
    floor.prefill(start)
    saver.prefill(start - SETTLE)
    saver.live(start)
    samples = window(run, turns, (floor, saver), rounds)
    saver.close()
    return row(call, turns, samples)


def measure(run: Run) -> list[Section]:
    """Measure every saver at 50, 200 and 1,000 turns, by `invoke` and `ainvoke`."""
    rows = []
    for call in ("invoke", "ainvoke"):
        with run.loop() as loop:
            for turns in (50, 200) if run.quick else (50, 200, 1000):
                rows += _at(run, turns, call, loop if call == "ainvoke" else None)
    return [
        Section(name="turns", title="A turn of an agent, beside the floor", rows=tuple(rows), notes=NOTES)
    ]


def _at(run: Run, turns: int, call: str, loop: lanes.Loop | None) -> list[Row]:
    rows = []
    if run.has_threadkeep:
        run.say(f"turns: {lanes.THREADKEEP} at {turns:,}, {call}")
        rows.append((_long if turns >= 1000 else _ours)(run, turns, call, loop))
    for name in PEERS:
        run.say(f"turns: {name} at {turns:,}, {call}")
        rows.append(_peer(run, turns, call, loop, name))
    return rows


NOTES = (
    f"Judged: × floor; (turn - {COMMITS} commits) / floor where an empty commit takes"
    f" {SLOW_COMMIT_MS} ms or more.",
    "Threadkeep's threads were played turn by turn from the start. LangGraph's were prefilled by"
    f" update_state, which costs a later turn nothing, then played for {SETTLE} turns before those timed.",
    "CPU: processor time of all threads, which neither the disk nor other programs change; not judged.",
    f"Noisy: the floor waited for the processor (it took more than {NOISY} × its own processor time), or less"
    " was left than the floor itself: run again on a quiet machine.",
    "ainvoke on LangGraph's side is AsyncSqliteSaver.",
)
