"""The whole conversation of a thread whose state has lost its older messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage

from threadkeep.adapters.agents.steps import Flow, Step
from threadkeep.context.planning.history import History
from threadkeep.context.planning.marks import State
from threadkeep.errors import ThreadNotFound
from threadkeep.thread import Thread

DELETED: Final = "d"
"""Key of a reference: how many messages of the thread had been deleted when it was written."""


class Lost(Exception):
    """What stood for messages that have left the state cannot be found; they must be read again."""


def deleted(thread: Thread) -> Flow[frozenset[str]]:
    """Return the ids of the messages that were deleted from a thread; its record keeps them, no view does."""
    try:
        entries = yield Step.of(thread, "audit")
    except ThreadNotFound:  # its first step is not stored yet
        return frozenset()
    return frozenset(
        one for entry in entries if entry.action == "delete messages" for one in entry.message_ids
    )


def whole(thread: Thread, state: Sequence[BaseMessage]) -> Flow[list[BaseMessage]]:
    """Return the record of the thread's branch in order, without what was deleted; the state's objects stay."""
    try:
        if (yield Step.of(thread, "info")).messages <= len(state):
            return list(state)  # nothing has left it
        record = yield Step.of(thread, "messages")
    except ThreadNotFound:
        return list(state)
    gone = yield from deleted(thread)
    here = {message.id: message for message in state if message.id}
    known = {message.id for message in record}
    told = [
        here.get(one.id, one)
        for one in record
        if one.id is not None and (one.id in here or one.id not in gone)
    ]
    return [*told, *(message for message in state if message.id is None or message.id not in known)]


def valid(reference: Mapping[str, Any] | None, fingerprint: str, history: History, gone: int) -> bool:
    """Say whether a reference tells what left the state: it is the policy's own, and nothing was changed since.

    Args:
        reference: The private channel's value.
        fingerprint: The policy's.
        history: The state's messages.
        gone: How many messages of the thread were deleted by now.
    """
    if reference is None:
        return False
    state = State.from_json(reference)
    return (
        state.fingerprint == fingerprint
        and reference.get(DELETED, 0) == gone
        and all(mark.holds(history) for mark in state.marks)
    )
