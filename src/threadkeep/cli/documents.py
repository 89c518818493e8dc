"""What `--json` prints: the keys here are documented in docs/cli.md and do not change."""

from __future__ import annotations

import base64
import math
from collections import deque
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage

from threadkeep.models import (
    Branch,
    Call,
    CallRecord,
    CheckpointInfo,
    PendingWrite,
    Problem,
    State,
    ThreadInfo,
    ThreadStats,
    Usage,
)
from threadkeep.serde import UnknownType

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_LONGEST = 8192
"""Bits of an integer; Python writes no longer ones as decimals unless told to."""
_TEXTS = (UUID, Decimal, Fraction, PurePath, timedelta)


def thread(info: ThreadInfo) -> dict[str, Any]:
    """Return what is known of a thread."""
    return {
        "thread_id": info.thread_id,
        "owner": info.owner,
        "title": info.title,
        "preview": info.preview,
        "metadata": plain(info.metadata),
        "status": info.status,
        "messages": info.messages,
        "checkpoints": info.checkpoints,
        "created": info.created.isoformat(),
        "updated": info.updated.isoformat(),
    }


def checkpoint(info: CheckpointInfo) -> dict[str, Any]:
    """Return what is known of a checkpoint."""
    return {
        "checkpoint_id": info.checkpoint_id,
        "parent_id": info.parent_id,
        "namespace": info.namespace,
        "step": info.step,
        "source": info.source,
        "branch": info.branch,
        "messages": info.messages,
        "created": info.created.isoformat(),
        "metadata": plain(info.metadata),
    }


def branch(found: Branch) -> dict[str, Any]:
    """Return what is known of a branch."""
    return {
        "branch": found.branch,
        "parent": found.parent,
        "forked_from": found.forked_from,
        "tip": found.tip,
        "current": found.current,
    }


def state(found: State) -> dict[str, Any]:
    """Return a checkpoint with its values and pending writes."""
    return {
        "checkpoint": checkpoint(found.checkpoint),
        "values": plain(found.values),
        "pending": [pending(write) for write in found.pending],
    }


def pending(write: PendingWrite) -> dict[str, Any]:
    """Return a write that waits for the next step."""
    return {"task_id": write.task_id, "channel": write.channel, "value": plain(write.value)}


def message(found: BaseMessage) -> dict[str, Any]:
    """Return a message; the keys are the same for every type."""
    return {
        "type": found.type,
        "id": found.id,
        "name": found.name,
        "text": text_of(found),
        "content": plain(found.content),
        "tool_calls": [
            {"id": call.get("id"), "name": call["name"], "args": plain(call["args"])}
            for call in getattr(found, "tool_calls", ())
        ],
        "tool_call_id": getattr(found, "tool_call_id", None),
        "status": getattr(found, "status", None),
        "usage": plain(getattr(found, "usage_metadata", None)),
        "additional_kwargs": plain(found.additional_kwargs),
        "response_metadata": plain(found.response_metadata),
    }


def text_of(found: BaseMessage) -> str:
    """Return the text parts of a message, joined."""
    content: Any = found.content
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    return "".join(text for text in map(_block_text, blocks) if text)


def _block_text(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return text if isinstance(text, str) else None


def usage(found: Usage) -> dict[str, Any]:
    """Return tokens and money, summed."""
    return {
        **sums(found),
        "total_tokens": found.total_tokens,
        "cached": found.cached,
        "purposes": {name: sums(part) for name, part in found.purposes.items()},
    }


def sums(found: Usage) -> dict[str, Any]:
    """Return tokens and money of one kind of calls, summed; money in US dollars, as text."""
    return {
        "calls": found.calls,
        **{name: getattr(found, name) for name in TOKENS},
        "price": format(found.price, "f"),
        "unknown": found.unknown,
        "unpriced": found.unpriced,
    }


def call(found: Call) -> dict[str, Any]:
    """Return one model call; null is what nobody knows."""
    return {
        "number": found.number,
        "at": found.at.isoformat(),
        "model": found.model,
        "provider": found.provider,
        "purpose": found.purpose,
        "status": found.status,
        "source": found.source,
        "message_id": found.message_id,
        "call_id": found.call_id,
        "run_id": found.run_id,
        **{name: getattr(found, name) for name in TOKENS},
        "price": None if found.price is None else format(found.price, "f"),
        "price_version": found.price_version,
        "seconds": found.seconds,
        "error": found.error,
    }


def call_record(found: CallRecord) -> dict[str, Any]:
    """Return what a model call was sent, and why."""
    return {
        "call": call(found.call),
        "policy": found.policy,
        "messages": None if found.messages is None else [message(one) for one in found.messages],
        "tools": plain(found.tools),
        "options": plain(found.options),
        "reasons": [
            {"position": reason.position, "message_id": reason.message.id, "reason": reason.text}
            for reason in found.reasons
        ],
    }


def stats(found: ThreadStats) -> dict[str, Any]:
    """Return a thread's size by table."""
    return {
        "thread_id": found.thread_id,
        "owner": found.owner,
        "rows": found.rows,
        "bytes": found.bytes,
        "tables": {name: {"rows": table.rows, "bytes": table.bytes} for name, table in found.tables.items()},
    }


def problem(found: Problem, remedy: str) -> dict[str, Any]:
    """Return a broken invariant with what to do about it."""
    return {
        "thread_id": found.thread_id or None,
        "table": found.table or None,
        "detail": found.detail,
        "remedy": remedy,
    }


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it.

    Mappings become objects and other collections arrays. Times, UUIDs, decimals and paths become their
    text, bytes `{"type": "bytes", "base64": ...}`, and any other object `{"type": ..., "repr": ...}`.
    """
    if isinstance(value, BaseMessage):
        return message(value)
    if isinstance(value, Enum):
        return _named(value, value=plain(value.value))
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _LONGEST else {"type": "int", "hex": hex(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else _key(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | deque):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value), key=repr)
    return _other(value)


def _other(value: Any) -> Any:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, _TEXTS):
        return str(value)
    if isinstance(value, bytes):
        return {"type": "bytes", "base64": base64.b64encode(value).decode()}
    if isinstance(value, UnknownType):
        return {"type": value.name, "base64": base64.b64encode(value.raw).decode()}
    return _named(value, repr=repr(value))


def _named(found: Any, **fields: Any) -> dict[str, Any]:
    kind = type(found)
    return {"type": f"{kind.__module__}:{kind.__qualname__}", **fields}


def _key(key: Any) -> str:
    found = plain(key)
    return found if isinstance(found, str) else repr(key)
