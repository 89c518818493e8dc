"""Nothing in the project depends on one machine or on one package registry."""

from __future__ import annotations

import re
from pathlib import Path

from checks.files import project_files, text_of

# Where the lock file fetches from is its business; everything else says a package's name only.
EXEMPT = {Path("uv.lock")}

_DOT = re.escape(".")
_HOSTS = re.compile(
    "|".join(
        name + _DOT + end
        for name, end in (
            ("pypi", "(?:org|python)"),
            ("pythonhosted", "org"),
            ("registry" + _DOT + "(?:npmjs|yarnpkg)", "(?:org|com)"),
            ("(?:deb|security)" + _DOT + "debian", "org"),
            ("crates", "io"),
            ("proxy" + _DOT + "golang", "org"),
        )
    )
)
_HOME = re.compile(r"(?<![\w.])/(?:work|root|farm|Users/\w+|home/\w+)/[\w.-]+")


def check_portable(root: Path) -> list[str]:
    """Say where a registry's host name or a path of somebody's machine is written down."""
    own = "|".join(re.escape(str(path)) for path in {root.resolve(), Path.home()} if len(path.parts) > 1)
    here = re.compile(rf"(?<![\w.])(?:{own})(?![\w-])")
    problems: list[str] = []
    for path in project_files(root):
        text = None if path in EXEMPT else text_of(root / path)
        for number, line in enumerate((text or "").splitlines(), 1):
            if _HOSTS.search(line):
                problems.append(f"{path}:{number}: names a package registry's host")
            if _HOME.search(line) or here.search(line):
                problems.append(f"{path}:{number}: holds a path of one machine")
    return problems
