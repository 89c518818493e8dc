"""The new process of the `cold` measure: import everything, open a thread, run one turn, print the times."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import lanes

OPEN: dict[str, Callable[[Any, lanes.Plan], lanes.Lane]] = {
    "threadkeep": lanes.threadkeep,
    "delta": lanes.sqlite_delta,
}


def _import_all(kind: str) -> None:
    """Open and close a database in memory, since modules may be imported only then, and play on the floor."""
    path = Path(":memory:") if kind == "delta" else None
    OPEN[kind](path, lanes.Plan(seed="warm")).close()
    lanes.floor(lanes.Plan(seed="warm")).live(2)
    gc.collect()


def main() -> None:
    """Arguments: kind, database, thread id, seed of the conversation, turns that the thread holds."""
    kind, path, thread_id, seed, turns = sys.argv[1:]
    _import_all(kind)
    start = time.perf_counter()
    lane = OPEN[kind](Path(path), lanes.Plan(seed=seed, thread_id=thread_id))
    opened = time.perf_counter()
    lane.turns = int(turns)
    lane.ready()
    ready = time.perf_counter()
    lane.play()
    done = time.perf_counter()
    held = len(lane.graph.get_state(lane.config).values["messages"])
    lane.close()
    if held != 4 * (int(turns) + 1):
        raise SystemExit(f"{held} messages after the turn instead of {4 * (int(turns) + 1)}")
    print(json.dumps({"open": (opened - start) * 1000, "turn": (done - ready) * 1000}))


if __name__ == "__main__":
    main()
