"""Normal forms of facts, by which what was said and what a summary says are compared."""

from __future__ import annotations

import re

_FLAT = {
    **{0xFF01 + n: 0x21 + n for n in range(94)},  # full-width forms
    **{
        start + n: 0x30 + n for start in (0x660, 0x6F0, 0x966, 0xE50) for n in range(10)
    },  # digits of other scripts
    **dict.fromkeys((0xA0, 0x2007, 0x2009, 0x202F, 0x3000), 0x20),
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2212), 0x2D),
    **dict.fromkeys((0x2018, 0x2019, 0x2BC, 0x60), 0x27),
}
_GROUPED = re.compile(r"[0-9]{1,3}(?:[ ,.'][0-9]{3})+(?:[.,][0-9]{1,2})?")
_CYRILLIC_NAME = re.compile(r"[а-яёіїєґ]{4,}")
_ENDING = re.compile(r"[аеёиоуыэюяйьіїє]{1,2}$")


def flat(text: str) -> str:
    """Return the text with full-width forms, foreign digits, dashes and apostrophes made ASCII; equally long."""
    return text.translate(_FLAT)


def normal(text: str) -> str:
    """Return a text in the form in which `contains` looks for values: flat, in one case, with single spaces."""
    return " ".join(flat(text).casefold().split())


def number(written: str) -> str:
    """Return a number without thousands separators, with a point before decimals and no zeros at its ends.

    `1,200`, `1.200`, `1 200` and `1'200` are one thousand two hundred, `1,5` and `1.50` one and a half.
    """
    if _GROUPED.fullmatch(written):
        parts = re.split(r"[ ,.']", written)
        decimals = parts.pop() if len(parts[-1]) < 3 else ""
        whole = "".join(parts)
    else:
        whole, _, decimals = written.replace(",", ".").partition(".")
    decimals = decimals.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{decimals}" if decimals else "")


def contains(written: str, kind: str, value: str, text: str) -> bool:
    """Say whether a text mentions a fact as its value or as it was written, between borders.

    Args:
        written: A text in normal form.
        kind: The fact's kind.
        value: The fact's normal value.
        text: The fact as it was written.
    """
    if kind == "name":
        return _has_name(written, value)
    return _has(written, normal(text)) or (kind in ("url", "email", "id", "name") and _has(written, value))


def name_key(name: str) -> str:
    """Return what names are told apart by: in one case, Cyrillic words without their endings."""
    words = normal(name).split()
    return " ".join(_ENDING.sub("", word) if _CYRILLIC_NAME.fullmatch(word) else word for word in words)


def _has(written: str, value: str) -> bool:
    """Look for a value with no ASCII letter or digit next to it where it has one itself."""
    start = written.find(value)
    while start >= 0 and value:
        end = start + len(value)
        if not (_joined(written, start - 1, start) or _joined(written, end - 1, end)):
            return True
        start = written.find(value, start + 1)
    return False


def _joined(written: str, left: int, right: int) -> bool:
    return (
        left >= 0
        and right < len(written)
        and _is_ascii_word(written[left])
        and _is_ascii_word(written[right])
    )


def _is_ascii_word(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _has_name(written: str, value: str) -> bool:
    """Look for a name; a Cyrillic one may have another ending."""
    if not _CYRILLIC_NAME.fullmatch(value):
        return _has(written, value)
    stem = _ENDING.sub("", value)
    start = written.find(stem)
    while start >= 0:
        if not start or not written[start - 1].isalpha():
            return True
        start = written.find(stem, start + 1)
    return False
