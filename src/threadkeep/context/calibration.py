"""Learn from what providers report how far a cold estimate is from the truth, by model and script.

Each reported call gives one equation: the cold estimates of its scripts, each times that script's factor, add up to the
reported input tokens. The last dozen calls of a model are kept and solved for the logarithms of the factors, by least
squares of the relative error with a prior around 1, so that three calls are enough and a script that hardly occurred
stays near its cold estimate. Calls that do not fit the others lose their weight (Cauchy's), so that one wrong report
does no harm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from threadkeep.context.providers import model_name
from threadkeep.context.scripts import SCRIPTS

KEPT: Final = 12
"""Reported calls that are kept of each model."""
ENOUGH: Final = 3
"""Reported calls with a script after which its estimate is `calibrated`."""
_SHARE: Final = 0.04
"""Share of a call's tokens from which on a call says something about a script."""
_FLOOR, _CEILING = 0.3, 8.0
"""Bounds of a factor, and of a report beside its estimate: what lies outside is no count of this input."""
_LEAST: Final = 16
"""Reported tokens below which wrappers, not text, decide."""
_PRIOR, _SPREAD = -0.08, 0.45
"""Mean and deviation of a factor's logarithm before anything is known: cold estimates err high by about 8 %."""
_NOISE: Final = 0.05
"""Relative deviation of a call's text from its script's average."""
_MARGIN: Final = 0.05
"""What a calibrated estimate is raised by, so that it errs high."""
_ROUNDS: Final = 12

Call = tuple[dict[str, float], int]


class Calibration:
    """Factors by (model, script), learned from reported calls. A plain value: `to_json` and `from_json` keep it."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[Call, ...]] = {}
        self._solved: dict[str, tuple[tuple[Call, ...], dict[str, float]]] = {}

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
        """Return what a script's cold estimate is multiplied by; 1.0 where too little was reported yet."""
        return self.factors(model).get(script, 1.0)

    def factors(self, model: Any) -> dict[str, float]:
        """Return the factors of the scripts that enough reported calls of a model contained."""
        name = _key(model)
        calls = self._calls.get(name, ())
        if not calls:
            return {}
        known = self._solved.get(name)
        if known is None or known[0] is not calls:
            known = self._solved[name] = calls, _solve(calls)
        return known[1]

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


def _solve(calls: Sequence[Call]) -> dict[str, float]:
    spoken = [_speaking(call) for call in calls]
    scripts = [script for script in SCRIPTS if any(script in counts for counts, _ in calls)]
    logs = [_PRIOR] * len(scripts)
    rows = [[counts.get(script, 0.0) / reported for script in scripts] for counts, reported in calls]
    for _ in range(_ROUNDS):
        logs = _step(rows, logs)
    return {
        script: min(_CEILING, max(_FLOOR, math.exp(log) * (1.0 + _MARGIN)))
        for script, log in zip(scripts, logs, strict=True)
        if sum(script in one for one in spoken) >= ENOUGH
    }


def _step(rows: Sequence[Sequence[float]], logs: Sequence[float]) -> list[float]:
    """Take one step of Gauss and Newton towards the factors' logarithms."""
    size = len(logs)
    matrix = [[0.0] * size for _ in range(size)]
    target = [(_PRIOR - log) / _SPREAD**2 for log in logs]
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
