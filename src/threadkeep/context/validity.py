"""The end of every policy: reasoning that lost its prefix leaves, and what is left is made a valid request."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from threadkeep.context.history import History
from threadkeep.context.plan import Request


def holds_bound(history: History, start: int, end: int, provider: str) -> bool:
    """Say whether a message in a range has reasoning that the provider binds to what stands before it."""
    return False


def stripped(messages: list[BaseMessage], provider: str) -> list[BaseMessage]:
    """Return the messages without reasoning that is bound to a prefix that is no longer theirs."""
    return messages


def repaired(messages: list[BaseMessage], request: Request) -> list[BaseMessage]:
    """Return the messages as a request that the provider takes."""
    return messages
