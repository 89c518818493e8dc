"""Summaries for `simulate`: of their configured size without a model, as they were stored, or by a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from threadkeep.context.planning.history import Counting
from threadkeep.context.planning.limits import FALLBACK_WINDOW
from threadkeep.context.planning.plan import Answer, Need
from threadkeep.context.planning.viewing import model_of, text_of, window_of
from threadkeep.context.prices import usage_of
from threadkeep.context.simulation.recording import Summaries
from threadkeep.context.summaries.summarizing import Ask, Failed

MARK: Final = "simulated summary:"
"""How a text begins that stands for a summary nobody wrote."""

_TEXTS: Final = 16_384
"""How many texts are remembered with their tokens."""

_WORDS: Final = (
    "the order was checked and later moved because a shelf had no room so they agreed on another plan after some "
    "talk about colours doors paint tools weather and how long it might take to finish what was begun before lunch"
).split()


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """What one call to a summarizer took, in tokens."""

    input: int
    output: int


class Summarizer:
    """Meets what plans need, and keeps count of the calls that takes.

    Args:
        counter: Counts what calls to a summarizer take.
        window: Tokens of the summarizer's context window where its model does not say.
        stored: Finds summaries that were really made; their text is used.
        model: A chat model that writes real summaries, or its name; None writes filler.
        extracts: Whether policies without a model of their own make do with extracts.
    """

    def __init__(
        self,
        counter: Counting,
        window: int | None,
        stored: Summaries,
        model: Any = None,
        *,
        extracts: bool = False,
    ) -> None:
        self._counter = counter
        # Each summary restates nearly what the one before did.
        self._counted: tuple[Counting, Callable[[str], int]] = counter, lru_cache(_TEXTS)(counter.text)
        self._extracts = extracts
        self._window = window or FALLBACK_WINDOW
        self._stored = stored
        self._model = model

    def meet(self, need: Need, counter: Counting) -> tuple[Answer, list[Made]]:
        """Return the answer to a need, and the calls it took; the plan's own counter limits what is made."""
        answer: Answer
        plain = need.kind not in ("summary", "entities")
        extracts = self._extracts and self._model is None and need.model is None
        if self._counted[0] is not counter:
            self._counted = counter, lru_cache(_TEXTS)(counter.text)
        count = self._counted[1]
        if need.local is not None and (plain or extracts):
            return need.local(count), []
        stored = self._stored(need.fingerprint, need.key) if need.kind == "summary" else None
        reply = self._answered if self._model is not None and stored is None else self._filled
        answer, made = self._driven(need, count, reply)
        if stored is not None:
            return stored, _with_output(made, self._counter.text(stored.text))
        if need.kind == "entities" and self._model is None and need.local is not None:
            return need.local(count), made
        return answer, made

    def _driven(
        self, need: Need, count: Callable[[str], int], reply: Callable[[Ask], tuple[str | Exception, Made]]
    ) -> tuple[Answer | Failed, list[Made]]:
        window = (window_of(self._model) if self._model is not None else None) or self._window
        work = need.work(count, window)
        made: list[Made] = []
        try:
            ask = next(work)
            while True:
                text, one = reply(ask)
                made.append(one)
                ask = work.throw(text) if isinstance(text, Exception) else work.send(text)
        except StopIteration as done:
            return done.value, made

    def _filled(self, ask: Ask) -> tuple[str, Made]:
        size = self._input(ask)
        if ask.purpose == "extraction":
            return "[]", Made(input=size, output=ask.max_tokens // 2)
        text = filler(
            min(ask.max_tokens, max(8, self._counter.message(ask.messages[-1]) // 2)), self._counter.text
        )
        return text, Made(input=size, output=self._counter.text(text))

    def _answered(self, ask: Ask) -> tuple[str | Exception, Made]:
        size = self._input(ask)
        try:
            answer = model_of(self._model).invoke(list(ask.messages))
        except Exception as error:  # handed to the summarizer's generator, which answers with a failure
            return error, Made(input=size, output=0)
        text, usage = text_of(answer), usage_of(answer) if hasattr(answer, "usage_metadata") else None
        if usage is None:
            return text, Made(input=size, output=self._counter.text(text))
        return text, Made(input=usage.input or size, output=usage.output or 0)

    def _input(self, ask: Ask) -> int:
        return sum(self._counter.message(message) for message in ask.messages)


def filler(tokens: int, count: Callable[[str], int]) -> str:
    """Return a text of about so many tokens, the same for the same size; it begins with `MARK`."""
    words = _endless()
    text = [MARK]
    while (missing := tokens - count(" ".join(text))) > 0:
        text.extend(next(words) for _ in range(max(1, missing * 2 // 3)))
    return " ".join(text)


def _endless() -> Iterator[str]:
    """Yield words in an order that does not repeat itself: what repeats itself is no summary."""
    state = 1
    while True:
        state = (state * 1_103_515_245 + 12_345) % (1 << 31)
        yield _WORDS[(state >> 12) % len(_WORDS)]


def _with_output(made: list[Made], tokens: int) -> list[Made]:
    return [*made[:-1], Made(input=made[-1].input, output=tokens)] if made else made
