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
    assert len(PROGRAMS) == 6
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
    answers = lines[2::3]
    assert answers == [
        "Noted.",
        "That is Ivan and Petro.",
        "That is Olena.",
        "That is Petro.",
        "That is nobody.",
        "Your name is Marta.",
    ]
    status = lines[3::3]
    assert len(status) == 6
    assert re.fullmatch(
        r"  turn 2 · 6 messages · 8 checkpoints · \d+ tokens in, \d+ out · [\d,]+ KiB", status[1]
    )
    assert status[-1].startswith("  turn 6 · 20 messages · 26 checkpoints")
    # The same name goes on, and another starts from nothing.
    again = run("shift_assistant", "marta", *db, "--ask", "What is my name?")
    assert again[0] == "thread 'marta': 6 turns so far"
    assert again[2] == "Your name is Marta."
    assert again[3].startswith("  turn 7 · 22 messages · 29 checkpoints")
    other = run("shift_assistant", "ivan", *db, "--ask", "What is my name?")
    assert (other[0], other[2]) == ("thread 'ivan': new", "You have not told me that.")


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
