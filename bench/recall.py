"""How much the demo model remembers, and whether it admits what it was not told: `python -m bench.recall`.

Every conversation is a thread in a memory of its own process; the model sees what the thread holds.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import threadkeep
from bench.facts import HELD_OUT, TUNING, Fact
from threadkeep.adapters.local import LocalChat
from threadkeep.adapters.local_lead import NOT_TOLD
from threadkeep.memory import Memory

SETS = {"tuning": TUNING, "held-out": HELD_OUT}
BLOCK = 10
"""Facts that are told to one thread."""


@dataclass
class Score:
    """How often something was as it should be, and the answers where it was not."""

    label: str
    right: int = 0
    wrong: list[str] = field(default_factory=list)

    def count(self, right: bool, note: str) -> None:
        if right:
            self.right += 1
        else:
            self.wrong.append(note)

    def line(self) -> str:
        return f"  {self.label:<58} {self.right:>3} of {self.right + len(self.wrong)}"


class Conversations:
    """Threads in which messages are said and answered."""

    def __init__(self, memory: Memory, model: LocalChat) -> None:
        self._memory = memory
        self._model = model
        self._count = 0

    def begin(self, *facts: Fact) -> str:
        """Begin a thread in which facts are told, and return its id."""
        self._count += 1
        for fact in facts:
            self.say(str(self._count), fact.said)
        return str(self._count)

    def say(self, thread_id: str, text: str) -> str:
        thread = self._memory.threads.get(thread_id)
        thread.append([("user", text)])
        answer = self._model.invoke(thread.messages())
        thread.append([answer])
        return str(answer.text)


def measure(facts: Sequence[Fact], talk: Conversations) -> list[Score]:
    """Tell facts, one or ten to a thread, and ask for them and for others."""
    alone = Score("one fact told, then asked for: recalled")
    fresh = Score("asked in a fresh thread: said it was not told")
    other = Score("asked where another fact was told: said it was not told")
    many = Score(f"{BLOCK} facts told, then all asked for: recalled")
    untold = Score(f"{BLOCK} facts told, others asked for: said it was not told")
    for place, fact in enumerate(facts):
        answer = talk.say(talk.begin(fact), fact.asked)
        alone.count(_holds(answer, fact), f"{fact.said} {fact.asked} -> {answer}")
        answer = talk.say(talk.begin(), fact.asked)
        fresh.count(answer == NOT_TOLD, f"{fact.asked} -> {answer}")
        neighbour = facts[(place + 7) % len(facts)]
        answer = talk.say(talk.begin(neighbour), fact.asked)
        other.count(answer == NOT_TOLD, f"{neighbour.said} {fact.asked} -> {answer}")
    blocks = [facts[place : place + BLOCK] for place in range(0, len(facts), BLOCK)]
    for place, block in enumerate(blocks):
        asked, beside = talk.begin(*block), talk.begin(*block)
        for fact in block:
            answer = talk.say(asked, fact.asked)
            many.count(_holds(answer, fact), f"{fact.asked} -> {answer}")
        for fact in blocks[(place + 1) % len(blocks)]:
            answer = talk.say(beside, fact.asked)
            untold.count(answer == NOT_TOLD, f"{fact.asked} -> {answer}")
    return [alone, fresh, other, many, untold]


def _holds(answer: str, fact: Fact) -> bool:
    return re.search(fact.answer, answer.lower()) is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--set", choices=[*SETS, "all"], default="all", help="which facts")
    parser.add_argument("--wrong", action="store_true", help="print the answers that were wrong")
    chosen = parser.parse_args()
    model = LocalChat()
    model.load()
    for name in SETS if chosen.set == "all" else (chosen.set,):
        began = time.perf_counter()
        with threadkeep.open("memory://") as memory:
            scores = measure(SETS[name], Conversations(memory, model))
        print(f"{name}: {len(SETS[name])} facts, {time.perf_counter() - began:.0f} s")
        for score in scores:
            print(score.line())
            print("".join(f"      {note}\n" for note in score.wrong if chosen.wrong), end="", flush=True)


if __name__ == "__main__":
    main()
