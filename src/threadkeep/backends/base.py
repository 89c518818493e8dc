"""The contract between operations and drivers.

An operation is a generator: it yields a `Statement`, is sent its rows, and returns a value. It never
sees a connection, a lock or an event loop. A driver runs an operation inside one transaction: all of
its statements take effect, or none does. Statements are named; each backend's dialect says what a name
means, and values are always parameters.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
Row = tuple[Any, ...]
Rows = list[Row]


class Statement(NamedTuple):
    """One named statement; with `many`, `values` is a list of parameter tuples and no rows come back."""

    name: str
    values: Sequence[Any] = ()
    many: bool = False


Op = Generator[Statement, Rows, T]


class Retry(Exception):
    """Raised inside an operation whose preparation no longer fits the database; prepare it again."""


class Work:
    """A write that was prepared and waits for the next transaction.

    `op` returns a fresh operation each time it is asked. `refresh` prepares again after `Retry`.
    `settled` is called once, outside the transaction, with the outcome already in `error`.
    """

    __slots__ = ("_callbacks", "_gate", "_lock", "done", "error", "op", "refresh", "rolled_back", "settled")

    def __init__(
        self,
        op: Callable[[], Op[None]],
        *,
        refresh: Callable[[], None] | None = None,
        rolled_back: Callable[[], None] | None = None,
        settled: Callable[[], None] | None = None,
    ) -> None:
        self.op = op
        self.refresh = refresh
        self.rolled_back = rolled_back
        self.settled = settled
        self.error: BaseException | None = None
        self.done = False
        self._gate: threading.Lock | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def finish(self, error: BaseException | None = None) -> None:
        """Record the outcome and tell everybody who waits."""
        self.error = error
        try:
            if self.settled is not None:
                self.settled()
        finally:
            # Whatever goes wrong there, those who wait are told.
            with self._lock:
                self.done = True
                gate, callbacks = self._gate, self._callbacks
                self._callbacks = []
            if gate is not None:
                gate.release()
            for callback in callbacks:
                callback()

    def wait(self, seconds: float | None) -> bool:
        """Wait until the work is settled, at most `seconds`; return whether it is."""
        with self._lock:
            if self.done:
                return True
            if self._gate is None:
                # Held until the work is settled; a bare lock wakes a thread with a third of an Event's steps.
                self._gate = threading.Lock()
                self._gate.acquire()
            gate = self._gate
        settled = gate.acquire(timeout=-1 if seconds is None else seconds)
        if settled:
            gate.release()  # for the next one who waits
        return settled

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the work is settled, at once if it already is."""
        with self._lock:
            if not self.done:
                self._callbacks.append(callback)
                return
        callback()


class Driver(Protocol):
    """Runs operations; one per open database.

    `read` and `write` run an operation in a transaction of its own, from any thread; `aread` and
    `awrite` do so from any event loop without blocking it. `enqueue` accepts a prepared write, in
    order; `flush` commits everything queued so far, and a driver also does so by itself within
    `linger` seconds. Raises the storage errors of `threadkeep.errors`, and MemoryClosed after `close`.
    """

    url: str
    linger: float

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""

    def read(self, op: Op[T]) -> T:
        """Run a reading operation on one consistent snapshot."""

    async def aread(self, op: Op[T]) -> T:
        """Run a reading operation on one consistent snapshot."""

    def write(self, op: Callable[[], Op[T]]) -> T:
        """Run a writing operation after everything queued before it."""

    async def awrite(self, op: Callable[[], Op[T]]) -> T:
        """Run a writing operation after everything queued before it."""

    def enqueue(self, work: Work) -> None:
        """Queue a prepared write; it is committed in order, together with its neighbours."""

    def flush(self) -> None:
        """Commit everything queued; outcomes are found in each work."""

    def flush_soon(self, *, now: bool = False) -> None:
        """Have the driver's own thread flush: at once, or when `linger` has passed."""

    async def settled(self, work: Work, *, now: bool = True) -> None:
        """Wait on the running loop until a queued work is settled."""

    def give_back(self) -> None:
        """Return what deletions freed to the file system."""

    def size(self) -> int:
        """Return the bytes the database takes on disk."""

    def compact(self) -> bool:
        """Give free pages back; return False when a reader kept some."""

    def close(self) -> None:
        """Flush, then release everything. Later calls raise MemoryClosed."""
