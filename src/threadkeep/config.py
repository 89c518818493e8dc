"""A URL and settings become a driver."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from threadkeep.backends.base import Driver
from threadkeep.errors import ConfigurationError

DEFAULT_URL = "sqlite:///threadkeep.db"
LOCK_TIMEOUT = 30.0
"""Seconds to wait for a lock before giving up."""
_FORMS = "sqlite:///relative.db, sqlite:////absolute.db or memory://"


def open_driver(url: str, *, create: bool, lock_timeout: float) -> Driver:
    """Return the driver for a URL. Raises ConfigurationError for one that cannot be used."""
    if not isinstance(url, str):
        raise ConfigurationError(f"url is {url!r}; pass a text like {_FORMS}")
    if not lock_timeout >= 0:
        raise ConfigurationError(f"lock_timeout is {lock_timeout!r}; pass seconds, 0 and up")
    parts = urlsplit(url)
    if parts.scheme not in ("sqlite", "memory"):
        raise ConfigurationError(f"cannot open {url!r}: this version knows {_FORMS}", url=url)
    if parts.query or parts.fragment:
        raise ConfigurationError(
            f"{url!r} has options after '?' or '#'; pass them as keywords to threadkeep.open"
        )
    if parts.scheme == "memory":
        if parts.netloc or parts.path:
            raise ConfigurationError(f"{url!r} names something behind memory://; it takes no name", url=url)
        return _sqlite(None, create=True, lock_timeout=lock_timeout)
    if parts.netloc:
        raise ConfigurationError(
            f"{url!r} has two slashes where a file takes three (relative) or four (absolute): {_FORMS}",
            url=url,
        )
    path = unquote(parts.path)[1:]
    if not path or path.endswith("/"):
        raise ConfigurationError(f"{url!r} names no file; write {_FORMS}", url=url)
    return _sqlite(path, create=create, lock_timeout=lock_timeout)


def _sqlite(path: str | None, *, create: bool, lock_timeout: float) -> Driver:
    from threadkeep.backends.sqlite.driver import SQLiteDriver

    return SQLiteDriver(path, create=create, lock_timeout=lock_timeout)


def schema(url: str) -> str:
    """Return the DDL that makes the tables behind a URL. Raises ConfigurationError for an unknown kind."""
    if urlsplit(url).scheme not in ("sqlite", "memory"):
        raise ConfigurationError(f"cannot print the schema of {url!r}: this version knows {_FORMS}", url=url)
    from threadkeep.backends.sqlite import dialect

    return dialect.schema()
