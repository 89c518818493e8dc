"""Memory: what users hold. It opens a database and hands out threads and the checkpointer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any

from threadkeep import ids
from threadkeep.config import DEFAULT_URL, LOCK_TIMEOUT, open_driver
from threadkeep.engine import upkeep
from threadkeep.engine.engine import Engine
from threadkeep.models import CompactReport, Problem, Progress, ThreadStats
from threadkeep.serde import Serde
from threadkeep.threads import Threads

if TYPE_CHECKING:
    from threadkeep.adapters.langgraph import Checkpointer


def open(
    url: str = DEFAULT_URL,
    *,
    create: bool = True,
    owner: str = "",
    types: Iterable[type] = (),
    lock_timeout: float = LOCK_TIMEOUT,
) -> Memory:
    """Open a memory: a database of threads.

    Args:
        url: `sqlite:///relative.db`, `sqlite:////absolute.db`, or `memory://` (in this process only).
        create: make the file and its tables when they are missing; False refuses instead.
        owner: whose threads these are; two owners never see each other's.
        types: dataclasses, Pydantic models, enums and named tuples that states may hold.
        lock_timeout: seconds to wait for a lock that another process holds.

    Raises ConfigurationError for a URL that cannot be used, SchemaMissing with `create=False`, and the
    storage errors for a file that cannot be opened. Needs no `with`: it lives until `close()`.
    """
    from threadkeep.adapters.langgraph_types import register_langgraph

    serde = Serde(types)
    register_langgraph(serde)
    driver = open_driver(url, create=create, lock_timeout=lock_timeout)
    try:
        engine = Engine(driver, serde, ids.now)
    except BaseException:
        driver.close()
        raise
    return Memory(engine, url, owner)


class Memory:
    """An open database of threads. Thread-safe, and usable from any number of event loops."""

    def __init__(self, engine: Engine, url: str, owner: str) -> None:
        self._engine = engine
        self.url = url
        self.owner = owner
        self.threads = Threads(engine, owner)

    def __repr__(self) -> str:
        owner = f", owner={self.owner!r}" if self.owner else ""
        return f"<threadkeep.Memory {self.url!r}{owner}{', closed' if self.closed else ''}>"

    @cached_property
    def checkpointer(self) -> Checkpointer:
        """The LangGraph checkpointer: one object, sync and async."""
        from threadkeep.adapters.langgraph import Checkpointer

        return Checkpointer(self._engine, self.owner)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._engine.driver.closed

    def as_owner(self, owner: str) -> Memory:
        """Return the same memory with another owner's threads."""
        return Memory(self._engine, self.url, owner)

    def allow(self, *types: Any) -> None:
        """Declare types that states may hold; a compiled graph declares those its schemas name.

        Raises ConfigurationError for what is neither.
        """
        from threadkeep.adapters.langgraph_schemas import declared_types

        for item in types:
            self._engine.serde.allow(*declared_types(item))

    def upgrade(self, cls: type, function: Callable[[dict[str, Any]], Any]) -> None:
        """Declare a type, and a function that makes one of stored fields that do not fit the class any more.

        Raises ConfigurationError for a type that has no fields of its own.
        """
        self._engine.serde.upgrade(cls, function)

    def stats(self, *, progress: Progress | None = None) -> tuple[ThreadStats, ...]:
        """Return bytes and rows of every thread of every owner, largest first; no value is decoded.

        `progress` is called now and then with how many threads are done, and how many there are.
        """
        return self._engine.run(upkeep.stats(self._engine, progress))

    async def astats(self, *, progress: Progress | None = None) -> tuple[ThreadStats, ...]:
        """Return bytes and rows of every thread of every owner, largest first."""
        return await self._engine.arun(upkeep.stats(self._engine, progress))

    def size(self) -> int:
        """Return the bytes the database takes on disk; 0 for `memory://`."""
        return self._engine.driver.size()

    async def asize(self) -> int:
        """Return the bytes the database takes on disk."""
        return self._engine.driver.size()

    def compact(self) -> CompactReport:
        """Give the disk back what deletions freed; the report tells when a reader kept some of it."""
        return self._engine.run(upkeep.compact(self._engine))

    async def acompact(self) -> CompactReport:
        """Give the disk back what deletions freed."""
        return await self._engine.arun(upkeep.compact(self._engine))

    def doctor(self, thread_id: object = None, *, progress: Progress | None = None) -> tuple[Problem, ...]:
        """Check every invariant of one thread, or of the whole database; return what is wrong.

        `progress` is called now and then with how many threads are done, and how many there are.
        """
        return self._engine.run(upkeep.doctor(self._engine, self.owner, thread_id, progress))

    async def adoctor(
        self, thread_id: object = None, *, progress: Progress | None = None
    ) -> tuple[Problem, ...]:
        """Check every invariant of one thread, or of the whole database; return what is wrong."""
        return await self._engine.arun(upkeep.doctor(self._engine, self.owner, thread_id, progress))

    def close(self) -> None:
        """Store what is still queued and release everything; later calls raise MemoryClosed.

        Raises the failure of a queued write that no call has raised yet. Closing twice does nothing.
        """
        self._engine.close()

    async def aclose(self) -> None:
        """Store what is still queued and release everything."""
        await self._engine.aclose()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Memory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
