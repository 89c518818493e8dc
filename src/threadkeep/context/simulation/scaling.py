"""From estimated tokens to those a provider would report, by what it did report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

_LEAST, _MOST = 0.5, 1.6
"""Bounds of tokens per estimated token where only the answers' own reports are known."""

_ENOUGH: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """What one call was estimated to have as input, and what was reported.

    `exact` says that the estimate is of what was sent; else it is of the whole conversation up to then.
    """

    estimate: int
    reported: int
    exact: bool


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How estimates become tokens: a factor for each call, and a constant for what is not known of the prompt.

    Where it was recorded what a call was sent, its factor is what was reported for each estimated token, so that the
    same messages give the reported number. Other calls have the median of these factors. Where nothing was recorded,
    factor and constant are fitted to the reports of the first calls, when the whole conversation was sent.
    """

    factors: Mapping[int, float] = field(default_factory=dict)
    factor: float = 1.0
    constant: int = 0

    def tokens(self, step: int, estimate: int) -> int:
        """Return the tokens that a provider would report for an estimate in one of the calls."""
        return max(1, round(self.constant + estimate * self.of(step)))

    def of(self, step: int) -> float:
        """Return the tokens per estimated token of a call."""
        return self.factors.get(step, self.factor)


def scale_of(pairs: Mapping[int, Pair], constant: int, *, fixed: int | None = None) -> Scale:
    """Return the scale of a conversation.

    Args:
        pairs: Of each call whose usage was reported.
        constant: Tokens of a system prompt and tools that are not known, where no report tells.
        fixed: What they are, where somebody says so.
    """
    exact = {n: pair.reported / pair.estimate for n, pair in pairs.items() if pair.exact and pair.estimate}
    if exact:
        return Scale(factors=exact, factor=median(exact.values()))
    growing = _growing([pair for pair in pairs.values() if pair.estimate])
    if not growing:
        return Scale(constant=constant)
    if fixed is not None:
        factor = median((pair.reported - fixed) / pair.estimate for pair in growing)
        return Scale(factor=min(_MOST, max(_LEAST, factor)), constant=fixed)
    return _fitted(growing)


def _growing(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the calls before the first whose input is smaller than before: from then on not everything was sent."""
    found = list(pairs[:1])
    for pair in pairs[1:]:
        if pair.reported < found[-1].reported:
            break
        found.append(pair)
    return found


def _fitted(pairs: Sequence[Pair]) -> Scale:
    """Fit a line; with few calls, or no spread, the constant alone."""
    n = len(pairs)
    mean_x, mean_y = sum(p.estimate for p in pairs) / n, sum(p.reported for p in pairs) / n
    spread = sum((p.estimate - mean_x) ** 2 for p in pairs)
    factor = 0.9
    if n >= _ENOUGH and spread:
        slope = sum((p.estimate - mean_x) * (p.reported - mean_y) for p in pairs) / spread
        factor = min(_MOST, max(_LEAST, slope))
    if mean_y < factor * mean_x:
        factor = max(_LEAST, mean_y / mean_x)
    return Scale(factor=factor, constant=max(0, round(mean_y - factor * mean_x)))
