"""Full disks, disks and files that may not be written: a clear error, and nothing lost."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.faults import kit
from threadkeep.errors import StorageError, StorageFull, StorageReadOnly
from threadkeep.testing.checkpoints import Line
from threadkeep.testing.processes import in_child


def until_full(memory: threadkeep.Memory) -> tuple[int, StorageFull]:
    """Append until there is no space left; return how many messages were stored, and the error."""
    for n in range(2000):
        try:
            kit.fill(memory, count=1)
        except StorageFull as error:
            return n, error
    raise AssertionError("it never got full")


def says_full(error: StorageFull, path: Path) -> None:
    text = str(error)
    assert repr(str(path)) in text and "no space left" in text and "try again" in text
    assert error.retryable and isinstance(error, OSError)


def still_usable(memory: threadkeep.Memory, count: int) -> None:
    """What was stored before the disk was full can be read through the same memory, and is sound."""
    assert kit.texts(memory) == kit.wanted(count)
    assert memory.doctor() == ()


def limit_file_size(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_a_file_that_may_not_grow(place: Path) -> None:
    """The write that does not fit fails whole; with room again the same memory goes on."""
    path = place / "threads.db"

    def child() -> int:
        memory = threadkeep.open(kit.url(path))
        limit_file_size(300_000)
        count, error = until_full(memory)
        says_full(error, path)
        still_usable(memory, count)
        again, _ = until_full(memory)
        limit_file_size(10_000_000)
        kit.fill(memory, count=3)
        still_usable(memory, count + again + 3)
        memory.close()
        return count + again + 3

    kit.sound(path, in_child(child))


def test_a_database_of_limited_pages(place: Path) -> None:
    """SQLite's own limit gives the same error."""
    path = place / "threads.db"
    memory = threadkeep.open(kit.url(path))
    driver: Any = memory._engine.driver
    driver._connection().execute("PRAGMA max_page_count = 60")
    count, error = until_full(memory)
    says_full(error, path)
    still_usable(memory, count)
    driver._connection().execute("PRAGMA max_page_count = 100000")
    kit.fill(memory, count=1)
    memory.close()
    kit.sound(path, count + 1)


def test_a_disk_that_is_full(place: Path) -> None:
    """A file system without a free byte: reading works, a deletion elsewhere makes room, writing goes on."""
    kit.need_mounts(place)
    path = place / "threads.db"

    def child() -> None:
        kit.mount(place, "1m")
        memory = threadkeep.open(kit.url(path))
        (place / "ballast").write_bytes(bytes(400_000))
        count, error = until_full(memory)
        says_full(error, path)
        still_usable(memory, count)
        (place / "ballast").unlink()
        kit.fill(memory, count=2)
        still_usable(memory, count + 2)
        memory.close()
        kit.sound(path, count + 2)

    in_child(child)


def test_a_disk_that_is_full_from_the_start(place: Path) -> None:
    """Opening a new database where nothing fits says so, and works once there is room."""
    kit.need_mounts(place)
    path = place / "threads.db"

    def child() -> None:
        kit.mount(place, "1m")
        ballast = place / "ballast"
        with pytest.raises(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        with pytest.raises(StorageError, match="no space left") as caught:
            threadkeep.open(kit.url(path))
        assert repr(str(path)) in str(caught.value)
        ballast.unlink()
        with threadkeep.open(kit.url(path)) as memory:
            assert memory.doctor() == ()

    in_child(child)


def test_a_put_and_its_writes_on_a_full_disk(place: Path) -> None:
    """A checkpoint is there whole or not at all, and so are a task's writes; the put can be repeated."""
    path = place / "threads.db"

    def child() -> None:
        memory = threadkeep.open(kit.url(path))
        line = Line(memory)
        stored = [line.put({"n": 0})]
        limit_file_size(200_000)
        body = os.urandom(20_000)
        with pytest.raises(StorageFull):
            while True:
                stored.append(line.put({"n": len(stored), "body": body + os.urandom(10_000)}))
                line.write([("n", body), ("m", os.urandom(10_000))])
        assert memory.doctor() == ()
        assert set(line.ids()) == set(stored)
        assert all(len(t.pending_writes) in (0, 2) for t in line.tuples())
        limit_file_size(10_000_000)
        line.load()
        stored.append(line.put({"n": "after"}))
        line.write([("n", body)])
        assert line.ids() == stored[::-1]
        memory.close()
        with threadkeep.open(kit.url(path)) as again:
            assert again.doctor() == ()
            assert Line(again).ids() == stored[::-1]
            assert Line(again).pending() == [("task", "n", body)]

    in_child(child)


def test_a_queued_input_that_did_not_fit_is_told(place: Path) -> None:
    """What `put` had only queued is not lost in silence: the run's next call says that it failed."""
    path = place / "threads.db"

    def child() -> None:
        memory = threadkeep.open(kit.url(path))
        line = Line(memory, run=True)
        limit_file_size(100_000)
        line.put({"__start__": os.urandom(200_000)}, source="input")
        with pytest.raises(StorageFull):
            line.put({"n": 1})
        assert line.get() is None
        limit_file_size(10_000_000)
        memory.close()

    in_child(child)


def test_a_queued_input_that_did_not_fit_is_told_by_close(place: Path) -> None:
    """When the run makes no further call, `close` raises it."""
    path = place / "threads.db"

    def child() -> None:
        memory = threadkeep.open(kit.url(path))
        limit_file_size(100_000)
        Line(memory, run=True).put({"__start__": os.urandom(200_000)}, source="input")
        with pytest.raises(StorageFull):
            memory.close()

    in_child(child)


def test_deleting_on_a_full_disk(place: Path) -> None:
    """A deletion that does not fit leaves the thread whole; one that does gives the space back."""
    path = place / "threads.db"

    def child() -> None:
        memory = threadkeep.open(kit.url(path))
        limit_file_size(400_000)
        count, _ = until_full(memory)
        try:
            memory.threads.delete("t")
        except StorageFull:
            still_usable(memory, count)
        else:
            assert not memory.threads.get("t").exists()
        limit_file_size(100_000_000)
        memory.threads.delete("t")
        assert memory.doctor() == ()
        assert not memory.threads.get("t").exists()
        memory.close()

    in_child(child)


def refused(action: Callable[[], Any], path: Path) -> None:
    with pytest.raises(StorageReadOnly) as caught:
        action()
    text = str(caught.value)
    assert repr(str(path)) in text and "cannot be written" in text and "permissions" in text
    assert isinstance(caught.value, PermissionError)


def test_a_file_that_may_not_be_written(place: Path) -> None:
    """Writing names the file and what to do; nothing of it is changed."""
    path = kit.made(place / "threads.db")
    before = path.read_bytes()
    path.chmod(0o444)
    place.chmod(0o777)

    def child() -> None:
        kit.become_nobody()
        refused(lambda: kit.fill(threadkeep.open(kit.url(path)), count=1), path)

    in_child(child)
    assert path.read_bytes() == before


def test_a_folder_that_may_not_be_written(place: Path) -> None:
    """SQLite needs its log beside the file: no file can be made, and none be used."""
    path = kit.made(place / "threads.db")
    path.chmod(0o666)
    place.chmod(0o555)

    def child() -> None:
        kit.become_nobody()
        for name in ("threads.db", "new.db"):
            with pytest.raises(StorageError) as caught:
                kit.fill(threadkeep.open(kit.url(place / name)), count=1)
            assert repr(str(place / name)) in str(caught.value)
            assert "folder" in str(caught.value)

    in_child(child)
    place.chmod(0o755)
    kit.sound(path, 5)


def test_a_folder_that_may_not_be_entered(place: Path) -> None:
    """Even its existence cannot be told."""
    folder = place / "private"
    folder.mkdir()
    path = kit.made(folder / "threads.db")
    folder.chmod(0o000)

    def child() -> None:
        kit.become_nobody()
        for create in (True, False):
            with pytest.raises(StorageError, match=r"cannot open .* folder"):
                threadkeep.open(kit.url(path), create=create)

    in_child(child)
    folder.chmod(0o755)
    kit.sound(path, 5)


def test_a_disk_that_may_not_be_written(place: Path) -> None:
    """A read-only file system refuses everybody, root too; writable again, the same memory goes on."""
    kit.need_mounts(place)
    path = place / "threads.db"

    def child() -> None:
        kit.mount(place, "2m")
        kit.made(path)
        kit.make_read_only(place)
        with pytest.raises(StorageError) as caught:
            kit.fill(threadkeep.open(kit.url(path)), count=1)
        assert repr(str(path)) in str(caught.value)

    in_child(child)


def test_a_connection_that_turned_read_only(place: Path) -> None:
    """While it may not write, reading works; later it goes on."""
    path = kit.made(place / "threads.db")
    with threadkeep.open(kit.url(path)) as memory:
        driver: Any = memory._engine.driver
        driver._connection().execute("PRAGMA query_only = ON")
        refused(lambda: kit.fill(memory, count=1), path)
        assert kit.texts(memory) == kit.wanted(5)
        driver._connection().execute("PRAGMA query_only = OFF")
        kit.fill(memory, count=1)
    kit.sound(path, 6)
