"""The main job end to end: the real demo model, each chat in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import threadkeep
from threadkeep.adapters.local_lead import NOT_TOLD

pytestmark = pytest.mark.model
_PATIENCE = 300
"""Seconds that a chat may take on a machine that does other things too."""


@dataclass
class Chatted:
    """What a chat printed, and what followed each typed line, the line about the thread apart."""

    out: str
    err: str
    status: int

    def answer(self, line: str) -> str:
        after = self.out.split(f"> {line}\n", 1)[1]
        return after.split("\n", 1)[0]

    def turns(self) -> list[str]:
        return [line for line in self.out.splitlines() if line.startswith("turn ")]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'chat.db'}"


def chat(url: str, thread: str, *lines: str, options: tuple[str, ...] = ()) -> Chatted:
    """Hold a chat in a new process, these lines piped into it."""
    command = [sys.executable, "-c", "from threadkeep.cli import main; main()", "chat"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("THREADKEEP_")}
    done = subprocess.run(
        [*command, "--db", url, "--thread", thread, *options],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        env=environment,
    )
    return Chatted(done.stdout, done.stderr, done.returncode)


@pytest.mark.parametrize(
    ("fact", "question", "value"),
    [
        ("My locker number is 4471.", "What is my locker number?", "4471"),
        ("My brother Stellan lives in Porto.", "Where does my brother live?", "Porto"),
    ],
)
def test_a_fact_survives_the_process_and_stays_in_its_thread(
    url: str, fact: str, question: str, value: str
) -> None:
    told = chat(url, "mine", fact)
    asked = chat(url, "mine", question)
    fresh = chat(url, "other", question)

    for held in (told, asked, fresh):
        assert (held.status, held.err) == (0, "")
        assert "tiny demo model" in held.out.splitlines()[0]
    assert "a new thread" in told.out and value in told.answer(fact)
    assert "continuing: 2 messages" in asked.out and value in asked.answer(question)
    assert "a new thread" in fresh.out and fresh.answer(question) == NOT_TOLD
    assert value not in fresh.out


def test_the_line_about_the_thread_has_the_models_own_counts(url: str) -> None:
    held = chat(url, "t", "My horse is named Kestrel.", "What is my horse named?")
    first, second = held.turns()
    shape = (
        r"turn (\d) · (\d) messages · (\d) checkpoints · (\d+) tokens in \((\d+) cached\), (\d+) out · .*B"
    )
    one, two = (
        [int(number) for number in match.groups()]
        for match in (re.fullmatch(shape, first), re.fullmatch(shape, second))
        if match is not None
    )
    assert one[:3] == [1, 2, 3] and two[:3] == [2, 4, 6]
    assert two[3] > one[3] > one[4] > 100, "the examples are in front, and cached before the first message"
    assert one[5] > 0 and two[5] > 0
    with threadkeep.open(url) as memory:
        usage = memory.threads.get("t").usage()
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (2, one[3] + two[3], one[5] + two[5])
    assert usage.cache_read_tokens == one[4] + two[4]


def test_the_examples_never_enter_the_thread(url: str) -> None:
    chat(url, "t", "My horse is named Kestrel.")
    with threadkeep.open(url) as memory:
        thread = memory.threads.get("t")
        assert [message.type for message in thread.messages()] == ["human", "ai"]
        assert [message.type for message in thread.state().values["messages"]] == ["human", "ai"]


def test_a_fact_that_left_the_view_is_answered_from_its_summary(url: str) -> None:
    told = (
        "My locker number is 4471.",
        "My bicycle is green.",
        "My sister Olena lives in Lviv.",
        "My doctor is called Petrenko.",
    )
    policy = ("--policy", "summary-buffer:messages=6,keep=2")
    chat(url, "policy", *told, options=policy)
    again = chat(url, "policy", "What is my locker number?", "What is my shoe size?", options=policy)
    assert "4471" in again.answer("What is my locker number?")
    assert again.answer("What is my shoe size?") == NOT_TOLD
    forgetful = chat(url, "policy", "What is my locker number?", options=("--policy", "window:messages=2"))
    assert forgetful.answer("What is my locker number?") == NOT_TOLD
    with threadkeep.open(url) as memory:
        thread = memory.threads.get("policy")
        assert len(thread.messages()) == 14
        sent = thread.call(5).messages
        assert sent is not None and "4471" in sent[0].text and len(sent) < 9
