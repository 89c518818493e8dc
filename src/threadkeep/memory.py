"""Memory: what users hold. It opens a database and hands out threads and the checkpointer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any

from threadkeep import ids
from threadkeep.config import DEFAULT_URL, LOCK_TIMEOUT, open_driver
from threadkeep.engine import ledger, told, upkeep
from threadkeep.engine.engine import Engine
from threadkeep.models import Call, CallStatus, CompactReport, Problem, Progress, Purpose, ThreadStats, Usage
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

    def record_usage(
        self,
        thread_id: object,
        reported: Any = None,
        *,
        model: str | None = None,
        provider: str | None = None,
        purpose: Purpose = "answer",
        status: CallStatus = "finished",
        call_id: str | None = None,
        run_id: str | None = None,
        messages: Sequence[Any] | None = None,
        tools: Sequence[Any] = (),
        started: datetime | None = None,
        ended: datetime | None = None,
    ) -> Call:
        """Record a model call that a loop of your own made, and return it; the thread need not exist yet.

        Args:
            thread_id: whose call it is.
            reported: what came back: the AI message, or a usage as OpenAI, Anthropic or LangChain report it; None when
                nobody knows what the call took.
            model: the model's name; that of the AI message by default.
            provider: the provider's name, such as `openai`; it finds the price.
            purpose: `answer`, `summary` or `extraction`.
            status: `finished`, `failed` or `cancelled`.
            call_id: an id of the call; one that was recorded before is not counted again, nor is an AI message.
            run_id: the run that the call belongs to, for budgets by run.
            messages: what was sent, to be read with `Thread.call`.
            tools: the tools that were sent, as plain data.
            started: when the call began; now by default.
            ended: when it ended; now by default.

        Raises ConfigurationError for another purpose or status, and for a usage that cannot be read.
        """
        request = told.request(
            self._engine,
            reported,
            model=model,
            provider=provider,
            purpose=purpose,
            status=status,
            call_id=call_id,
            run_id=run_id,
            messages=messages,
            tools=tools,
            started=started,
            ended=ended,
        )
        return self._engine.run(told.record(self._engine, self._engine.ref(self.owner, thread_id), request))

    async def arecord_usage(
        self,
        thread_id: object,
        reported: Any = None,
        *,
        model: str | None = None,
        provider: str | None = None,
        purpose: Purpose = "answer",
        status: CallStatus = "finished",
        call_id: str | None = None,
        run_id: str | None = None,
        messages: Sequence[Any] | None = None,
        tools: Sequence[Any] = (),
        started: datetime | None = None,
        ended: datetime | None = None,
    ) -> Call:
        """Record a model call that a loop of your own made, and return it; the thread need not exist yet."""
        request = told.request(
            self._engine,
            reported,
            model=model,
            provider=provider,
            purpose=purpose,
            status=status,
            call_id=call_id,
            run_id=run_id,
            messages=messages,
            tools=tools,
            started=started,
            ended=ended,
        )
        return await self._engine.arun(
            told.record(self._engine, self._engine.ref(self.owner, thread_id), request)
        )

    def usage(self, *, owner: str | None = None, since: datetime | None = None) -> Usage:
        """Return what model calls took in all of an owner's threads, this memory's owner by default.

        `since` leaves out calls that began earlier. Copies of threads add nothing.
        """
        return self._engine.run(ledger.of_owner(self._engine, self.owner if owner is None else owner, since))

    async def ausage(self, *, owner: str | None = None, since: datetime | None = None) -> Usage:
        """Return what model calls took in all of an owner's threads, this memory's owner by default."""
        return await self._engine.arun(
            ledger.of_owner(self._engine, self.owner if owner is None else owner, since)
        )

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
