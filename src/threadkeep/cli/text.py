"""Texts that strangers wrote, made safe and short enough for a terminal."""

from __future__ import annotations

import unicodedata
from datetime import datetime

# Controls, lone surrogates, and format characters: among these are those that turn the direction of writing.
_UNSAFE = {"Cc", "Cs", "Cf", "Zl", "Zp"}
# Emoji and scripts are joined by these.
_JOINERS = {"\u200c", "\u200d"}
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def safe(text: str, *, keep: str = "") -> str:
    """Return a text in which nothing moves the cursor, colours or reorders; `keep` names exceptions."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or c in _JOINERS or _is_plain(c) else _escaped(c) for c in text)


def block(text: str) -> str:
    """Return a text of several lines, safe to print."""
    return safe(text.replace("\r\n", "\n").expandtabs(4), keep="\n")


def one_line(text: str) -> str:
    """Return a text on one line, safe to print."""
    return safe(" ".join(text.split()))


def shown_id(text: str) -> str:
    """Return an id so that people can tell it from every other: quoted and escaped where it is unusual."""
    if text.strip() == text and text[:1] not in ("'", "-", "") and all(map(_is_plain, text)):
        return text
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + "".join(c if _is_plain(c) else _escaped(c) for c in quoted) + "'"


def size(count: int) -> str:
    """Return bytes as people read them: `512 B`, `3.4 kB`, `1.2 GB` (powers of 1,000)."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:,.1f} TB"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def moment(when: datetime) -> str:
    """Return a time to the second, in the local zone."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def short_moment(when: datetime, now: datetime | None = None) -> str:
    """Return a time to the second without its year, or only the day when that was another year."""
    local = when.astimezone()
    return local.strftime("%m-%d %H:%M:%S" if local.year == (now or datetime.now()).year else "%Y-%m-%d")


def _is_plain(char: str) -> bool:
    return unicodedata.category(char) not in _UNSAFE


def _escaped(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
