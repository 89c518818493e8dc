"""Every example runs as a script, and shows what it says it shows."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import threadkeep

FOLDER = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "example_model")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """Run an example in this process, as `python examples/NAME.py ARGS` would, and return its lines."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delenv("THREADKEEP_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(name: str, *arguments: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
        out, err = capsys.readouterr()
        assert err == ""
        lines = out.splitlines()
        scripted = "--model" not in arguments
        assert lines[0].startswith("(a scripted stand-in answers") is scripted
        return lines[1:] if scripted else lines

    return run


def test_every_program_has_a_test_and_a_line_in_the_readme() -> None:
    assert len(PROGRAMS) == 11
    readme = (FOLDER / "README.md").read_text()
    for name in PROGRAMS:
        assert f"`{name}.py`" in readme
        assert f"test_{name}" in globals()


def test_two_threads(run: Any) -> None:
    lines = run("two_threads")
    assert "[anna]   Your bicycle is green." in lines
    assert "[ben]   You have not told me that." in lines
    assert lines[-2:] == ["ben: 2 messages, 3 checkpoints", "anna: 4 messages, 6 checkpoints"]


def test_reading_checkpoints(run: Any) -> None:
    lines = run("reading_checkpoints")
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[1:6]]
    assert [row[:3] for row in rows] == [
        ["-1", "input", "__start__"],
        ["0", "loop", "model"],
        ["1", "loop", "tools"],
        ["2", "loop", "model"],
        ["3", "loop", "(end)"],
    ]
    ids, parents = [row[3] for row in rows], [row[4] for row in rows]
    assert parents == ["-", *ids[:-1]]
    assert len(set(ids)) == 5
    assert [row[5] for row in rows] == ["0", "1", "2", "3", "4"]
    assert lines[6] == "5 checkpoints; the newest says: It is about 720,000."


def test_two_sessions(run: Any) -> None:
    lines = run("two_sessions")
    assert [line for line in lines if line.startswith("durability")] == [
        "durability=sync",
        "durability=exit",
    ]
    assert lines.count("    It is under the blue pot.") == 2
    counts = [line.split(",")[0].strip() for line in lines if "checkpoints" in line]
    assert counts == [
        "2 messages in 3 checkpoints",
        "4 messages in 6 checkpoints",
        "2 messages in 1 checkpoints",
        "4 messages in 2 checkpoints",
    ]
    sizes = [int(re.sub(r"\D", "", line.split(",", 1)[1])) for line in lines if "on disk" in line]
    assert all(size > 0 for size in sizes)


def test_growing_input(run: Any) -> None:
    lines = run("growing_input", "--turns", "6")
    rows = [[int(cell) for cell in line.split()] for line in lines[1:7]]
    assert [row[:2] for row in rows] == [[turn, 2 * turn] for turn in range(1, 7)]
    inputs = [row[2] for row in rows]
    assert inputs == sorted(set(inputs))
    assert [row[4] for row in rows] == [sum(inputs[: n + 1]) for n in range(6)]


def test_business_state(run: Any) -> None:
    lines = run("business_state")
    assert "  Olena has 2 tea, 1 honey for 17 euros." in lines
    changes = [line.split(": ", 1)[1] for line in lines if line.startswith("  step")]
    assert changes == ["{}, total 0", "{'tea': 2}, total 8", "{'tea': 2, 'honey': 1}, total 17"]


def test_shift_assistant(run: Any) -> None:
    db = ("--db", "sqlite:///shifts.db")
    lines = run("shift_assistant", "marta", *db)
    assert lines[0] == "thread 'marta': new"
    answers = lines[2:-1:3]
    assert answers == [
        "Noted.",
        "That is Ivan and Petro.",
        "That is Olena.",
        "That is Petro.",
        "That is nobody.",
        "Your name is Marta.",
    ]
    status = lines[3:-1:3]
    assert len(status) == 6
    assert re.fullmatch(
        r"  turn 2 · 6 messages · 8 checkpoints · \d+ tokens in, \d+ out · [\d,]+ KiB", status[1]
    )
    assert status[-1].startswith("  turn 6 · 20 messages · 26 checkpoints")
    assert re.match(r"summary of (1[3-9]|2\d) messages: .*My name is Marta\.", lines[-1])
    assert len(lines[-1]) <= 230
    # The same name goes on, and another starts from nothing.
    again = run("shift_assistant", "marta", *db, "--ask", "What is my name?")
    assert again[0] == "thread 'marta': 6 turns so far"
    assert again[2] == "Your name is Marta."
    assert again[3].startswith("  turn 7 · 22 messages · 29 checkpoints")
    other = run("shift_assistant", "ivan", *db, "--ask", "What is my name?")
    assert (other[0], other[2]) == ("thread 'ivan': new", "You have not told me that.")
    assert other[-1] == "no summary yet"


def test_context_policies(run: Any) -> None:
    lines = run("context_policies")
    blocks = {lines[n].split(":")[0]: lines[n + 1 : n + 4] for n in range(0, len(lines), 4)}
    known = {name for name, told in blocks.items() if told[0] == "  the badge number? It is 7315."}
    assert known == set(blocks) - {"window"}
    assert blocks["window"][0] == "  the badge number? You have not told me that."
    assert blocks["buffer"][1].endswith("of the thread's: 37 kept")
    for name, word in {
        "window": "left out",
        "summary": "summarised",
        "summary_buffer": "summarised",
        "head_tail": "left out",
        "offload": "offloaded",
        "tool_results": "cleared",
        "media": "replaced",
        "composed": "summarised",
    }.items():
        assert re.search(rf"\d {word}", blocks[name][1]), name
    # The record is whole under each of them; the one that searches for the number has a call more.
    assert [told[2].split("has ")[1] for told in blocks.values()] == [
        f"{40 if name == 'offload' else 38} messages" for name in blocks
    ]
    spent = {name: int(told[2].split()[0]) for name, told in blocks.items()}
    assert all(spent[name] < 0.7 * spent["buffer"] for name in set(blocks) - {"buffer", "media"})


def test_one_context_policy(run: Any) -> None:
    assert len(run("context_policies", "window")) == 4
    with pytest.raises(SystemExit):
        run("context_policies", "windows")


def test_own_policy(run: Any) -> None:
    lines = run("own_policy")
    assert "I see 3 messages and 1 pictures." in lines, "the open turn keeps its question"
    assert "I see 6 messages and 0 pictures." in lines
    assert "  3 human: left out by words_only" in lines
    assert "  1 human: kept" in lines


def test_budget(run: Any) -> None:
    lines = run("budget")
    assert all(int(line.split()[2]) <= 600 for line in lines[:-1])
    assert len(lines) > 3 and "no call was made. the budget of thread 'rivers'" in lines[-1]
    assert len(run("budget", "--tokens", "100000")) == 20


def test_plain_loop(run: Any) -> None:
    lines = run("plain_loop")
    assert lines[-3:-1] == ["It is green.", "  sent 3 of 11 messages"]
    sent = [int(line.split()[1]) for line in lines if line.startswith("  sent")]
    assert max(sent) <= 6


def test_simulate_file(run: Any, tmp_path: Path) -> None:
    rows = {line.split()[0]: line.split()[1:] for line in run("simulate_file")[1:]}
    inputs = {name: int(row[1].replace(",", "")) for name, row in rows.items()}
    assert inputs["summary-buffer:tokens=2000,keep=10"] < 0.6 * inputs["buffer"]
    assert rows["buffer"][4] == rows["buffer"][6], "everything is in the view"
    path = tmp_path / "mine.json"
    path.write_text('[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]')
    assert run("simulate_file", str(path), "--policy", "window:messages=4")[1].split()[:2] == [
        "window:messages=4",
        "1",
    ]


def test_an_example_runs_from_the_command_line_twice(tmp_path: Path) -> None:
    """Two processes and one file: the thread is what the second one finds."""
    said = []
    for question in ("My name is Olena.", "What is my name?"):
        command = [
            sys.executable,
            "-W",
            "error",
            str(FOLDER / "shift_assistant.py"),
            "a b",
            "--ask",
            question,
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        said.append(done.stdout.splitlines()[3])
    assert said == ["Noted.", "Your name is Olena."]
    assert (tmp_path / "shifts.db").exists()


def test_an_unknown_model_is_named(run: Any) -> None:
    with pytest.raises(Exception, match="nonesuch"):
        run("two_threads", "--model", "nonesuch:model")


def test_a_model_that_calls_no_tools_says_so(run: Any) -> None:
    with pytest.raises(threadkeep.ConfigurationError, match="cannot call tools"):
        run("business_state", "--model", "local")


@pytest.mark.model
def test_the_local_model(run: Any) -> None:
    lines = run("two_threads", "--model", "local")
    answers = [line for line in lines if "]   " in line]
    assert "green" in answers[1]
    assert "green" not in answers[2]
