"""Opening a database that is not there, not ours, or not readable."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import threadkeep
from threadkeep.errors import NotADatabase, SchemaMissing, StorageError


def url(path: Path) -> str:
    return f"sqlite:///{path}"


def run(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_missing_file_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(SchemaMissing, match=r"there is no database at .*create=True.*threadkeep schema"):
        threadkeep.open(url(tmp_path / "none.db"), create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["another program's", "nothing"])
def test_a_file_without_our_tables_is_left_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.db"
    path.touch()
    if content == "another program's":
        run(path, "CREATE TABLE notes (text)")
    before = path.read_bytes()
    with pytest.raises(SchemaMissing, match="no Threadkeep tables"):
        threadkeep.open(url(path), create=False)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("create", [True, False])
def test_a_newer_database_names_both_versions(tmp_path: Path, create: bool) -> None:
    path = tmp_path / "newer.db"
    threadkeep.open(url(path)).close()
    run(path, "UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    with pytest.raises(
        SchemaMissing, match=r"newer Threadkeep \(schema 99, this one knows \d+\); upgrade"
    ) as caught:
        threadkeep.open(url(path), create=create)
    assert caught.value.version == 99


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("dear diary, " * 100)
    with pytest.raises(NotADatabase, match="choose another file, or restore a backup"):
        threadkeep.open(url(path), create=False)


@pytest.mark.parametrize("create", [True, False])
def test_a_path_that_is_too_long(create: bool) -> None:
    with pytest.raises(StorageError, match=r"cannot open .* \(File name too long\)"):
        threadkeep.open("sqlite:////" + "x" * 5000 + "/y.db", create=create)


def test_an_existing_database_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with threadkeep.open(url(path)) as memory:
        memory.threads.get("t").append([("human", "hello")])
    with threadkeep.open(url(path), create=False) as memory:
        assert [message.text for message in memory.threads.get("t").messages()] == ["hello"]
