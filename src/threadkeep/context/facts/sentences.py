"""Sentences of a text in any script."""

from __future__ import annotations

import re
from collections.abc import Callable

_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]{0,3}\s+|(?<=[。！？｡])[”’」』）]{0,3}|\n+")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text as written, without the space between them; lines end sentences."""
    found, start = [], 0
    for match in _END.finditer(text):
        piece = text[start : match.end()].strip()
        if piece:
            found.append(piece)
        start = match.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def cut(text: str, limit: int, count: Callable[[str], int]) -> str:
    """Return the longest beginning of a text that has at most this many tokens, cut after a sentence if one fits.

    Args:
        text: Any text.
        limit: Tokens.
        count: Counts the tokens of a text.
    """
    if count(text) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:  # the longest beginning, by bisection
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= limit else (low, middle - 1)
    start = text[:low]
    ends = [match.end() for match in _END.finditer(start)]
    return (start[: ends[-1]] if ends and ends[-1] > low // 2 else start).rstrip()
