"""How much of a text is written in which script, in linear time.

A text is looked at as UTF-16: the upper byte of each unit says the block, and whole blocks are counted at
once by `bytes.translate` and `bytes.count`, so that nothing is done per character in Python.
"""

from __future__ import annotations

from typing import Final

LATIN, CYRILLIC, HAN, KANA, HANGUL = "latin", "cyrillic", "han", "kana", "hangul"
THAI, ARABIC, INDIC, OTHER = "thai", "arabic", "indic", "other"
DIGITS, SYMBOLS, SPACE, FIXED = "digits", "symbols", "space", "fixed"

SCRIPTS: Final = (
    LATIN, CYRILLIC, HAN, KANA, HANGUL, THAI, ARABIC, INDIC, OTHER, DIGITS, SYMBOLS, SPACE, FIXED,
)  # fmt: skip
"""Every name that a measure or a calibration may hold; `fixed` is what has no text (wrappers, media)."""


def _block_table() -> bytes:
    """Map the upper byte of a UTF-16 unit to a digit that stands for its script."""
    table = bytearray(b"o" * 256)
    for first, last, mark in (
        (0x00, 0x00, "0"), (0x01, 0x02, "l"), (0x1E, 0x1E, "l"), (0x04, 0x05, "c"), (0x06, 0x08, "a"),
        (0x09, 0x0D, "i"), (0x0E, 0x0E, "t"), (0x11, 0x11, "g"), (0xAC, 0xD7, "g"), (0x20, 0x20, "s"),
        (0x30, 0x30, "k"), (0x31, 0x33, "h"), (0x34, 0x9F, "h"), (0xF9, 0xFA, "h"), (0xFF, 0xFF, "k"),
    ):  # fmt: skip
        table[first : last + 1] = mark.encode() * (last + 1 - first)
    return bytes(table)


_BLOCKS: Final = _block_table()
_MARKS: Final = (
    (b"l", LATIN), (b"c", CYRILLIC), (b"h", HAN), (b"k", KANA), (b"g", HANGUL), (b"t", THAI), (b"a", ARABIC),
    (b"i", INDIC), (b"s", SYMBOLS), (b"o", OTHER),
)  # fmt: skip
_LETTERS: Final = bytes(b for b in range(256) if chr(b).isalpha())
_DIGITS: Final = b"0123456789"
_SPACES: Final = b" \t\r\n\x0b\x0c\xa0"


def measure(text: str) -> dict[str, float]:
    """Count the characters of a text by script; what does not occur is left out."""
    found: dict[str, float] = {}
    if text.isascii():
        narrow = text.encode("ascii")
        wide = 0
    else:
        units = text.encode("utf-16-le", "surrogatepass")[1::2].translate(_BLOCKS)
        wide = len(units) - units.count(b"0")
        narrow = text.encode("latin-1", "replace")
        for mark, script in _MARKS:
            if count := units.count(mark):
                found[script] = float(count)
    total = len(narrow)
    letters = total - len(narrow.translate(None, _LETTERS))
    digits = total - len(narrow.translate(None, _DIGITS))
    spaces = total - len(narrow.translate(None, _SPACES))
    symbols = max(0, total - letters - digits - spaces - min(wide, total))
    for script, count in ((LATIN, letters), (DIGITS, digits), (SPACE, spaces), (SYMBOLS, symbols)):
        if count:
            found[script] = found.get(script, 0.0) + count
    return found
