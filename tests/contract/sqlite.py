"""A look into SQLite behind the memory's back."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from threadkeep import Memory

OF_NO_THREAD = {"meta", "names", "calibrations", "sqlite_sequence"}


class SQLiteTables:
    """The hooks that declare `sql`."""

    def sql(self, memory: Memory, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        driver: Any = memory._engine.driver
        driver.flush()
        if driver.path is None:
            with driver._writing:
                return list(driver._connection().execute(statement, values).fetchall())
        with closing(sqlite3.connect(driver.path, isolation_level=None)) as connection:
            return list(connection.execute(statement, values).fetchall())

    def tables(self, memory: Memory) -> list[str]:
        found = self.sql(memory, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return [name for (name,) in found if name not in OF_NO_THREAD]
