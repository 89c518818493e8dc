"""Checkpoints as a graph's run makes them, without a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from threadkeep import Memory
from threadkeep.ids import new_checkpoint_id
from threadkeep.testing.drive import Drive
from threadkeep.testing.values import difference

PLAIN = Drive("sync")


def config(thread_id: Any = "t", checkpoint_id: str | None = None, namespace: str = "", **more: Any) -> Any:
    """Return the config that addresses a thread, or one of its checkpoints."""
    place = {"thread_id": thread_id, "checkpoint_ns": namespace, **more}
    if checkpoint_id is not None:
        place["checkpoint_id"] = checkpoint_id
    return {"configurable": place}


def checkpoint(
    values: Mapping[str, Any],
    versions: Mapping[str, Any] | None = None,
    *,
    checkpoint_id: str | None = None,
    after: str | None = None,
    **other: Any,
) -> dict[str, Any]:
    """Return a checkpoint with these channel values, by default all of version 1."""
    return {
        "v": 4,
        "id": checkpoint_id or new_checkpoint_id(after=after),
        "ts": datetime.now(UTC).isoformat(),
        "channel_values": dict(values),
        "channel_versions": dict.fromkeys(values, 1) if versions is None else dict(versions),
        "versions_seen": {},
        "updated_channels": None,
        **other,
    }


class Line:
    """Puts one checkpoint after another on a thread.

    With `run` it does so as a graph's run: it loads its own live objects, and its puts are checked
    against a second writer. Without, as any program that calls the saver.
    """

    def __init__(
        self,
        memory: Memory,
        thread_id: Any = "t",
        *,
        drive: Drive = PLAIN,
        namespace: str = "",
        run: bool = False,
    ) -> None:
        self.memory = memory
        self.saver: Any = memory.checkpointer
        self.drive = drive
        self.thread_id = thread_id
        self.namespace = namespace
        self.at: str | None = None
        self.step = -1
        self._more = {"__pregel_task_id": "run"} if run else {}
        self._values: Mapping[str, Any] = {}
        self._versions: dict[str, Any] = {}

    def config(self, checkpoint_id: str | None = None) -> Any:
        """Return the config of a checkpoint of this line; without an id, of its thread."""
        return config(self.thread_id, checkpoint_id, self.namespace, **self._more)

    def load(self, checkpoint_id: str | None = None) -> Any:
        """Read the newest checkpoint, or the one named, and go on from it; return its tuple."""
        found = self.get(checkpoint_id)
        if found is not None:
            self.thread_id = found.config["configurable"]["thread_id"]
            self.at = found.checkpoint["id"]
            self._values = found.checkpoint["channel_values"]
            self._versions = dict(found.checkpoint["channel_versions"])
            self.step = found.metadata.get("step", 0)
        return found

    def put(
        self,
        values: Mapping[str, Any],
        *,
        versions: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        source: str = "loop",
        **other: Any,
    ) -> str:
        """Put a checkpoint after the line's last one, and return its id.

        Channels whose values changed get the next version, unless `versions` are given.
        """
        if versions is None:
            versions = self._next_versions(values)
        made = checkpoint(values, versions, checkpoint_id=checkpoint_id, after=self.at, **other)
        self.step += 1
        told = {"source": source, "step": self.step, "parents": {}, **(metadata or {})}
        self.drive(self.saver.put, self.config(self.at), made, told, dict(versions))
        self.at, self._values, self._versions = made["id"], dict(values), dict(versions)
        return str(made["id"])

    def _next_versions(self, values: Mapping[str, Any]) -> dict[str, Any]:
        following = self.saver.get_next_version(max(self._versions.values(), default=None), None)
        known = self._values
        return {
            channel: self._versions[channel]
            if channel in known and channel in self._versions and difference(value, known[channel]) is None
            else following
            for channel, value in values.items()
        }

    def write(
        self, writes: Sequence[tuple[str, Any]], task: str = "task", path: str = "", at: str | None = None
    ) -> None:
        """Put a task's writes at a checkpoint, by default the line's last one."""
        self.drive(self.saver.put_writes, self.config(at or self.at), list(writes), task, path)

    def get(self, checkpoint_id: str | None = None) -> Any:
        """Return a checkpoint's tuple, the newest by default."""
        return self.drive(self.saver.get_tuple, self.config(checkpoint_id))

    def values(self, checkpoint_id: str | None = None) -> Any:
        """Return a checkpoint's channel values, the newest's by default."""
        return self.get(checkpoint_id).checkpoint["channel_values"]

    def pending(self, checkpoint_id: str | None = None) -> list[tuple[str, str, Any]]:
        """Return a checkpoint's pending writes in order, as (task, channel, value)."""
        return [tuple(write) for write in self.get(checkpoint_id).pending_writes]

    def tuples(self, **options: Any) -> list[Any]:
        """Return the checkpoints of the line's namespace, newest first."""
        found: list[Any] = self.drive(self.saver.list, self.config(), **options)
        return found

    def ids(self, **options: Any) -> list[str]:
        """Return the ids of the checkpoints of the line's namespace, newest first."""
        return [found.checkpoint["id"] for found in self.tuples(**options)]


def stored(memory: Memory, thread_id: Any = "t") -> list[Any]:
    """Return all that the saver tells of a thread: every checkpoint of every namespace, newest first."""
    thread: Any = {"configurable": {"thread_id": thread_id}}
    return [as_data(found) for found in memory.checkpointer.list(thread)]


def as_data(found: Any) -> dict[str, Any]:
    """Return a checkpoint's tuple as plain data that can be compared."""
    return {
        "config": _plain(found.config),
        "parent": _plain(found.parent_config),
        "checkpoint": found.checkpoint,
        "metadata": found.metadata,
        "writes": [tuple(write) for write in found.pending_writes],
    }


def _plain(place: Any) -> Any:
    if place is None:
        return None
    inner = place["configurable"]
    return {**inner, "thread_id": str.__str__(inner["thread_id"])}


def shown(memory: Memory, name: str) -> Any:
    """Return all that a memory shows of a thread, without ids and times that differ from thread to thread."""
    thread = memory.threads.get(name)
    if not thread.exists():
        return None
    info = thread.info()
    found = stored(memory, name)
    places = {one["config"]["checkpoint_id"]: n for n, one in enumerate(found)}
    checkpoints = [
        {
            "values": dict(sorted(one["checkpoint"]["channel_values"].items())),
            "versions": dict(sorted(one["checkpoint"]["channel_versions"].items())),
            "metadata": dict(sorted(one["metadata"].items())),
            "namespace": one["config"]["checkpoint_ns"],
            "parent": one["parent"] and places.get(one["parent"]["checkpoint_id"]),
            "writes": one["writes"],
        }
        for one in found
    ]
    branches = thread.branches()
    return {
        "checkpoints": checkpoints,
        "record": [list(thread.messages(branch=branch.branch)) for branch in branches],
        "branches": [(branch.branch, branch.parent, branch.current) for branch in branches],
        "title": (info.title, info.preview, dict(info.metadata), info.status),
        "counts": (info.messages, info.checkpoints, thread.usage().calls),
    }


def renamed(value: Any, name: str, other: str) -> Any:
    """Return what is shown of a thread as it would be of one of another name."""
    if isinstance(value, str):
        return value.replace(name, other)
    if isinstance(value, dict):
        return {renamed(key, name, other): renamed(item, name, other) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, name, other) for item in value]
    return tuple(renamed(item, name, other) for item in value) if type(value) is tuple else value
