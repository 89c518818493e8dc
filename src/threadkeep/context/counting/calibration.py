"""Learn from what providers report how far a cold estimate is from the truth, by model and script.

Each reported call gives one equation: the cold estimates of its scripts, each times that script's factor, add up to the
reported input tokens. The last dozen calls of a model are kept and solved for the logarithms of the factors, by least
squares of the relative error with a prior around 1, so that three calls are enough and a script that hardly occurred
stays near its cold estimate. For a model whose tokenizer is not known by its name, every known family is tried, and the
one that the calls fit is taken. Calls that do not fit the others lose their weight (Cauchy's), so that one wrong report
does no harm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from threadkeep.context.counting.families import profiles
from threadkeep.context.counting.scripts import SCRIPTS
from threadkeep.context.providers import model_name

KEPT: Final = 12
"""Reported calls that are kept of each model."""
ENOUGH: Final = 3
"""Reported calls with a script after which its estimate is `calibrated`."""
_SHARE: Final = 0.02
"""Share of a call's tokens from which on a call says something about a script."""
_FLOOR, _CEILING = 0.3, 8.0
"""Bounds of a factor, and of a report beside its estimate: what lies outside is no count of this input."""
_LEAST: Final = 16
"""Reported tokens below which wrappers, not text, decide."""
_PRIOR, _SPREAD = -0.08, 0.45
"""Mean and deviation of a factor's logarithm before anything is known: cold estimates err high by about 8 %."""
_NOISE: Final = 0.05
"""Relative deviation of a call's text from its script's average."""
_MARGIN: Final = 0.04
"""What a calibrated estimate is raised by, so that it errs high."""
_ROUNDS, _SETTLED = 8, 0.005

_DOUBT: Final = 3.0
"""By how much another family must fit better than the one that a model's name says."""

Call = tuple[dict[str, float], int]


class _Solved(NamedTuple):
    calls: Sequence[Call]
    factors: dict[str, float]
    known: frozenset[str]


_NOTHING: Final = _Solved((), {}, frozenset())


class Calibration:
    """Factors by (model, script), learned from reported calls. A plain value: `to_json` and `from_json` keep it."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[Call, ...]] = {}
        self._solved: dict[str, _Solved] = {}

    def learn(self, model: Any, counts: Mapping[str, float], reported: int) -> bool:
        """Take in one reported call; False where the report is no plausible count of this input.

        `counts` are the cold estimates by script (`Count.weights`) of all that was sent, `reported` the input tokens
        with the cached ones included.
        """
        counts = {script: float(counts[script]) for script in SCRIPTS if counts.get(script, 0.0) > 0.0}
        total = sum(counts.values())
        if type(reported) is not int or reported < _LEAST or not math.isfinite(total) or total < _LEAST:
            return False
        if not _FLOOR <= reported / total <= _CEILING:
            return False
        name = _key(model)
        kept = ({script: round(weight, 1) for script, weight in counts.items()}, reported)
        self._calls[name] = _shortened((*self._calls.get(name, ()), kept))
        return True

    def factor(self, model: Any, script: str) -> float:
        """Return what a script's cold estimate is multiplied by; 1.0 where nothing was reported yet."""
        return self.factors(model).get(script, 1.0)

    def factors(self, model: Any) -> dict[str, float]:
        """Return the factors by script that the reported calls of a model lead to."""
        return dict(self._solution(model).factors)

    def known(self, model: Any) -> frozenset[str]:
        """Return the scripts that enough reported calls of a model contained: their estimates are `calibrated`."""
        return self._solution(model).known

    def _solution(self, model: Any) -> _Solved:
        name = _key(model)
        calls = self._calls.get(name, ())
        if not calls:
            return _NOTHING
        solved = self._solved.get(name)
        if solved is None or solved.calls is not calls:
            solved = self._solved[name] = _solve(calls, profiles(name))
        return solved

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes: plain lists, mappings, texts and numbers, under 2 KB a model."""
        models = {
            name: [[counts, reported] for counts, reported in calls] for name, calls in self._calls.items()
        }
        return {"version": 1, "models": models}

    @classmethod
    def from_json(cls, value: Any) -> Calibration:
        """Return the calibration that `to_json` wrote; what is damaged or of another version is left out."""
        made = cls()
        if not isinstance(value, Mapping) or value.get("version") != 1:
            return made
        models = value.get("models")
        for name, calls in models.items() if isinstance(models, Mapping) else ():
            for call in calls if isinstance(calls, list) else ():
                match call:
                    case [dict() as counts, int() as reported] if _numbers(counts):
                        made.learn(str(name), counts, reported)
        return made


def _numbers(counts: Mapping[Any, Any]) -> bool:
    return all(isinstance(weight, int | float) and not isinstance(weight, bool) for weight in counts.values())


def _key(model: Any) -> str:
    return model_name(model) or ""


def _speaking(call: Call) -> frozenset[str]:
    """Return the scripts that a call says something about."""
    total = sum(call[0].values())
    return frozenset(script for script, weight in call[0].items() if weight >= _SHARE * total)


def _shortened(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """Drop the oldest call whose scripts enough others speak of, so that what is rarely used is not forgotten."""
    if len(calls) <= KEPT:
        return calls
    spoken = [_speaking(call) for call in calls]
    for index, scripts in enumerate(spoken[:-1]):
        if all(sum(script in other for other in spoken) > ENOUGH for script in scripts):
            return calls[:index] + calls[index + 1 :]
    return calls[1:]


def _solve(calls: Sequence[Call], candidates: Sequence[Mapping[str, float]]) -> _Solved:
    """Solve for the factors with each candidate in turn, and keep the one that the calls fit best."""
    names = [script for script in SCRIPTS if any(script in counts for counts, _ in calls)]
    rows = [[counts.get(script, 0.0) / reported for script in names] for counts, reported in calls]
    best: tuple[float, list[float], Mapping[str, float]] | None = None
    for candidate in candidates:
        priors = [_PRIOR + math.log(candidate.get(script, 1.0)) for script in names]
        logs = list(priors)
        for _ in range(_ROUNDS):
            before, logs = logs, _step(rows, logs, priors)
            if all(abs(new - old) < _SETTLED for new, old in zip(logs, before, strict=True)):
                break
        # The family that the name says comes first, and only calls that clearly contradict it take another.
        cost = _misfit(rows, logs, priors) + (_DOUBT if best is not None else 0.0)
        if best is None or cost < best[0]:
            best = cost, logs, candidate
    assert best is not None
    _, logs, candidate = best
    unseen = dict(candidate) if len(calls) >= ENOUGH else {}
    found = {name: math.exp(log) * (1.0 + _MARGIN) for name, log in zip(names, logs, strict=True)}
    spoken = [_speaking(call) for call in calls]
    known = frozenset(name for name in names if sum(name in one for one in spoken) >= ENOUGH)
    bounded = {name: min(_CEILING, max(_FLOOR, factor)) for name, factor in {**unseen, **found}.items()}
    return _Solved(calls, bounded, known)


def _misfit(rows: Sequence[Sequence[float]], logs: Sequence[float], priors: Sequence[float]) -> float:
    """Return what a solution costs: how far the calls lie from it, and it from what was expected."""
    cost = sum(((log - prior) / _SPREAD) ** 2 for log, prior in zip(logs, priors, strict=True))
    for row in rows:
        error = 1.0 - sum(share * math.exp(log) for share, log in zip(row, logs, strict=True))
        cost += 9.0 * math.log1p((error / (3.0 * _NOISE)) ** 2)
    return cost


def _step(rows: Sequence[Sequence[float]], logs: Sequence[float], priors: Sequence[float]) -> list[float]:
    """Take one step of Gauss and Newton towards the factors' logarithms."""
    size = len(logs)
    matrix = [[0.0] * size for _ in range(size)]
    target = [(prior - log) / _SPREAD**2 for prior, log in zip(priors, logs, strict=True)]
    for index in range(size):
        matrix[index][index] = 1.0 / _SPREAD**2
    for row in rows:
        parts = [share * math.exp(log) for share, log in zip(row, logs, strict=True)]
        error = 1.0 - sum(parts)
        weight = 1.0 / (_NOISE**2 * (1.0 + (error / (3.0 * _NOISE)) ** 2))
        for i, part in enumerate(parts):
            if part:
                target[i] += weight * part * error
                line = matrix[i]
                for j, other in enumerate(parts):
                    line[j] += weight * part * other
    moves = _linear(matrix, target)
    low, high = math.log(_FLOOR), math.log(_CEILING)
    return [
        min(high, max(low, log + min(0.7, max(-0.7, move)))) for log, move in zip(logs, moves, strict=True)
    ]


def _linear(matrix: list[list[float]], target: list[float]) -> list[float]:
    """Solve a positive definite system by Gauss's elimination."""
    size = len(target)
    for pivot in range(size):
        for row in range(pivot + 1, size):
            scale = matrix[row][pivot] / matrix[pivot][pivot]
            if scale:
                for column in range(pivot, size):
                    matrix[row][column] -= scale * matrix[pivot][column]
                target[row] -= scale * target[pivot]
    solved = [0.0] * size
    for row in reversed(range(size)):
        rest = sum(matrix[row][column] * solved[column] for column in range(row + 1, size))
        solved[row] = (target[row] - rest) / matrix[row][row]
    return solved
