"""Kill writers at random moments; what they were promised is there, and every thread goes on."""

from __future__ import annotations

import gc
import os
import random
import selectors
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.ledger import Ledger
from tests.faults.writers import Writer

ROUNDS_PER_DATABASE = 8
LONGEST = 60.0


@pytest.mark.parametrize("mode", ["sync", "async", "exit"])
def test_kill_9(mode: str, kills: int, quick_place: Path, seed: int, say: Callable[[str], None]) -> None:
    """Nothing that was promised is lost, whenever the process dies, and however many write."""
    say(f"{mode}: {kills} kills, FAULTS_SEED={seed}")
    rng = random.Random(f"{seed} {mode}")
    started = shown = time.monotonic()
    done = promises = reused = rounds = 0
    # The collector would copy every page of the parent into each child.
    gc.collect()
    gc.freeze()
    ledger = Ledger("", mode)
    while done < kills:
        if rounds % ROUNDS_PER_DATABASE == 0:
            promises, reused = promises + ledger.promises, reused + ledger.reused
            ledger = Ledger(f"sqlite:///{quick_place}/{rounds}.db", mode)
        done += one_round(rng, ledger, rounds, min(rng.choice([1, 2, 2, 3, 4]), kills - done))
        rounds += 1
        if time.monotonic() - shown > 5:
            shown = time.monotonic()
            say(f"{mode}: {done} of {kills} kills, {shown - started:.0f} s")
    gc.unfreeze()
    promises, reused = promises + ledger.promises, reused + ledger.reused
    each = (time.monotonic() - started) / done * 1000
    say(
        f"{mode}: {done} kills, {promises} stored pieces were promised, none lost; {reused} results of "
        f"finished tools used again; {each:.0f} ms a kill"
    )
    assert promises > done


def one_round(rng: random.Random, ledger: Ledger, number: int, count: int) -> int:
    """Start writers, kill each at a moment of its own, and check after each kill and after the last."""
    writers = [start(rng, ledger, f"{number}.{n}", n) for n in range(count)]
    try:
        kill_each(rng, ledger, writers)
    finally:
        for writer in writers:
            if not writer.dead:
                writer.kill()
    threads = [writer.args[0] for writer in writers if writer.role == "agent"]
    ledger.check(rng, turn_on=rng.choice(threads) if threads else None)
    return count


def kill_each(rng: random.Random, ledger: Ledger, writers: list[Writer]) -> None:
    moments = {writer.pipe: moment(rng, 3 if ledger.mode == "exit" else 1) for writer in writers}
    with selectors.DefaultSelector() as selector:
        for writer in writers:
            selector.register(writer.pipe, selectors.EVENT_READ, writer)
        while selector.get_map():
            for key, _ in selector.select(0.001):
                key.data.hear()
            for key in list(selector.get_map().values()):
                writer, (lines, seconds) = key.data, moments[key.fd]
                if len(writer.heard) >= lines:
                    selector.unregister(key.fd)
                    time.sleep(seconds)
                    assert os.WTERMSIG(writer.kill()) == signal.SIGKILL
                    ledger.enter(writer.heard)
                    ledger.check_one(writer.args[0], writer.heard)
                assert time.monotonic() - writer.started < LONGEST, (writer.role, writer.heard[-3:])


def moment(rng: random.Random, fewer: int) -> tuple[int, float]:
    """After how many lines of a writer it is killed, and how many seconds later; a turn has about 20."""
    if rng.random() < 0.15:
        # While it opens the database.
        return 0, rng.uniform(0, 0.012)
    return rng.randint(1, rng.choice([8, 16, 40]) // fewer), rng.uniform(0, 0.002)


def start(rng: random.Random, ledger: Ledger, name: str, place: int) -> Writer:
    """Start a writer: mostly an agent with a thread of its own."""
    role = rng.choice(["agent", "agent", "agent", "append", "upkeep"])
    if role == "agent":
        return Writer(ledger.url, role, f"agent{place}", ledger.mode)
    if role == "append":
        return Writer(ledger.url, role, "log", name)
    return Writer(ledger.url, role, f"keep{name}")
