"""What surrounds a checkpoint's values: its format, time and metadata, compact and as they were given."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from threadkeep.engine.cache import Head
from threadkeep.engine.requests import PutRequest
from threadkeep.ids import id_time
from threadkeep.ops.rows import OTHER_SOURCE, SOURCES
from threadkeep.serde import Serde

_KEYS = frozenset(
    {"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels"}
)
FORMAT = 4
"""The checkpoint format that goes without saying: the one LangGraph writes today."""
COUNTERS = "counters_since_delta_snapshot"


def extra_of(serde: Serde, request: PutRequest, parent: Head | None) -> dict[str, Any]:
    """Return what of a checkpoint and its metadata is not as it nearly always is."""
    checkpoint, metadata = request.checkpoint, request.metadata
    extra: dict[str, Any] = {}
    if checkpoint.get("v") != FORMAT:
        extra["v"] = checkpoint.get("v")
    if "updated_channels" not in checkpoint:
        extra["plain"] = True
    other = {k: v for k, v in checkpoint.items() if k not in _KEYS and not (k == "pending_sends" and not v)}
    if other:
        extra["other"] = serde.encode(other, path="checkpoint")
    if metadata.get("source") not in SOURCES and "source" in metadata:
        extra["source"] = serde.encode(metadata["source"], path="metadata.source")
    step = metadata.get("step")
    if type(step) is not int or abs(step) >= 1 << 31:
        extra["step"] = serde.encode(step, path="metadata.step") if "step" in metadata else None
    if metadata.get("parents") != {}:
        extra["parents"] = (
            serde.encode(metadata["parents"], path="metadata.parents") if "parents" in metadata else None
        )
    if COUNTERS in metadata:
        extra["counters"] = serde.encode(metadata[COUNTERS], path=f"metadata.{COUNTERS}")
        extra["deltas"] = list(metadata[COUNTERS])
    if parent is None and request.parent_id is not None:
        extra["parent"] = request.parent_id
    return extra


def metadata_of(serde: Serde, head: Head) -> dict[str, Any]:
    """Return a checkpoint's metadata as it was given."""
    extra = head.extra
    metadata: dict[str, Any] = {}
    if head.source != OTHER_SOURCE:
        metadata["source"] = SOURCES[head.source]
    elif "source" in extra:
        metadata["source"] = serde.decode(extra["source"])
    if "step" not in extra:
        metadata["step"] = head.step
    elif extra["step"] is not None:
        metadata["step"] = serde.decode(extra["step"])
    if "parents" not in extra:
        metadata["parents"] = {}
    elif extra["parents"] is not None:
        metadata["parents"] = serde.decode(extra["parents"])
    metadata.update(serde.decode(head.run_body))
    if "counters" in extra:
        metadata[COUNTERS] = serde.decode(extra["counters"])
    return metadata


def checkpoint_of(serde: Serde, head: Head, identifier: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return a checkpoint as it was given, with these values."""
    extra = head.extra
    checkpoint: dict[str, Any] = {
        "v": extra.get("v", FORMAT),
        "ts": _timestamp(head.time, head.id),
        "id": identifier,
        "channel_values": values,
        "channel_versions": dict(head.versions),
        "versions_seen": {node: dict(seen) for node, seen in head.seen.items()},
    }
    if "plain" not in extra:
        checkpoint["updated_channels"] = None if head.updated is None else list(head.updated)
    if "other" in extra:
        checkpoint.update(serde.decode(extra["other"]))
    return checkpoint


def time_of(ts: str, identifier: bytes) -> int | str:
    """Return a timestamp as microseconds from the one in its id (or from 1970), or as text when that is not exact."""
    try:
        moment = datetime.fromisoformat(ts)
    except (TypeError, ValueError):
        return ts
    if moment.tzinfo is not UTC or moment.isoformat() != ts:
        return ts
    return round(moment.timestamp() * 1_000_000) - (id_time(identifier) or 0)


def _timestamp(time: int | str, identifier: bytes) -> str:
    if isinstance(time, str):
        return time
    return moment(time, identifier).isoformat()


def moment(time: int | str, identifier: bytes) -> datetime:
    """Return when a checkpoint was made."""
    if isinstance(time, str):
        try:
            found = datetime.fromisoformat(time)
            return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        except ValueError:
            return datetime.fromtimestamp((id_time(identifier) or 0) / 1e6, UTC)
    return instant(time + (id_time(identifier) or 0))


def instant(microseconds: int) -> datetime:
    """Return a time of the database as a datetime in UTC."""
    seconds, rest = divmod(microseconds, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)
