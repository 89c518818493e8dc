"""Tokens per word, digit and character by family of tokenizers.

The figures were fitted, erring high, to 3,300 texts of 90 kinds (prose in 50 languages, code, JSON, logs, tables,
random ids) and the counts of the tokenizers that the tests install: o200k and cl100k of OpenAI, two generations of
Qwen's, DeepSeek's and SmolLM2's. Of other families the nearest of these is taken, with a margin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from threadkeep.context.counting import scripts
from threadkeep.context.counting.scripts import FEATURES

# One row per entry of `scripts.FEATURES`; columns: o200k, cl100k, qwen, qwen3, deepseek, small.
_COLUMNS: Final = ("o200k", "cl100k", "qwen", "qwen3", "deepseek", "small")
_TABLE: Final[Mapping[str, tuple[float, float, float, float, float, float]]] = {
    "common": (1.00, 0.96, 0.91, 0.87, 0.82, 0.71),
    "english words": (0.85, 1.04, 1.12, 1.22, 1.06, 1.52),
    "english letters": (0.093, 0.081, 0.084, 0.066, 0.11, 0.076),
    "western words": (0.99, 0.042, 0.33, 1.48, 0.46, 0.00),
    "western letters": (0.080, 0.32, 0.27, 0.00, 0.23, 0.42),
    "foreign words": (0.00, 0.20, 0.00, 0.00, 0.35, 0.75),
    "foreign letters": (0.47, 0.49, 0.54, 0.52, 0.47, 0.43),
    "long letters": (0.55, 0.58, 0.57, 0.56, 0.57, 0.64),
    "humps": (0.71, 0.78, 0.69, 0.93, 0.64, 0.88),
    "capitals": (0.22, 0.22, 0.22, 0.21, 0.33, 0.42),
    "accents": (0.36, 0.95, 0.70, 0.31, 0.64, 1.11),
    "extended latin": (0.20, 0.98, 0.42, 0.00, 0.34, 1.87),
    "digits": (0.39, 0.38, 1.15, 1.21, 0.40, 1.15),
    "numbers": (1.15, 1.21, 0.55, 0.27, 1.14, 0.46),
    "punctuation": (0.48, 0.35, 0.39, 0.45, 0.47, 0.39),
    "punctuation runs": (0.100, 0.20, 0.12, 0.20, 0.046, 0.32),
    "long punctuation": (0.24, 0.35, 0.32, 0.25, 0.28, 0.45),
    "newlines": (0.42, 0.41, 0.36, 0.44, 0.50, 0.60),
    "double spaces": (0.30, 0.30, 0.33, 0.39, 0.32, 0.12),
    "tabs": (0.55, 0.49, 0.47, 0.38, 0.58, 0.90),
    "cyrillic": (0.43, 0.81, 0.67, 0.51, 0.61, 1.08),
    "greek": (0.44, 1.13, 1.09, 0.44, 0.58, 1.06),
    "han": (0.98, 1.46, 0.87, 0.74, 0.75, 2.02),
    "traditional han": (1.19, 1.69, 1.09, 0.88, 0.94, 2.19),
    "japanese han": (1.05, 2.29, 1.40, 1.07, 1.16, 2.31),
    "rare han": (2.27, 2.88, 1.85, 2.27, 2.27, 2.99),
    "kana": (0.68, 0.86, 0.71, 0.42, 0.65, 1.76),
    "hiragana": (0.90, 0.99, 0.57, 0.50, 0.71, 1.80),
    "wide punctuation": (0.35, 0.37, 0.37, 0.37, 0.35, 1.22),
    "hangul": (0.79, 1.28, 0.92, 0.66, 0.90, 2.95),
    "thai": (0.53, 1.09, 0.67, 0.35, 0.50, 2.06),
    "arabic": (0.41, 0.94, 0.70, 0.41, 0.48, 1.34),
    "hebrew": (0.53, 2.07, 1.06, 0.79, 0.67, 2.10),
    "indic": (0.48, 1.46, 1.31, 0.61, 0.74, 2.13),
    "typography": (1.03, 0.93, 1.03, 1.34, 1.44, 1.03),
    "drawing": (1.48, 2.10, 1.04, 0.98, 0.58, 2.16),
    "astral": (2.06, 3.09, 1.44, 3.09, 2.47, 3.19),
    "other": (0.60, 2.19, 1.76, 0.84, 1.06, 3.18),
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
    ("qwen", _family("qwen")),
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
    scripts.KANA: {"hiragana": 0.5, "japanese han": 0.35, "kana": 0.15},
    scripts.SPACE: {"newlines": 1.0, "double spaces": 1.0},
    **{
        script: {script: 1.0}
        for script in (
            scripts.CYRILLIC, scripts.GREEK, scripts.HAN, scripts.HANGUL, scripts.THAI, scripts.ARABIC,
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
