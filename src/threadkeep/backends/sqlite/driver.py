"""Run operations on SQLite: one writing connection, a few reading ones, one thread for async callers.

Writes are queued and committed together: whoever needs a commit takes the lock and commits the whole
queue in one transaction; the others find their work done. When a group fails, each of its works runs
again in a transaction of its own, so that one refused write does not take its neighbours with it.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import sqlite3
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from threadkeep.backends.base import Op, Retry, Rows, Statement, Work
from threadkeep.backends.sqlite import dialect
from threadkeep.errors import MemoryClosed, SchemaMissing, StorageBusy, StorageError, StorageFull

T = TypeVar("T")
_log = logging.getLogger(__name__)
_ATTEMPTS = 8
_READERS = 4
_PAGE_SIZE = 4096


class SQLiteDriver:
    """One SQLite database, shared by any number of threads and event loops."""

    linger = 0.002

    def __init__(self, path: str | None, *, create: bool = True, lock_timeout: float = 30.0) -> None:
        self.path = path
        self.url = "memory://" if path is None else f"sqlite:///{path}"
        self.before_statement: Callable[[Statement], None] | None = None
        self._where = path or ":memory:"
        self._timeout = lock_timeout
        self._queue: deque[Work] = deque()
        self._writing = threading.RLock()
        self._writer: sqlite3.Connection | None = None
        self._readers: list[sqlite3.Connection] = []
        self._pool: ThreadPoolExecutor | None = None
        self._forked = False
        self._accepting = True
        self._closed = False
        self._thread: threading.Thread | None = None
        self._due: float | None = None
        self._wake = threading.Condition(threading.Lock())
        self._open(create)
        self._at_exit = weakref.finalize(self, lambda: None)
        atexit.register(_close_at_exit, weakref.ref(self))
        with _REGISTRY:
            _DRIVERS.add(self)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    # opening

    def _open(self, create: bool) -> None:
        with self._translated():
            self._prepare_file(create)
            connection = self._retried(lambda: self._connect(create))
            try:
                self._retried(lambda: self._migrate(connection, create))
            except BaseException:
                connection.close()
                raise
            self._writer = connection

    def _prepare_file(self, create: bool) -> None:
        if self.path is None:
            return
        file = Path(self.path)
        if not create and not self._exists(file):
            raise SchemaMissing(
                f"there is no database at {self.path!r}; create it with create=True, or with the output of "
                f"`threadkeep schema {self.url}`",
                where=self.path,
            )
        if create and not self._exists(file.parent):
            raise StorageError(
                f"the folder of {self.path!r} does not exist; create {str(file.parent)!r} first",
                where=self.path,
            )

    def _exists(self, file: Path) -> bool:
        try:
            return file.exists()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise StorageError(
                f"cannot open {self.path!r} ({reason}); check the permissions of its folder", where=self.path
            ) from error

    def _retried(self, action: Callable[[], T]) -> T:
        # A newly made file can answer "locked" at once in spite of the busy timeout while another
        # process switches it to WAL.
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return action()
            except sqlite3.OperationalError as error:
                code = error.sqlite_errorname or ""
                if not code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _connect(self, create: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path or ":memory:",
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            if create and connection.execute("PRAGMA page_count").fetchone()[0] == 0:
                # On a file with content this would be a write, and wait for other writers.
                connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            if self.path is not None and connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                if not create:
                    # Another program's file stays as it is.
                    self._require_tables(self._version(connection))
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA cache_size = -16000")
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: sqlite3.Connection, create: bool) -> None:
        if self._version(connection) == dialect.SCHEMA_VERSION:
            return
        if not create:
            self._require_tables(self._version(connection))
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = self._version(connection)
            self._refuse_newer(version)
            for number, sql in dialect.migrations():
                if number > version:
                    for statement in _split(sql):
                        connection.execute(statement)
                    connection.execute(
                        "INSERT OR REPLACE INTO meta (name, value) VALUES ('schema_version', ?)",
                        (str(number),),
                    )
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _require_tables(self, version: int) -> None:
        """Raise SchemaMissing unless this version of the tables can be used as it is."""
        self._refuse_newer(version)
        if version == 0:
            raise SchemaMissing(
                f"database {self._where!r} has no Threadkeep tables; open it with create=True, or run the "
                f"output of `threadkeep schema {self.url}`",
                where=self._where,
            )
        if version < dialect.SCHEMA_VERSION:
            raise SchemaMissing(
                f"database {self._where!r} was written by an older Threadkeep (schema {version}, this one "
                f"needs {dialect.SCHEMA_VERSION}); open it once with create=True to bring it up to date",
                where=self._where,
                version=version,
            )

    def _refuse_newer(self, version: int) -> None:
        if version > dialect.SCHEMA_VERSION:
            raise SchemaMissing(
                f"database {self._where!r} was written by a newer Threadkeep (schema {version}, this one "
                f"knows {dialect.SCHEMA_VERSION}); upgrade the package",
                where=self._where,
                version=version,
            )

    def _version(self, connection: sqlite3.Connection) -> int:
        found = connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'"
        ).fetchone()
        if found is None:
            return 0
        row = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
        return int(row[0]) if row else 0

    # running

    def read(self, op: Op[T]) -> T:
        """Run a reading operation on one consistent snapshot."""
        self._check_open()
        if self.path is None:
            with self._writing, self._translated():
                return self._drive(self._connection(), op)
        connection = self._take_reader()
        try:
            with self._translated():
                connection.execute("BEGIN")
                try:
                    return self._drive(connection, op)
                finally:
                    connection.execute("COMMIT")
        finally:
            self._give_back(connection)

    async def aread(self, op: Op[T]) -> T:
        """Run a reading operation on one consistent snapshot."""
        self._check_open()
        try:
            reading = asyncio.get_running_loop().run_in_executor(self._executor(), self.read, op)
        except RuntimeError:  # close, which may have come meanwhile, shuts the pool down
            self._check_open()
            raise
        return await reading

    def write(self, op: Callable[[], Op[T]]) -> T:
        """Run a writing operation after everything queued before it."""
        result: list[T] = []
        work = Work(lambda: _keep(op, result))
        self.enqueue(work)
        self.flush()
        if work.error is not None:
            raise work.error
        return result[-1]

    async def awrite(self, op: Callable[[], Op[T]]) -> T:
        """Run a writing operation after everything queued before it."""
        result: list[T] = []
        work = Work(lambda: _keep(op, result))
        self.enqueue(work)
        await self.settled(work)
        if work.error is not None:
            raise work.error
        return result[-1]

    async def settled(self, work: Work, *, now: bool = True) -> None:
        """Wait on the running loop until a queued work is settled."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        work.when_done(lambda: _wake_loop(loop, future))
        self.flush_soon(now=now)
        await future

    def enqueue(self, work: Work) -> None:
        """Queue a prepared write; it is committed in order, together with its neighbours."""
        with self._wake:  # what is accepted before close, close still commits
            if not self._accepting:
                raise self._closed_error()
            self._queue.append(work)

    def flush(self) -> None:
        """Commit everything queued; outcomes are found in each work."""
        with self._writing:
            works = []
            while self._queue:
                works.append(self._queue.popleft())
            if works:
                self._commit(works)

    def flush_soon(self, *, now: bool = False) -> None:
        """Have the driver's own thread flush: at once, or when `linger` has passed."""
        due = 0.0 if now else time.monotonic() + self.linger
        with self._wake:
            if self._due is None or due < self._due:
                self._due = due
                if self._thread is None:
                    self._start_thread()
                self._wake.notify()

    def _start_thread(self) -> None:
        self._thread = threading.Thread(target=self._flush_loop, name="threadkeep-writer", daemon=True)
        self._thread.start()

    def _flush_loop(self) -> None:
        while True:
            with self._wake:
                while self._due is None:
                    if self._closed:
                        return
                    self._wake.wait()
                delay = self._due - time.monotonic()
                if delay > 0 and not self._closed:
                    self._wake.wait(delay)
                    continue
                self._due = None
            try:
                self.flush()
            except Exception:
                # Each work has its outcome; without this thread nobody would settle the next ones.
                _log.exception("what follows a commit to %r failed", self._where)

    def _commit(self, works: list[Work]) -> None:
        try:
            self._transaction(works)
        except BaseException as error:
            for work in works:
                if work.rolled_back is not None:
                    work.rolled_back()
            if not isinstance(error, Exception):
                for work in works:
                    self._commit_one(work)
                raise
            if isinstance(error, StorageBusy) or (len(works) == 1 and not isinstance(error, Retry)):
                _finish(works, error)
            elif len(works) == 1:
                self._commit_one(works[0], first=error)
            else:
                for work in works:
                    self._commit_one(work)
        else:
            _finish(works)

    def _commit_one(self, work: Work, first: Exception | None = None) -> None:
        error: BaseException | None = first
        for _ in range(_ATTEMPTS):
            try:
                if isinstance(error, Retry):
                    if work.refresh is None:
                        break
                    work.refresh()
                self._transaction([work])
            except BaseException as problem:
                error = problem
                if work.rolled_back is not None:
                    work.rolled_back()
                if not isinstance(problem, Retry):
                    break
            else:
                error = None
                break
        if isinstance(error, Retry):
            error = StorageBusy(
                f"database {self._where!r} changed under {_ATTEMPTS} attempts to write to it; try again",
                where=self._where,
            )
        work.finish(error)

    def _transaction(self, works: list[Work]) -> None:
        with self._translated():
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                for work in works:
                    self._drive(connection, work.op())
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _drive(self, connection: sqlite3.Connection, op: Op[T]) -> T:
        queries = dialect.QUERIES
        rows: Rows
        try:
            statement = next(op)
            while True:
                if self.before_statement is not None:
                    self.before_statement(statement)
                if statement.many:
                    connection.executemany(queries[statement.name], statement.values)
                    rows = []
                else:
                    rows = connection.execute(queries[statement.name], statement.values).fetchall()
                statement = op.send(rows)
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            op.close()

    # connections

    def _connection(self) -> sqlite3.Connection:
        self._check_open()
        if self._forked and self.path is None:
            raise StorageError(
                "a memory:// database cannot be used in a forked process; open one in the child"
            )
        if self._writer is None:
            self._writer = self._retried(lambda: self._connect(False))
        return self._writer

    def _begin_anew(self) -> None:
        # In a forked child the parent's threads are gone, with whatever lock they held, its queued
        # writes are its own to commit, and its SQLite connections must not even be closed.
        self._forked = True
        self._writing, self._wake = threading.RLock(), threading.Condition(threading.Lock())
        _ABANDONED.extend([self._writer, *self._readers])
        self._writer, self._readers, self._queue = None, [], deque()
        self._pool = self._thread = self._due = None

    def _take_reader(self) -> sqlite3.Connection:
        try:
            return self._readers.pop()
        except IndexError:
            with self._translated():
                return self._retried(lambda: self._connect(False))

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if self._closed or len(self._readers) >= _READERS:
            connection.close()
            return
        self._readers.append(connection)
        if self._closed:
            self._close_readers()

    def _close_readers(self) -> None:
        with suppress(IndexError):
            while True:
                self._readers.pop().close()

    def _executor(self) -> ThreadPoolExecutor:
        with self._wake:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_READERS, "threadkeep-read")
            return self._pool

    def _check_open(self) -> None:
        if self._closed:
            raise self._closed_error()

    def _closed_error(self) -> MemoryClosed:
        return MemoryClosed(
            f"the memory on {self.url} was closed; open it again with threadkeep.open({self.url!r})",
            url=self.url,
        )

    def _translated(self) -> _Translated:
        return _Translated(self._where, self._timeout)

    # the file

    def size(self) -> int:
        """Return the bytes the database takes on disk, its write-ahead log included; 0 in memory."""
        self._check_open()
        self._check_open()
        if self.path is None:
            return 0
        sizes = [os.stat(name).st_size for name in (self.path, self.path + "-wal") if os.path.exists(name)]
        return sum(sizes)

    def give_back(self) -> None:
        """Return the pages that a deletion freed to the file system, unless others are in the way now."""
        # The deletion itself is committed; the next one returns these pages too.
        with suppress(StorageBusy, StorageFull, MemoryClosed), self._writing, self._translated():
            self._connection().executescript("PRAGMA incremental_vacuum")

    def compact(self) -> bool:
        """Rewrite the file without free pages; return False when a reader kept some of the log."""
        self.flush()
        with self._writing, self._translated():
            connection = self._connection()
            connection.execute("VACUUM")
            if self.path is None:
                return True
            # A reader keeps the log from being emptied; writers wait here meanwhile, so it is not waited for long.
            connection.execute("PRAGMA busy_timeout = 1000")
            try:
                busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                connection.execute(f"PRAGMA busy_timeout = {min(int(self._timeout * 1000), 2**31 - 1)}")
            return not busy

    def close(self) -> None:
        """Flush, then release everything. Later calls raise MemoryClosed."""
        with self._writing:
            with self._wake:
                if not self._accepting:
                    return
                self._accepting = False
            self.flush()
            self._closed = True
        with self._wake:
            self._due = 0.0 if self._thread is not None else None
            self._wake.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        if self._pool is not None:
            self._pool.shutdown(wait=True)
        self._close_readers()
        if self._writer is not None:
            self._writer.close()
        self._writer = None


class _Translated:
    """Turn SQLite's errors into storage errors."""

    __slots__ = ("_timeout", "_where")

    def __init__(self, where: str, timeout: float) -> None:
        self._where = where
        self._timeout = timeout

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, sqlite3.Error):
            raise dialect.translate(error, self._where, self._timeout) from error


_ABANDONED: list[sqlite3.Connection | None] = []
_DRIVERS: weakref.WeakSet[SQLiteDriver] = weakref.WeakSet()
_REGISTRY = threading.Lock()
_held: list[SQLiteDriver] = []


def _before_fork() -> None:
    # SQLite notes in this process's memory who holds the write lock: a child that is forked in the
    # middle of a transaction would wait for ever for one that nobody ends.
    _REGISTRY.acquire()
    _held.extend(driver for driver in _DRIVERS if not driver.closed)
    for driver in _held:
        driver._writing.acquire()


def _after_in_parent() -> None:
    while _held:
        _held.pop()._writing.release()
    _REGISTRY.release()


def _after_in_child() -> None:
    _held.clear()
    for driver in _DRIVERS:
        driver._begin_anew()
    _REGISTRY.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)


def _finish(works: list[Work], error: BaseException | None = None) -> None:
    """Settle every work, whatever goes wrong with one of them, and raise the first that did."""
    first: BaseException | None = None
    for work in works:
        try:
            work.finish(error)
        except BaseException as problem:
            first = first or problem
    if first is not None:
        raise first


def _split(sql: str) -> list[str]:
    lines = [line for line in sql.splitlines() if not line.startswith("--")]
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]


def _keep(op: Callable[[], Op[T]], result: list[T]) -> Op[None]:
    result.append((yield from op()))


def _wake_loop(loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> None:
    def resolve() -> None:
        if not future.done():
            future.set_result(None)

    if not loop.is_closed():
        loop.call_soon_threadsafe(resolve)


def _close_at_exit(reference: weakref.ref[SQLiteDriver]) -> None:
    driver = reference()
    if driver is not None:
        driver.close()
