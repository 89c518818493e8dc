"""Flows that add to a thread without a graph: append messages, fork."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Set
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages

from threadkeep import ids
from threadkeep.backends.base import Op
from threadkeep.engine import records
from threadkeep.engine.engine import Engine, Flow, Read, View
from threadkeep.engine.envelope import FORMAT
from threadkeep.engine.recording import MESSAGES
from threadkeep.engine.requests import PutRequest
from threadkeep.errors import CheckpointNotFound, ConfigurationError, MessageNotFound, StaleRun
from threadkeep.models import CheckpointInfo
from threadkeep.ops import load, transcript
from threadkeep.ops.rows import SOURCES, ThreadRef

_ATTEMPTS = 256
"""Each attempt that fails is one by which another append has been stored."""


def append(engine: Engine, ref: ThreadRef, messages: Any) -> Flow[CheckpointInfo]:
    """Add messages to a thread's state and record with one durable checkpoint.

    An append that another writer overtook is made again on the new head.
    """
    new = _messages(messages)
    for attempt in range(_ATTEMPTS):
        view = yield from engine.get(ref, "", None, live=True)
        if view is not None and "counters" in view.head.extra and MESSAGES not in view.values:
            raise ConfigurationError(
                f"thread {ref.thread_id!r} keeps its messages in a DeltaChannel, which only its graph can resolve; "
                "add messages with graph.update_state(config, {'messages': [...]})",
                thread_id=ref.thread_id,
            )
        cache = engine.threads.get(ref.digest)
        known = None if cache is None else cache.by_message_id.keys()
        request = _append_request(engine, view, new, known)
        try:
            yield from engine.put(ref, request, wait=True)
        except StaleRun:
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        break
    return (yield from _stored(engine, ref, request))


def _messages(messages: Any) -> list[BaseMessage]:
    items = messages if isinstance(messages, list) else [messages]
    if not items:
        raise ConfigurationError("append was given no message; pass at least one")
    converted = convert_to_messages(items)
    for message in converted:
        if message.type == "remove":
            raise ConfigurationError(
                "append takes messages to add; to take one out of the state, use an agent's reducer"
            )
    return [m if m.id is not None else m.model_copy(update={"id": str(uuid.uuid4())}) for m in converted]


def _append_request(
    engine: Engine, view: View | None, new: list[BaseMessage], known: Set[str] | None
) -> PutRequest:
    values = dict(view.values) if view is not None else {}
    merged = list(values.get(MESSAGES) or [])
    given = {message.id for message in new}
    places: dict[str | None, int] = {}
    # Looked up one by one: another thread may add to what is known meanwhile.
    if known is None or any(message_id in known for message_id in given):
        places = {m.id: n for n, m in enumerate(merged) if isinstance(m, BaseMessage) and m.id in given}
    for message in new:
        if message.id in places:
            merged[places[message.id]] = message
        else:
            places[message.id] = len(merged)
            merged.append(message)
    return messages_request(engine, view, merged)


def messages_request(engine: Engine, view: View | None, messages: list[BaseMessage]) -> PutRequest:
    """Return the checkpoint after a view that has these messages, and everything else as it was."""
    values = dict(view.values) if view is not None else {}
    values[MESSAGES] = messages
    versions = dict(view.head.versions) if view is not None else {}
    versions[MESSAGES] = next_version(max(versions.values(), default=None))
    return _request(engine, view, values, versions, "update", [MESSAGES])


def next_version(current: Any) -> Any:
    """Return the channel version after the greatest, continuing its kind: integer, float or LangGraph's text."""
    if current is None:
        return 1
    if isinstance(current, str):
        whole, _, rest = current.partition(".")
        return f"{int(whole) + 1:032}" + (f".{rest}" if rest else "")
    return current + 1


def _request(
    engine: Engine,
    view: View | None,
    values: Mapping[str, Any],
    versions: Mapping[str, Any],
    source: str,
    updated: list[str] | None,
) -> PutRequest:
    head = view.head if view is not None else None
    parent = None if head is None else ids.unpack_id(head.id)
    identifier = ids.new_checkpoint_id(engine.clock, after=parent)
    checkpoint = {
        "v": FORMAT if head is None else head.extra.get("v", FORMAT),
        "ts": datetime.fromtimestamp(engine.clock() / 1e6, UTC).isoformat(),
        "id": identifier,
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": {} if head is None else head.seen,
        "updated_channels": updated,
    }
    step = 0 if head is None else head.step + 1
    return PutRequest(
        namespace="",
        parent_id=None if head is None else head.id,
        guarded=True,
        addressed=source == "fork",
        checkpoint=checkpoint,
        metadata={"source": source, "step": step, "parents": {}},
        snapshots={},
    )


def _stored(engine: Engine, ref: ThreadRef, request: PutRequest) -> Flow[CheckpointInfo]:
    identifier = request.checkpoint["id"]
    cache = engine.threads.get(ref.digest)
    head = None if cache is None else cache.heads.get(("", ids.pack_id(identifier)))
    if head is not None:
        return records.checkpoint_info(engine, ref, View(head, {}, []))
    state = yield from records.state(engine, ref, identifier)
    return state.checkpoint


def fork(
    engine: Engine, ref: ThreadRef, checkpoint_id: str | None, before: str | None
) -> Flow[CheckpointInfo]:
    """Start a branch at a checkpoint, or before a message entered; it becomes the current one."""
    if (checkpoint_id is None) == (before is None):
        raise ConfigurationError("fork takes a checkpoint_id or before=<message id>: pass exactly one")
    view: View | None = None
    if before is not None:
        place = yield from _before(engine, ref, before)
        if place is not None:
            view = yield from engine.get(ref, "", place, live=False)
    else:
        view = yield from engine.get(ref, "", ids.pack_id(str(checkpoint_id)), live=False)
        if view is None:
            yield from records.info(engine, ref)
            raise records.no_checkpoint(ref, checkpoint_id)
    values = view.values if view is not None else {}
    versions = view.head.versions if view is not None else {}
    request = _request(engine, view, values, versions, "fork", None)
    yield from engine.put(ref, request, wait=True)
    return (yield from _stored(engine, ref, request))


def _before(engine: Engine, ref: ThreadRef, message_id: str) -> Flow[bytes | None]:
    """Return the id of the last checkpoint before a message came; None when it came first."""
    yield from records.info(engine, ref)

    def op() -> Op[tuple[bool, bytes | None]]:
        found = yield from transcript.entered(ref, message_id)
        if found is None:
            return False, None
        thread, seq, branch, lines = found
        if not lines:
            raise pruned
        row = (yield from _row(thread, seq)).row
        # The checkpoint of a run's input holds the message already, not yet in the state.
        while row.parent is not None:
            row = (yield from _row(thread, row.parent)).row
            if SOURCES[row.source : row.source + 1] != ("input",):
                return True, row.id
        if (yield from transcript.follows(thread, seq, branch)):
            raise pruned
        return True, None

    def _row(thread: int, seq: int) -> Op[load.Manifest]:
        return load.load_manifest(thread, seq, engine.names)

    pruned = CheckpointNotFound(
        f"the checkpoint before message {message_id!r} of thread {ref.thread_id!r} was pruned; "
        f"`threadkeep history {ref.thread_id}` lists those it has",
        thread_id=ref.thread_id,
        message_id=message_id,
    )
    place: bytes | None
    known, place = yield Read(op())
    if not known:
        raise MessageNotFound(
            f"thread {ref.thread_id!r} has no message {message_id!r}; messages() lists those it has",
            thread_id=ref.thread_id,
            message_id=message_id,
        )
    return place
