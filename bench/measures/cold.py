"""Opening a long thread in a new process, with everything imported, and running one turn."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from bench import lanes
from bench.results import Cells, Goal, Row, Section
from bench.run import LONG_SEED, Run

GOAL = Goal(limit=0.5)
LIVE_TURNS = 40
PEER_THREAD = "cold-peer"


def _peer_file(run: Run, turns: int) -> Path:
    """Write the same conversation with LangGraph's DeltaChannel: prefilled, then its last turns played."""
    path = run.path("cold-delta")
    lane = lanes.sqlite_delta(path, lanes.Plan(seed=LONG_SEED, thread_id=PEER_THREAD))
    lane.prefill(turns - LIVE_TURNS)
    lane.live(turns, run.ticker("turns", turns))
    lane.close()
    return path


def _sample(kind: str, source: Path, scratch: Path, thread_id: str, turns: int) -> dict[str, float]:
    """Run one new process on a copy of the database."""
    copy = scratch / "cold-copy.db"
    shutil.copyfile(source, copy)
    command = [sys.executable, "-m", "bench.child", kind, str(copy), thread_id, LONG_SEED, str(turns)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for file in scratch.glob("cold-copy.db*"):
        file.unlink()
    if done.returncode:
        raise RuntimeError(f"the process that opens {kind} failed:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _row(name: str, turns: int, samples: list[dict[str, float]], peer: float | None) -> Row:
    opening, playing = (statistics.median(each[part] for each in samples) for part in ("open", "turn"))
    total = statistics.median(each["open"] + each["turn"] for each in samples)
    cells: Cells = {
        "saver": name,
        "turns": turns,
        "open ms": opening,
        "first turn ms": playing,
        "both ms": total,
    }
    if peer is None:
        return Row(cells=cells)
    goal = GOAL if turns >= 2000 else None
    return Row(cells={**cells, "× DeltaChannel": total / peer}, judged=total / peer, goal=goal)


def measure(run: Run) -> list[Section]:
    """Time new processes of Threadkeep and of LangGraph's DeltaChannel in turn."""
    turns = run.long_turns
    run.say(f"cold: {lanes.SQLITE_DELTA}, writing {turns:,} turns")
    files = {"delta": (_peer_file(run, turns), PEER_THREAD)}
    if run.has_threadkeep:
        run.long().advance(turns)
        files["threadkeep"] = (run.long().path, run.long().thread_id)
    samples: dict[str, list[dict[str, float]]] = {kind: [] for kind in files}
    for number in range(3 if run.quick else 7):
        run.say(f"cold: process {number + 1} of each")
        for kind, (path, thread_id) in files.items():
            samples[kind].append(_sample(kind, path, run.scratch, thread_id, turns))
    peer = statistics.median(each["open"] + each["turn"] for each in samples["delta"])
    rows = [_row(lanes.SQLITE_DELTA, turns, samples["delta"], None)]
    if run.has_threadkeep:
        rows.insert(0, _row(lanes.THREADKEEP, turns, samples["threadkeep"], peer))
    title = "Open a long thread in a new process and run one turn"
    return [Section(name="cold", title=title, rows=tuple(rows), notes=NOTES)]


NOTES = (
    "Each sample: a new process on a copy of the database, with imports done (a database in"
    " memory was opened and closed) and LangGraph warmed by two turns on the floor.",
    f"LangGraph's thread was prefilled but for its last {LIVE_TURNS} turns: it replays as after a"
    " real conversation, from a smaller file. Threadkeep's was played from the start.",
)
