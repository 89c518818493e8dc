"""What a process keeps of a conversation between its model calls: nothing that could not be found again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import ToolMessage

from threadkeep.context.planning.history import History
from threadkeep.context.planning.limits import Anchor
from threadkeep.context.planning.marks import State
from threadkeep.context.planning.plan import Answer
from threadkeep.context.summaries.summarizing import Failed

SESSIONS: Final = 64
"""Conversations that are kept, those used last."""

ANSWERS: Final = 64
"""Summaries and the like that are kept of each."""

Key = tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What the provider reported of a call, and of which call."""

    tokens: int
    messages: int
    digest: bytes
    model: str | None
    overhead: int

    def anchor(self, history: History, model: str | None, overhead: int) -> Anchor | None:
        """Return the report as the anchor of a later call, None where that call differs in more than its end."""
        if (self.model, self.overhead) != (model, overhead) or self.messages > len(history):
            return None
        if history.prefix_digest(self.messages) != self.digest:
            return None
        return Anchor(tokens=self.tokens, messages=self.messages)


@dataclass(slots=True)
class Session:
    """One conversation.

    Attributes:
        history: Its messages as annotated for the last call.
        answers: Summaries and the like, by need; as good as stored ones, for they are found by what they cover.
        failures: What could not be made, and how many messages there were then: a retry of that call asks no more.
        report: What the provider said of the last call.
        too_large: Tokens that a model refused, by its name.
        pending: How far the policy came in a call that was not answered, and the reference it started from.
        results: What finished without reaching the messages, by call id; None for calls nothing is known of.
    """

    history: History | None = None
    answers: dict[Key, Answer] = field(default_factory=dict)
    failures: dict[Key, tuple[Failed, int]] = field(default_factory=dict)
    report: Report | None = None
    too_large: dict[str | None, int] = field(default_factory=dict)
    pending: tuple[Any, State] | None = None
    results: dict[str, ToolMessage | None] = field(default_factory=dict)

    def state(self, reference: Any) -> State:
        """Return how far the policy is: as the state has it, or further where a call after that failed.

        A failed call's plan is as good as a stored one: its marks hold as long as what they cover is the same.
        """
        pending = self.pending
        if pending is not None and pending[0] == reference:
            return pending[1]
        return State.from_json(reference)

    def keep(self, key: Key, answer: Answer) -> None:
        """Keep an answer; the oldest leave."""
        self.answers[key] = answer
        self.failures.pop(key, None)
        while len(self.answers) > ANSWERS:
            del self.answers[next(iter(self.answers))]

    def fail(self, key: Key, failure: Failed, size: int) -> None:
        """Note a failure, with how many messages there were."""
        if len(self.failures) >= ANSWERS:
            self.failures.clear()
        self.failures[key] = failure, size

    def failed(self, key: Key, size: int) -> Failed | None:
        """Return the failure of this very call."""
        found = self.failures.get(key)
        return found[0] if found is not None and found[1] == size else None


class Sessions:
    """The conversations that were used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, Session] = OrderedDict()

    def of(self, key: Hashable) -> Session:
        """Return a conversation's session, a new one where there is none."""
        with self._lock:
            session = self._known.setdefault(key, Session())
            self._known.move_to_end(key)
            while len(self._known) > SESSIONS:
                self._known.popitem(last=False)
            return session
