"""Tokens per word, digit and character by family of tokenizers.

The figures were fitted, erring high, to 3,300 texts of 90 kinds (prose in 50 languages, code, JSON, logs, tables,
random ids) and the counts of the tokenizers that the tests install: o200k and cl100k of OpenAI, two generations of
Qwen's, DeepSeek's and SmolLM2's. Of other families the nearest of these is taken, with a margin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from threadkeep.context import scripts
from threadkeep.context.scripts import FEATURES

# One row per entry of `scripts.FEATURES`; columns: o200k, cl100k, qwen, qwen3, deepseek, small.
_COLUMNS: Final = ("o200k", "cl100k", "qwen", "qwen3", "deepseek", "small")
_TABLE: Final[Mapping[str, tuple[float, float, float, float, float, float]]] = {
    "common": (1.00, 0.96, 0.91, 0.87, 0.82, 0.71),
    "english words": (0.84, 1.04, 1.14, 1.20, 1.05, 1.51),
    "english letters": (0.093, 0.080, 0.086, 0.069, 0.11, 0.076),
    "western words": (0.96, 0.042, 0.33, 1.43, 0.46, 0.00),
    "western letters": (0.078, 0.31, 0.26, 0.00, 0.21, 0.41),
    "foreign words": (0.00, 0.20, 0.00, 0.00, 0.31, 0.72),
    "foreign letters": (0.46, 0.48, 0.53, 0.50, 0.46, 0.42),
    "long letters": (0.53, 0.56, 0.55, 0.54, 0.55, 0.62),
    "humps": (0.69, 0.76, 0.65, 0.89, 0.61, 0.85),
    "capitals": (0.21, 0.21, 0.20, 0.20, 0.32, 0.41),
    "accents": (0.35, 0.92, 0.65, 0.31, 0.62, 1.08),
    "extended latin": (0.19, 0.95, 0.37, 0.00, 0.34, 1.82),
    "digits": (0.38, 0.38, 1.12, 1.17, 0.39, 1.12),
    "numbers": (1.11, 1.16, 0.53, 0.22, 1.10, 0.45),
    "punctuation": (0.46, 0.34, 0.36, 0.42, 0.46, 0.38),
    "punctuation runs": (0.11, 0.20, 0.13, 0.24, 0.057, 0.32),
    "long punctuation": (0.23, 0.34, 0.33, 0.27, 0.28, 0.44),
    "newlines": (0.41, 0.40, 0.34, 0.43, 0.50, 0.58),
    "double spaces": (0.29, 0.29, 0.32, 0.37, 0.31, 0.12),
    "tabs": (0.53, 0.48, 0.47, 0.37, 0.56, 0.87),
    "cyrillic": (0.43, 0.82, 0.68, 0.51, 0.61, 1.08),
    "greek": (0.43, 1.10, 1.06, 0.43, 0.56, 1.03),
    "han": (0.90, 1.20, 0.82, 0.70, 0.72, 1.93),
    "traditional han": (1.16, 1.64, 1.06, 0.85, 0.91, 2.13),
    "japanese han": (1.41, 1.83, 1.70, 1.31, 1.32, 2.57),
    "rare han": (2.20, 2.80, 1.80, 2.20, 2.20, 2.90),
    "kana": (0.57, 0.87, 0.43, 0.29, 0.52, 1.65),
    "wide punctuation": (0.34, 0.36, 0.36, 0.36, 0.34, 1.18),
    "hangul": (0.77, 1.24, 0.90, 0.64, 0.87, 2.86),
    "thai": (0.51, 1.06, 0.65, 0.34, 0.49, 2.00),
    "arabic": (0.40, 0.91, 0.68, 0.40, 0.47, 1.30),
    "hebrew": (0.51, 2.01, 1.03, 0.77, 0.65, 2.04),
    "indic": (0.47, 1.42, 1.27, 0.59, 0.72, 2.07),
    "typography": (1.00, 0.90, 1.00, 1.30, 1.40, 1.00),
    "drawing": (1.45, 2.04, 1.07, 0.96, 0.55, 2.11),
    "astral": (2.00, 3.00, 1.40, 3.00, 2.40, 3.10),
    "other": (0.58, 2.13, 1.71, 0.82, 1.03, 3.09),
}

MESSAGE, CALL = 4.0, 8.0
"""Tokens of a message's wrapper and of a tool call's: 3 in OpenAI's cookbook, 4 to 6 in chat templates."""


@dataclass(frozen=True, slots=True)
class Family:
    """How a family of models counts: tokens per feature of a text, and what it adds when tools are bound.

    `certain` says that the tokenizer is one of those in the table, not a guess by its name.
    """

    name: str
    rates: tuple[float, ...]
    tools: float = 0.0
    media: str = "openai"
    certain: bool = False


def _family(
    column: str, name: str = "", scale: float = 1.0, *, tools: float = 0.0, media: str = "openai"
) -> Family:
    place = _COLUMNS.index(column)
    rates = tuple(_TABLE[feature][place] * scale for feature, _ in FEATURES)
    return Family(name or column, rates, tools, media, certain=not name)


def _highest(name: str, scale: float, *columns: str, tools: float = 0.0, media: str = "openai") -> Family:
    """Return a family with the highest of several rates everywhere, times a margin."""
    rows = [_family(column, name, scale).rates for column in columns]
    return Family(name, tuple(map(max, *rows)), tools, media)


_NAMES: Final = tuple(feature for feature, _ in FEATURES)
_O200K: Final = _family("o200k")
_UNKNOWN: Final = _family("o200k", "unknown")
_BY_NAME: Final[tuple[tuple[str, Family], ...]] = (
    # Claude's tokenizer is not published; its prose is a tenth to a fifth longer than cl100k's. With tools its API adds
    # a system prompt of 346 tokens (Anthropic's documentation of tool use, "Pricing").
    ("claude", _highest("claude", 1.2, "o200k", "cl100k", tools=346.0, media="anthropic")),
    ("gemini", _family("o200k", "gemini", 1.1, media="google")),
    ("gemma", _family("o200k", "gemma", 1.1, media="google")),
    ("gpt-3.5", _family("cl100k")),
    ("gpt-35", _family("cl100k")),
    ("gpt-4o", _O200K),
    ("gpt-4.", _O200K),
    ("gpt-4-1", _O200K),
    ("gpt-4", _family("cl100k")),
    ("gpt-5", _O200K),
    ("gpt-oss", _O200K),
    ("o200k", _O200K),
    ("gpt2", _family("small")),
    ("gpt-2", _family("small")),
    ("davinci", _family("small")),
    ("cl100k", _family("cl100k")),
    ("text-embedding", _family("cl100k")),
    # The larger vocabulary came with 3.5; `qwen3-32b` and its like still have that of Qwen 2.5.
    ("qwen3.", _family("qwen3")),
    ("qwen", _highest("qwen", 1.0, "qwen", "qwen3")),
    ("qwq", _family("qwen")),
    ("voyage", _family("qwen")),
    ("deepseek", _family("deepseek")),
    ("smollm", _family("small")),
    # Llama 3 extends cl100k; the first two generations have a small vocabulary.
    ("llama-2", _highest("llama2", 1.1, "small", "cl100k")),
    ("llama2", _highest("llama2", 1.1, "small", "cl100k")),
    ("llama", _family("cl100k", "llama", 1.05)),
    ("mistral", _family("cl100k", "mistral", 1.15)),
    ("mixtral", _family("cl100k", "mixtral", 1.15)),
    ("phi", _highest("phi", 1.05, "o200k", "cl100k")),
)


_TYPICAL: Final[Mapping[str, Mapping[str, float]]] = {
    scripts.LATIN: {"common": 0.45, "english words": 0.55, "english letters": 3.0},
    scripts.EUROPEAN: {"foreign words": 1.0, "foreign letters": 6.0},
    scripts.DIGITS: {"digits": 3.0, "numbers": 1.0},
    scripts.SYMBOLS: {"punctuation": 1.5, "punctuation runs": 1.0},
    scripts.SPACE: {"newlines": 1.0, "double spaces": 1.0},
    **{
        script: {script: 1.0}
        for script in (
            scripts.CYRILLIC, scripts.GREEK, scripts.HAN, scripts.KANA, scripts.HANGUL, scripts.THAI, scripts.ARABIC,
            scripts.HEBREW, scripts.INDIC, scripts.OTHER,
        )
    },
}  # fmt: skip
"""What a word, a number or a character of a script consists of when families are compared."""


def profiles(name: str | None) -> tuple[Mapping[str, float], ...]:
    """Return by how much the tokens of each script may differ from those of the family that a model's name says.

    For a name that says the tokenizer there is one profile, without a difference. For others there is one more for each
    column of the table, so that a calibration can try which of them the reported calls fit.
    """
    own = family_of(name)
    return ({},) if own.certain else ({}, *(_beside(own, _family(column)) for column in _COLUMNS))


def _beside(own: Family, other: Family) -> Mapping[str, float]:
    mine, theirs = (dict(zip(_NAMES, family.rates, strict=True)) for family in (own, other))
    return {
        script: sum(theirs[f] * n for f, n in parts.items()) / sum(mine[f] * n for f, n in parts.items())
        for script, parts in _TYPICAL.items()
    }


def family_of(name: str | None) -> Family:
    """Return the family of a model by its name; that of o200k for a name that says nothing."""
    lower = (name or "").lower()
    return next((family for part, family in _BY_NAME if part in lower), _UNKNOWN)
