"""The threads of a memory: list, get, copy, prune, delete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from threadkeep.engine import flows, records
from threadkeep.engine.engine import Engine, Flow
from threadkeep.models import Page, Progress, PruneReport, ThreadInfo, ThreadStats
from threadkeep.thread import Thread


class Threads:
    """One owner's threads. Each operation stands twice: plain, and with an `a` for `await`."""

    def __init__(self, engine: Engine, owner: str) -> None:
        self._engine = engine
        self._owner = owner

    def get(self, thread_id: object) -> Thread:
        """Return the handle of a thread, whether it exists yet or not. Raises InvalidThreadId."""
        return Thread(self._engine, self._engine.ref(self._owner, thread_id))

    def list(
        self,
        *,
        owner: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        since: datetime | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[ThreadInfo]:
        """Return a page of threads, the latest updated first; one indexed query, no message decoded.

        Args:
            owner: whose threads; this memory's owner by default.
            metadata: entries the threads' metadata must have, equal in type and value.
            since: only threads updated at this time or later; a time without zone is local.
            limit: threads in a page, 1 and up.
            cursor: the page before's `cursor`.

        Raises ConfigurationError for a bad limit or cursor.
        """
        return self._engine.run(self._list(owner, metadata, since, limit, cursor))

    async def alist(
        self,
        *,
        owner: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        since: datetime | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[ThreadInfo]:
        """Return a page of threads, the latest updated first."""
        return await self._engine.arun(self._list(owner, metadata, since, limit, cursor))

    def _list(
        self,
        owner: str | None,
        metadata: Mapping[str, Any] | None,
        since: datetime | None,
        limit: int,
        cursor: str | None,
    ) -> Flow[Page[ThreadInfo]]:
        whose = self._owner if owner is None else owner
        return records.list_threads(self._engine, whose, metadata or {}, since, limit, cursor)

    def delete(self, thread_id: object) -> bool:
        """Remove a thread: no row of it stays. Returns False when it was not there."""
        return self._engine.run(flows.delete(self._engine, self._engine.ref(self._owner, thread_id)))

    async def adelete(self, thread_id: object) -> bool:
        """Remove a thread: no row of it stays."""
        return await self._engine.arun(flows.delete(self._engine, self._engine.ref(self._owner, thread_id)))

    def copy(self, source: object, target: object) -> Thread:
        """Copy a thread whole: checkpoints, record and usage.

        Raises ThreadNotFound, and ConfigurationError when the target exists.
        """
        self._engine.run(flows.copy(self._engine, self._owner, source, target))
        return self.get(target)

    async def acopy(self, source: object, target: object) -> Thread:
        """Copy a thread whole: checkpoints, record and usage."""
        await self._engine.arun(flows.copy(self._engine, self._owner, source, target))
        return self.get(target)

    def prune(
        self,
        thread_ids: Iterable[object] | None = None,
        *,
        strategy: str = "keep_latest",
        keep_last: int | None = None,
        older_than: timedelta | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> PruneReport:
        """Remove old checkpoints of threads (all by default), never the record of what was said.

        Args:
            thread_ids: which threads; unknown ones are passed over.
            strategy: `keep_latest` keeps the newest checkpoint of each namespace, `delete` removes threads.
            keep_last: keep the newest n checkpoints of each namespace instead.
            older_than: keep those that are younger, and the newest.
            dry_run: only report what would go.
            progress: called after each thread with how many are done, and how many there are.

        Raises ConfigurationError for options that make no sense together.
        """
        flow = self._prune(thread_ids, strategy, keep_last, older_than, dry_run, progress)
        return self._engine.run(flow)

    async def aprune(
        self,
        thread_ids: Iterable[object] | None = None,
        *,
        strategy: str = "keep_latest",
        keep_last: int | None = None,
        older_than: timedelta | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> PruneReport:
        """Remove old checkpoints of threads (all by default), never the record of what was said."""
        flow = self._prune(thread_ids, strategy, keep_last, older_than, dry_run, progress)
        return await self._engine.arun(flow)

    def _prune(
        self,
        thread_ids: Iterable[object] | None,
        strategy: str,
        keep_last: int | None,
        older_than: timedelta | None,
        dry_run: bool,
        progress: Progress | None,
    ) -> Flow[PruneReport]:
        plan = flows.prune_plan(strategy, keep_last, older_than, self._engine.clock())
        if thread_ids is not None:
            chosen = list(thread_ids)
            return flows.prune(self._engine, self._owner, chosen, plan, dry_run=dry_run, progress=progress)
        return flows.prune_all(self._engine, self._owner, plan, dry_run=dry_run, progress=progress)

    def stats(self, thread_id: object) -> ThreadStats:
        """Return a thread's bytes and rows by table; no value is decoded. Raises ThreadNotFound."""
        return self._engine.run(records.stats(self._engine, self._engine.ref(self._owner, thread_id)))

    async def astats(self, thread_id: object) -> ThreadStats:
        """Return a thread's bytes and rows by table."""
        return await self._engine.arun(records.stats(self._engine, self._engine.ref(self._owner, thread_id)))
