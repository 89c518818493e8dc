"""Bring a view into the order that a provider wants: who begins, where instructions stand, who speaks last."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from threadkeep.context.validity.calls import is_ai, is_system, makes_calls

OPENING = "[The conversation before this is not shown.]"
"""Stands before an answer that would be the first message, where the provider wants the user to begin."""

NOTHING = "[No message yet.]"
"""Stands for the conversation where there is none."""

CONTINUE = "[Continue.]"
"""Stands between two answers, or after the last, where the provider wants the user to speak."""

CACHE_MARKS = 4
"""How many `cache_control` marks Anthropic takes."""


def ordered(
    messages: list[BaseMessage], provider: str, *, prefill: bool, before: list[BaseMessage]
) -> list[BaseMessage]:
    """Return the messages in the order that the provider wants, with what it wants put in.

    Those `before` them, if any, begin with the user and are in order; they are returned, too.
    """
    found = [*before[-1:], *messages]
    if provider in ("anthropic", "google"):
        found = _noted(found, 0) if before else _begun(_noted(found, _start(found)))
    if provider == "google":
        found = _answered(found)
    if not before and all(is_system(message) for message in found):
        found = [*found, _stand_in(NOTHING)]
    if not prefill and is_ai(found[-1]) and not makes_calls(found[-1]):
        found = [*found, _stand_in(CONTINUE)]
    if provider == "anthropic":
        found = _unmarked(_trimmed(found))
    return [*before[:-1], *found]


def cache_marks(message: BaseMessage) -> int:
    """Return how many `cache_control` marks stand in a message's content."""
    if not isinstance(message.content, list):
        return 0
    return sum(1 for block in message.content if isinstance(block, dict) and block.get("cache_control"))


def _stand_in(text: str) -> HumanMessage:
    return HumanMessage(text, additional_kwargs={"threadkeep": "repair"})


def _noted(messages: list[BaseMessage], start: int) -> list[BaseMessage]:
    """Turn system messages from `start` on into notes in the user's role, where they stand.

    Moved to the front they would apply to what came before them, and change the beginning of the prompt, so that
    nothing of it could be read from the provider's cache.
    """
    return [
        *messages[:start],
        *(_note(message) if is_system(message) else message for message in messages[start:]),
    ]


def _note(message: BaseMessage) -> HumanMessage:
    text = f"<system-note>\n{message.text}\n</system-note>"
    return HumanMessage(text, id=message.id, additional_kwargs={"threadkeep": "repair"})


def _start(messages: list[BaseMessage]) -> int:
    return next((index for index, message in enumerate(messages) if not is_system(message)), len(messages))


def _begun(messages: list[BaseMessage]) -> list[BaseMessage]:
    start = _start(messages)
    if start < len(messages) and is_ai(messages[start]):
        return [*messages[:start], _stand_in(OPENING), *messages[start:]]
    return messages


def _answered(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Put a word of the user's between an answer and a call that follows it."""
    found: list[BaseMessage] = []
    for message in messages:
        if found and is_ai(found[-1]) and makes_calls(message):
            found.append(_stand_in(CONTINUE))
        found.append(message)
    return found


def _trimmed(messages: list[BaseMessage]) -> list[BaseMessage]:
    last = messages[-1]
    if not isinstance(last, AIMessage):
        return messages
    content: Any = last.content
    if isinstance(content, str):
        content = content.rstrip()
    elif content and isinstance(content[-1], dict) and content[-1].get("type") == "text":
        text = str(content[-1].get("text") or "").rstrip()
        content = [*content[:-1], {**content[-1], "text": text}]
    if content == last.content:
        return messages
    return [*messages[:-1], last.model_copy(update={"content": content})]


def _unmarked(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Take the oldest marks out where there are too many: the newest spare the most."""
    surplus = sum(map(cache_marks, messages)) - CACHE_MARKS
    if surplus <= 0:
        return messages
    found = list(messages)
    for index, message in enumerate(messages):
        if surplus > 0 and cache_marks(message):
            content: list[Any] = []
            for block in message.content:
                if surplus > 0 and isinstance(block, dict) and block.get("cache_control"):
                    block = {key: value for key, value in block.items() if key != "cache_control"}
                    surplus -= 1
                content.append(block)
            found[index] = message.model_copy(update={"content": content})
    return found
