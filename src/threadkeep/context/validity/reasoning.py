"""Reasoning in messages: where it stands, whom it is bound to, and when it must leave.

A model's reasoning comes back with its messages, in a form of each provider's own. Claude's is signed: the provider
takes it only where nothing before it has changed. OpenAI's items and Gemini's thought signatures hold wherever they
stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from threadkeep.context.validity.calls import is_human, is_tool

__all__ = ["bound", "has_bound", "has_reasoning", "is_reasoning", "safe_boundary", "strip"]

REASONING_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
"""Types of blocks that are reasoning: Claude's and Gemini's, OpenAI's items, LangChain's standard block, Bedrock's."""

REASONING_KEYS = frozenset({"reasoning", "reasoning_content", "__gemini_function_call_thought_signatures__"})
"""Keys of `additional_kwargs` that hold reasoning."""

_BOUND = frozenset({"anthropic"})


def bound(provider: str) -> bool:
    """Say whether a provider binds reasoning to everything that stands before it."""
    return provider in _BOUND


def is_reasoning(block: Any) -> bool:
    """Say whether a block of a message's content is reasoning."""
    return isinstance(block, dict) and block.get("type") in REASONING_BLOCKS


def has_reasoning(message: BaseMessage) -> bool:
    """Say whether a message holds reasoning of any provider, or the signature of some."""
    if not isinstance(message, AIMessage):
        return False
    if any(message.additional_kwargs.get(key) for key in REASONING_KEYS):
        return True
    return isinstance(message.content, list) and any(is_reasoning(b) or _signed(b) for b in message.content)


def has_bound(message: BaseMessage, provider: str) -> bool:
    """Say whether a message holds reasoning that the provider binds to what stands before it."""
    if not bound(provider) or not isinstance(message, AIMessage) or not isinstance(message.content, list):
        return False
    return any(is_reasoning(block) for block in message.content)


def strip(messages: Sequence[BaseMessage], provider: str, changed_from: int = 0) -> list[BaseMessage]:
    """Return the messages without reasoning whose prefix changed.

    Everything before index `changed_from` is as the model saw it; reasoning from there on leaves where the provider
    binds it to its prefix. Messages that keep all they have are the same objects; the others are copies with text,
    calls and ids unchanged. Nothing leaves for a provider that does not bind.
    """
    if not bound(provider):
        return list(messages)
    return [
        _without(message) if index >= changed_from and has_bound(message, provider) else message
        for index, message in enumerate(messages)
    ]


def safe_boundary(messages: Sequence[BaseMessage], provider: str, boundary: int) -> int | None:
    """Return where a reduction that would end at `boundary` may end, so that no bound reasoning is hurt.

    A reduction changes the prefix of everything after it. In turns that are over, bound reasoning is then dropped
    (`strip`); in an open tool loop the provider wants it unchanged. So the reduction goes up to the first point of the
    open turn after which no bound block remains; None where that would take the last round, or the newest message: then
    it waits until the turn is over.
    """
    if not bound(provider):
        return boundary
    start = _open_turn(messages)
    last = max(
        (
            index
            for index in range(max(start, boundary), len(messages))
            if has_bound(messages[index], provider)
        ),
        default=None,
    )
    if last is None:
        return boundary
    after = last + 1
    while after < len(messages) and is_tool(messages[after]):
        after += 1
    return after if after < len(messages) else None


def _open_turn(messages: Sequence[BaseMessage]) -> int:
    for index in range(len(messages) - 1, -1, -1):
        if is_human(messages[index]):
            return index
    return 0


def _signed(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    extras = block.get("extras")
    return bool(block.get("thought_signature")) or (
        isinstance(extras, dict) and bool(extras.get("signature"))
    )


def _without(message: BaseMessage) -> BaseMessage:
    kept = [block for block in message.content if not is_reasoning(block)]
    return message.model_copy(update={"content": kept})
