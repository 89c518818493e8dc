"""What the project consists of.

While a piece is being written its absence is reported and tolerated; where `CI` is set it is an error.
"""

from __future__ import annotations

from pathlib import Path

PIECES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "uv.lock",
    "bench/__main__.py",
    "docs/index.md",
    "docs/cli.md",
    "docs/durability.md",
    "docs/design/DECISIONS.md",
    "examples",
    "src/threadkeep/__init__.py",
    "src/threadkeep/adapters/langgraph.py",
    "src/threadkeep/cli",
    "src/threadkeep/memory",
    "src/threadkeep/py.typed",
    "src/threadkeep/testing",
    "src/threadkeep/thread",
    "tests/adapters",
    "tests/cli",
    "tests/conformance",
    "tests/contract",
    "tests/docs",
    "tests/examples",
    "tests/faults",
    "tests/unit",
)


def missing_pieces(root: Path) -> list[str]:
    """Say which parts of the project are not there."""
    return [f"{piece} is missing" for piece in PIECES if not _there(root / piece)]


def _there(path: Path) -> bool:
    """A module may be a file or a folder; a folder without a program in it does not count."""
    if path.is_dir():
        return any(path.rglob("*.py"))
    return path.exists() or (not path.suffix and path.with_suffix(".py").exists())
