"""HeadTail: the first messages and the newest stay, the middle is summarised or left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.history import SYSTEM, History
from threadkeep.context.planning.limits import Limits, Size, Trigger, check_trigger
from threadkeep.context.planning.marks import Mark
from threadkeep.context.policies.reducing import Amount, Rule, amounts
from threadkeep.context.policies.summary import Summarising, keep_size
from threadkeep.context.policies.window import cut_away
from threadkeep.errors import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class HeadTail(Summarising):
    """Keep the first messages (the task, its constraints) and the newest ones; the middle is summarised or left out.

    Takes what `Summarising` takes, and:

    Args:
        head: What stays at the beginning, at most: `("messages", 2)`, `("turns", 1)`, `("tokens", 500)`; a number
            means messages. Whole rounds, but never less than the first message; system messages do not count.
        tail: What stays at the end after a reduction, as `keep` of `SummaryBuffer`.
        trigger: When to reduce; by default when there is the head and twice the tail.
        summarise: False leaves the middle out without a word; no model is called then.
    """

    name: ClassVar[str] = "head-tail"

    head: Size | int = ("messages", 2)
    tail: Size | int = ("messages", 20)
    trigger: Trigger | None = None  # type: ignore[assignment]
    summarise: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "head", keep_size(self.head, "head"))
        object.__setattr__(self, "tail", keep_size(self.tail, "tail"))
        if "fraction" in (self._head[0], self._tail[0]) and self.trigger is None:
            raise ConfigurationError(
                "head and tail in fractions need a trigger=; give one, or use ('tokens', n)."
            )
        if self._head[0] == "fraction":
            raise ConfigurationError(f"head={self.head!r} cannot be used; give messages, turns or tokens.")
        if self.trigger is None:
            object.__setattr__(self, "trigger", self._twice())
        check_trigger(self.trigger)
        super().__post_init__()

    @property
    def _head(self) -> Size:
        return keep_size(self.head, "head")

    @property
    def _tail(self) -> Size:
        return keep_size(self.tail, "tail")

    def _twice(self) -> Size:
        unit, amount = self._tail
        same = self._head[1] if self._head[0] == unit else 0
        return (unit, int(same + max(2, 2 * amount)))

    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Take the middle out, and put its summary in if there is to be one."""
        if self.summarise:
            return super().apply(draft, mark)
        return cut_away(draft, self.rule(draft, mark), mark, self.name)

    def rule(self, draft: Draft, mark: Mark | None) -> Rule:
        """Return when and how far to cut."""
        limits: Limits = draft.request.limits
        keep: tuple[Amount, ...] = amounts((self._tail,), limits, self.context_window)
        start = (
            mark.start
            if mark is not None and (mark.boundary or mark.key)
            else head_end(draft.history, self._head)
        )
        block = self.block(limits) if self.summarise else 0
        return Rule(
            trigger=self.triggers(limits), keep=keep, start=start, leads=not self.summarise, block=block
        )


def head_end(history: History, size: Size) -> int:
    """Return where the head ends: whole rounds, at least the first message that is no instruction."""
    n = len(history)
    first = 0
    while first < n and history.kinds[first] == SYSTEM:
        first += 1
    least = next((i for i in range(first + 1, n) if history.borders[i]), n)
    unit, amount = size
    if amount == 0:
        return first
    if unit == "turns":
        starts = history.turn_starts
        return starts[int(amount)] if len(starts) > amount else max(least, min(n, _after_question(history)))
    best = least
    used = 0
    for index in range(first, n):
        used += 1 if unit == "messages" else history.tokens(index)
        if used > amount:
            break
        if index + 1 == n or history.borders[index + 1]:
            best = max(best, index + 1)
    return best


def _after_question(history: History) -> int:
    """Return the place after the last human message: as long as a turn is open, only its question is head."""
    return history.turn_starts[-1] + 1 if history.turn_starts else 0
