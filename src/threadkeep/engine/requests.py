"""What callers ask to have stored, as they gave it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadkeep.backends.base import Op


@dataclass(frozen=True, slots=True, kw_only=True)
class PutRequest:
    """A checkpoint as the caller gave it. `snapshots` names the channels that hold a DeltaChannel's list.

    What `after` returns runs in the checkpoint's own transaction.
    """

    namespace: str
    parent_id: bytes | None
    guarded: bool
    addressed: bool
    checkpoint: Mapping[str, Any]
    metadata: Mapping[str, Any]
    snapshots: Mapping[str, list[Any]]
    after: Callable[[], Op[None]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WritesRequest:
    """A task's writes as the caller gave them, each with its index, channel and value."""

    namespace: str
    checkpoint: bytes
    task_id: str
    path: str
    writes: Sequence[tuple[int, str, Any]]
    from_node: bool
    status: int | None
