"""Take messages out of a thread's state, with pairs of calls and results kept whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from threadkeep.backends.base import Op, Statement
from threadkeep.context.validity.calls import call_ids, result_id
from threadkeep.engine import edits, notes, records
from threadkeep.engine.engine import Engine, Flow, Read, View, Write
from threadkeep.engine.recording import MESSAGES
from threadkeep.errors import ConfigurationError, StaleRun
from threadkeep.ids import message_tag, pack_message_id
from threadkeep.models import CheckpointInfo
from threadkeep.ops.rows import ThreadRef, key
from threadkeep.ops.threads import find

_ATTEMPTS = 256
"""Each attempt that fails is one by which another write has been stored."""
DELETED = "This result was deleted."


def delete_messages(
    engine: Engine, ref: ThreadRef, message_ids: Iterable[str], actor: str
) -> Flow[CheckpointInfo]:
    """Take messages out of the state and write it to the audit; of those that are out already only the latter.

    Raises ThreadNotFound, MessageNotFound, and ConfigurationError for a state that only its graph can resolve.
    """
    wanted = _wanted(message_ids)
    yield from _check(engine, ref, wanted)
    action = notes.audit_op(engine, ref, "delete messages", actor, sorted(wanted))
    for attempt in range(_ATTEMPTS):
        view = yield from engine.get(ref, "", None, live=True)
        assert view is not None
        messages = state_messages(ref, view)
        if not any(getattr(message, "id", None) in wanted for message in messages):
            yield Write(action)
            return (yield from records.state(engine, ref, None)).checkpoint
        request = replace(edits.messages_request(engine, view, without(messages, wanted)), after=action)
        try:
            yield from engine.put(ref, request, wait=True)
        except StaleRun:
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        break
    return (yield from records.state(engine, ref, request.checkpoint["id"])).checkpoint


def _wanted(message_ids: Iterable[str]) -> set[str]:
    wanted = {message_ids} if isinstance(message_ids, str) else set(message_ids)
    if not wanted:
        raise ConfigurationError("delete_messages was given no id; pass at least one")
    for message_id in wanted:
        if not isinstance(message_id, str):
            raise ConfigurationError(f"message id {message_id!r} is no text; messages() shows the ids")
    return wanted


def _check(engine: Engine, ref: ThreadRef, wanted: set[str]) -> Flow[None]:
    """Raise unless the thread is there and its record has every one of the messages."""
    yield from records.info(engine, ref)

    def op() -> Op[list[str]]:
        row = yield from find(ref)
        missing = []
        for message_id in sorted(wanted) if row is not None else ():
            assert row is not None
            packed = pack_message_id(message_id)
            lines = yield Statement("transcript_tagged", (key(row.id, message_tag(packed)),))
            if all(line[3] != packed for line in lines):
                missing.append(message_id)
        return missing

    missing = yield Read(op())
    if missing:
        raise notes.no_message(ref, missing[0])


def state_messages(ref: ThreadRef, view: View) -> Sequence[BaseMessage]:
    """Return the messages of a state. Raises ConfigurationError for those that only its graph can resolve."""
    if "counters" in view.head.extra and MESSAGES not in view.values:
        raise ConfigurationError(
            f"thread {ref.thread_id!r} keeps its messages in a DeltaChannel, which only its graph can resolve; change "
            "them with graph.update_state(config, {'messages': [RemoveMessage(id), ...]})",
            thread_id=ref.thread_id,
        )
    return list(view.values.get(MESSAGES) or [])


def without(messages: Sequence[Any], wanted: set[str]) -> list[Any]:
    """Return a state's messages without some, with the pairs that these leave open closed."""
    stays = [message for message in messages if getattr(message, "id", None) not in wanted]
    called = {call for message in stays for call in call_ids(message)}
    orphaned = {call for message in messages for call in call_ids(message)} - called
    answered = {result_id(message) for message in stays}
    kept: list[Any] = []
    for message in messages:
        result = result_id(message)
        if getattr(message, "id", None) not in wanted:
            if result not in orphaned:
                kept.append(message)
        elif result in called and result not in answered and isinstance(message, ToolMessage):
            answered.add(result)
            kept.append(_closing(message))
    return kept


def _closing(message: ToolMessage) -> ToolMessage:
    return ToolMessage(
        DELETED,
        id=f"{message.id}-deleted",
        tool_call_id=message.tool_call_id,
        name=message.name,
        status=message.status,
    )
