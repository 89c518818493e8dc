"""A view in the making: each stage of a policy works on what the former left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final

from langchain_core.messages import BaseMessage

from threadkeep.context.planning.history import SYSTEM, History
from threadkeep.context.planning.marks import Mark
from threadkeep.context.planning.plan import Lasting, Need, Reason, Request, View, What

PINS_LIMIT: Final = 400
"""Tokens that messages pinned by id may take in a view beyond what would be there anyway; newest first."""


@dataclass(frozen=True, slots=True)
class Block:
    """A message that stands before the message at `position`, for what is not in the view."""

    position: int
    message: BaseMessage
    tokens: int


@dataclass(frozen=True, slots=True)
class _Why:
    start: int
    end: int
    what: What
    policy: str
    generation: int
    reference: str | None = None


class Draft:
    """Which messages of a history stay, which are replaced by copies, and what is put in.

    Attributes:
        present: One byte per message: 1 while it is in the view.
        copies: Changed copies with their tokens, by index.
        blocks: Messages put in, in order of their position.
        needs: What could not be done yet.
        marks: The new mark of each stage that was applied.
        advanced: Whether a stage reduced further than at the former call.
        recall: Whether the model is given the recall tools, so that references make sense.
        lasting: What has to be stored before messages leave the state.
        stripped: Range of messages that lost their bound reasoning: what came before them has changed since.
    """

    def __init__(self, request: Request, *, recall: bool = False) -> None:
        self.request = request
        self.history: History = request.history
        self.present = bytearray(b"\1") * len(request.history)
        self.copies: dict[int, tuple[BaseMessage, int]] = {}
        self.blocks: list[Block] = []
        self.notes: list[BaseMessage] = list(request.notes)
        self.needs: list[Need] = []
        self.marks: list[Mark] = []
        self.advanced = False
        self.recall = recall
        self.references: dict[str, tuple[int, int]] = {}
        self.stripped: tuple[int, int] = (0, 0)
        self.lasting: list[Lasting] = []
        self._gone: set[int] = set()
        self._why: list[_Why] = []
        self._systems: list[int] | None = None
        self._pinned: frozenset[int] | None = None
        self._view: View | None = None

    @property
    def reduced(self) -> bool:
        """Whether the view is anything but the history itself."""
        return bool(self._why or self.blocks)

    @property
    def systems(self) -> list[int]:
        """Indices of the system messages, which no policy takes out."""
        if self._systems is None:
            kinds = self.history.kinds
            self._systems = [i for i, kind in enumerate(kinds) if kind == SYSTEM] if SYSTEM in kinds else []
        return self._systems

    @property
    def pinned(self) -> frozenset[int]:
        """Indices of the messages that stay because they are pinned by id, with the rest of their rounds."""
        if self._pinned is None:
            self._pinned = (
                frozenset(_pinned(self.history, self.request.pins)) if self.request.pins else frozenset()
            )
        return self._pinned

    def survivors(self, start: int, end: int) -> list[int]:
        """Return the indices in a range that stay whatever a policy wants: system messages and pinned ones."""
        staying = [i for i in self.systems if start <= i < end]
        if self.pinned:
            staying = sorted({*staying, *(i for i in self.pinned if start <= i < end)})
        return [i for i in staying if self.present[i]]

    def hide(
        self, start: int, end: int, staying: Iterable[int], what: What, policy: str, generation: int,
        reference: str | None = None, *, passing: bool = False,
    ) -> None:  # fmt: skip
        """Take the messages of a range out of the view, but for some that stay.

        `passing`: for this call only; the next one may show them again, so that they must stay in the state.
        """
        kept = [i for i in staying if self.present[i]]
        if not passing:
            gone = compress(range(start, end), self.present[start:end])
            self._gone.update(set(gone).difference(kept) if kept else gone)
        self.present[start:end] = bytes(end - start)
        for index in kept:
            self.present[index] = 1
        self._why.append(_Why(start, end, what, policy, generation, reference))

    def replace(
        self, index: int, copy: tuple[BaseMessage, int], what: What, policy: str, generation: int = 0,
        reference: str | None = None,
    ) -> None:  # fmt: skip
        """Let a copy stand for a message."""
        self.copies[index] = copy
        self._why.append(_Why(index, index + 1, what, policy, generation, reference))

    def message(self, index: int) -> BaseMessage:
        """Return what stands for a message in the view."""
        copy = self.copies.get(index)
        return self.history.messages[index] if copy is None else copy[0]

    def tokens(self, index: int) -> int:
        """Return the tokens that a message takes in the view."""
        if not self.present[index]:
            return 0
        copy = self.copies.get(index)
        return self.history.tokens(index) if copy is None else copy[1]

    def token_list(self, start: int, end: int) -> list[int]:
        """Return the tokens that the messages of a range take in the view."""
        if self.copies or self.present.find(0, start, end) >= 0:
            return [self.tokens(i) for i in range(start, end)]
        return self.history.token_list(start, end)

    def indices(self) -> Iterator[int]:
        """Yield the indices of the messages in the view."""
        return compress(range(len(self.present)), self.present)

    def insert(self, position: int, message: BaseMessage) -> None:
        """Put a message in before the one at `position`."""
        tokens = self.history.counter.message(message)
        self.blocks.append(Block(position, message, tokens))
        self.blocks.sort(key=lambda block: block.position)

    def block_tokens(self) -> int:
        """Return the tokens of everything that was put in so far."""
        return sum(block.tokens for block in self.blocks)

    def strip(self, start: int, end: int) -> None:
        """Note that what stands before the messages of a range has changed since they were written."""
        if end > start:
            first, last = self.stripped
            self.stripped = (start, end) if first == last else (min(first, start), max(last, end))

    def removable(self, staying: frozenset[str]) -> tuple[str, ...]:
        """Return ids of messages that no mark leaves in the view, but for those given."""
        found = (self.history.messages[index].id for index in sorted(self._gone))
        return tuple(one for one in found if one and one not in staying)

    def reasons(self, sent: list[BaseMessage]) -> tuple[Reason, ...]:
        """Return one reason per message of the history."""
        why: dict[int, _Why] = {}
        for one in self._why:
            for index in range(one.start, one.end):
                if not self.present[index] or index in self.copies:
                    why[index] = one
        there = {id(message) for message in sent} | {message.id for message in sent if message.id}
        return tuple(
            self._reason(i, message, why.get(i), there) for i, message in enumerate(self.history.messages)
        )

    def spans(self, sent: list[BaseMessage]) -> list[tuple[int, int, str]]:
        """Return the reasons as ranges of messages that have the same one, with its text."""
        messages = self.history.messages
        why: list[_Why | None] = [None] * len(messages)
        for one in self._why:
            why[one.start : one.end] = [one] * (one.end - one.start)
        there = {id(message) for message in sent} | {message.id for message in sent if message.id}
        spans: list[tuple[int, int, str]] = []
        before: object = None
        for index, message in enumerate(messages):
            found = why[index]
            if found is not None and self.present[index] and index not in self.copies:
                found = None
            said = (
                (found.what, found.policy, found.generation, found.reference)
                if found is not None
                else id(message) in there or message.id in there
            )
            if said != before:
                spans.append((index, index + 1, str(self._reason(index, message, found, there))))
                before = said
            else:
                spans[-1] = spans[-1][0], index + 1, spans[-1][2]
        return spans

    def _reason(self, index: int, message: BaseMessage, why: _Why | None, there: set[Any]) -> Reason:
        if why is None:
            shown = id(message) in there or (message.id or "") in there
            return Reason(index=index, message_id=message.id, what="kept" if shown else "repaired")
        return Reason(
            index=index, message_id=message.id, what=why.what,
            policy=why.policy, generation=why.generation, reference=why.reference,
        )  # fmt: skip

    def memo_view(self, build: Callable[[], View]) -> View:
        """Return the view, built once."""
        if self._view is None:
            self._view = build()
        return self._view


def _pinned(history: History, pins: Iterable[str]) -> Iterator[int]:
    """Yield the messages of pinned rounds, newest first, while they fit their budget."""
    wanted = frozenset(pins)
    room = PINS_LIMIT
    end = len(history)
    while end > 0:
        start = history.last_unit(end)
        if any(history.messages[i].id in wanted for i in range(start, end)):
            room -= sum(history.tokens(i) for i in range(start, end))
            if room < 0:
                return
            yield from range(start, end)
        end = start
