"""What planning is given and what it answers: requests, needs, plans and views."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from langchain_core.messages import BaseMessage, ToolMessage

from threadkeep.context.counting.tokens import Count
from threadkeep.context.planning.history import History
from threadkeep.context.planning.limits import Limits
from threadkeep.context.planning.marks import State

if TYPE_CHECKING:
    from threadkeep.context.planning.draft import Draft
    from threadkeep.context.summaries.summarizing import Ask, Failed

What = Literal[
    "kept", "summarised", "offloaded", "cleared", "shortened", "previewed", "replaced", "left out", "repaired"
]

Answer: TypeAlias = Any
"""What a need was answered with: a `SummaryText`, the `entities.Entities`, an `offload.Index`, or `Failed`."""

Answers: TypeAlias = Mapping[tuple[str, str], Answer]
"""Answers by the need's fingerprint and key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """Everything a plan depends on.

    Args:
        history: The messages of the conversation.
        state: What the policy remembered at the former call.
        limits: What the model can take.
        provider: Whose rules the view obeys: `generic`, `openai`, `openai-responses`, `anthropic`, `google`.
        answers: What former passes needed and were given. All summaries stored for this thread and policy may be
            in here: those that cover something else are not looked at.
        pins: Ids of messages pinned by `pin(message_id)`.
        results: Results that finished but are not in the history, by call id; repair puts them in.
        paused: Ids of calls that wait for a human.
        notes: Messages to be placed after the newest human message (recalled passages, a budget).
    """

    history: History
    state: State = field(default_factory=State)
    limits: Limits = field(default_factory=Limits)
    provider: str = "generic"
    answers: Answers = field(default_factory=dict)
    pins: Collection[str] = frozenset()
    results: Mapping[str, ToolMessage] = field(default_factory=dict)
    paused: frozenset[str] = frozenset()
    notes: Sequence[BaseMessage] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """Something a plan cannot do without: look it up by `fingerprint` and `key`, else make it by `work`.

    Args:
        kind: `summary`, `entities`, or `index` (what `Plan.lasting` gave before a rewrite).
        policy: The name of the policy that needs it.
        fingerprint: Stands for the settings that decide what the answer is.
        key: Stands for the contents it covers, in hexadecimal.
        start: Index of the first message that `work` reads.
        end: Index after the last one.
        covered: How many messages the answer stands for, what has left the state included.
        earlier: Keys of shorter coverage, longest first: a stored answer to one of them, given in the next
            request, is built upon instead of starting anew.
        model: The model that the policy was given for it, None for the default.
        work: Makes the answer: called with a function that counts the tokens of a text and the window of the model
            in tokens, it returns a generator that yields `Ask`s and returns the answer or `Failed`.
        local: Makes the answer without a model, None where that is impossible.
    """

    kind: Literal["summary", "entities", "index"]
    policy: str
    fingerprint: str
    key: str
    start: int
    end: int
    covered: int
    earlier: Callable[[], tuple[str, ...]]
    model: Any
    work: Callable[[Callable[[str], int], int], Generator[Ask, str, Answer | Failed]]
    local: Callable[[Callable[[str], int]], Answer] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Lasting:
    """Something to be stored before messages leave the state, since it cannot be made of them afterwards.

    Args:
        kind: `index`: the lines of `Offload`.
        fingerprint: As a later need will name it.
        key: As a later need will name it.
        value: What to answer that need with.
    """

    kind: Literal["index"]
    fingerprint: str
    key: str
    value: Answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """Why a message of the conversation is in the view or not.

    Args:
        index: Its place in the history.
        message_id: Its id, None if it has none.
        what: What happened: `kept`, `summarised`, `offloaded`, `left out`; `cleared`, `shortened`, `previewed` or
            `replaced` (a copy stands for it); `repaired` (valid requests have no place for it).
        policy: The policy that decided; empty for what was kept.
        generation: By which of its reductions.
        reference: What `read_history` takes to read it, where the view names one.
    """

    index: int
    message_id: str | None
    what: What
    policy: str = ""
    generation: int = 0
    reference: str | None = None

    def __str__(self) -> str:
        by = f" by {self.policy}" if self.policy else ""
        number = f", generation {self.generation}" if self.generation else ""
        return f"{self.what}{by}{number}" + (f" [{self.reference}]" if self.reference else "")


class Plan:
    """A policy's decision for one call. Either it `needs` something, or `view()` is what to send.

    A plan with unmet needs gives a view, too: the valid one that is used when they cannot be met.
    """

    def __init__(self, draft: Draft, fingerprint: str) -> None:
        self._draft = draft
        self._fingerprint = fingerprint

    @property
    def request(self) -> Request:
        """What the plan was made from."""
        return self._draft.request

    @property
    def needs(self) -> tuple[Need, ...]:
        """What to look up or to make before planning again; empty when the plan is complete."""
        return tuple(self._draft.needs)

    @property
    def state(self) -> State:
        """What to remember for the next call, once the model has answered this one."""
        history = self._draft.history
        return State(self._fingerprint, tuple(mark.sealed(history) for mark in self._draft.marks))

    @property
    def advanced(self) -> bool:
        """Whether a reduction takes place in this call, so that the prompt's prefix changes."""
        return self._draft.advanced

    @property
    def references(self) -> Mapping[str, tuple[int, int]]:
        """The index ranges that the references in the view stand for."""
        return self._draft.references

    def reasons(self) -> tuple[Reason, ...]:
        """Return one reason per message of the history, in order."""
        return self.view().reasons

    def spans(self, sent: list[BaseMessage]) -> list[tuple[int, int, str]]:
        """Return the texts of the reasons as ranges (start, end, text), for a view that was sent."""
        return self._draft.spans(sent)

    def view(self) -> View:
        """Return what to send: a valid request, ordered as the provider needs it."""
        from threadkeep.context.planning.views import build_view

        return self._draft.memo_view(lambda: build_view(self._draft, self))

    def removable(self, ids_of_this_call: Collection[str] = ()) -> tuple[str, ...]:
        """Return the ids of messages that may leave the state: those the view has no place for any more.

        Args:
            ids_of_this_call: Ids that came with this call; they always stay.
        """
        return self._draft.removable(frozenset(ids_of_this_call))

    @property
    def lasting(self) -> tuple[Lasting, ...]:
        """What has to be stored, for later needs, before `removable` messages leave the state."""
        return tuple(self._draft.lasting)

    def rewritten(self, removed: Collection[str]) -> State:
        """Return what to remember when these messages leave the state together with this call's answer."""
        history = self._draft.history
        gone = {i for i, message in enumerate(history.messages) if message.id and message.id in removed}
        rest = [message for i, message in enumerate(history.messages) if i not in gone]
        shorter = History.of(rest, history.counter)
        return State(self._fingerprint, tuple(m.without(history, gone, shorter) for m in self._draft.marks))


class View:
    """The messages of one model call, with where they come from.

    Attributes:
        messages: What to send, without the system prompt that is given beside them.
        plan: The plan it was built from.
    """

    def __init__(
        self,
        messages: list[BaseMessage],
        plan: Plan,
        count: Callable[[list[BaseMessage]], Count],
        reasons: Callable[[list[BaseMessage]], tuple[Reason, ...]],
    ) -> None:
        self.messages = messages
        self.plan = plan
        self._count = count
        self._reasons = reasons

    @cached_property
    def tokens(self) -> Count:
        """The upper estimate of the input, system prompt, tools and schema included."""
        return self._count(self.messages)

    @cached_property
    def reasons(self) -> tuple[Reason, ...]:
        """Why each message of the conversation is here, or is not."""
        return self._reasons(self.messages)

    @property
    def spans(self) -> list[tuple[int, int, str]]:
        """The texts of the reasons, as ranges of messages (start, end, text) that have the same one."""
        return self.plan.spans(self.messages)

    @property
    def state(self) -> State:
        """What the policy remembers for the next call."""
        return self.plan.state

    def __len__(self) -> int:
        return len(self.messages)
