"""Which files belong to the project."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_SKIPPED = {"__pycache__", "build", "dist"}


def project_files(root: Path) -> list[Path]:
    """Return every file that is committed or could be, relative to `root`, sorted.

    Outside a git checkout (an unpacked archive), hidden and generated folders are left out instead.
    """
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            check=True,
            capture_output=True,
        )
        found = {Path(os.fsdecode(name)) for name in listed.stdout.split(b"\0") if name}
    else:
        found = set(_walk(root))
    return sorted(path for path in found if (root / path).is_file())


def _walk(root: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in _SKIPPED and (name == ".ci" or name[0] != ".")]
        yield from (Path(folder, name).relative_to(root) for name in files)


def text_of(path: Path) -> str | None:
    """Return the file's text, or None when it is binary."""
    data = path.read_bytes()
    return None if b"\0" in data else data.decode("utf-8", "surrogateescape")
