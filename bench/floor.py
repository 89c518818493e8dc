"""The floor: a saver that keeps the live Python objects of the newest checkpoint and stores nothing.

What an agent's turn costs on it is what LangGraph and LangChain cost by themselves.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

Key = tuple[str, str]


class FloorSaver(BaseCheckpointSaver[int]):
    """Holds one checkpoint per thread and namespace, by reference."""

    def __init__(self) -> None:
        super().__init__()
        self._newest: dict[Key, CheckpointTuple] = {}
        self._writes: dict[Key, tuple[str, list[tuple[str, str, Any]]]] = {}

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        key = _key(config)
        newest = self._newest.get(key)
        if newest is None:
            return None
        checkpoint_id, writes = self._writes.get(key, ("", []))
        pending = list(writes) if checkpoint_id == newest.checkpoint["id"] else []
        return newest._replace(pending_writes=pending)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        found = self.get_tuple(config) if config else None
        yield from [found] if found else []

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        key = _key(config)
        saved: RunnableConfig = {
            "configurable": {"thread_id": key[0], "checkpoint_ns": key[1], "checkpoint_id": checkpoint["id"]}
        }
        parent = config if config["configurable"].get("checkpoint_id") else None
        self._newest[key] = CheckpointTuple(saved, checkpoint, metadata, parent, None)
        return saved

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        key, checkpoint_id = _key(config), config["configurable"]["checkpoint_id"]
        known = self._writes.get(key)
        if known is None or known[0] != checkpoint_id:
            known = self._writes[key] = (checkpoint_id, [])
        known[1].extend((task_id, channel, value) for channel, value in writes)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for found in self.list(config):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self.put_writes(config, writes, task_id, task_path)


def _key(config: RunnableConfig) -> Key:
    return config["configurable"]["thread_id"], config["configurable"].get("checkpoint_ns", "")
