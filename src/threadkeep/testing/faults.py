"""Break storage on purpose: stop an operation before any of its statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from threadkeep import Memory
from threadkeep.backends.base import Driver, Op, T, Work


class Crash(Exception):
    """Raised in the place of a statement that `CrashingDriver` was told to stop before."""


class CrashingDriver:
    """A driver around another one, whose operations can be stopped before their n-th statement.

    Everything else is the other driver's. Works with any driver: it watches the statements that the
    operations yield.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._error: BaseException | type[BaseException] = Crash
        self._left: int | None = None
        self._only_writes = False
        self.statements: list[str] = []
        self.writing: list[bool] = []
        self.stopped: str | None = None

    @classmethod
    def around(cls, memory: Memory) -> CrashingDriver:
        """Put one around the driver of an open memory."""
        made = cls(memory._engine.driver)
        memory._engine.driver = made
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def watch(self) -> None:
        """Stop nothing, and note what follows: `statements` by name, `writing` whether each writes."""
        self.statements, self.writing = [], []
        self._left = self.stopped = None

    def stop_before(
        self, number: int, error: BaseException | type[BaseException] = Crash, *, only_writes: bool = False
    ) -> None:
        """Raise `error` once, in the place of the n-th statement from now, 1 being the next.

        With `only_writes` the statements of reading operations are not counted.
        """
        self.watch()
        self._left, self._error, self._only_writes = number, error, only_writes

    def read(self, op: Op[T]) -> T:
        """Run a reading operation."""
        return self._driver.read(self._watched(op, False))

    async def aread(self, op: Op[T]) -> T:
        """Run a reading operation."""
        return await self._driver.aread(self._watched(op, False))

    def write(self, op: Callable[[], Op[T]]) -> T:
        """Run a writing operation."""
        return self._driver.write(lambda: self._watched(op(), True))

    async def awrite(self, op: Callable[[], Op[T]]) -> T:
        """Run a writing operation."""
        return await self._driver.awrite(lambda: self._watched(op(), True))

    def enqueue(self, work: Work) -> None:
        """Queue a prepared write."""
        inner = work.op
        work.op = lambda: self._watched(inner(), True)
        self._driver.enqueue(work)

    def _watched(self, op: Op[T], writes: bool) -> Op[T]:
        try:
            statement = next(op)
            while True:
                self._pass(statement.name, writes)
                statement = op.send((yield statement))
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            op.close()

    def _pass(self, name: str, writes: bool) -> None:
        self.statements.append(name)
        self.writing.append(writes)
        if self._left is None or (self._only_writes and not writes):
            return
        self._left -= 1
        if self._left == 0:
            self._left = None
            self.stopped = name
            raise self._error
