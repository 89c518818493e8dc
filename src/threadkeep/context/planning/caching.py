"""How much of a prompt a provider has seen before: the longest common prefix of one call and the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from langchain_core.messages import BaseMessage

from threadkeep.context.planning.history import Counting, content_digest


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """How many input tokens a conversation took, and how many of them stood at the beginning of the call before.

    Args:
        prompt: Input tokens of all calls.
        cached: Those of them that were a prefix of the call before.
        peak: Input tokens of the largest call.
    """

    prompt: int = 0
    cached: int = 0
    peak: int = 0

    @property
    def share(self) -> float:
        """The cached part, from 0 to 1; 0 where there was nothing."""
        return self.cached / self.prompt if self.prompt else 0.0


def shared_prefix(before: Sequence[BaseMessage], after: Sequence[BaseMessage], counter: Counting) -> int:
    """Return the tokens at the beginning of a call that are the same as in the call before.

    Args:
        before: The messages of the call before.
        after: The messages of the call.
        counter: Counts tokens.
    """
    same = sum(1 for _ in takewhile(lambda pair: _says_the_same(*pair), zip(before, after, strict=False)))
    tokens = sum(counter.message(message) for message in after[:same])
    if same == min(len(before), len(after)):
        return tokens
    one, other = before[same], after[same]
    if one.type != other.type or not isinstance(one.content, str) or not isinstance(other.content, str):
        return tokens
    beginning = _common(one.content, other.content)
    return tokens + (counter.text(beginning) if beginning else 0)


def cached_share(
    calls: Iterable[Sequence[BaseMessage]], counter: Counting, *, overhead: int = 0, minimum: int = 0
) -> Share:
    """Return what part of the input of consecutive calls a provider's prompt cache can serve.

    Args:
        calls: The messages of each call, in order.
        counter: Counts tokens.
        overhead: Tokens before the messages that are the same in all calls: system prompt and tools.
        minimum: Tokens below which a prefix is not cached; providers have 1,024 and more.
    """
    prompt = cached = peak = 0
    before: Sequence[BaseMessage] | None = None
    for messages in calls:
        size = overhead + sum(counter.message(message) for message in messages)
        shared = 0 if before is None else overhead + shared_prefix(before, messages, counter)
        prompt, peak = prompt + size, max(peak, size)
        cached += shared if shared >= minimum else 0
        before = messages
    return Share(prompt=prompt, cached=cached, peak=peak)


def _says_the_same(one: BaseMessage, other: BaseMessage) -> bool:
    return one is other or (one.type == other.type and content_digest(one) == content_digest(other))


def _common(one: str, other: str) -> str:
    size = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return one[:size]
