"""What all commands have in common: help, errors, pipes, terminals, encodings."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.main import get_command

import threadkeep
from tests.cli.kit import command, environment, error, process, run, said, terminal, unstyled
from threadkeep.cli import app

READING = {
    "threads": [],
    "show": ["weather"],
    "history": ["weather"],
    "diff": ["weather", "1", "2"],
    "usage": ["weather"],
    "view": ["weather", "1"],
    "simulate": ["weather"],
    "stats": [],
    "copy": ["weather", "again"],
    "delete": ["weather", "--yes"],
    "prune": ["--yes"],
    "compact": [],
    "doctor": [],
}
"""Every command that needs a database, with arguments that fit."""


def every_command() -> list[str]:
    return list(get_command(app).commands)  # type: ignore[attr-defined]


# help


def test_version() -> None:
    assert said("--version") == f"threadkeep {version('threadkeep')}\n"


def test_help_names_every_command_in_one_line() -> None:
    text = said("--help")
    assert text == said()
    listed = text.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in listed] == every_command()
    assert all(line.endswith(".") and not line.endswith("...") for line in listed), "no summary is cut"
    assert max(map(len, text.splitlines())) <= 80


def test_every_command_that_needs_a_database_is_tested_here() -> None:
    assert set(READING) == set(every_command()) - {"chat", "schema"}


@pytest.mark.parametrize("name", every_command())
def test_every_command_has_a_help(name: str) -> None:
    text = said(name, "--help")
    assert text.startswith(f"Usage: threadkeep {name} [OPTIONS]")
    assert text == said(name, "-h")
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", READING)
def test_common_options(name: str) -> None:
    text = said(name, "--help")
    assert "THREADKEEP_DB" in text
    assert "--json" in text
    assert ("--owner" in text) == (name != "compact")


# mistakes


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nope"], "No such command 'nope'; `threadkeep --help` says what is possible"),
        (["thread"], "Did you mean 'threads'"),
        (["--nope"], "No such option: --nope; `threadkeep --help` says what is possible"),
        (["threads", "--nope"], "No such option: --nope"),
        (["show"], "Missing argument 'THREAD'; `threadkeep show --help` says what is possible"),
        (["diff", "t", "1"], "Missing argument 'B'"),
        (["copy", "t"], "Missing argument 'TARGET'"),
        (["delete"], "Missing argument 'THREAD"),
        (["show", "a", "b"], "unexpected extra argument"),
        (["threads", "--limit", "x"], "Invalid value for '--limit': 'x' is no whole number"),
        (["threads", "--limit", "0"], "Invalid value for '--limit': 0 is too few, give 1 or more"),
        (["threads", "--limit"], "requires an argument"),
        (["show", "t", "--branch", "one"], "Invalid value for '--branch': 'one' is no whole number"),
        (["show", "t", "--last", "-1"], "Invalid value for '--last': -1 is too few"),
        (["show", "t", "--checkpoint", "1", "--branch", "0"], "leave --branch and --last out"),
        (
            ["threads", "--metadata", "team"],
            "--metadata is 'team'; give key=value, as in --metadata team=support",
        ),
        (["threads", "--metadata", "=x"], "--metadata is '=x'; give key=value"),
        (["threads", "--since", "yesterday"], "--since is 'yesterday'; give a date like 2026-11-30"),
        (["threads", "--cursor", "x"], "cursor 'x' is none that a page gave"),
        (["history", "weather", "--cursor", "x"], "cursor 'x' is none that a page gave"),
        (["threads", "--owner"], "requires an argument"),
        (["prune", "--older-than", "x"], "--older-than is 'x'; give a number with a unit"),
        (["show", "a\nb\x1b[31m"], "there is no thread 'a\\nb\\x1b[31m'"),
    ],
)
def test_mistakes_are_one_line(db: str, arguments: list[str], line: str) -> None:
    assert line in error(*arguments, env={"THREADKEEP_DB": db})


@pytest.mark.parametrize("name", READING)
def test_a_missing_database_is_not_made(tmp_path: Path, name: str) -> None:
    url = f"sqlite:///{tmp_path / 'none.db'}"
    line = error(name, *READING[name], "--db", url)
    assert line == (
        f"there is no database at '{tmp_path / 'none.db'}'; `threadkeep chat --db {url}` begins one, "
        "--db or THREADKEEP_DB names another"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", READING)
def test_another_programs_database_is_left_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / "notes.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    before = path.read_bytes()
    line = error(name, *READING[name], "--db", f"sqlite:///{path}")
    assert line == f"'{path}' is a database without Threadkeep's tables; --db or THREADKEEP_DB names another"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", READING)
def test_a_file_that_is_no_database(tmp_path: Path, name: str) -> None:
    path = tmp_path / "diary.txt"
    path.write_text("dear diary, " * 100)
    line = error(name, *READING[name], "--db", f"sqlite:///{path}")
    assert line.startswith(f"'{path}' is not a SQLite database, or is damaged (")
    assert line.endswith("choose another file, or restore a backup")


def test_a_truncated_database(db: str, path: Path) -> None:
    os.truncate(path, 5000)
    assert "is damaged" in error("threads", "--db", db)


def test_a_newer_database(db: str, path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    connection.commit()
    connection.close()
    assert "was written by a newer Threadkeep (schema 99" in error("threads", "--db", db)


def test_a_folder(tmp_path: Path) -> None:
    line = error("threads", "--db", f"sqlite:///{tmp_path}")
    assert line.startswith(f"cannot open '{tmp_path}'")


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("threads.db", "cannot open 'threads.db': this version knows sqlite:///relative.db"),
        ("sqlite://threads.db", "two slashes where a file takes three"),
        ("sqlite:///", "names no file; write sqlite:///relative.db"),
        ("sqlite:///x.db?mode=ro", "has options after '?'"),
        ("sqlite://[x", "cannot be"),
        ("memory://", "lives within one process, so a command finds it empty; name a file"),
        ("oracle://host/db", "cannot open 'oracle://host/db'"),
        ("", "cannot open ''"),
        ("sqlite:///" + "x" * 5000, "File name too long"),
    ],
)
def test_urls_that_cannot_be_used(url: str, line: str) -> None:
    assert line in error("threads", "--db", url)


@pytest.fixture
def sealed(path: Path) -> Iterator[Path]:
    """A database whose permissions a test may take away; given back for its removal."""
    yield path
    path.parent.chmod(0o755)
    path.chmod(0o644)


def test_a_file_that_may_not_be_read(sealed: Path) -> None:
    sealed.chmod(0)
    done = process("threads", "--db", f"sqlite:///{sealed}", unprivileged=True)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"Error: cannot open '{sealed}' (unable to open database file); check that")


def test_a_folder_that_may_not_be_read(sealed: Path) -> None:
    sealed.parent.chmod(0)
    done = process("threads", "--db", f"sqlite:///{sealed}", unprivileged=True)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "(Permission denied); check the permissions" in line


def test_a_file_that_may_not_be_written(sealed: Path) -> None:
    sealed.chmod(0o444)
    sealed.parent.chmod(0o555)
    done = process("delete", "weather", "--yes", "--db", f"sqlite:///{sealed}", unprivileged=True)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "cannot be written" in line
    assert "check the permissions of the file and its folder" in line


# where the database is named


def test_the_database_from_the_environment(db: str, tmp_path: Path) -> None:
    assert "weather" in run("threads", env={"THREADKEEP_DB": db}).stdout
    missing = f"sqlite:///{tmp_path / 'none.db'}"
    assert "weather" in run("threads", "--db", db, env={"THREADKEEP_DB": missing}).stdout


def test_the_database_of_the_current_folder(path: Path) -> None:
    path.rename(path.parent / "threadkeep.db")
    done = process("threads", cwd=path.parent)
    assert done.returncode == 0
    assert "weather" in done.stdout


# pipes and terminals


@pytest.mark.parametrize("name", ["threads", "show", "history", "diff", "stats", "usage", "doctor"])
def test_nothing_but_text_goes_into_a_pipe(db: str, name: str) -> None:
    done = process(name, *READING[name], "--db", db)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\n")
    assert all(c.isprintable() or c == "\n" for c in done.stdout)


@pytest.mark.parametrize("name", ["threads", "show", "history", "diff", "stats", "usage", "doctor"])
def test_a_terminal_gets_the_same_in_colour(db: str, name: str) -> None:
    status, screen = terminal(name, *READING[name], "--db", db)
    assert status == 0
    if name != "doctor":
        assert screen != unstyled(screen)
    assert "\x1b" not in unstyled(screen)
    assert max(map(len, unstyled(screen).splitlines())) <= 80 or name == "doctor"


def test_no_colour_where_none_is_wanted(db: str) -> None:
    done = process("threads", "--db", db, env={"NO_COLOR": "1", "FORCE_COLOR": "1"})
    assert "\x1b[36m" not in done.stdout


@pytest.mark.parametrize("columns", [60, 100])
def test_tables_fit_the_terminal(db: str, columns: int) -> None:
    with threadkeep.open(db) as memory:
        memory.threads.get("x" * 300).append([("human", "a long id")])
    _, screen = terminal("threads", "--db", db, columns=columns)
    lines = unstyled(screen).splitlines()
    assert max(map(len, lines)) <= columns
    assert sum(line.count("x") for line in lines) >= 300, "an id is folded, never cut"


def test_an_id_in_a_pipe_is_whole(db: str) -> None:
    name = "5f0e2a4c-6c1e-4b43-9a0e-3f1d5c1b7a99:a-longer-tail-of-an-id"
    with threadkeep.open(db) as memory:
        memory.threads.get(name).append([("human", "hello")])
    assert name in process("threads", "--db", db).stdout


def test_a_reader_that_leaves_is_no_error(db: str) -> None:
    with threadkeep.open(db) as memory:
        memory.threads.get("long").append([("human", "more than a pipe holds\n" * 200_000)])
    for extra in ([], ["--json"]):
        with subprocess.Popen(
            command("show", "long", "--db", db, *extra),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.read(1)
            running.stdout.close()
            assert running.stderr.read() == b""
            assert running.wait(60) == 141


def test_a_reader_that_never_read(db: str) -> None:
    """What fits the buffer is written at the very end only."""
    done = subprocess.run(
        f"{' '.join(command('threads')[:1])} -c 'from threadkeep.cli import main; main()' threads --db {db} | true; "
        "echo ${PIPESTATUS[0]}",
        shell=True,
        executable="/bin/bash",
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout in ("0\n", "141\n")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_every_encoding_can_take_the_output(db: str, encoding: str) -> None:
    for arguments in (["threads"], ["show", "weather"]):
        done = subprocess.run(
            command(*arguments, "--db", db),
            env=environment({"PYTHONIOENCODING": encoding}),
            capture_output=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        done.stdout.decode(encoding)


def test_a_surrogate_on_the_command_line(db: str) -> None:
    """A byte that is no UTF-8 reaches Python as a lone surrogate."""
    done = subprocess.run(
        [os.fsencode(part) for part in command("show")] + [b"a\xff", b"--db", os.fsencode(db)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Error: there is no thread 'a\\udcff'")


def test_an_id_that_begins_with_a_dash(db: str) -> None:
    with threadkeep.open(db) as memory:
        memory.threads.get("--all").append([("human", "hello")])
    assert "'--all'" in said("threads", "--db", db)
    assert said("show", "--db", db, "--", "--all").startswith("'--all'\n")
    assert said("delete", "--yes", "--db", db, "--", "--all") == "Deleted thread '--all'.\n"


def test_json_is_all_there_is_on_stdout(db: str) -> None:
    done = process("stats", "--json", "--db", db)
    assert json.loads(done.stdout)["threads"]
    assert done.stderr == ""


def test_module_and_script_are_the_same() -> None:
    expected = process("--help").stdout
    script = Path(sys.executable).with_name("threadkeep")
    for command_line in ([sys.executable, "-m", "threadkeep", "--help"], [str(script), "--help"]):
        done = subprocess.run(command_line, env=environment(), capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.stderr) == (expected, "")
