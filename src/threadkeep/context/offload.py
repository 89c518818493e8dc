"""Offload: the older part leaves the view, and the model can read it again through tools."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import ClassVar

from langchain_core.messages import BaseMessage, HumanMessage

from threadkeep.context.draft import Draft
from threadkeep.context.fences import MARK, enclose, is_own
from threadkeep.context.history import SYSTEM, History
from threadkeep.context.limits import Limits, Size, Trigger, check_count, check_trigger
from threadkeep.context.marks import Mark
from threadkeep.context.policy import Policy
from threadkeep.context.recalling import reference_of
from threadkeep.context.reducing import Amount, Cut, Reducer, Rule, amounts, staying_before
from threadkeep.context.summary import DEFAULT_TRIGGER, half_of, keep_size
from threadkeep.context.tool_results import shortened

INDEX = "index"
"""What marks the message that lists what was offloaded."""

HEADING = (
    "Earlier parts of this conversation are not shown. Each line stands for one part and begins with its reference: "
    "read_history(reference) returns it word for word, search_history(query) finds words in all of them."
)


@dataclass(frozen=True, kw_only=True)
class Offload(Policy):
    """Take the older part out of the view, and leave a line with a reference for each part of it.

    The model reads and searches what left by the tools `read_history` and `search_history`, which it is given with
    this policy. Results of tools that are very large are replaced from the beginning by a preview with a reference.

    Args:
        trigger: When to reduce, in the forms of `SummaryBuffer`.
        keep: What stays word for word after a reduction, as for `SummaryBuffer`.
        index: Tokens that the lines may take; where there are too many, older parts share one.
        large: Tokens from which a tool's result is replaced by a preview; None never does that.
        preview: Tokens of a preview.
        heading: The sentence above the lines.
        context_window: Tokens of the model's context window, for fractions, where the model does not say.

    Raises:
        ConfigurationError: A value cannot be used.
    """

    name: ClassVar[str] = "offload"

    trigger: Trigger = DEFAULT_TRIGGER
    keep: Size | int | None = None
    index: int = 600
    large: int | None = 4_000
    preview: int = 200
    heading: str = HEADING
    context_window: int | None = None

    def __post_init__(self) -> None:
        check_trigger(self.trigger)
        if self.keep is not None:
            object.__setattr__(self, "keep", keep_size(self.keep, "keep"))
        check_count(self.index, "index", least=100)
        check_count(self.preview, "preview", least=16)
        for name in ("large", "context_window"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name, least=1)

    @property
    def recalls(self) -> bool:
        """Whether the model is to be given the recall tools: always."""
        return True

    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Put previews in the place of large results, and lines in the place of the older part."""
        self._preview(draft)
        limits = draft.request.limits
        triggers = tuple(amounts(one, limits, self.context_window) for one in check_trigger(self.trigger))
        rule = Rule(trigger=triggers, keep=self._keep(draft, triggers, limits), leads=False, block=self.index)
        cut = Reducer(draft, rule, mark).cut()
        if cut.boundary > 0:
            self._offload(draft, rule, cut)
        return Mark(generation=cut.generation, boundary=cut.boundary if cut.generation else 0, at=cut.at)

    def _keep(
        self, draft: Draft, triggers: tuple[tuple[Amount, ...], ...], limits: Limits
    ) -> tuple[Amount, ...]:
        if self.keep is not None:
            return amounts((keep_size(self.keep, "keep"),), limits, self.context_window)
        return (half_of(triggers[0], self.index, limits, draft.request.provider),)

    def _offload(self, draft: Draft, rule: Rule, cut: Cut) -> None:
        history = draft.history
        key = (INDEX, self.index, self.heading, cut.boundary, history.prefix_digest(cut.boundary))
        message, references = history.memo(key, lambda: self._block(history, cut.boundary))
        for start, end, reference in references:
            draft.references[reference] = (start, end)
            draft.hide(
                start, end, [i for i in staying_before(draft, rule, cut.boundary) if start <= i < end],
                "offloaded", self.name, cut.generation, reference,
            )  # fmt: skip
        first = 0
        while first < cut.boundary and history.kinds[first] == SYSTEM:
            first += 1
        draft.insert(first, message)
        draft.strip(0, cut.at)
        draft.advanced = draft.advanced or cut.advanced

    def _block(self, history: History, boundary: int) -> tuple[BaseMessage, list[tuple[int, int, str]]]:
        """Return the message with a line for each part before a boundary, and the parts with their references."""
        count = history.counter.text
        parts = stretches(history, boundary)
        while True:
            lines = [(start, end, reference_of(history, start, end)) for start, end in parts]
            text = "\n".join(
                f"{reference}: {_opening(history, start, end)}" for start, end, reference in lines
            )
            if count(text) <= self.index - count(self.heading) or len(parts) <= 4:
                break
            parts = merged(parts)
        content = enclose("background", f"{self.heading}\n\n{text}")
        digest = blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        message = HumanMessage(content, id=f"threadkeep-index-{digest}", additional_kwargs={MARK: INDEX})
        return message, lines

    def _preview(self, draft: Draft) -> None:
        """Replace large results; whether one is large depends on its bytes alone, so that it stays what it is."""
        if self.large is None:
            return
        history = draft.history
        for index in history.results:
            message = history.messages[index]
            if not draft.present[index] or index in draft.copies or is_own(message):
                continue
            if len(message.content) > self.large and _bytes(str(message.text)) > 4 * self.large:
                reference = reference_of(history, index, index + 1)
                copy = history.variant(
                    index, ("preview", self.preview, reference), partial(self._previewed, reference)
                )
                draft.references[reference] = (index, index + 1)
                draft.replace(index, copy, "previewed", self.name, 0, reference)

    def _previewed(self, reference: str, message: BaseMessage) -> BaseMessage:
        return message.model_copy(update={"content": shortened(str(message.text), self.preview, reference)})


def stretches(history: History, boundary: int) -> list[tuple[int, int]]:
    """Return the messages before a boundary as parts: one for each turn, or for what of it lies before."""
    starts = [start for start in history.turn_starts if start < boundary]
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    return list(zip(starts, [*starts[1:], boundary], strict=True))


def merged(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return half as many parts, older ones joined first: the newest quarter stays as it is."""
    stay = max(2, len(parts) // 4)
    old, new = parts[:-stay], parts[-stay:]
    joined = [(old[i][0], old[min(i + 1, len(old) - 1)][1]) for i in range(0, len(old), 2)]
    return joined + new


def _opening(history: History, start: int, end: int) -> str:
    """Return how a part begins: the first thing that somebody said in it."""
    for index in range(start, end):
        text = " ".join(str(history.messages[index].text)[:400].split())
        if text and history.kinds[index] != SYSTEM and not is_own(history.messages[index]):
            short = text if len(text) <= 80 else f"{text[:79]}…"
            return short if end - start == 1 else f"{short} ({end - start} messages)"
    return f"({end - start} messages)"


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
