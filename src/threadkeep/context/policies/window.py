"""Window: the newest messages, tokens or turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.limits import CACHE_MINIMUM, Limits, Size, check_count, check_size
from threadkeep.context.planning.marks import Mark
from threadkeep.context.policies.policy import Policy
from threadkeep.context.policies.reducing import Amount, Cut, Reducer, Rule, amounts, staying_before
from threadkeep.errors import ConfigurationError

_SMALL: Final = 800


@dataclass(frozen=True, kw_only=True)
class Window(Policy):
    """Send the newest part of the conversation; what is older leaves the view and is not summarised.

    The window goes in steps: when it is full, it is cut down to `to`, and then grows again, so that the provider's
    cache of the prompt is of use in between. `to` equal to the size makes it slide with every call.

    Args:
        messages: At most this many messages.
        tokens: At most this many tokens of messages, by the upper estimate.
        turns: At most this many turns: human messages with all that answers them.
        fraction: At most this fraction of the model's context window, system prompt and tools included.
        to: What a full window is cut down to, in the same unit; by default half, of few tokens a quarter, more
            where the provider's cache needs more.
        context_window: Tokens of the model's context window, for `fraction`, where the model does not say.

    System messages, messages pinned by id, the open turn's human message and its last round always stay, even if
    they alone are larger.

    Raises:
        ConfigurationError: Not exactly one size is given, or a value cannot be used.
    """

    name: ClassVar[str] = "window"

    messages: int | None = None
    tokens: int | None = None
    turns: int | None = None
    fraction: float | None = None
    to: int | float | None = None
    context_window: int | None = None

    def __post_init__(self) -> None:
        given = [
            unit for unit in ("messages", "tokens", "turns", "fraction") if getattr(self, unit) is not None
        ]
        if len(given) != 1:
            raise ConfigurationError(
                f"A Window has one size, not {len(given)}; give messages=, tokens=, turns= or fraction=."
            )
        size = self.size
        if self.to is not None and check_size((size[0], self.to), "to")[1] > size[1]:
            raise ConfigurationError(
                f"to={self.to!r} is more than the window's {size[1]} {size[0]}; give less."
            )
        if self.context_window is not None:
            check_count(self.context_window, "context_window", least=1)

    @property
    def size(self) -> Size:
        """The size and its unit."""
        for unit in ("messages", "tokens", "turns", "fraction"):
            if getattr(self, unit) is not None:
                return check_size((unit, getattr(self, unit)), unit)
        raise AssertionError("checked when the value was made")

    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Take out what is older than the window."""
        limits = draft.request.limits
        size = amounts((self.size,), limits, self.context_window)
        rule = Rule(
            trigger=(size,),
            keep=(low_water(size[0], self._low(limits), limits, draft.request.provider),),
            whole_view=True,
            limit=True,
        )
        return cut_away(draft, rule, mark, self.name)

    def _low(self, limits: Limits) -> int | None:
        if self.to is None:
            return None
        return amounts(((self.size[0], self.to),), limits, self.context_window)[0][1]


def low_water(size: Amount, to: int | None, limits: Limits, provider: str) -> Amount:
    """Return what a full view is cut down to: about half, and if possible enough for the provider to cache it.

    Of few tokens less is kept. Each reduction costs one prompt that is not cached, so that with turns of about 110
    tokens a window of 2,000 that keeps half has 87 % of its input cached, one that keeps a quarter 89 %.
    """
    unit, amount = size
    if to is not None:
        return (unit, to)
    if unit != "tokens":
        return (unit, max(1, amount // 2))
    needed = CACHE_MINIMUM.get(provider, 0) - limits.overhead
    return (unit, max(1, amount // 4, amount // 2 - _SMALL, min(needed, amount * 6 // 10)))


def cut_away(draft: Draft, rule: Rule, mark: Mark | None, policy: str) -> Mark:
    """Cut a draft by a rule, leaving out what lies before the boundary, and return the mark."""
    cut = Reducer(draft, rule, mark).cut()
    hide_older(draft, rule, cut, policy)
    return Mark(
        generation=cut.generation, start=rule.start, boundary=cut.boundary if cut.generation else 0, at=cut.at
    )


def hide_older(draft: Draft, rule: Rule, cut: Cut, policy: str) -> None:
    """Take what lies before a boundary out of the view, but for what stays."""
    if cut.boundary <= rule.start:
        return
    draft.hide(
        rule.start,
        cut.boundary,
        staying_before(draft, rule, cut.boundary),
        "left out",
        policy,
        cut.generation,
    )
    draft.strip(rule.start, cut.at)
    draft.advanced = draft.advanced or cut.advanced
