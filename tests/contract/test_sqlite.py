"""The storage contract on a SQLite file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import threadkeep
from threadkeep import Memory
from threadkeep.testing import StorageContract

from .sqlite import SQLiteTables


class TestSQLite(SQLiteTables, StorageContract):
    def open(self, place: Path, **options: Any) -> Memory:
        return threadkeep.open(f"sqlite:///{place / 'threads.db'}", **options)
