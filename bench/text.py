"""Prose for benchmarks that compresses no better than what people write.

A saver that compresses would look better than it is on text with few words or repeated sentences. So
words are drawn with the frequencies of English (Zipf's law) from several thousand, with the names, figures
and dates of real requests; `calibration` puts the ratios beside those of a page of real prose.
"""

from __future__ import annotations

import random
import zlib
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

import zstandard

from bench import vocabulary

_CONTENT_SHARE = 0.44
_FIGURE_SHARE = 0.02
_RECENT_SHARE = 0.10
_SAMPLE = Path(__file__).with_name("english.txt")


@cache
def _function_words() -> tuple[Sequence[str], list[float]]:
    words = vocabulary.FUNCTION
    return words, list(accumulate(1.0 / (rank + 2.7) for rank in range(len(words))))


@cache
def _content_words() -> tuple[Sequence[str], list[float]]:
    words = vocabulary.content_words()
    random.Random("word order").shuffle(words)
    return words, list(accumulate(1.0 / (rank + 30.0) ** 0.9 for rank in range(len(words))))


def _draw(rng: random.Random, table: tuple[Sequence[str], list[float]]) -> str:
    words, weights = table
    return words[bisect(weights, rng.random() * weights[-1])]


def _word(rng: random.Random) -> str:
    roll = rng.random()
    if roll < _FIGURE_SHARE:
        return rng.choice(
            (
                f"{rng.randrange(2, 400)}",
                f"{rng.randrange(1, 90)}.{rng.randrange(10, 99)}",
                f"{rng.choice('ABCDEFGHKLMNPRST')}-{rng.randrange(1000, 99999)}",
            )
        )
    return _draw(rng, _content_words() if roll < _FIGURE_SHARE + _CONTENT_SHARE else _function_words())


def sentence(rng: random.Random, recent: list[str]) -> str:
    """Return one sentence of 6 to 24 words; as people do, it comes back to words used shortly before."""
    words = [
        rng.choice(recent) if recent and rng.random() < _RECENT_SHARE else _word(rng)
        for _ in range(rng.randrange(6, 25))
    ]
    recent[:] = (recent + words)[-60:]
    if len(words) > 11 and rng.random() < 0.8:
        words[len(words) // 2] += ","
    words[0] = words[0][:1].upper() + words[0][1:]
    return " ".join(words) + rng.choice((".", ".", ".", ".", "?", ";"))


def prose(rng: random.Random, size: int) -> str:
    """Return sentences of about `size` characters in all, cut at a word."""
    parts: list[str] = []
    recent: list[str] = []
    length = 0
    while length < size:
        parts.append(sentence(rng, recent))
        length += len(parts[-1]) + 1
    return " ".join(parts)[:size].rsplit(" ", 1)[0]


@dataclass(frozen=True, kw_only=True)
class Compression:
    """Compressed size over size, by two compressors, for one text cut in pieces of `piece` bytes."""

    name: str
    size: int
    zlib6: float
    zstd3: float


def _pieces(text: str, piece: int) -> list[bytes]:
    data = text.encode()
    return [data[at : at + piece] for at in range(0, len(data) - piece + 1, piece)]


def compression(name: str, text: str, piece: int) -> Compression:
    """Compress each `piece` bytes of `text` by itself and return the mean ratios."""
    pieces = _pieces(text, piece)
    size = sum(map(len, pieces))
    return Compression(
        name=name,
        size=piece,
        zlib6=sum(len(zlib.compress(part, 6)) for part in pieces) / size,
        zstd3=sum(len(zstandard.ZstdCompressor(3).compress(part)) for part in pieces) / size,
    )


def english_sample() -> str:
    """Return a page of prose written by people for this purpose."""
    return _SAMPLE.read_text(encoding="utf-8")


def calibration(text: str) -> list[Compression]:
    """Compare the benchmark's text with real prose, in pieces of a message, a page and the whole."""
    real = english_sample()
    page = len(real.encode())
    rows = [compression("real English", real, 400), compression("benchmark text", text, 400)]
    rows += [compression("real English", real, page), compression("benchmark text", text, page)]
    return [*rows, compression("benchmark text", text, len(text.encode()))]
