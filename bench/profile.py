"""Where the time of a turn goes: `python -m bench.profile --turns 200`.

Three views: the turn beside the floor's; the saver's methods, as LangGraph calls them; and functions of all
threads under cProfile, by the CPU time of their own thread (so waiting is not counted) or by the clock.
"""

from __future__ import annotations

import argparse
import cProfile
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import lanes
from bench.timing import EmptyCommit, Subject, interleave

CONSOLE = Console(width=140)
OPEN = {"threadkeep": lanes.threadkeep, "sqlite": lanes.sqlite, "delta": lanes.sqlite_delta}
METHODS = ("get_tuple", "put", "put_writes", "list", "get_next_version", "get_delta_channel_history")


class Meter:
    """Counts calls of a saver's methods and the time spent in them, on whatever thread they run."""

    def __init__(self, saver: Any) -> None:
        self.calls: dict[str, list[float]] = defaultdict(list)
        for name in METHODS:
            for method in (name, "a" + name):
                original = getattr(saver, method, None)
                if original is not None:
                    timed = self._atimed if method.startswith("a") and method != "alist" else self._timed
                    setattr(saver, method, timed(method, original))

    def _timed(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return original(*args, **kwargs)
            finally:
                self.calls[name].append((time.perf_counter() - start) * 1000)

        return call

    def _atimed(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return await original(*args, **kwargs)
            finally:
                self.calls[name].append((time.perf_counter() - start) * 1000)

        return call


class Profiler:
    """Profiles this thread and all threads that start after it was made, such as a driver's own.

    Until `start` is called, only the newest profile of each thread identity is kept.
    """

    def __init__(self, cpu: bool) -> None:
        self._timer = time.thread_time if cpu else time.perf_counter
        self._standing: dict[int, cProfile.Profile] | None = {}
        self._before: dict[str, Line] = {}
        self.profiles: list[cProfile.Profile] = []
        threading.setprofile(self._begin)

    def _begin(self, *_: Any) -> None:
        sys.setprofile(None)
        profile = cProfile.Profile(self._timer)
        if self._standing is None:
            self.profiles.append(profile)
        else:
            self._standing[threading.get_ident()] = profile
        profile.enable()

    def start(self) -> None:
        """Count from here on."""
        alive = {thread.ident for thread in threading.enumerate()}
        standing, self._standing = self._standing or {}, None
        self.profiles = [profile for ident, profile in standing.items() if ident in alive]
        self._before = merge(self.profiles)
        del standing  # freeing a profile that is still on turns profiling off in the thread that frees it
        self._begin()

    def stop(self) -> dict[str, Line]:
        """Return what every function cost since `start`."""
        sys.setprofile(None)
        threading.setprofile(None)
        lines = merge(self.profiles)
        for label, before in self._before.items():
            lines[label].subtract(before)
        return lines


class Line:
    """What one function cost in all profiles, in seconds."""

    def __init__(self) -> None:
        self.calls = 0
        self.own = 0.0
        self.total = 0.0

    def subtract(self, earlier: Line) -> None:
        """Take away what was counted earlier."""
        self.calls -= earlier.calls
        self.own -= earlier.own
        self.total -= earlier.total


def _label(code: Any, caller: Any = None) -> str:
    if not isinstance(code, str):
        return f"{_short(code.co_filename)}:{code.co_firstlineno} {code.co_name}"
    return f"{code}  in {_label(caller)}" if caller is not None else code


def _short(filename: str) -> str:
    for mark in ("/src/", "/site-packages/", "/lib/"):
        if mark in filename:
            return filename.rsplit(mark, 1)[1]
    return filename


def merge(profiles: list[cProfile.Profile]) -> dict[str, Line]:
    """Add up the profiles; a builtin's time goes to a line that names who called it."""
    lines: dict[str, Line] = defaultdict(Line)
    for profile in profiles:
        for entry in profile.getstats():
            for callee in entry.calls or ():
                if isinstance(callee.code, str):
                    _add(lines[_label(callee.code, entry.code)], callee)
            if not isinstance(entry.code, str):
                _add(lines[_label(entry.code)], entry)
    return lines


def _add(line: Line, entry: Any) -> None:
    line.calls += entry.callcount
    line.own += entry.inlinetime
    line.total += entry.totaltime


def _package(label: str) -> str:
    """Name the package (for ours: the module) that a line belongs to."""
    place = label.rsplit("  in ", 1)[-1].split(":")[0]
    if "threadkeep/" in place:
        return place[place.index("threadkeep/") :]
    return place.split("/")[0]


def _show_turns(rounds: int, lane: lanes.Lane, floor: lanes.Lane, commit: EmptyCommit) -> None:
    subjects = [Subject(each.name, each.play, each.ready) for each in (floor, lane)]
    samples = interleave(subjects, rounds, commit)
    table = Table("one turn", "median ms", "quartiles", "× floor", "CPU ms", "CPU × floor")
    for sample in samples:
        low, high = sample.quartiles
        row = [sample.name, f"{sample.median:.3f}", f"{low:.3f} to {high:.3f}"]
        if sample.cpu:
            row += [f"{sample.median / samples[0].median:.3f}", f"{sample.cpu_median:.3f}"]
            row += [f"{sample.cpu_median / samples[0].cpu_median:.3f}"]
        table.add_row(*row)
    CONSOLE.print(table)
    over, commits = samples[1].median - samples[0].median, 4 * samples[2].median
    CONSOLE.print(f"over the floor: {over:.3f} ms, of which 4 empty commits would be {commits:.3f} ms")


def _show_methods(options: argparse.Namespace, lane: lanes.Lane, meter: Meter) -> None:
    meter.calls.clear()
    for _ in range(options.rounds):
        lane.ready()
        lane.play()
    table = Table("saver method", "calls/turn", "median ms", "90 % below", "ms/turn")
    for name, values in sorted(meter.calls.items(), key=lambda item: -sum(item[1])):
        ninth = statistics.quantiles(values, n=10)[-1] if len(values) > 1 else values[0]
        per_turn = sum(values) / options.rounds
        middle = statistics.median(values)
        table.add_row(
            name, f"{len(values) / options.rounds:.1f}", f"{middle:.3f}", f"{ninth:.3f}", f"{per_turn:.3f}"
        )
    CONSOLE.print(table)


def _show_functions(options: argparse.Namespace, lane: lanes.Lane, profiler: Profiler) -> None:
    profiler.start()
    for _ in range(options.rounds):
        lane.ready()
        lane.play()
    lines = profiler.stop()
    scale = 1000 / options.rounds
    packages: dict[str, float] = defaultdict(float)
    for label, line in lines.items():
        packages[_package(label)] += line.own
    table = Table("package or module", f"own {options.clock} ms/turn")
    for name, own in sorted(packages.items(), key=lambda item: -item[1])[:18]:
        table.add_row(name, f"{own * scale:.3f}")
    CONSOLE.print(table)
    table = Table("function", "calls/turn", f"own {options.clock} ms/turn", "with callees")
    shown = [(label, line) for label, line in lines.items() if options.all or "threadkeep/" in label]
    for label, line in sorted(shown, key=lambda item: -item[1].own)[: options.top]:
        calls = f"{line.calls / options.rounds:.1f}"
        table.add_row(label, calls, f"{line.own * scale:.3f}", f"{line.total * scale:.3f}")
    CONSOLE.print(table)
    CONSOLE.print(
        f"{len(profiler.profiles)} threads. cProfile adds its own cost to every call: compare, do not add up"
    )


def _open(saver: str, path: Path, plan: lanes.Plan) -> lanes.Lane:
    if saver == "memory":
        return lanes.threadkeep(None, plan)
    return OPEN[saver](path, plan)


def _filled(options: argparse.Namespace, path: Path, plan: lanes.Plan) -> lanes.Lane:
    lane = _open(options.saver, path, plan)
    with CONSOLE.status(f"playing {options.turns} turns"):
        if lane.memory is None:
            lane.prefill(options.turns)
        lane.live(options.turns)
    return lane


def _clocks(options: argparse.Namespace, scratch: Path, plan: lanes.Plan) -> None:
    """Show the first two views, with no profile running."""
    lane, floor = _filled(options, scratch / "clocks.db", plan), lanes.floor(plan)
    floor.prefill(options.turns)
    commit = EmptyCommit(scratch)
    _show_turns(options.rounds, lane, floor, commit)
    commit.close()
    _show_methods(options, lane, Meter(lane.graph.checkpointer))
    lane.close()


def _profile(options: argparse.Namespace, scratch: Path, plan: lanes.Plan) -> None:
    """Show the third view, on a saver opened under the profile so that its own threads are in it."""
    profiler = Profiler(options.clock == "cpu")
    lane = _filled(options, scratch / "profile.db", plan)
    _show_functions(options, lane, profiler)
    lane.close()


def main() -> None:
    """Play a thread to `--turns`, then look at the turns that follow."""
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=30, help="turns looked at, in each view")
    parser.add_argument("--top", type=int, default=40, help="functions shown")
    parser.add_argument("--clock", choices=("cpu", "wall"), default="cpu")
    parser.add_argument("--all", action="store_true", help="functions of all packages, not only ours")
    parser.add_argument("--async", dest="asynchronous", action="store_true", help="ainvoke instead of invoke")
    parser.add_argument("--saver", choices=("memory", *OPEN), default="threadkeep")
    parser.add_argument(
        "--scratch", type=Path, help="directory for the database; on a RAM disk fsync is free"
    )
    options = parser.parse_args()
    plan = lanes.Plan(seed="profile", loop=lanes.Loop() if options.asynchronous else None)
    with tempfile.TemporaryDirectory(prefix="threadkeep-bench-", dir=options.scratch) as directory:
        _clocks(options, Path(directory), plan)
        _profile(options, Path(directory), plan)


if __name__ == "__main__":
    main()
