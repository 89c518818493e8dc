"""What planning a view costs: `python -m bench.planning`.

One conversation of 2,000 messages, every policy. "First" plans a conversation that nothing is known of, "again" the
same once more, "next turn" the one that came after four more messages, with the former view given. Processor time.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from langchain_core.messages import BaseMessage
from rich.console import Console
from rich.table import Table

from bench.scenario import Script
from threadkeep.context import (
    Buffer,
    Entities,
    HeadTail,
    Media,
    Offload,
    Policy,
    SummaryBuffer,
    ToolResults,
    Window,
)

GOAL = 5.0
"""Milliseconds, for 2,000 messages."""


def policies() -> dict[str, Policy]:
    """Return the policies looked at, by what the table calls them."""
    return {
        "Buffer()": Buffer(),
        "Window(messages=20)": Window(messages=20),
        "Window(tokens=4000)": Window(tokens=4000),
        "SummaryBuffer()": SummaryBuffer(),
        "HeadTail(head=4, tail=20)": HeadTail(head=4, tail=20),
        "Offload()": Offload(),
        "ToolResults(keep=3)": ToolResults(keep=3),
        "Media() | Window(messages=20)": Media() | Window(messages=20),
        "Entities()": Entities(),
    }


def conversation(messages: int) -> list[BaseMessage]:
    """Return a conversation of an agent that calls a tool in every turn, of at least this many messages."""
    script = Script("planning", "plain")
    found: list[BaseMessage] = []
    turn = 0
    while len(found) < messages:
        found += script.messages(turn)
        turn += 1
    return found


def milliseconds(action: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the median time of an action, and what it returned last."""
    times, result = [], None
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        result = action()
        times.append((time.process_time() - start) * 1000)
    return statistics.median(times), result


def measure(policy: Policy, said: list[BaseMessage], more: list[BaseMessage], rounds: int) -> list[float]:
    """Return the milliseconds of the first view, of the same again, and of the next turn's."""
    start = time.process_time()
    view = policy.view(said)
    first = (time.process_time() - start) * 1000
    again, view = milliseconds(lambda: policy.view(said, previous=view), rounds)
    nexts = []
    for number in range(rounds):
        said = [*said, *more[4 * number : 4 * number + 4]]
        start = time.process_time()
        view = policy.view(said, previous=view)
        nexts.append((time.process_time() - start) * 1000)
    return [first, again, statistics.median(nexts)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.planning", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    everything = conversation(options.messages + 4 * options.rounds + 4)
    said, more = everything[: options.messages], everything[options.messages :]
    Buffer().view(said[:100])  # what is loaded and compiled at the first view is not planning
    table = Table("policy", "first ms", "again ms", "next turn ms", f"goal ≤ {GOAL:g} ms")
    for name, policy in policies().items():
        first, again, following = measure(policy, said, more, options.rounds)
        met = "met" if following <= GOAL else "missed"
        table.add_row(name, f"{first:.1f}", f"{again:.2f}", f"{following:.2f}", met)
    console = Console(width=120)
    console.print(f"{options.messages:,} messages; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    console.print(table)


if __name__ == "__main__":
    main()
