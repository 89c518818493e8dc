"""No file is too long to be read in one sitting."""

from __future__ import annotations

from pathlib import Path

from checks.files import project_files, text_of

LIMIT = 800
_SUFFIXES = {".py", ".md", ".sql", ".lua", ".sh", ".toml", ".html", ".js", ".css"}


def check_sizes(root: Path) -> list[str]:
    """Say which source and documentation files have more than `LIMIT` lines."""
    problems: list[str] = []
    for path in project_files(root):
        if path.suffix not in _SUFFIXES:
            continue
        lines = len((text_of(root / path) or "").splitlines())
        if lines > LIMIT:
            problems.append(
                f"{path}: {lines} lines, more than {LIMIT}; divide it by what its parts are about"
            )
    return problems
