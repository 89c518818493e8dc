"""What it means when something that is stored cannot be read: which thread and which table are damaged."""

from __future__ import annotations

from contextlib import suppress

from threadkeep.backends.base import Op, Statement, T
from threadkeep.errors import NotADatabase, SerializationError, ThreadkeepError
from threadkeep.ids import decode_text
from threadkeep.models import Problem
from threadkeep.ops import doctor
from threadkeep.ops.names import Names

_FINDS = frozenset(("thread", "thread_put", "thread_writes", "thread_info"))
"""Statements that find a thread by its digest, their last parameter."""
_TABLES = (
    "checkpoint", "content", "sequence", "run", "write", "transcript", "call", "note", "pin", "audit", "sent",
    "reservation", "calibration", "branch", "namespace", "name", "label", "thread",
)  # fmt: skip
_OF_ONE = {"transcript": "transcript", "audit": "audit", "sent": "sent", "branch": "branches"}


class Seen:
    """What a flow has read last: the digest of a thread, and a statement."""

    __slots__ = ("digest", "statement")

    def __init__(self) -> None:
        self.digest: bytes | None = None
        self.statement = ""

    @property
    def table(self) -> str:
        """The table that was read last."""
        found = next((noun for noun in _TABLES if noun in self.statement), "")
        return _OF_ONE.get(found, f"{found}s" if found else "")


def watched(op: Op[T], seen: Seen) -> Op[T]:
    """Run an operation, and note what it reads."""
    try:
        statement = next(op)
        while True:
            _note(statement, seen)
            statement = op.send((yield statement))
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        op.close()


def _note(statement: Statement, seen: Seen) -> None:
    seen.statement = statement.name
    if statement.name in _FINDS:
        seen.digest = statement.values[-1]


def is_damage(error: BaseException, seen: Seen) -> bool:
    """Tell whether an error may come from bytes that nobody stored."""
    if isinstance(error, SerializationError):
        return "damaged" in error.fields
    return bool(seen.statement) and not isinstance(error, ThreadkeepError)


def examined(seen: Seen, names: Names) -> Op[tuple[str | None, list[Problem]]]:
    """Return the id of the thread that was read, and what the doctor finds of it."""
    if seen.digest is None:
        return None, []
    rows = yield Statement("thread_info", (seen.digest,))
    if not rows:
        return None, []
    thread_id = rows[0][2].decode("utf-8", "backslashreplace")
    with suppress(ValueError):
        thread_id = decode_text(rows[0][2])
    return thread_id, (yield from doctor.check_thread(seen.digest, thread_id, names))


def explained(
    error: BaseException, url: str, seen: Seen, thread_id: str | None, problems: list[Problem]
) -> NotADatabase | None:
    """Return what to raise for an error; None when the thread is sound, and the error is another's."""
    if thread_id is not None and not problems and not isinstance(error, SerializationError | LookupError):
        return None
    first = problems[0] if problems else None
    table = first.table if first is not None else seen.table
    what = first.detail if first is not None else f"{error}"
    of = f"of thread {thread_id!r} " if thread_id is not None else ""
    place = f"{of}in table {table!r} of {url!r}"
    if first is None:
        text = f"what is stored {place} cannot be read: {what}"
    else:
        text = (
            f"what is stored {place} is damaged: {what}; `threadkeep doctor --db {url}` says more. "
            "Restore a backup, or delete the thread"
        )
    return NotADatabase(text, where=url, thread_id=thread_id, table=table)
