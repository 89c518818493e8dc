"""Open the database that a command was given, without ever making one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

import threadkeep
from threadkeep.cli.output import remark
from threadkeep.errors import ConfigurationError, SchemaMissing, StorageError, ThreadkeepError
from threadkeep.memory import Memory

DECLINED = 1
"""Exit status of a command whose question was answered with no."""
_OTHER = "--db or THREADKEEP_DB names another"


@contextmanager
def opened(url: str, owner: str = "") -> Iterator[Memory]:
    """Open an existing database for the block; a missing one is an error that says what to do."""
    memory = _open(url, owner)
    try:
        yield memory
    except (LookupError, ValueError, TypeError) as error:
        if isinstance(error, ThreadkeepError) or not (problems := memory.doctor()):
            raise
        raise StorageError(
            f"what is stored in {url!r} is damaged ({problems[0].detail}); `threadkeep doctor --db {url}` says more"
        ) from error
    finally:
        memory.close()


def _open(url: str, owner: str) -> Memory:
    if url.startswith("memory:"):
        raise ConfigurationError(
            f"{url!r} lives within one process, so a command finds it empty; name a file: --db sqlite:///threadkeep.db"
        )
    try:
        return threadkeep.open(url, create=False, owner=owner)
    except SchemaMissing as error:
        raise _missing(url, error) from None
    except ThreadkeepError:
        raise
    except OSError as error:
        raise StorageError(
            f"cannot open {url!r} ({error.strerror or error}); check the permissions of the file and folder"
        ) from None
    except ValueError as error:
        raise ConfigurationError(
            f"{url!r} cannot be a database ({error}); write sqlite:///relative.db or sqlite:////absolute.db"
        ) from None


def _missing(url: str, error: SchemaMissing) -> ThreadkeepError:
    where = error.fields.get("where", url)
    if not os.path.exists(where):
        return SchemaMissing(
            f"there is no database at {where!r}; `threadkeep chat --db {url}` begins one, {_OTHER}"
        )
    if error.fields.get("version"):
        return error
    return SchemaMissing(f"{where!r} is a database without Threadkeep's tables; {_OTHER}")


def confirm(what: str, *, yes: bool) -> None:
    """Ask before something is removed; without a terminal to ask at, only `--yes` goes on."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigurationError(
            f"standard input is no terminal to ask at, so nothing was done; --yes would {what}"
        )
    if not typer.confirm(f"{what[0].upper()}{what[1:]}?", err=True):
        remark("Nothing was done.")
        raise typer.Exit(DECLINED)
