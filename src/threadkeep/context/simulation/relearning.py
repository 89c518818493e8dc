"""Token counting as it was at each call: cold at first, then corrected by reports, as ContextMiddleware does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage

from threadkeep.context.counting.calibration import Calibration
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.simulation.recording import Step

CLOSE: Final = 0.08
"""How far a calibrated estimate may lie from the report before it is learned from."""

MOVED: Final = 0.03
"""By how much a factor must have changed before it counts."""


class Sizes:
    """Sums up messages with one counter; each message is counted once."""

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self._known: dict[int, tuple[BaseMessage, int]] = {}

    def total(self, messages: Sequence[BaseMessage]) -> int:
        """Return the tokens of messages."""
        total = 0
        for message in messages:
            found = self._known.get(id(message))
            if found is None:
                found = self._known[id(message)] = message, self.counter.message(message)
            total += found[1]
        return total


class Relearning:
    """The counter that plans are made with, which learns from call to call.

    Args:
        model: The model, or its name.
        learns: Whether anything is learned; what counts in a plain loop stays cold.
    """

    def __init__(self, model: Any, learns: bool) -> None:
        self._model = model
        self._learns = learns
        self._calibration = Calibration()
        self._sizes = Sizes(Counter(model))

    @property
    def counter(self) -> Counter:
        """The counter for the next call."""
        return self._sizes.counter

    def learn(self, step: Step) -> None:
        """Take in what was reported for a call of which it is known what was sent."""
        reported = step.reported.input if step.reported else None
        if not self._learns or step.sent is None or not reported:
            return
        counter = self.counter
        if counter.quality == "calibrated":
            estimate = self._sizes.total(step.sent) + counter.tools(step.tools, step.response_format)
            if abs(estimate - reported) <= CLOSE * reported:
                return
        counted = counter.count(step.sent, tools=step.tools, response_format=step.response_format)
        if self._calibration.learn(self._model, counted.weights, reported):
            self._take()

    def _take(self) -> None:
        used = self.counter.calibration
        before = used.factors(self._model) if used is not None else {}
        after = self._calibration.factors(self._model)
        if after.keys() != before.keys() or any(abs(after[s] / before[s] - 1) > MOVED for s in after):
            self._sizes = Sizes(Counter(self._model, Calibration.from_json(self._calibration.to_json())))
