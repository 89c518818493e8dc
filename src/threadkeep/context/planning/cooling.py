"""After a failed summary: when to try again."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from threadkeep.context.planning.marks import Mark

LONGEST: Final = 32
"""New messages after which a failed summary is tried again at the latest. The first time it is two, then four, ..."""


def cooling(mark: Mark, size: int) -> bool:
    """Say whether it is too early to try again, with so many messages in the history."""
    return size < mark.wait <= size + LONGEST


def failed(mark: Mark, size: int) -> Mark:
    """Return the mark after a failure: the same, but for when to try again."""
    if cooling(mark, size):
        return mark
    wait = min(2 << mark.failures, LONGEST)
    return replace(mark, wait=size + wait, failures=min(mark.failures + 1, 8))
