"""Counters by model, corrected by what its provider reported."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import BaseMessage

from threadkeep.adapters.agents.place import Place
from threadkeep.adapters.agents.steps import Flow, Step
from threadkeep.context.counting.calibration import Calibration
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.providers import model_name, own_tokens

CLOSE: Final = 0.08
"""How far a calibrated estimate may lie from the report before the call is learned from: it errs 5 % high."""

MOVED: Final = 0.03
"""By how much a script's factor must have changed before all messages are counted anew."""


@dataclass(slots=True)
class _Known:
    counter: Counter
    calibration: Calibration = field(default_factory=Calibration)
    loaded: bool = False


class Counters:
    """One counter for each model that was called."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, _Known] = {}

    def of(self, model: Any, place: Place) -> Flow[Counter]:
        """Return a model's counter; what was learned of the model before is read once."""
        name = model_name(model) or type(model).__name__
        with self._lock:
            known = self._known.get(name)
            if known is None:
                known = self._known[name] = _Known(Counter(model))
        if not known.loaded and place.notes is not None:
            stored = yield Step.of(place.notes, "calibration", name)
            known.loaded = True
            self._take(known, model, Calibration.from_json(stored))
        return known.counter

    def learn(
        self,
        model: Any,
        place: Place,
        estimate: int,
        reported: int,
        sent: Sequence[BaseMessage],
        **more: Any,
    ) -> Flow[None]:
        """Learn from a reported call, unless its estimate is good enough as it is.

        Args:
            model: The model that was called.
            place: Where; what is learned there is kept for all threads.
            estimate: The estimate of the call's input in tokens.
            reported: The input tokens that the provider reported, cached ones included.
            sent: The messages of the call.
            more: Tools, system prompt and response format, as `Counter.count` takes them.
        """
        name = model_name(model) or type(model).__name__
        known = self._known[name]
        if known.counter.quality == "calibrated" and abs(estimate - reported) <= CLOSE * reported:
            return
        counted = known.counter.count(sent, **more)
        reported -= own_tokens(model)
        if not known.calibration.learn(model, counted.weights, reported):
            return  # no plausible count of this input
        if place.notes is None:
            self._take(known, model, known.calibration)
            return

        def change(stored: Any) -> Any:
            calibration = Calibration.from_json(stored)
            calibration.learn(model, counted.weights, reported)
            return calibration.to_json()

        stored = yield Step.of(place.notes, "learn", name, change)
        self._take(known, model, Calibration.from_json(stored))

    def _take(self, known: _Known, model: Any, calibration: Calibration) -> None:
        """Let a calibration count, where it differs enough to be worth counting all messages again."""
        known.calibration = calibration
        used = known.counter.calibration
        before = used.factors(model) if used is not None else {}
        after = calibration.factors(model)
        if after.keys() != before.keys() or any(abs(after[s] / before[s] - 1) > MOVED for s in after):
            # The counter keeps a copy, for it is as good as its factors are fixed.
            known.counter = Counter(model, Calibration.from_json(calibration.to_json()))
