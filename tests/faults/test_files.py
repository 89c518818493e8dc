"""Files that are no database, or a damaged one: an error of ours, or a report; never anything else."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.faults import kit
from threadkeep import Memory
from threadkeep.errors import NotADatabase, StorageError
from threadkeep.testing.processes import in_child


@pytest.mark.parametrize("content", [b"dear diary\n" * 500, b"\0" * 8192, b"SQLite format 3\0" + b"x" * 8000])
@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_is_no_database(place: Path, content: bytes, create: bool) -> None:
    """It is named, and left as it is."""
    path = place / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(NotADatabase) as caught:
        threadkeep.open(kit.url(path), create=create)
    assert repr(str(path)) in str(caught.value)
    assert "choose another file, or restore a backup" in str(caught.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize("create", [True, False])
def test_a_folder_in_the_place_of_the_file(place: Path, create: bool) -> None:
    path = place / "threads.db"
    path.mkdir()
    with pytest.raises(StorageError) as caught:
        threadkeep.open(kit.url(path), create=create)
    assert repr(str(path)) in str(caught.value)


def test_a_missing_folder(place: Path) -> None:
    with pytest.raises(StorageError, match=r"does not exist; create .*missing"):
        threadkeep.open(kit.url(place / "missing" / "threads.db"))
    assert not (place / "missing").exists()


def test_a_file_in_the_place_of_the_folder(place: Path) -> None:
    (place / "file").touch()
    with pytest.raises(StorageError, match=r"threads\.db"):
        threadkeep.open(kit.url(place / "file" / "threads.db"))


def everything(memory: Memory) -> list[str]:
    """Read all there is of thread `t`; return what was wrong. The doctor names what any call stumbles over."""
    thread = memory.threads.get("t")
    stumbled: list[str] = []
    calls = (
        thread.messages, thread.history, thread.state, thread.info, thread.usage, memory.threads.list,
        memory.stats, lambda: list(memory.checkpointer.list(None)),
    )  # fmt: skip
    for call in calls:
        try:
            call()
        except Exception as error:
            stumbled.append(f"{type(error).__name__}: {error}")
    try:
        found = [problem.detail for problem in memory.doctor()]
    except StorageError as error:
        found = [str(error)]
    assert found or not stumbled, stumbled
    return found


def damage(path: Path) -> list[str]:
    """Open a damaged copy and read everything; return what was wrong."""
    try:
        memory = threadkeep.open(kit.url(path))
    except StorageError as error:
        return [str(error)]
    try:
        return everything(memory)
    finally:
        memory.close()


@pytest.fixture
def healthy(place: Path) -> Path:
    """A database of some pages with one thread, in one file."""
    return kit.made(place / "healthy.db", count=40)


def test_a_truncated_database(healthy: Path, place: Path) -> None:
    """Wherever the file ends, it is noticed."""
    size = healthy.stat().st_size
    assert size > 20 * 4096
    for end in [100, 1000, 4096, 4097, *range(2 * 4096, size, 3 * 4096 + 512), size - 4096]:
        path = place / f"cut{end}.db"
        shutil.copy(healthy, path)
        with path.open("r+b") as file:
            file.truncate(end)
        assert damage(path), f"nobody noticed that the file ends after {end} bytes of {size}"
        assert healthy.stat().st_size == size


@pytest.mark.parametrize("whole_page", [True, False])
def test_flipped_bits(healthy: Path, place: Path, whole_page: bool, seed: int) -> None:
    """Whatever bits are flipped, the doctor names what reading stumbles over; a page of noise is always named."""
    rng = random.Random(f"{seed} {whole_page}")
    content = healthy.read_bytes()
    pages = len(content) // 4096
    free = free_pages(healthy)
    noticed = 0
    for n in range(40):
        path = place / f"{n}.db"
        page = rng.choice([p for p in range(pages) if p + 1 not in free])
        changed = bytearray(content)
        if whole_page:
            changed[page * 4096 : (page + 1) * 4096] = rng.randbytes(4096)
        else:
            for _ in range(3):
                changed[page * 4096 + rng.randrange(4096)] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            wrong = damage(path)
        except BaseException as error:
            pytest.fail(f"FAULTS_SEED={seed}, page {page + 1}: {type(error).__name__}: {error}")
        assert wrong or not whole_page, f"FAULTS_SEED={seed}: nobody noticed noise on page {page + 1}"
        noticed += bool(wrong)
    assert noticed > 5


def free_pages(path: Path) -> set[int]:
    """Return the pages that hold nothing."""
    content = path.read_bytes()
    found: set[int] = set()
    trunk = int.from_bytes(content[32:36], "big")
    while trunk:
        found.add(trunk)
        at = (trunk - 1) * 4096
        count = int.from_bytes(content[at + 4 : at + 8], "big")
        found |= {int.from_bytes(content[at + 8 + 4 * n : at + 12 + 4 * n], "big") for n in range(count)}
        trunk = int.from_bytes(content[at : at + 4], "big")
    return found


def live_copy(path: Path, target: Path, log_bytes: int | None = None) -> Path:
    """Copy a database and its log as they lie on the disk, the log perhaps cut short."""
    shutil.copy(path, target)
    log = Path(f"{path}-wal").read_bytes()
    Path(f"{target}-wal").write_bytes(log if log_bytes is None else log[:log_bytes])
    return target


def test_a_log_that_ends_early(place: Path, seed: int) -> None:
    """A power cut may cost the end of the log: what is left is an earlier state, whole and sound."""
    rng = random.Random(seed)
    path = place / "threads.db"
    memory = threadkeep.open(kit.url(path))
    kit.fill(memory, count=40)
    size = Path(f"{path}-wal").stat().st_size
    seen = set()
    for n, end in enumerate([0, size, *(rng.randrange(size) for _ in range(25))]):
        copy = live_copy(path, place / f"{n}.db", end)
        with threadkeep.open(kit.url(copy)) as again:
            assert again.doctor() == ()
            found = kit.texts(again)
            assert found == kit.wanted(len(found))
            kit.fill(again, count=1)
            assert kit.texts(again) == kit.wanted(len(found) + 1)
            seen.add(len(found))
    memory.close()
    assert {0, 40} <= seen and len(seen) > 5


def test_noise_at_the_end_of_the_log(place: Path, seed: int) -> None:
    """A frame that was half written ends the log there."""
    rng = random.Random(seed)
    path = place / "threads.db"
    memory = threadkeep.open(kit.url(path))
    kit.fill(memory, count=20)
    for n in range(15):
        copy = live_copy(path, place / f"{n}.db")
        log = Path(f"{copy}-wal")
        content = bytearray(log.read_bytes())
        at = rng.randrange(len(content))
        content[at:] = rng.randbytes(len(content) - at)
        log.write_bytes(content)
        with threadkeep.open(kit.url(copy)) as again:
            assert again.doctor() == ()
            assert kit.texts(again) == kit.wanted(len(kit.texts(again)))
    memory.close()


def test_the_log_of_a_killed_process(place: Path) -> None:
    """All of it may be in the log alone."""
    path = place / "threads.db"

    def child() -> None:
        kit.fill(threadkeep.open(kit.url(path)), count=8)
        kit.die()

    kit.killed(child)
    assert Path(f"{path}-wal").stat().st_size > 4096
    kit.sound(path, 8)
    assert not Path(f"{path}-wal").exists()


def settings(connection: sqlite3.Connection) -> list[Any]:
    names = ("journal_mode", "synchronous", "secure_delete", "auto_vacuum")
    return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]


def test_every_connection_waits_for_the_disk(place: Path) -> None:
    """A power cut loses nothing that was promised only with these settings, also after a fork."""
    path = place / "threads.db"
    memory = threadkeep.open(kit.url(path))
    kit.fill(memory)
    driver: Any = memory._engine.driver
    wanted = ["wal", 2, 1, 2]

    def found() -> list[list[Any]]:
        memory.threads.list()
        return [settings(c) for c in (driver._connection(), *driver._readers)]

    assert found() == [wanted] * 2
    assert in_child(found) == [wanted] * 2
    memory.close()
    with closing(sqlite3.connect(path)) as other:
        assert settings(other)[0] == "wal"


def test_backups(place: Path) -> None:
    """`VACUUM INTO` and SQLite's backup give a sound copy of a database in use."""
    path = place / "threads.db"
    memory = threadkeep.open(kit.url(path))
    kit.fill(memory, count=10)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(place / "b.db")) as target:
        source.execute("VACUUM INTO ?", (str(place / "a.db"),))
        kit.fill(memory, count=2)
        source.backup(target)
    memory.close()
    kit.sound(place / "a.db", 10)
    kit.sound(place / "b.db", 12)
    kit.sound(path, 12)
