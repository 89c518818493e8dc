"""Which part of a thread fits the local model's window."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from threadkeep.adapters.local_lead import Message

_STEPS = 4
"""Parts of the room by which the cut moves on: between two moves the prompt only grows, and stays cached."""
_PER_MESSAGE = 6
"""Tokens that the chat template puts around a message."""
_RUNS = re.compile(r" ?[A-Za-z]+|[^\S\n]+|\S|\n")
_LETTERS = 4
"""Letters of an English word per token, at least; longer words are split."""
_BYTES = 1.2
"""Bytes of other scripts per token, at least."""
_ELLIPSIS = " … "


def fit(front: list[Message], thread: list[Message], beside: list[Message], room: int) -> list[Message]:
    """Return front + the newest part of the thread + what stands beside its newest message, in `room` tokens.

    The front is always there; what is beside goes before anything of the newest message does, and that one is
    shortened in its middle when it does not fit alone. The cut depends on the messages only.
    """
    room -= _cost(front)
    newest = _shortened(thread[-1], max(room, _PER_MESSAGE + 1))
    if _cost(beside) + _cost([newest]) > room:
        beside = []
    room -= _cost(beside) + _cost([newest])
    return [*front, *_newest(thread[:-1], room), *beside, newest]


def estimate(text: str) -> int:
    """Return at least about as many tokens as the model's tokenizer makes of a text."""
    count = 0.0
    for run in _RUNS.findall(text):
        if run.isascii():
            count += math.ceil(len(run.strip() or run) / _LETTERS)
        else:
            count += len(run.encode("utf-8", "replace")) / _BYTES
    return math.ceil(count)


def _newest(messages: list[Message], room: int) -> list[Message]:
    """Return the newest messages that fit, from a user's message on; what goes, goes in steps."""
    costs = [_cost([message]) for message in messages]
    excess = sum(costs) - room
    if excess <= 0:
        return messages
    step = max(1, room // _STEPS)
    leaving = math.ceil(excess / step) * step
    first = 0
    while first < len(messages) and (leaving > 0 or messages[first]["role"] != "user"):
        leaving -= costs[first]
        first += 1
    return messages[first:]


def _shortened(message: Message, room: int) -> Message:
    """Return a message within a number of tokens, keeping its beginning and its end."""
    text = message["content"]
    if _cost([message]) <= room:
        return message
    low, high = 0, len(text) // 2
    while low < high:
        middle = (low + high + 1) // 2
        kept = text[:middle] + _ELLIPSIS + text[-middle:]
        low, high = (middle, high) if _cost([{**message, "content": kept}]) <= room else (low, middle - 1)
    return {**message, "content": text[:low] + _ELLIPSIS + text[len(text) - low :]}


def _cost(messages: Sequence[Message]) -> int:
    return sum(estimate(message["content"]) + _PER_MESSAGE for message in messages)
