"""SQLite's words: the named statements, the schema, and its errors in ours."""

from __future__ import annotations

import re
import sqlite3
from importlib.resources import files

from threadkeep import errors

SCHEMA_VERSION = 1
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def _load_queries() -> dict[str, str]:
    text = files(__package__).joinpath("queries.sql").read_text("utf-8")
    parts = _NAME.split(text)[1:]
    queries = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        lines = [line for line in body.strip().splitlines() if not line.startswith("--")]
        queries[name] = "\n".join(lines).rstrip(";")
    return queries


QUERIES = _load_queries()


def migrations() -> list[tuple[int, str]]:
    """Return the numbered migrations in order, each as (number, SQL)."""
    folder = files(__package__).joinpath("migrations")
    found = [
        (int(item.name[:4]), item.read_text("utf-8"))
        for item in folder.iterdir()
        if item.name.endswith(".sql")
    ]
    return sorted(found)


def schema() -> str:
    """Return the DDL of a fresh database, for people whose role may not run it."""
    parts = [sql.strip() for _, sql in migrations()]
    return "\n".join([*parts, f"INSERT INTO meta VALUES ('schema_version', '{SCHEMA_VERSION}');"]) + "\n"


def translate(error: sqlite3.Error, where: str, waited: float) -> Exception:
    """Return the storage error that a SQLite error means, by its code and never by its text."""
    code = getattr(error, "sqlite_errorname", "") or ""
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return errors.StorageBusy(
            f"database {where!r} was locked by another process for longer than {waited:g} s; "
            "try again, or open it with a larger lock_timeout",
            where=where,
            waited=waited,
        )
    if code in ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE"):
        return errors.StorageFull(
            f"no space left to write {where!r} ({error}); free some space and try again: nothing was half written",
            where=where,
        )
    if code.startswith("SQLITE_READONLY") or code == "SQLITE_PERM":
        return errors.StorageReadOnly(
            f"database {where!r} cannot be written ({error}); check the permissions of the file and its folder",
            where=where,
        )
    if code in ("SQLITE_NOTADB", "SQLITE_FORMAT") or code.startswith("SQLITE_CORRUPT"):
        return errors.NotADatabase(
            f"{where!r} is not a SQLite database, or is damaged ({error}); choose another file, or restore a backup",
            where=where,
        )
    if code.startswith("SQLITE_CANTOPEN"):
        return errors.StorageError(
            f"cannot open {where!r} ({error}); check that it is a file in a folder that exists, and that you may "
            "read and write both",
            where=where,
        )
    return errors.StorageError(
        f"database {where!r} failed with {code or type(error).__name__}: {error}", where=where
    )
