"""Compacting a database that somebody reads."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import threadkeep


def test_a_reader_is_not_waited_for_long(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with threadkeep.open(f"sqlite:///{path}", lock_timeout=60) as memory:
        memory.threads.get("t").append([("human", "hello")])
        reader = sqlite3.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM threads").fetchone()
        start = time.monotonic()
        report = memory.compact()
        took = time.monotonic() - start
        reader.close()
        assert report.complete is False
        assert took < 10
        assert memory.compact().complete is True


def test_the_lock_timeout_holds_again_after_compacting(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with threadkeep.open(f"sqlite:///{path}", lock_timeout=3) as memory:
        memory.threads.get("t").append([("human", "hello")])
        memory.compact()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        try:
            memory.threads.get("t").append([("human", "and on")])
        except threadkeep.StorageBusy:
            took = time.monotonic() - start
        else:
            took = 0.0
        other.close()
        assert took > 2
