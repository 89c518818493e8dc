"""ToolResults: old results of tools are cleared or shortened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from langchain_core.messages import BaseMessage

from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.limits import Trigger, check_count, check_trigger
from threadkeep.context.planning.marks import Mark
from threadkeep.context.planning.plan import What
from threadkeep.context.planning.recalling import reference_of
from threadkeep.context.policies.policy import Policy
from threadkeep.context.policies.reducing import amounts
from threadkeep.context.policies.stepping import Stepper, Steps
from threadkeep.context.summaries.fences import is_own
from threadkeep.errors import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class ToolResults(Policy):
    """Clear or shorten the results of earlier tool calls; the calls themselves stay, and so do the newest results.

    It goes in steps, so that the prompt's prefix stays the same in between. The last round is never touched.

    Args:
        keep: How many of the newest results stay as they are.
        trigger: How large the view must be, in the forms of `SummaryBuffer`; and what can be cleared must be
            two fifths of it. None: whenever `step` results can be cleared.
        shorten: Tokens that are left of a result, from its beginning and its end; None clears it.
        step: How many results are cleared together at least, without a trigger; by default 10, or twice `keep`.
        exclude: Names of tools whose results stay.
        context_window: Tokens of the model's context window, for fractions, where the model does not say.

    Raises:
        ConfigurationError: A value cannot be used.
    """

    name: ClassVar[str] = "tool-results"

    keep: int = 3
    trigger: Trigger | None = None
    shorten: int | None = None
    step: int | None = None
    exclude: tuple[str, ...] = ()
    context_window: int | None = None

    def __post_init__(self) -> None:
        check_count(self.keep, "keep")
        if self.trigger is not None:
            check_trigger(self.trigger)
        for name in ("shorten", "step", "context_window"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name, least=1)
        if isinstance(self.exclude, str):
            raise ConfigurationError(f"exclude={self.exclude!r} is one text; give the names as a tuple.")
        object.__setattr__(self, "exclude", tuple(self.exclude))

    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Put shorter copies in the place of old results."""
        history, limits = draft.history, draft.request.limits
        candidates = [i for i in history.results if draft.present[i] and self._clears(history.messages[i])]
        copies = _Copies(self, draft)
        steps = Steps(
            keep=self.keep,
            step=self.step or max(10, 2 * self.keep),
            trigger=tuple(
                amounts(one, limits, self.context_window)
                for one in (check_trigger(self.trigger) if self.trigger is not None else ())
            ),
        )
        cut = Stepper(draft, steps, mark, candidates, copies.gain).cut()
        what: What = "cleared" if self.shorten is None else "shortened"
        for index in candidates:
            if index >= cut.boundary:
                break
            copy = copies.of(index)
            if copy[1] < draft.tokens(index):
                draft.replace(index, copy, what, self.name, cut.generation, copies.reference(index))
        if cut.boundary:
            draft.strip(candidates[0] if candidates else 0, cut.at)
            draft.advanced = draft.advanced or cut.advanced
        return Mark(generation=cut.generation, boundary=cut.boundary, at=cut.at)

    def _clears(self, message: BaseMessage) -> bool:
        return message.name not in self.exclude


class _Copies:
    """The shorter copies of one plan."""

    def __init__(self, policy: ToolResults, draft: Draft) -> None:
        self._policy = policy
        self._draft = draft

    def reference(self, index: int) -> str | None:
        message = self._draft.history.messages[index]
        if not self._draft.recall or is_own(message):
            return None
        reference = reference_of(self._draft.history, index, index + 1)
        self._draft.references[reference] = (index, index + 1)
        return reference

    def of(self, index: int) -> tuple[BaseMessage, int]:
        reference = self.reference(index)
        key = ("results", self._policy.shorten, reference)
        return self._draft.history.variant(index, key, self._maker(reference))

    def gain(self, index: int) -> int:
        return max(0, self._draft.tokens(index) - self.of(index)[1])

    def _maker(self, reference: str | None) -> Callable[[BaseMessage], BaseMessage]:
        def make(message: BaseMessage) -> BaseMessage:
            text = str(message.text)
            if self._policy.shorten is None:
                content = note(f"result cleared, {len(text):,} characters", reference)
            else:
                content = shortened(text, self._policy.shorten, reference)
            return message.model_copy(update={"content": content})

        return make


def note(text: str, reference: str | None) -> str:
    """Return what stands in the place of something, with how to read it."""
    return f"[{text}]" if reference is None else f'[{text}; read_history("{reference}") returns it]'


def shortened(text: str, tokens: int, reference: str | None) -> str:
    """Return the beginning and the end of a text, about so many tokens of it, with a note of what is missing."""
    size = 4 * tokens  # bytes: a token has four and more in every script
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= size:
        return text
    head, tail = size * 2 // 3, size - size * 2 // 3
    first: Any = data[:head].decode("utf-8", "ignore")
    last: Any = data[len(data) - tail :].decode("utf-8", "ignore")
    missing = len(text) - len(first) - len(last)
    return f"{first}\n{note(f'{missing:,} characters left out', reference)}\n{last}"
