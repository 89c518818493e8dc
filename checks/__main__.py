"""Run every check from the root of a checkout; exit 1 when one finds something."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from checks.docs import check_docs
from checks.imports import check_imports
from checks.pieces import missing_pieces
from checks.portable import check_portable
from checks.sizes import check_sizes

CHECKS: dict[str, Callable[[Path], list[str]]] = {
    "imports": check_imports,
    "sizes": check_sizes,
    "portable": check_portable,
    "docs": check_docs,
}


def main() -> int:
    """Print one line per check and per problem."""
    root = Path.cwd()
    failed = sum(_report(name, check(root)) for name, check in CHECKS.items())
    missing = missing_pieces(root)
    if missing and not os.environ.get("CI"):
        print(f"pieces: {len(missing)} not there yet, which is an error where CI is set")
        print("".join(f"  {line}\n" for line in missing), end="")
    else:
        failed += _report("pieces", missing)
    return 1 if failed else 0


def _report(name: str, problems: list[str]) -> bool:
    print(f"{name}: {'ok' if not problems else f'{len(problems)} problems'}")
    print("".join(f"  {line}\n" for line in problems), end="")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
