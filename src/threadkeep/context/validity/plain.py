"""Find how far a conversation is already a request that every provider takes, by a look at each message.

Most conversations are, nearly to their end: texts, and calls that stand next to their results. Repairing them message
by message would take ten times as long, at every call of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.context.validity.pairing import TOOL_NAME

_CALL_KEYS: Final = frozenset({"name", "args", "id", "type"})
_HARMLESS: Final = frozenset({"refusal"})


@dataclass(slots=True)
class Plain:
    """The first `end` messages need no repair: they begin with the user, and every call in them has its result."""

    end: int = 0
    call_ids: set[str] = field(default_factory=set)
    callers: dict[str, BaseMessage] = field(default_factory=dict)
    """The messages that call tools, by id."""


def plain_beginning(
    messages: Sequence[BaseMessage], longest: int | None, known: Plain | None = None
) -> Plain:
    """Return how much of a conversation's beginning may be sent as it is, whoever the provider is.

    The last message and what belongs to it are never a part of it: what may come last depends on the provider.

    Args:
        messages: The conversation.
        longest: How many characters a call's id may have, None for any number.
        known: What was found of a shorter list that these messages begin with; it is not changed.
    """
    found = Plain(known.end, set(known.call_ids), dict(known.callers)) if known else Plain()
    end, last = found.end or _instructions(messages), len(messages)
    if not found.end and (end == last or type(messages[end]) is not HumanMessage):
        return found
    answered = end > 0 and type(messages[end - 1]) is AIMessage
    while end < last:
        message = messages[end]
        kind, content = type(message), message.content
        after = end + 1
        if kind is HumanMessage:
            fine = type(content) is str and bool(content) and not content.isspace()
            answered = False
        elif kind is AIMessage:
            fine = type(content) is str and not content.isspace() and _is_plain(message)  # type: ignore[arg-type]
            if fine and message.tool_calls:  # type: ignore[attr-defined]
                after += len(message.tool_calls)  # type: ignore[attr-defined]
                fine = not answered and _is_closed(messages, end, after, found.call_ids, longest)
            else:
                fine = fine and bool(content)
            answered = after == end + 1
        else:
            break
        if not fine or after >= last:
            break
        if after > end + 1:
            found.call_ids.update(call["id"] for call in message.tool_calls)  # type: ignore[attr-defined]
            if message.id is not None:
                found.callers[message.id] = message
        end = found.end = after
    return found


def _instructions(messages: Sequence[BaseMessage]) -> int:
    for place, message in enumerate(messages):
        content = message.content
        if type(message) is not SystemMessage or type(content) is not str or not content.strip():
            return place
    return len(messages)


def _is_plain(message: AIMessage) -> bool:
    """Say whether an answer, apart from its calls, holds nothing that a provider's package looks at."""
    kwargs = message.additional_kwargs
    return (
        not message.invalid_tool_calls
        and (not kwargs or _HARMLESS.issuperset(kwargs))
        and message.response_metadata.get("output_version") != "v1"
    )


def _is_closed(
    messages: Sequence[BaseMessage], at: int, end: int, taken: set[str], longest: int | None
) -> bool:
    """Say whether a message's calls are well formed and all answered by the messages up to `end`."""
    calls: list[Any] = messages[at].tool_calls  # type: ignore[attr-defined]
    names: dict[str, str] = {}
    for call in calls:
        call_id, name = call.get("id"), call.get("name")
        if not call_id or call_id in taken or call_id in names or not _CALL_KEYS.issuperset(call):
            return False
        if (longest is not None and len(call_id) > longest) or not name or not TOOL_NAME.fullmatch(name):
            return False
        names[call_id] = name
    if end > len(messages):
        return False
    for message in messages[at + 1 : end]:
        if type(message) is not ToolMessage or type(message.content) is not str:
            return False
        name = names.pop(message.tool_call_id, None)
        if name is None or (message.name is not None and message.name != name):
            return False
    return True
