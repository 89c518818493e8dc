"""Locks that others hold: waited for, then told; nothing lost either way."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

import threadkeep
from tests.faults import kit
from threadkeep import Memory
from threadkeep.errors import StorageBusy
from threadkeep.testing.checkpoints import Line
from threadkeep.testing.processes import in_child


@contextmanager
def locked_by_another_process(path: Path, seconds: float) -> Iterator[None]:
    """Have a child hold the write lock from now on for some seconds."""
    reading, writing = os.pipe()
    pid = kit.fork()
    if pid == 0:
        with kit.locked(path):
            os.write(writing, b"x")
            time.sleep(seconds)
        os._exit(0)
    os.read(reading, 1)
    yield
    os.waitpid(pid, 0)
    os.close(reading)
    os.close(writing)


def test_a_lock_held_for_seven_seconds_is_waited_for(place: Path) -> None:
    """A put, a task's writes and an append of three threads all wait, and all succeed."""
    path = kit.made(place / "threads.db")
    memory = threadkeep.open(kit.url(path))
    line = Line(memory, "line")
    first = line.put({"n": 0})
    with locked_by_another_process(path, 7):
        started = time.monotonic()
        errors: list[BaseException] = []
        calls = [
            lambda: kit.fill(memory, count=1),
            lambda: line.write([("n", 1)]),
            lambda: Line(memory, "other").put({"n": 2}),
        ]

        def run(call: object) -> None:
            try:
                call()  # type: ignore[operator]
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run, args=(call,)) for call in calls]
        for thread in threads:
            thread.start()
        # Readers are in nobody's way meanwhile.
        assert kit.texts(memory)[:5] == kit.wanted(5)
        assert time.monotonic() - started < 4
        for thread in threads:
            thread.join()
        waited = time.monotonic() - started
    assert errors == []
    assert 5 < waited < 25
    assert line.pending(first) == [("task", "n", 1)]
    assert Line(memory, "other").values() == {"n": 2}
    memory.close()
    kit.sound(path, 6)


def busy(error: StorageBusy, path: Path, seconds: str) -> None:
    text = str(error)
    assert repr(str(path)) in text and f"longer than {seconds} s" in text and "lock_timeout" in text
    assert error.retryable and isinstance(error, TimeoutError)


def test_a_lock_held_for_too_long(place: Path) -> None:
    """The error names the file and the wait; nothing is lost, and the next try works."""
    path = kit.made(place / "threads.db")
    memory = threadkeep.open(kit.url(path), lock_timeout=0.3)
    line = Line(memory, "line")
    first = line.put({"n": 0})
    with kit.locked(path):
        for call in (
            lambda: kit.fill(memory, count=1),
            lambda: line.write([("n", 1)]),
            lambda: Line(memory, "other").put({"n": 2}),
            lambda: memory.threads.delete("t"),
            lambda: memory.threads.copy("t", "u"),
            lambda: memory.threads.prune(["t"]),
            memory.compact,
        ):
            started = time.monotonic()
            with pytest.raises(StorageBusy) as caught:
                call()  # type: ignore[operator]
            busy(caught.value, path, "0.3")
            assert 0.2 < time.monotonic() - started < 10
        assert kit.texts(memory) == kit.wanted(5)
        assert line.ids() == [first]
        assert memory.doctor() == ()
    kit.fill(memory, count=1)
    line.write([("n", 1)])
    second = line.put({"n": 1})
    Line(memory, "other").put({"n": 2})
    memory.threads.copy("t", "u")
    assert kit.texts(memory, "u") == kit.wanted(6)
    assert line.ids() == [second, first]
    assert line.pending(first) == [("task", "n", 1)]
    assert memory.doctor() == ()
    memory.close()
    kit.sound(path, 6)


def test_a_queued_input_meets_a_lock(place: Path) -> None:
    """An input that was queued behind a lock is stored when it goes, or its failure is raised: never neither."""
    path = kit.made(place / "threads.db")
    memory = threadkeep.open(kit.url(path), lock_timeout=0.3)
    line = Line(memory, "line", run=True)
    with kit.locked(path):
        at = line.put({"__start__": "hello"}, source="input")
        time.sleep(0.1)
    assert line.ids() == [at]
    with pytest.raises(StorageBusy), kit.locked(path):
        lost = Line(memory, "lost", run=True)
        lost.put({"__start__": "hello"}, source="input")
        time.sleep(0.8)
        memory.close()
    with threadkeep.open(kit.url(path)) as again:
        assert Line(again, "line").ids() == [at]
        assert Line(again, "lost").ids() == []
        assert again.doctor() == ()


def test_opening_waits_for_a_lock(place: Path) -> None:
    """A database that another process is writing can be opened, read and, after a while, written."""
    path = kit.made(place / "threads.db")
    with locked_by_another_process(path, 4):
        started = time.monotonic()
        with threadkeep.open(kit.url(path)) as memory:
            assert kit.texts(memory) == kit.wanted(5)
            assert time.monotonic() - started < 3.5
            kit.fill(memory, count=1)
            assert time.monotonic() - started > 2
    kit.sound(path, 6)


def test_a_new_file_that_stays_locked(place: Path) -> None:
    """Making the tables waits for the lock, then says so."""
    path = place / "threads.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = WAL")
    with kit.locked(path):
        with pytest.raises(StorageBusy) as caught:
            threadkeep.open(kit.url(path), lock_timeout=0.3)
        busy(caught.value, path, "0.3")
    with threadkeep.open(kit.url(path)) as memory:
        kit.fill(memory)
    kit.sound(path, 5)


@pytest.mark.parametrize("attempt", range(4))
def test_ten_processes_open_one_new_file(place: Path, attempt: int) -> None:
    """All of them make the tables, or find them made; each writes what it has to."""
    path = place / "threads.db"
    ready, go = os.pipe(), os.pipe()

    def child(n: int) -> None:
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        memory = threadkeep.open(kit.url(path))
        kit.fill(memory, f"t{n}", 2)
        # Half of them end without a close.
        if n % 2:
            memory.close()

    def release() -> None:
        seen = 0
        while seen < 10:
            seen += len(os.read(ready[0], 10))
        os.write(go[1], b"x" * 10)

    in_child(*(partial(child, n) for n in range(10)), before_wait=release)
    for end in (*ready, *go):
        os.close(end)
    for n in range(10):
        kit.sound(path, 2, f"t{n}")


def test_processes_killed_while_they_make_the_tables(place: Path) -> None:
    """A kill in the middle of the first opening leaves nothing that the next one cannot finish."""
    for n in range(20):
        path = place / f"{n}.db"

        def child(path: Path = path, statements: int = n * 4) -> None:
            seen = 0

            def step() -> int:
                nonlocal seen
                seen += 1
                if seen > statements:
                    kit.die()
                return 0

            real = sqlite3.connect

            def connect(*args: object, **options: object) -> sqlite3.Connection:
                made: sqlite3.Connection = real(*args, **options)  # type: ignore[call-overload]
                made.set_progress_handler(step, 20)
                return made

            sqlite3.connect = connect  # type: ignore[assignment]
            threadkeep.open(kit.url(path))
            kit.die()

        kit.killed(child)
        with threadkeep.open(kit.url(path)) as memory:
            kit.fill(memory)
        kit.sound(path, 5)


def test_a_reader_that_stays_open_while_compacting(place: Path) -> None:
    """The report says that not everything is gone yet; nobody waits long; later it is complete."""
    path = place / "threads.db"
    memory = threadkeep.open(kit.url(path))
    kit.fill(memory, "keep", 5)
    kit.fill(memory, "gone", 40, words=400)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM threads").fetchone() == (2,)
        memory.threads.delete("gone")
        started = time.monotonic()
        report = memory.compact()
        assert report.complete is False
        assert time.monotonic() - started < 5
        # The reader still sees what it saw, and writing goes on.
        assert reader.execute("SELECT count(*) FROM threads").fetchone() == (2,)
        kit.fill(memory, "keep", 1)
    report = memory.compact()
    assert report.complete is True
    assert report.after < 150_000
    assert report.after == path.stat().st_size + Path(f"{path}-wal").stat().st_size
    memory.close()
    kit.sound(path, 6, "keep")


def test_compacting_waits_as_long_as_it_was_told_to_afterwards(place: Path) -> None:
    """A compaction does not shorten how long later writes wait for a lock."""
    path = kit.made(place / "threads.db")
    with threadkeep.open(kit.url(path), lock_timeout=10) as memory:
        memory.compact()
        with locked_by_another_process(path, 1.6):
            kit.fill(memory, count=1)
    kit.sound(path, 6)


def test_many_processes_write_one_thread(place: Path) -> None:
    """Appends of several processes to one thread all arrive, each process's in its order."""
    path = kit.made(place / "threads.db", count=0)

    def child(n: int) -> None:
        memory: Memory = threadkeep.open(kit.url(path))
        for i in range(15):
            memory.threads.get("t").append({"role": "user", "content": f"{n} {i}", "id": f"{n}/{i}"})

    in_child(*(partial(child, n) for n in range(4)))
    with threadkeep.open(kit.url(path)) as memory:
        found = kit.texts(memory)
        assert sorted(found) == sorted(f"{n} {i}" for n in range(4) for i in range(15))
        for n in range(4):
            mine = [text for text in found if text.startswith(f"{n} ")]
            assert mine == [f"{n} {i}" for i in range(15)]
        assert memory.doctor() == ()
