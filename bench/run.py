"""One run of the benchmarks: where its files go, how large it is, and what measures share."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import lanes
from bench.timing import EmptyCommit

LONG_SEED = "long"
_TICK_SECONDS = 5.0


class Run:
    """Options of a run, its scratch directory, and the long thread that several measures look at."""

    def __init__(self, scratch: Path, *, quick: bool = False) -> None:
        self.scratch = scratch
        self.quick = quick
        self.has_threadkeep = _openable()
        self.commit = EmptyCommit(scratch)
        self._started = time.monotonic()
        self._files = 0
        self._long: LongThread | None = None

    def say(self, text: str) -> None:
        """Print a line of progress with the seconds since the start."""
        print(f"[{time.monotonic() - self._started:6.1f} s] {text}", file=sys.stderr, flush=True)

    def ticker(self, text: str, total: int) -> Callable[[int], None]:
        """Return a function that prints progress every few seconds of a long loop."""
        last = time.monotonic()

        def tick(done: int) -> None:
            nonlocal last
            if time.monotonic() - last >= _TICK_SECONDS:
                last = time.monotonic()
                self.say(f"  {text}: {done:,} of {total:,}")

        return tick

    def path(self, name: str) -> Path:
        """Return a new file name in the scratch directory."""
        self._files += 1
        return self.scratch / f"{self._files:03d}-{name}.db"

    @contextmanager
    def loop(self) -> Iterator[lanes.Loop]:
        """Give an event loop, closed at the end."""
        loop = lanes.Loop()
        try:
            yield loop
        finally:
            loop.close()

    @property
    def long_turns(self) -> int:
        """Turns of the long thread when it is complete."""
        return 400 if self.quick else 2000

    def long(self) -> LongThread:
        """Return the long Threadkeep thread, shared by the measures that need one."""
        if self._long is None:
            self._long = LongThread(self)
        return self._long

    def close(self) -> None:
        """Release what the run holds."""
        self.commit.close()


class LongThread:
    """A Threadkeep thread whose every turn was played by the agent, none prefilled."""

    thread_id = "long-thread"

    def __init__(self, run: Run) -> None:
        self._run = run
        self.path = run.path("long")
        self.turns = 0

    def open(self, loop: lanes.Loop | None = None) -> lanes.Lane:
        """Open the database and go on where the thread stands."""
        lane = lanes.threadkeep(self.path, lanes.Plan(seed=LONG_SEED, thread_id=self.thread_id, loop=loop))
        lane.turns = self.turns
        return lane

    def keep(self, lane: lanes.Lane) -> None:
        """Close a lane and remember how far it played."""
        self.turns = lane.turns
        lane.close()

    def advance(self, until: int) -> None:
        """Play up to `until` turns."""
        if self.turns < until:
            self._run.say(f"  playing the long thread from {self.turns:,} to {until:,} turns")
            lane = self.open()
            lane.live(until, self._run.ticker("turns", until))
            self.keep(lane)


def _openable() -> bool:
    """Say whether Threadkeep is installed; an error while importing it is raised."""
    if importlib.util.find_spec("threadkeep") is None:
        return False
    import threadkeep

    return hasattr(threadkeep, "open")
