"""Build the messages of a call from a finished draft."""

from __future__ import annotations

from bisect import bisect_left

from langchain_core.messages import BaseMessage

from threadkeep.context.counting.tokens import Count
from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.plan import Plan, View
from threadkeep.context.validity.validity import repaired, stripped


def build_view(draft: Draft, plan: Plan) -> View:
    """Return the view of a draft: what stays, what was put in, and the notes, as a valid request."""
    messages = repaired(_arranged(draft), draft.request, reduced=draft.reduced)

    def count(sent: list[BaseMessage]) -> Count:
        return _counted(draft, sent)

    return View(messages, plan, count, draft.reasons)


def _arranged(draft: Draft) -> list[BaseMessage]:
    """Return what the draft holds, in order; bound reasoning whose prefix changed is left out."""
    indices = list(draft.indices())
    messages = [draft.message(index) for index in indices]
    start, end = draft.stripped
    first, last = bisect_left(indices, start), bisect_left(indices, end)
    if last > first:
        messages[first:last] = stripped(messages[first:last], draft.request.provider)
    placed = [(bisect_left(indices, block.position), [block.message]) for block in draft.blocks]
    starts = draft.history.turn_starts
    if draft.notes:
        placed.append((bisect_left(indices, starts[-1]) + 1 if starts else len(messages), list(draft.notes)))
    for place, more in sorted(placed, key=lambda one: one[0], reverse=True):
        messages[place:place] = more
    return messages


def _counted(draft: Draft, sent: list[BaseMessage]) -> Count:
    counter = draft.history.counter
    known = {id(draft.message(index)): draft.tokens(index) for index in draft.indices()}
    known.update((id(block.message), block.tokens) for block in draft.blocks)
    tokens = sum(known[id(m)] if id(m) in known else counter.message(m) for m in sent)
    return Count(tokens=tokens + draft.request.limits.overhead, quality=counter.quality)
