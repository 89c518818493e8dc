"""Make the messages of a thread's state valid, where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from threadkeep.context.validity.repair import repair
from threadkeep.engine import deleting, edits, notes, records
from threadkeep.engine.engine import Engine, Flow, Pending
from threadkeep.engine.recording import MESSAGES
from threadkeep.errors import ConfigurationError, StaleRun
from threadkeep.models import CheckpointInfo
from threadkeep.ops.rows import ThreadRef

_ATTEMPTS = 256
"""Each attempt that fails is one by which another write has been stored."""


def repair_state(engine: Engine, ref: ThreadRef, actor: str) -> Flow[CheckpointInfo | None]:
    """Repair a state's messages with one durable checkpoint and an audit entry; None if all are valid."""
    yield from records.info(engine, ref)
    for attempt in range(_ATTEMPTS):
        view = yield from engine.get(ref, "", None, live=True)
        assert view is not None
        messages = deleting.state_messages(ref, view)
        mended = _mended(messages, view.pending)
        changed = _changed(messages, mended)
        if not changed:
            return None
        if any(write.channel == "__interrupt__" for write in view.pending):
            raise ConfigurationError(
                f"thread {ref.thread_id!r} waits for a human, and a repair would end that; answer it or let the user "
                "go on first, then repair",
                thread_id=ref.thread_id,
            )
        action = notes.audit_op(engine, ref, "repair", actor, changed)
        request = replace(edits.messages_request(engine, view, mended), after=action)
        try:
            yield from engine.put(ref, request, wait=True)
        except StaleRun:
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        break
    return (yield from records.state(engine, ref, request.checkpoint["id"])).checkpoint


def _mended(messages: Sequence[BaseMessage], pending: Sequence[Pending]) -> list[BaseMessage]:
    """Return the messages as a valid request; calls that wait for a human stay open."""
    results = {message.tool_call_id: message for message in _finished(pending)}
    found = repair(messages, results=results, paused=_paused(messages, pending))
    # What stands for a conversation that has not begun is for a request alone.
    return [one for one in found if not (isinstance(one, HumanMessage) and one.id is None)]


def _finished(pending: Sequence[Pending]) -> list[ToolMessage]:
    """Return the results that tasks of the last step did finish."""
    values = [write.value for write in pending if write.channel == MESSAGES]
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [item for item in items if isinstance(item, ToolMessage)]


def _paused(messages: Sequence[BaseMessage], pending: Sequence[Pending]) -> frozenset[str]:
    if not any(write.channel == "__interrupt__" for write in pending):
        return frozenset()
    return frozenset(call["id"] for one in messages for call in getattr(one, "tool_calls", ()) if call["id"])


def _changed(messages: Sequence[BaseMessage], mended: Sequence[BaseMessage]) -> list[str]:
    """Return the ids of the messages that came, went or changed, and of those that moved; none if all is as it was."""
    if len(messages) == len(mended) and all(a is b for a, b in zip(messages, mended, strict=True)):
        return []
    before: dict[int, Any] = {id(message): message for message in messages}
    after: dict[int, Any] = {id(message): message for message in mended}
    differing = [
        *(m for k, m in before.items() if k not in after),
        *(m for k, m in after.items() if k not in before),
    ]
    if not differing:
        differing = [a for a, b in zip(messages, mended, strict=False) if a is not b]
    return sorted({message.id for message in differing if message.id is not None})
