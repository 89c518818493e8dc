"""A conversation as `simulate` replays it: its messages, and every model call that was answered in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage

from threadkeep.context.counting.schemas import schema_text
from threadkeep.context.prices import Tokens, usage_of
from threadkeep.context.summaries.fences import RECALL_TOOLS
from threadkeep.context.summaries.summarizing import SummaryText
from threadkeep.context.validity.calls import is_ai, is_human

SYSTEM_TOKENS: Final = 200
"""Tokens taken for the system prompt of a conversation that has none and does not say."""

TOOL_TOKENS: Final = 100
"""Tokens taken for each tool whose calls are in a conversation that does not have the tools' schemas."""

Summaries = Callable[[str, str], SummaryText | None]
"""Finds the summary that was stored under a fingerprint for a key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One model call that was answered.

    Args:
        end: How many messages there were; the answer is the next.
        turn: Number of the turn, from 1.
        at: When the call was made, None where nobody knows.
        model: The model's name.
        provider: The provider's name, as LangChain says it.
        reported: The tokens that the provider reported.
        price: What was recorded as its price in US dollars.
        sent: What was sent, the system prompt included; None where that was not recorded.
        system: The part of it that is the system prompt, not the conversation.
        tools: The tools that were sent.
        response_format: The response schema that was sent.
    """

    end: int
    turn: int
    at: datetime | None = None
    model: str | None = None
    provider: str | None = None
    reported: Tokens | None = None
    price: Decimal | None = None
    sent: tuple[BaseMessage, ...] | None = None
    system: tuple[BaseMessage, ...] = ()
    tools: tuple[Any, ...] = ()
    response_format: Any = None


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A conversation with its model calls, in order.

    Args:
        name: The thread's id, or the file's name.
        messages: The whole conversation.
        steps: Its calls.
        pins: Ids of pinned messages.
        others: How many recorded calls are no step: summaries, failures, retries, other branches.
        summaries: Finds stored summaries.
        policies: Names of the policies that calls were recorded with.
        learned: Whether token counting learned from the calls while they were made, as ContextMiddleware's does.
        summarised: Whether a model wrote summaries for them.
    """

    name: str
    messages: tuple[BaseMessage, ...]
    steps: tuple[Step, ...]
    pins: frozenset[str] = frozenset()
    others: int = 0
    summaries: Summaries = field(default=lambda fingerprint, key: None)
    policies: tuple[str, ...] = ()
    learned: bool = False
    summarised: bool = False

    @property
    def extracts(self) -> bool:
        """Whether summaries were made without a model while this was recorded."""
        return bool(self.policies) and not self.summarised

    @property
    def recorded(self) -> bool:
        """Whether it is known of any call what was sent."""
        return any(step.sent is not None for step in self.steps)

    @property
    def model(self) -> str | None:
        """The model that most calls asked."""
        return _most([step.model for step in self.steps if step.model])

    @property
    def provider(self) -> str | None:
        """The provider of most calls."""
        return _most([step.provider for step in self.steps if step.provider])


def of_messages(messages: Sequence[BaseMessage], name: str = "messages") -> Recording:
    """Return a plain list of messages as a recording: every AI message is the answer to one call."""
    # Reasons name messages by their ids.
    found = tuple(
        message if message.id else message.model_copy(update={"id": f"message-{n}"})
        for n, message in enumerate(messages)
    )
    return Recording(name=name, messages=found, steps=tuple(steps_of(found)))


def steps_of(messages: Sequence[BaseMessage]) -> list[Step]:
    """Return a call for each AI message, as far as the message says what it was."""
    steps, turn = [], 0
    for index, message in enumerate(messages):
        turn += is_human(message)
        if is_ai(message) and index:
            steps.append(_step(message, index, max(1, turn)))
    return steps


def _step(message: BaseMessage, index: int, turn: int) -> Step:
    told = message.response_metadata
    model, provider = (told.get("model_name") or told.get("model")), told.get("model_provider")
    usage = usage_of(message) if isinstance(message, AIMessage) else None
    return Step(
        end=index,
        turn=turn,
        model=model if isinstance(model, str) else None,
        provider=provider if isinstance(provider, str) else None,
        reported=None if usage is None or usage.from_cache else usage,
    )


def guessed_overhead(recording: Recording) -> int:
    """Return the tokens that a system prompt and tools are taken to have, where neither they nor usage are known."""
    tools = {
        str(call["name"])
        for message in recording.messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    prompt = 0 if any(message.type == "system" for message in recording.messages[:1]) else SYSTEM_TOKENS
    return prompt + TOOL_TOKENS * len(tools - RECALL_TOOLS)


def schema_of(tool: Any) -> str:
    """Return a tool's schema as JSON."""
    if isinstance(tool, dict):
        return json.dumps(tool, sort_keys=True, default=str)
    return schema_text(tool)


def _most(names: list[str]) -> str | None:
    return max(dict.fromkeys(names), key=names.count) if names else None
