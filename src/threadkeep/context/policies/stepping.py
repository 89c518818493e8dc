"""Clear old messages' contents in steps: how far, for the policies that replace contents rather than take them out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.limits import Measured
from threadkeep.context.planning.marks import Mark
from threadkeep.context.policies.reducing import Amount, Cut
from threadkeep.context.validity.validity import open_loop


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """When and how far to clear.

    Args:
        keep: How many of the newest stay as they are.
        step: How many are cleared together at least, where there is no trigger.
        trigger: Alternatives, each a tuple of amounts of the whole view that must all be reached; empty for none.
        questions: Whether the open turn's human message must stay as it is.
    """

    keep: int
    step: int
    trigger: tuple[tuple[Amount, ...], ...] = ()
    questions: bool = False


class Stepper:
    """Decide before which message contents are cleared."""

    def __init__(
        self,
        draft: Draft,
        steps: Steps,
        mark: Mark | None,
        candidates: Sequence[int],
        gain: Callable[[int], int],
    ) -> None:
        self._draft = draft
        self._history = draft.history
        self._steps = steps
        self._mark = mark
        self._candidates = candidates
        self._counted = bool(steps.trigger) or draft.request.limits.room is not None
        if self._counted:
            n = len(draft.history)
            self._tokens = list(accumulate(draft.token_list(0, n), initial=0))
            self._present = list(accumulate(draft.present, initial=0))
            self._gains = list(accumulate(map(gain, candidates), initial=0))

    def cut(self) -> Cut:
        """Return the boundary before which candidates are cleared."""
        n = len(self._history)
        if self._mark is not None:
            points, boundary, generation, at = [n], self._mark.boundary, self._mark.generation, self._mark.at
        else:
            points, boundary, generation, at = list(self._history.call_points(0)), 0, 0, 0
        advanced = False
        for point in points:
            further = self._advance(boundary, point)
            if further > boundary:
                boundary, generation, at, advanced = further, generation + 1, point, point == n
        return Cut(boundary=boundary, at=min(at, n), generation=generation, advanced=advanced)

    def _advance(self, boundary: int, point: int) -> int:
        start = bisect_left(self._candidates, boundary)
        end = bisect_left(self._candidates, point)
        room = self._draft.request.limits.room
        forced = point == len(self._history) and room is not None and self._size(start, point).tokens > room
        end = min(
            end - (0 if forced else self._steps.keep), bisect_left(self._candidates, self._latest(point))
        )
        if end <= start or not (forced or self._due(start, end, point)):
            return boundary
        first, provider = self._candidates[start], self._draft.request.provider
        if not forced and open_loop(self._history, first, point, provider) is not None:
            return boundary
        return self._candidates[end - 1] + 1

    def _latest(self, point: int) -> int:
        """Return the first message that may not be touched."""
        last = self._history.latest(point) if point else 0
        turn = self._history.turn_start(point - 1) if point else None
        if self._steps.questions and turn is not None:
            place = bisect_left(self._candidates, turn)
            if place < len(self._candidates) and self._candidates[place] == turn:
                return min(last, turn)
        return last

    def _due(self, start: int, end: int, point: int) -> bool:
        if not self._steps.trigger:
            return end - start >= self._steps.step
        size = self._size(start, point)
        # Clearing changes the prompt's prefix: it must be worth two fifths of the view.
        if 5 / 2 * (self._gains[end] - self._gains[start]) < size.tokens:
            return False
        return any(all(getattr(size, u) >= amount for u, amount in clause) for clause in self._steps.trigger)

    def _size(self, start: int, point: int) -> Measured:
        starts = self._history.turn_starts
        tokens = self._tokens[point] + self._draft.block_tokens() - self._gains[start]
        return Measured(tokens, self._present[point], bisect_left(starts, point))
