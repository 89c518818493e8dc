"""Normal forms of facts, by which what was said and what a summary says are compared."""

from __future__ import annotations


def normal(text: str) -> str:
    """Return a text in the form in which `contains` looks for values."""
    return text.casefold()


def contains(written: str, kind: str, value: str, text: str) -> bool:
    """Say whether a text in normal form mentions a fact."""
    return text.casefold() in written
