"""Sentences in which the user asks to remember something."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage

from threadkeep.context.facts.pin_sentences import pinned_sentences
from threadkeep.context.summaries.fences import is_own

LONGEST = 2_000
"""Characters of one pin that are restated; the message keeps the rest."""

CAP = 20_000
"""Characters of one message that are searched for requests to remember."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """Hold what is to be restated for ever, as the user wrote it.

    Args:
        text: The sentence, or the whole message where `pin(message_id)` was called.
        source: The id of the message.
        chosen: True where `pin(message_id)` was called.
    """

    text: str
    source: str | None = None
    chosen: bool = False


def is_pin(text: str) -> bool:
    """Say whether the user asks here to remember something: an imperative, not a question and not a past tense."""
    return bool(pinned_sentences(text[:CAP]))


def pins_of(message: BaseMessage, *, chosen: Collection[str] = ()) -> tuple[Pin, ...]:
    """Return what of a message is to be restated for ever; nothing of answers, tool results and own blocks.

    Args:
        message: Any message.
        chosen: Ids of messages that were pinned by `pin(message_id)`: these are restated whole, whoever wrote them.
    """
    if is_own(message):
        return ()
    if message.id is not None and message.id in chosen:
        text = message.text[:LONGEST].strip()
        return (Pin(text=text, source=message.id, chosen=True),) if text else ()
    if not isinstance(message, HumanMessage):
        return ()
    return tuple(Pin(text=text, source=message.id) for text in pinned_sentences(message.text[:CAP]))


def gather(
    messages: Iterable[BaseMessage], *, known: Iterable[Pin] = (), chosen: Collection[str] = ()
) -> list[Pin]:
    """Return the pins of several messages, oldest first, each text once where it was said last.

    Args:
        messages: In order.
        known: Pins of still earlier messages; one that came from `pin(message_id)` stays only while its id is chosen.
        chosen: Ids of messages that are pinned by `pin(message_id)` now.
    """
    pins: dict[str, Pin] = {}
    for pin in known:
        if not pin.chosen or pin.source in chosen:
            pins[pin.text] = pin
    for message in messages:
        for pin in pins_of(message, chosen=chosen):
            pins.pop(pin.text, None)
            pins[pin.text] = pin
    return list(pins.values())
