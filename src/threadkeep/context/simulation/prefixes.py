"""The views of one policy, call by call: how large each is, and how much of it stood in the one before."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from threadkeep.context.planning.history import Counting, content_digest


class Prefixes:
    """Compares each call's messages with those of the call before; each message is counted once."""

    def __init__(self, counter: Counting) -> None:
        self._counter = counter
        self._counts: dict[int, tuple[BaseMessage, int]] = {}
        self._before: Sequence[BaseMessage] = ()

    def total(self, messages: Sequence[BaseMessage]) -> int:
        """Return the tokens of messages."""
        return sum(map(self._tokens, messages))

    def shared(self, messages: Sequence[BaseMessage]) -> tuple[int, bool]:
        """Return the tokens at the beginning that the call before had too, and whether it is there as a whole."""
        before, self._before = self._before, messages
        same = _same(before, messages)
        tokens = sum(map(self._tokens, messages[:same]))
        if same < min(len(before), len(messages)):
            one, other = before[same].content, messages[same].content
            if isinstance(one, str) and isinstance(other, str) and before[same].type == messages[same].type:
                tokens += self._counter.text(_beginning(one, other))
        # What is not there any more is not held on to.
        staying = set(map(id, messages))
        if len(self._counts) > 2 * len(staying) + 64:
            self._counts = {key: value for key, value in self._counts.items() if key in staying}
        return tokens, same == len(before)

    def _tokens(self, message: BaseMessage) -> int:
        found = self._counts.get(id(message))
        if found is None:
            found = self._counts[id(message)] = message, self._counter.message(message)
        return found[1]


def _same(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> int:
    """Return how many messages at the beginning say the same."""
    for index, (one, other) in enumerate(zip(before, after, strict=False)):
        if one is not other and (one.type != other.type or content_digest(one) != content_digest(other)):
            return index
    return min(len(before), len(after))


def _beginning(one: str, other: str) -> str:
    size = min(len(one), len(other))
    return one[: next((i for i in range(size) if one[i] != other[i]), size)]
