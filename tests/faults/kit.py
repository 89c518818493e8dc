"""Ways to break the ground a database stands on, and what the tests of it share."""

from __future__ import annotations

import ctypes
import os
import signal
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.faults.agents import prose
from threadkeep import Memory

_NEW_MOUNTS, _NEW_USERS = 0x20000, 0x10000000
_READ_ONLY, _REMOUNT, _RECURSIVE, _PRIVATE = 1, 32, 0x4000, 0x40000
NOBODY = 65534


def url(path: Path) -> str:
    return f"sqlite:///{path}"


def fill(memory: Memory, thread: str = "t", count: int = 5, words: int = 40) -> None:
    """Append messages whose text is known."""
    handle = memory.threads.get(thread)
    start = len(texts(memory, thread))
    for n in range(start, start + count):
        handle.append(("user", prose(f"{thread}/{n}", words)))


def texts(memory: Memory, thread: str = "t") -> list[str]:
    handle = memory.threads.get(thread)
    return [m.text for m in handle.messages()] if handle.exists() else []


def wanted(count: int, thread: str = "t", words: int = 40) -> list[str]:
    return [prose(f"{thread}/{n}", words) for n in range(count)]


def made(path: Path, count: int = 5) -> Path:
    """Make a database with one thread, and close it."""
    with threadkeep.open(url(path)) as memory:
        fill(memory, count=count)
    return path


def sound(path: Path, count: int, thread: str = "t") -> None:
    """Check a database, and that a thread holds exactly what it should and goes on."""
    with threadkeep.open(url(path)) as memory:
        assert memory.doctor() == ()
        assert texts(memory, thread) == wanted(count, thread)
        fill(memory, thread, 1)
        assert texts(memory, thread) == wanted(count + 1, thread)


def fork() -> int:
    with warnings.catch_warnings():
        # The parent may have threads; the child uses nothing of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def die() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed(function: Callable[[], Any]) -> None:
    """Run a function in a forked child that kills itself in the course of it."""
    pid = fork()
    if pid == 0:
        try:
            function()
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the write lock of a database, as another process would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def become_nobody() -> None:
    """Give up root's right to write everywhere; for a child process."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def _call(number: int) -> None:
    if number:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def mount(folder: Path, size: str) -> None:
    """Put a small file system on a folder, seen by this (child) process only."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    _call(libc.unshare(_NEW_MOUNTS if user == 0 else _NEW_MOUNTS | _NEW_USERS))
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _call(libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None))
    _call(libc.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, f"size={size}".encode()))


def make_read_only(folder: Path) -> None:
    """Make what `mount` mounted read-only, whatever user asks."""
    libc = ctypes.CDLL(None, use_errno=True)
    _call(libc.mount(b"none", bytes(folder), None, _REMOUNT | _READ_ONLY, None))


def need_mounts(folder: Path) -> None:
    """Skip a test where a process may not mount anything for itself."""
    pid = fork()
    if pid == 0:
        try:
            mount(folder, "64k")
        except OSError:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if status:
        pytest.skip("this system lets no unprivileged process mount a file system of its own")
