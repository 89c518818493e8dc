"""Your own policy: a function that decides which messages stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from langchain_core.messages import BaseMessage

from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.history import History
from threadkeep.context.planning.marks import Mark
from threadkeep.context.policies.policy import Policy
from threadkeep.errors import ConfigurationError

Decide = Callable[[list[BaseMessage]], Sequence[Any]]
"""Given all messages: those to keep (or changed copies with the same id), in order; or one reason per message, None
for what stays and a text that says why for what leaves."""


@dataclass(frozen=True, kw_only=True)
class Custom(Policy):
    """Let a function decide. Made by `policy`.

    Args:
        decide: The function.
        label: How reasons name the policy.
    """

    name: ClassVar[str] = "custom"

    decide: Decide
    label: str

    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Take out what the function leaves out; rounds leave whole, and what every policy keeps stays."""
        indices = list(draft.indices())
        given = [draft.message(index) for index in indices]
        answer = self.decide(list(given))
        leaving = self._leaving(given, answer, draft, indices)
        if not leaving:
            return Mark()
        for index in sorted(whole(draft, leaving)):
            draft.hide(index, index + 1, (), "left out", self.label, 0, passing=True)
        draft.strip(min(leaving), len(draft.history))
        return Mark()

    def _leaving(
        self, given: list[BaseMessage], answer: Sequence[Any], draft: Draft, indices: list[int]
    ) -> set[int]:
        if len(answer) == len(given) and all(one is None or isinstance(one, str) for one in answer):
            return {index for index, why in zip(indices, answer, strict=True) if why is not None}
        places = {id(message): index for message, index in zip(given, indices, strict=True)}
        names = {message.id: index for message, index in zip(given, indices, strict=True) if message.id}
        staying: set[int] = set()
        for one in answer:
            index = places.get(id(one))
            if index is None and isinstance(one, BaseMessage):
                index = names.get(one.id or "")
                if index is not None and one != draft.message(index):
                    draft.replace(index, (one, draft.history.counter.message(one)), "replaced", self.label)
            if index is None:
                raise ConfigurationError(
                    f"The policy {self.label!r} returned {one!r}, which is neither one of the messages it was given "
                    "nor a copy of one with its id; return those, or one reason (or None) per message."
                )
            staying.add(index)
        return set(indices) - staying


def policy(decide: Decide) -> Custom:
    """Make a policy of a function; usable as a decorator.

    The function is given all messages and returns those to keep: the objects, or changed copies with the same id.
    Or it returns one entry per message: None for what stays, a reason for what leaves. It should depend on the
    messages alone, and rather keep its decisions as a conversation grows: each change costs the provider's cache.
    Rounds leave whole, with all their calls and results; system messages, pinned ones, the open turn's question and
    its last round stay whatever it says, and the view is repaired at the end.

    Args:
        decide: The function. Its name is the name in reasons.

    Raises:
        ConfigurationError: It is not callable.
    """
    if not callable(decide):
        raise ConfigurationError(f"{decide!r} is no function; give one that takes and returns messages.")
    return Custom(decide=decide, label=getattr(decide, "__name__", type(decide).__name__))


def whole(draft: Draft, leaving: set[int]) -> set[int]:
    """Return what leaves, with the rest of each round that is touched, and without what always stays."""
    history: History = draft.history
    n = len(history)
    chosen: set[int] = set()
    for index in leaving:
        start = history.last_unit(index + 1)
        end = next((i for i in range(index + 1, n) if history.borders[i]), n)
        chosen.update(range(start, end))
    turn = history.turn_start(n - 1) if n else None
    staying = {*draft.survivors(0, n), *(() if turn is None else (turn,)), *range(history.latest(n), n)}
    return {index for index in chosen if index not in staying and draft.present[index]}
