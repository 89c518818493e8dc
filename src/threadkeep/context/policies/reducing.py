"""Where to cut: the steps in which a policy takes the older part of a conversation out of the view.

A reduction happens when a trigger is reached; it goes down to a low-water mark, and then nothing moves until the
trigger is reached again, so that the prompt's prefix stays the same in between. Where no mark says how far former
calls went, the steps are replayed from the beginning of the conversation: the same conversation gives the same view
whether or not anything was remembered.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias

from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.limits import Limits, Measured, Size
from threadkeep.context.planning.marks import Mark
from threadkeep.context.validity.validity import open_loop

Amount: TypeAlias = tuple[str, int]

_GRID: Final = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """When and how far a stage cuts.

    Args:
        trigger: Alternatives, each a tuple of amounts that must all be reached.
        keep: What the view, or the part that is kept, comes down to.
        whole_view: Whether `keep` bounds the whole view (a window) or says how much is kept at the end.
        limit: Whether the trigger is a limit that is not to be exceeded, rather than a mark to be reached.
        start: Index of the first message that may leave.
        leads: Whether a turn that is cut keeps its human message once it is over.
        block: Tokens of the message that stands for what left; 0 if there is none.
        covered: Whether the block stands there even if nothing of what it covers is left in the state.
    """

    trigger: tuple[tuple[Amount, ...], ...]
    keep: tuple[Amount, ...]
    whole_view: bool = False
    limit: bool = False
    start: int = 0
    leads: bool = True
    block: int = 0
    covered: bool = False

    @property
    def counts_tokens(self) -> bool:
        """Whether deciding needs token estimates."""
        units = {unit for clause in self.trigger for unit, _ in clause} | {unit for unit, _ in self.keep}
        return "tokens" in units


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """How far a stage has come."""

    boundary: int
    at: int
    generation: int
    advanced: bool = False


def amounts(sizes: tuple[Size, ...], limits: Limits, context_window: int | None) -> tuple[Amount, ...]:
    """Return sizes with fractions of the context window turned into tokens of messages."""
    return tuple(
        ("tokens", limits.tokens_of(amount, context_window)) if unit == "fraction" else (unit, int(amount))
        for unit, amount in sizes
    )


def staying_before(draft: Draft, rule: Rule, boundary: int) -> list[int]:
    """Return what stays of the messages before a boundary: system and pinned ones, and the question of a cut turn."""
    staying = draft.survivors(rule.start, boundary)
    turn = draft.history.turn_start(boundary)
    open_turn = draft.history.turn_start(len(draft.history) - 1)
    if turn is not None and rule.start <= turn < boundary and (rule.leads or turn == open_turn):
        staying.append(turn)
    return staying


class Reducer:
    """Decide where the boundary between what left and what stays lies, for one stage and one call."""

    def __init__(self, draft: Draft, rule: Rule, mark: Mark | None) -> None:
        self._draft = draft
        self._history = draft.history
        self._rule = rule
        self._mark = mark
        self._base = max(mark.boundary, rule.start) if mark else rule.start

    def cut(self) -> Cut:
        """Return the boundary for this call."""
        found = self._stepped() if self._mark else self._replayed()
        return self._fitted(found)

    def _stepped(self) -> Cut:
        mark = self._mark
        assert mark is not None
        n = len(self._history)
        self._sizes = Sizes(self._draft, self._rule, self._base, count=self._rule.counts_tokens)
        anchored = self._anchored(mark)
        boundary = self._advance(self._base, self._after(self._base, min(mark.at, n)), n, anchored)
        if boundary == self._base:
            return Cut(boundary=boundary, at=min(mark.at, n), generation=mark.generation)
        return Cut(boundary=boundary, at=n, generation=mark.generation + 1, advanced=True)

    def _replayed(self) -> Cut:
        start = self._base = self._start()
        self._sizes = Sizes(self._draft, self._rule, start, count=self._rule.counts_tokens)
        boundary, at, generation, after = start, 0, 0, Measured()
        for point in self._history.call_points(start):
            further = self._advance(boundary, after, point, None)
            if further != boundary:
                boundary, at, generation = further, point, generation + 1
                after = self._after(boundary, at)
        if start > self._rule.start and not generation:
            at, generation = start, 1
        return Cut(
            boundary=boundary, at=at, generation=generation, advanced=at == len(self._history) and at > 0
        )

    def _start(self) -> int:
        """Return where to begin replaying: in long conversations at a place that stays the same for a while.

        What came long before has left the view whatever the steps were. So only a few times the trigger is counted,
        not the whole conversation.
        """
        first, n = self._rule.start, len(self._history)
        grid = _GRID
        while (place := ((n - first) // grid - 1) * grid) > 0:
            start = next((i for i in range(first + place, n) if self._history.borders[i]), n)
            sizes = Sizes(self._draft, self._rule, start, count=self._rule.counts_tokens)
            if self._due(sizes.at(start, n), Measured(), times=4):
                return start
            grid *= 2
        return first

    def _anchored(self, mark: Mark) -> int | None:
        """Return the tokens of the view by the provider's own count, as far as it goes."""
        anchor = self._draft.request.limits.anchor
        n = len(self._history)
        if anchor is None or self._draft.advanced or not mark.at <= anchor.messages <= n:
            return None
        if not self._rule.counts_tokens:
            return None
        reported = anchor.tokens - self._draft.request.limits.overhead
        return max(1, reported) + self._sizes.between(max(anchor.messages, self._base), n)

    def _after(self, boundary: int, at: int) -> Measured:
        """Return how large the view was right after the last reduction."""
        return self._sizes.at(boundary, at) if at > boundary or self._rule.covered else Measured()

    def _advance(self, boundary: int, after: Measured, point: int, anchored: int | None) -> int:
        size = self._sizes.at(boundary, point)
        if anchored is not None:
            size = Measured(anchored, size.messages, size.turns)
        if not self._due(size, after):
            return boundary
        last = self._history.latest(point)
        if last <= boundary:
            return boundary
        return self._past_reasoning(self._sizes.keeping(boundary, last, point), last, point) or boundary

    def _due(self, size: Measured, after: Measured, times: int = 1) -> bool:
        return any(
            all(
                self._reached(getattr(size, unit), times * amount, getattr(after, unit))
                for unit, amount in clause
            )
            for clause in self._rule.trigger
        )

    def _reached(self, now: int, amount: int, after: int) -> bool:
        # What the last reduction left counts for nothing new: the next comes after half as much again, or it would
        # come at every call where what must be kept is already more than the trigger.
        if self._rule.limit:
            return now > (amount if after <= amount else after + after / 2)
        return now >= max(amount, after + max(amount, after) / 2)

    def _past_reasoning(self, boundary: int, last: int, point: int) -> int | None:
        """Return the boundary, further on where reasoning in the open tool loop would lose what it is bound to.

        None where that would take the last round: the reduction waits until the turn is over.
        """
        bound = open_loop(self._history, boundary, point, self._draft.request.provider)
        if bound is None:
            return boundary
        return next((i for i in range(bound + 1, last + 1) if self._history.borders[i]), None)

    def _fitted(self, found: Cut) -> Cut:
        """Cut further where the view is larger than what the model is known to take."""
        room = self._draft.request.limits.room
        n = len(self._history)
        if room is None or n == 0:
            return found
        sizes = self._sizes
        if not sizes.counted:
            sizes = Sizes(self._draft, self._rule, max(found.boundary, self._rule.start), count=True)
        if sizes.at(found.boundary, n).tokens <= room:
            return found
        boundary = sizes.fitting(found.boundary, self._history.latest(n), n, room)
        if boundary <= found.boundary:
            return found
        return Cut(boundary=boundary, at=n, generation=found.generation + (not found.advanced), advanced=True)


class Sizes:
    """How large a view is for any boundary and any moment; nothing before `base` is looked at but what stays."""

    def __init__(self, draft: Draft, rule: Rule, base: int, *, count: bool) -> None:
        self._draft = draft
        self._history = draft.history
        self._rule = rule
        self._base = base
        self.counted = count
        n = len(draft.history)
        tokens = draft.token_list(base, n) if count else []
        self._tokens = list(accumulate(tokens, initial=0)) if count else []
        self._present = list(accumulate(draft.present[base:n], initial=0))
        self._staying = draft.survivors(rule.start, n)
        self._staying_tokens = list(accumulate(map(draft.tokens, self._staying), initial=0)) if count else []
        head = range(rule.start)
        self._other = Measured(
            (sum(map(draft.tokens, head)) + draft.block_tokens()) if count else 0,
            sum(draft.present[: rule.start]) + len(draft.blocks),
        )
        self._open_turn = (-1, None)

    def between(self, start: int, end: int) -> int:
        """Return the tokens of a range of messages."""
        return self._tokens[end - self._base] - self._tokens[start - self._base]

    def lead(self, boundary: int, point: int) -> int | None:
        """Return the human message before the boundary that must stay so that its turn makes sense."""
        turn = self._history.turn_start(boundary)
        if turn is None or turn == boundary or turn < self._rule.start or boundary <= self._rule.start:
            return None
        if not self._draft.present[turn]:
            return None
        if self._rule.leads or self._history.turn_start(point - 1) == turn:
            return turn
        return None

    def at(self, boundary: int, point: int) -> Measured:
        """Return the size of the view after `point` messages, with the boundary given."""
        messages = (
            self._other.messages + self._present[point - self._base] - self._present[boundary - self._base]
        )
        tokens = self._other.tokens + (self.between(boundary, point) if self.counted else 0)
        starts = self._history.turn_starts
        turns = bisect_left(starts, point) - bisect_left(starts, boundary)
        if boundary > self._rule.start or self._rule.covered:
            place = bisect_left(self._staying, boundary)
            messages += place + (self._rule.block > 0)
            tokens += self._rule.block
            lead = self.lead(boundary, point)
            if lead is not None:
                messages, turns = messages + 1, turns + 1
            if self.counted:
                tokens += self._staying_tokens[place]
                tokens += self._draft.tokens(lead) if lead is not None else 0
        return Measured(tokens, messages, turns)

    def keeping(self, boundary: int, last: int, point: int) -> int:
        """Return the first border from which on no more is kept than the rule says; at least the last round."""
        best = last
        for border in self._borders(boundary, last):
            if self._rule.whole_view:
                if not self._within(self.at(border, point)):
                    break
            elif not self._kept(border, best, point):
                break
            best = border
        return best

    def fitting(self, boundary: int, last: int, point: int, room: int) -> int:
        """Return the first border from which on the view fits a number of tokens, else the last possible one."""
        best = last
        for border in self._borders(boundary, last):
            if self.at(border, point).tokens > room:
                break
            best = border
        return best

    def _borders(self, boundary: int, last: int) -> list[int]:
        borders = self._history.borders
        return [i for i in range(last, boundary, -1) if borders[i]]

    def _within(self, size: Measured) -> bool:
        return all(getattr(size, unit) <= amount for unit, amount in self._rule.keep)

    def _kept(self, border: int, best: int, point: int) -> bool:
        """Say whether the part from a border on is still what is to be kept; `best` is the border after it."""
        for unit, amount in self._rule.keep:
            if unit == "tokens":
                if self.between(border, point) > amount:
                    return False
            elif unit == "messages":
                if self._present[point - self._base] - self._present[best - self._base] >= amount:
                    return False
            elif self._turns(border, point) > amount:
                return False
        return True

    def _turns(self, border: int, point: int) -> int:
        starts = self._history.turn_starts
        place = bisect_left(starts, border)
        whole = place < len(starts) and starts[place] == border
        return bisect_left(starts, point) - place + (not whole)
