"""Marks and fences: how the package knows its own blocks, and keeps quoted text inside them."""

from __future__ import annotations

import re

from langchain_core.messages import BaseMessage, ToolMessage

MARK = "threadkeep"
"""The key in `additional_kwargs` that marks a message as made by this package; the value says what it is."""

SUMMARY, RECALL, NOTE = "summary", "recall", "note"

RECALL_TOOLS = frozenset({"search_history", "read_history"})
"""The names of the recall tools; what they return is a copy of what the thread holds already."""

_TAGS = ("background", "conversation", "earlier_summary", "notes")
_TAG = re.compile(rf"<(?=[\s/]{{0,8}}(?:{'|'.join(_TAGS)})(?![A-Za-z0-9_]))", re.IGNORECASE)


def mark_of(message: BaseMessage) -> str | None:
    """Return what the package made this message for (`"summary"`, `"recall"`, `"note"`), or None if it did not."""
    mark = message.additional_kwargs.get(MARK)
    if isinstance(mark, str):
        return mark
    if isinstance(message, ToolMessage) and message.name in RECALL_TOOLS:
        return RECALL
    return None


def is_own(message: BaseMessage) -> bool:
    """Say whether the package made this message, so that it is no part of what people and tools said."""
    return mark_of(message) is not None


def enclose(tag: str, text: str) -> str:
    """Put text between a tag's opening and closing line; the text cannot close it."""
    return f"<{tag}>\n{harmless(text)}\n</{tag}>"


def harmless(text: str) -> str:
    """Return the text with `<` made `‹` wherever it would open or close one of the package's fences."""
    return _TAG.sub("‹", text)
