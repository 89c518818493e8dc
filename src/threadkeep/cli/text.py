"""Texts that strangers wrote, made safe and short enough for a terminal."""

from __future__ import annotations

import unicodedata

# Controls, lone surrogates, and format characters: among these are those that turn the direction of writing.
_UNSAFE = {"Cc", "Cs", "Cf", "Zl", "Zp"}
# Emoji and scripts are joined by these.
_JOINERS = {"\u200c", "\u200d"}


def safe(text: str, *, keep: str = "") -> str:
    """Return a text in which nothing moves the cursor, colours or reorders; `keep` names exceptions."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or _is_plain(c) else _escaped(c) for c in text)


def block(text: str) -> str:
    """Return a text of several lines, safe to print."""
    return safe(text.replace("\r\n", "\n").expandtabs(4), keep="\n")


def one_line(text: str) -> str:
    """Return a text on one line, safe to print."""
    return safe(" ".join(text.split()))


def shown_id(text: str) -> str:
    """Return an id as people can tell it from another: quoted and escaped where it holds anything unusual."""
    plain = safe(text)
    return plain if plain == text and text.strip() == text and text[:1] not in "'\"" else f"'{plain}'"


def _is_plain(char: str) -> bool:
    return char in _JOINERS or unicodedata.category(char) not in _UNSAFE


def _escaped(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
