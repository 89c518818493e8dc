"""What the figures were taken on."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.timing import EmptyCommit

_PACKAGES = ("threadkeep", "langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite", "langchain")


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def describe(scratch: Path) -> dict[str, str]:
    """Return the machine's size, the versions, and what an empty commit costs on this disk."""
    commit = EmptyCommit(scratch)
    times = [commit.time() for _ in range(200)]
    commit.close()
    ninth = statistics.quantiles(times, n=10)[-1]
    return {
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "SQLite": sqlite3.sqlite_version,
        "load": f"{os.getloadavg()[0]:.1f} on average over the last minute",
        **{package: _version(package) for package in _PACKAGES},
        "empty commit (synchronous=FULL)": f"{statistics.median(times):.2f} ms, 90 % below {ninth:.2f} ms",
    }
