"""`threadkeep view` and the money in `threadkeep usage`."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

import threadkeep
from tests.cli.kit import document, error, run, said
from threadkeep.adapters.agents.recorder import recording
from threadkeep.testing.models import Reporting


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with a thread of two recorded calls: an answer, and a summary that failed."""
    url = f"sqlite:///{tmp_path / 'view.db'}"
    with threadkeep.open(url) as memory:
        thread = memory.threads.get("t")
        said = [HumanMessage(f"question {n} with \x1b[31mcolour", id=f"m{n}") for n in range(4)]
        thread.append(said)
        model = Reporting(name="gpt-5-mini", provider="openai")
        reasons = ["left out by Window, generation 2", "left out by Window, generation 2", "kept", "kept"]
        with recording(thread, source=said, reasons=reasons, policy="Window"):
            model.invoke([SystemMessage("Be kind."), *said[2:]], tools=[{"name": "look_up"}])
        with recording(thread, purpose="summary"), pytest.raises(RuntimeError):
            Reporting(name="gpt-5-mini", provider="openai", fails=1).invoke(said[:2])
        memory.record_usage("t", AIMessage("nothing", id="x"), model="nobody's")
    return url


def test_what_the_model_saw_and_why_not_the_rest(url: str) -> None:
    text = said("view", "t", "1", "--db", url)
    lines = text.splitlines()
    assert lines[0] == "t  call 1"
    assert lines[1].startswith("gpt-5-mini · answer · 100 tokens in, 20 out · $0.0")
    assert " · 3 messages · Window · " in lines[1]
    assert "  1 system" in text
    assert "question 2 with \\x1b[31mcolour" in text
    assert "tools: look_up" in lines
    assert "of the state's 4 messages, 2 were sent as they are" in lines
    assert lines[-1].startswith("   2 human  left out by Window, generation 2  question 1 with \\x1b")


def test_a_view_as_json(url: str) -> None:
    found = document("view", "t", "1", "--db", url)
    assert (found["thread_id"], found["owner"], found["policy"]) == ("t", "", "Window")
    assert (found["call"]["number"], found["call"]["input_tokens"], found["call"]["source"]) == (
        1,
        100,
        "recorder",
    )
    assert [message["id"] for message in found["messages"]] == [None, "m2", "m3"]
    assert found["tools"] == [{"name": "look_up"}]
    assert found["reasons"][1] == {
        "position": 2,
        "message_id": "m1",
        "reason": "left out by Window, generation 2",
    }


def test_a_call_that_failed_and_one_nobody_saw(url: str) -> None:
    text = said("view", "t", "2", "--db", url)
    assert " · summary, failed · RuntimeError · tokens unknown · " in text.splitlines()[1]
    assert "of the state's" not in text
    result = run("view", "t", "3", "--db", url)
    assert result.exit_code == 0
    assert "What was sent is not known" in result.stderr


@pytest.mark.parametrize("number", ["0", "4", "-1"])
def test_a_call_that_is_not_there(url: str, number: str) -> None:
    assert error("view", "t", "--db", url, "--", number).startswith(
        f"thread 't' has no call {number}; calls() and"
    )


def test_usage_with_purposes_and_money(url: str) -> None:
    lines = [line.split() for line in said("usage", "t", "--db", url).splitlines()]
    assert lines[0] == ["MODEL", "FOR", "CALLS", "INPUT", "OUTPUT", "CACHE", "READ", "PRICE"]
    assert lines[1][:6] == ["gpt-5-mini", "answer", "1", "100", "20", "40"]
    assert lines[2] == ["gpt-5-mini", "summary", "1", "?", "?", "?", "?"]
    assert lines[-1][:4] == ["all", "3", "100", "20"]
    result = run("usage", "t", "--db", url)
    assert "2 calls reported no tokens; what they took is unknown." in result.stderr
    assert "2 calls have no known price and are not in the sum." in result.stderr


def test_every_call_with_what_it_was_for(url: str) -> None:
    lines = [line.split() for line in said("usage", "t", "--db", url, "--calls").splitlines()]
    assert [line[0] for line in lines] == ["CALL", "1", "2", "3"]
    assert lines[2][4:6] == ["summary,", "failed"]
