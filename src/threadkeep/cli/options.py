"""Options and arguments that several commands take, and what their texts mean."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from threadkeep.config import DEFAULT_URL
from threadkeep.errors import ConfigurationError

DB = DEFAULT_URL

Database = Annotated[
    str,
    typer.Option(
        "--db",
        metavar="URL",
        envvar="THREADKEEP_DB",
        help="The database: sqlite:///relative.db or sqlite:////absolute.db.",
    ),
]
Owner = Annotated[
    str, typer.Option("--owner", metavar="NAME", help="Whose threads; without it, those of no owner.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON; docs/cli.md lists its keys.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
ThreadArgument = Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")]

_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")


def duration(text: str, option: str) -> timedelta:
    """Return the time that a text like `90s`, `12h`, `30d` or `1d12h` means. Raises ConfigurationError."""
    if not _DURATION.fullmatch(text.strip()):
        raise ConfigurationError(
            f"{option} is {text!r}; give a number with a unit: 90s, 45m, 12h, 30d, 2w, or 1d12h"
        )
    try:
        return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text)))
    except OverflowError:
        raise ConfigurationError(f"{option} is {text!r}, which is longer than time is counted here") from None


def since(text: str, now: datetime | None = None) -> datetime:
    """Return the moment that `2026-11-30`, `2026-11-30T08:00+01:00` or `2h` (ago) means."""
    if _DURATION.fullmatch(text.strip()):
        try:
            return (now or datetime.now(UTC)) - duration(text, "--since")
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        raise ConfigurationError(
            f"--since is {text!r}; give a date like 2026-11-30, a time like 2026-11-30T08:00, or an age: 7d"
        ) from None


def metadata(entries: list[str] | None) -> dict[str, Any]:
    """Return the mapping that `key=value` texts mean: JSON where a value is JSON, else text."""
    found = {}
    for entry in entries or ():
        key, sign, value = entry.partition("=")
        if not sign or not key:
            raise ConfigurationError(
                f"--metadata is {entry!r}; give key=value, as in --metadata team=support"
            )
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def count(text: str | int) -> int:
    """Return the number of 1 and up that a text means; to be given to Typer as a parser."""
    number = whole(text)
    if number < 1:
        raise typer.BadParameter(f"{number} is too few, give 1 or more")
    return number


def whole(text: str | int) -> int:
    """Return the whole number that a text means; to be given to Typer as a parser."""
    if isinstance(text, int):
        return text
    if not _WHOLE.fullmatch(text.strip()):
        raise typer.BadParameter(f"{text!r} is no whole number")
    return int(text)
