"""Values to bytes and back: exactly equal, or refused with the path and the remedy."""

from __future__ import annotations

from threadkeep.serde.refs import RefSink, RefSource, references
from threadkeep.serde.serde import Serde
from threadkeep.serde.snapshots import Snapshot, copy_of, matches, owned_snapshot, snapshot
from threadkeep.serde.unknown import UnknownMessage, UnknownType
from threadkeep.serde.wire import LEAF_MIN, MAX_BYTES, MAX_DEPTH

__all__ = [
    "LEAF_MIN",
    "MAX_BYTES",
    "MAX_DEPTH",
    "RefSink",
    "RefSource",
    "Serde",
    "Snapshot",
    "UnknownMessage",
    "UnknownType",
    "copy_of",
    "matches",
    "owned_snapshot",
    "references",
    "snapshot",
]
