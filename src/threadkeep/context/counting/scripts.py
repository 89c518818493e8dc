"""What a text consists of, in linear time: words, digits, punctuation, white space and characters by script.

Nothing is done per character in Python. A text is looked at twice: as Latin-1, where words are split and looked up, and
as UTF-16, where the upper byte of each unit says the block; `bytes.translate`, `split` and `count` do the rest.
"""

from __future__ import annotations

import re
from itertools import filterfalse
from typing import Final

from threadkeep.context.facts.common_words import ENGLISH, WESTERN

LATIN, EUROPEAN, CYRILLIC, GREEK, HAN, KANA, HANGUL = (
    "latin", "european", "cyrillic", "greek", "han", "kana", "hangul",
)  # fmt: skip
THAI, ARABIC, HEBREW, INDIC, OTHER = "thai", "arabic", "hebrew", "indic", "other"
DIGITS, SYMBOLS, SPACE, FIXED = "digits", "symbols", "space", "fixed"

SCRIPTS: Final = (
    LATIN, EUROPEAN, CYRILLIC, GREEK, HAN, KANA, HANGUL, THAI, ARABIC, HEBREW, INDIC, OTHER, DIGITS, SYMBOLS, SPACE,
    FIXED,
)  # fmt: skip
"""Every group that has a factor of its own; `fixed` is what has no text (wrappers, media)."""

FEATURES: Final[tuple[tuple[str, str], ...]] = (
    ("common", LATIN), ("english words", LATIN), ("english letters", LATIN),
    ("western words", EUROPEAN), ("western letters", EUROPEAN),
    ("foreign words", EUROPEAN), ("foreign letters", EUROPEAN),
    ("long letters", LATIN), ("humps", LATIN), ("capitals", LATIN), ("accents", EUROPEAN), ("extended latin", EUROPEAN),
    ("digits", DIGITS), ("numbers", DIGITS),
    ("punctuation", SYMBOLS), ("punctuation runs", SYMBOLS), ("long punctuation", SYMBOLS),
    ("newlines", SPACE), ("double spaces", SPACE), ("tabs", SPACE),
    ("cyrillic", CYRILLIC), ("greek", GREEK), ("han", HAN), ("traditional han", HAN), ("japanese han", KANA),
    ("rare han", HAN), ("kana", KANA), ("hiragana", KANA), ("wide punctuation", SYMBOLS), ("hangul", HANGUL),
    ("thai", THAI), ("arabic", ARABIC), ("hebrew", HEBREW), ("indic", INDIC), ("typography", SYMBOLS),
    ("drawing", SYMBOLS), ("astral", OTHER), ("other", OTHER),
)  # fmt: skip
"""What `measure` counts, and the group that it belongs to."""

_LONG: Final = 16
"""Letters after which a run of letters is no word of a language but, say, base64."""


_NAMES, _HUMPED = 0.5, 0.15
"""What a `camelHump` or `snake_case` tells of English, beside a common word; and humps a letter that no program has."""
_TRADITIONAL: Final = frozenset("這個們說國會來時對為過還與開點無從問將應該請訊標檔網頁選設關閉資")
"""Characters of nearly every Chinese text in traditional writing; the simplified ones differ."""
_HIRAGANA: Final = re.compile("[\u3041-\u309f]+").findall
_SAMPLE: Final = 2000
"""Characters by which a text's writing is told."""


def _block_table() -> bytes:
    """Map the upper byte of a UTF-16 unit to a mark that stands for its script."""
    table = bytearray(b"o" * 256)
    for first, last, mark in (
        (0x00, 0x00, "0"), (0x01, 0x02, "l"), (0x1E, 0x1E, "l"), (0x03, 0x03, "e"), (0x04, 0x04, "c"),
        (0x05, 0x05, "b"), (0x06, 0x08, "a"), (0x09, 0x09, "i"), (0x0E, 0x0E, "t"), (0x11, 0x11, "g"),
        (0xAC, 0xD7, "g"), (0x20, 0x20, "s"), (0x21, 0x2B, "d"), (0x30, 0x30, "k"), (0x4E, 0x9F, "h"),
        (0x34, 0x4D, "r"), (0xF9, 0xFA, "r"), (0xFF, 0xFF, "w"), (0xD8, 0xDB, "x"), (0xDC, 0xDF, "y"),
    ):  # fmt: skip
        table[first : last + 1] = mark.encode() * (last + 1 - first)
    return bytes(table)


def _keeping(kept: bytes) -> bytes:
    """Return a table that leaves the given bytes and makes spaces of all others."""
    return bytes(byte if byte in kept else 32 for byte in range(256))


_BLOCKS: Final = _block_table()
_ACCENTED: Final = bytes(byte for byte in range(0xC0, 0x100) if chr(byte).isalpha()) + b"\xaa\xb5\xba"
_UPPER: Final = bytes(range(65, 91))
_LOWER: Final = bytes(range(97, 123))
_DIGITS: Final = b"0123456789"
_SPACES: Final = b" \t\r\n\x0b\x0c\xa0"
_PUNCTUATION: Final = bytes(
    byte for byte in range(256) if byte not in _UPPER + _LOWER + _DIGITS + _SPACES + _ACCENTED
)
_WORDS: Final = _keeping(_UPPER + _LOWER + _ACCENTED)
_NUMBERS: Final = _keeping(_DIGITS)
_MARKS: Final = _keeping(_PUNCTUATION)
_NO_PUNCTUATION: Final = bytes(byte for byte in range(256) if byte not in _PUNCTUATION)
_RULERS: Final = (b"----", b"====", b"****", b"####")
_CASES: Final = bytes(65 if byte in _UPPER else 97 if byte in _LOWER else 32 for byte in range(256))


def measure(text: str) -> tuple[float, ...]:
    """Count what a text consists of, in the order of `FEATURES`."""
    if text.isascii():
        return (*_narrow(text.encode("ascii"), 0), *_spaces(text), *_NO_WIDE)
    units = text.encode("utf-16-le", "surrogatepass")[1::2].translate(_BLOCKS)
    narrow = _narrow(text.encode("latin-1", "ignore"), units.count(b"l"))
    wide = _wide(text, units) if units.count(b"0") < len(units) else _NO_WIDE
    return (*narrow, *_spaces(text), *wide)


def _narrow(data: bytes, extended: int) -> tuple[float, ...]:
    """Count what is ASCII or Latin-1; `extended` is the number of Latin letters that are neither."""
    words = data.translate(_WORDS).split()
    cases = data.translate(_CASES)
    humps = cases.count(b"aA")
    others = [*filterfalse(ENGLISH.__contains__, words)]
    common, count = len(words) - len(others), len(others)
    letters = b"".join(others)
    long = 0
    if count and max(map(len, others)) > _LONG:
        long = sum(map(_beyond, others))
    rest = len(letters) - long
    # Names in programs are English, too; letters whose case changes without end are base64.
    names = data.count(b"_") + (humps if humps < _HUMPED * rest else 0)
    english = min(1.0, (common + _NAMES * names) / (0.35 * len(words) + 1.0))
    western = 0.0
    if english < 1.0 and count:
        known = sum(map(WESTERN.__contains__, others))
        western = min(1.0 - english, known / (0.3 * len(words) + 1.0))
    foreign = 1.0 - english - western
    marks = data.translate(None, _NO_PUNCTUATION)
    runs = len(data.translate(_MARKS).split()) if marks else 0
    # A ruler is a token or two, however long.
    signs = len(marks) - 4 * sum(map(marks.count, _RULERS)) if len(marks) > 3 * runs else len(marks)
    digits = len(data) - len(data.translate(None, _DIGITS))
    return (
        common, count * english, rest * english, count * western, rest * western, count * foreign, rest * foreign,
        long, humps, cases.count(b"AA"), len(letters) - len(letters.translate(None, _ACCENTED)), extended,
        digits, len(data.translate(_NUMBERS).split()) if digits else 0,
        signs, runs, max(0, signs - 3 * runs),
    )  # fmt: skip


def _beyond(word: bytes) -> int:
    """Count the letters that make a run of letters too long for a word, unless it is a name with humps."""
    length = len(word)
    if length <= _LONG:
        return 0
    capitals = length - len(word.translate(None, _UPPER))
    return 0 if 1 < capitals <= _HUMPED * 2 * length else length - _LONG


def _spaces(text: str) -> tuple[float, ...]:
    return text.count("\n"), text.count("  "), text.count("\t")


def _wide(text: str, units: bytes) -> tuple[float, ...]:
    han, block30 = units.count(b"h"), units.count(b"k")
    # Block 30 holds the punctuation of Chinese as well as kana.
    stops = (
        text.count("。") + text.count("、") + text.count("「") + text.count("」") + text.count("　")
        if block30
        else 0
    )
    kana = block30 - stops
    hiragana = sum(map(len, _HIRAGANA(text))) if kana else 0
    japanese = 8 * kana > han
    traditional = bool(han) and not japanese and not _TRADITIONAL.isdisjoint(text[:_SAMPLE])
    return (
        units.count(b"c"), units.count(b"e"), 0 if japanese or traditional else han, han if traditional else 0,
        han if japanese else 0, units.count(b"r"), kana - hiragana, hiragana,
        units.count(b"w") + stops, units.count(b"g"), units.count(b"t"), units.count(b"a"), units.count(b"b"),
        units.count(b"i"), units.count(b"s"), units.count(b"d"), units.count(b"x"), units.count(b"o"),
    )  # fmt: skip


_NO_WIDE: Final = (0,) * 18
