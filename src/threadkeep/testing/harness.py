"""What each test of the contract stands on: a storage of its own, and a look at what it leaves."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest

from threadkeep import Memory
from threadkeep.testing.drive import Drive
from threadkeep.testing.values import TYPES

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a backend can do; tests that need more than it declares are not collected.

    `shared`: several memories opened at one place see the same threads, and closing loses nothing.
    `processes`: so do several processes. `forks`: a memory that was opened before `os.fork` works in
    the child too. `sql`: `Harness.sql` and `Harness.tables` are there.
    """

    shared: bool = True
    processes: bool = True
    forks: bool = True
    sql: bool = True


def needs(*names: str) -> Callable[[F], F]:
    """Mark a test as one for backends that declare these capabilities."""

    def mark(function: F) -> F:
        function.needs = names  # type: ignore[attr-defined]
        return function

    return mark


class Store:
    """The storage of one test; what is opened here is examined and closed when the test ends."""

    def __init__(self, harness: Harness, place: Path) -> None:
        self.place = place
        self._harness = harness
        self._opened: list[Memory] = []
        self._threads = set(threading.enumerate())

    def open(self, **options: Any) -> Memory:
        """Open the test's storage, once more if it is open already."""
        memory = self._harness.open(self.place, **options)
        memory.allow(*TYPES)
        self._opened.append(memory)
        return memory

    def end(self) -> None:
        """Assert that the storage is sound, and that closing it leaves no thread and no file open."""
        problems = [problem for memory in self._opened if not memory.closed for problem in memory.doctor()]
        for memory in self._opened:
            memory.close()
        assert problems == [], f"the doctor found {problems}"
        left = [
            t.name for t in set(threading.enumerate()) - self._threads if not t.name.startswith("asyncio_")
        ]
        assert left == [], f"threads outlive the memory: {left}"
        assert open_files(self.place) == []


class Harness:
    """Fixtures and hooks: a backend sets `capabilities` and overrides `open`, and more as declared."""

    capabilities: ClassVar[Capabilities] = Capabilities()

    def __init_subclass__(cls) -> None:
        """Leave out the tests of what the backend does not declare."""
        super().__init_subclass__()
        for name in dir(cls):
            missing = [
                need
                for need in getattr(getattr(cls, name), "needs", ())
                if not getattr(cls.capabilities, need)
            ]
            if missing:
                setattr(cls, name, None)

    def open(self, place: Path, **options: Any) -> Memory:
        """Open the storage that belongs to a folder, the test's own; `options` are threadkeep.open's.

        Opened again with the same folder, a `shared` backend shows the same threads.
        """
        raise NotImplementedError("override open(place)")

    def sql(self, memory: Memory, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run SQL on a memory's database behind its back, and commit; return the rows."""
        raise NotImplementedError("override sql(memory, statement, values), or declare sql=False")

    def tables(self, memory: Memory) -> list[str]:
        """Return every table of the database except those of no thread: versions and dictionaries."""
        raise NotImplementedError("override tables(memory), or declare sql=False")

    def dump(self, memory: Memory) -> dict[str, list[tuple[Any, ...]]]:
        """Return every row of every table."""
        return {
            table: self.sql(memory, f"SELECT * FROM {table} ORDER BY 1, 2") for table in self.tables(memory)
        }

    def rows(self, memory: Memory) -> dict[str, int]:
        """Return how many rows each table has that has any."""
        counts = {
            table: self.sql(memory, f"SELECT count(*) FROM {table}")[0][0] for table in self.tables(memory)
        }
        return {table: count for table, count in counts.items() if count}

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """The test's storage."""
        store = Store(self, tmp_path)
        yield store
        store.end()

    @pytest.fixture
    def memory(self, store: Store) -> Memory:
        """A memory on the test's storage, which is empty."""
        return store.open()

    @pytest.fixture(params=["sync", "async"])
    def drive(self, request: pytest.FixtureRequest) -> Iterator[Drive]:
        """Calls plain methods, or their `a` twins."""
        drive = Drive(request.param)
        yield drive
        drive.close()


def open_files(place: Path) -> list[str]:
    """Return the files under a folder that this process holds open; none where the system does not tell."""
    folder = Path("/proc/self/fd")
    if not folder.exists():
        return []
    found = []
    for entry in os.listdir(folder):
        try:
            found.append(os.readlink(folder / entry))
        except FileNotFoundError:
            continue  # the descriptor that listed the folder
    return sorted(path for path in found if path.startswith(f"{place}{os.sep}"))
