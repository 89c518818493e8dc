"""The end of every policy: reasoning that lost its prefix leaves, and what is left is made a valid request."""

from __future__ import annotations

from operator import is_

from langchain_core.messages import BaseMessage

from threadkeep.context.planning.history import AI, History
from threadkeep.context.planning.plan import Request
from threadkeep.context.validity import reasoning
from threadkeep.context.validity.plain import Plain, plain_beginning
from threadkeep.context.validity.repair import longest_id, repair_after


def last_bound(history: History, start: int, end: int, provider: str) -> int | None:
    """Return the last message of a range whose reasoning the provider binds to what stands before it."""
    if not reasoning.bound(provider):
        return None
    for index in range(end - 1, start - 1, -1):
        if history.kinds[index] == AI and reasoning.has_bound(history.messages[index], provider):
            return index
    return None


def open_loop(history: History, first: int, point: int, provider: str) -> int | None:
    """Return the last bound reasoning in the turn that is open after `point` messages, from `first` on."""
    turn = history.turn_start(point - 1) if point else None
    return last_bound(history, max(first, 0 if turn is None else turn + 1), point, provider)


def stripped(messages: list[BaseMessage], provider: str) -> list[BaseMessage]:
    """Return the messages without reasoning that is bound to a prefix that is no longer theirs."""
    return reasoning.strip(messages, provider)


def repaired(messages: list[BaseMessage], request: Request, *, reduced: bool) -> list[BaseMessage]:
    """Return the messages as a request that the provider takes.

    Args:
        messages: What a policy left.
        request: Names the provider, results that finished, and calls that wait for a human.
        reduced: Whether anything was left out or replaced.
    """
    return repair_after(
        _beginning(messages, request),
        messages,
        provider=request.provider,
        results=request.results,
        paused=request.paused,
        reduced=reduced,
    )


def _beginning(messages: list[BaseMessage], request: Request) -> Plain:
    """Return the beginning that needs no repair, going on from where the former view's ended."""
    longest = longest_id(request.provider)
    before = request.history.plain.get(longest)
    known = None
    if before is not None and len(messages) > before[1].end and before[1].end:
        known = before[1] if all(map(is_, before[0][: before[1].end], messages)) else None
    found = plain_beginning(messages, longest, known)
    request.history.plain[longest] = messages, found
    return found
