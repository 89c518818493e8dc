"""A thread's row: find, create, claim numbers, list, delete."""

from __future__ import annotations

from typing import NamedTuple

from threadkeep.backends.base import Op, Retry, Row, Statement
from threadkeep.ids import digest, encode_text
from threadkeep.ops import calls
from threadkeep.ops.rows import SLACK, NewRows, ThreadRef, key, number, span

RANGED = (
    "contents",
    "sequences",
    "checkpoints",
    "branches",
    "runs",
    "transcript",
    "calls",
    "audit",
    "reservations",
)
"""The tables whose keys hold the thread in their upper half."""
NAMED = ("writes", "namespaces", "labels", "sent", "notes", "pins")
"""The tables that name the thread in a column."""

COUNTERS = 16
"""How many columns a thread's counters are."""


class ThreadRow(NamedTuple):
    """The counters of a thread."""

    id: int
    version: int
    sweep: int
    head: int | None
    next_seq: int
    next_content: int
    next_position: int
    next_run: int
    next_namespace: int
    next_branch: int
    next_call: int
    messages: int
    checkpoints: int
    status: int
    updated: int
    titled: int


def find(thread: ThreadRef) -> Op[ThreadRow | None]:
    """Return a thread's counters, or None when it does not exist."""
    rows = yield Statement("thread", (thread.digest,))
    return ThreadRow._make(rows[0]) if rows else None


def enter(thread: ThreadRef, now: int) -> Op[ThreadRow]:
    """Return a thread's counters inside a write, creating the thread where it is new.

    Raises Retry when what the process knows of the thread is no longer so.
    """
    row = yield from find(thread)
    return (yield from admit(thread, row, now))


def admit(thread: ThreadRef, row: ThreadRow | None, now: int) -> Op[ThreadRow]:
    """Return a thread's counters, as they were read inside a write, once they fit what the process knows.

    Creates the thread where it is new. Raises Retry when what the process knows is no longer so.
    """
    thread.save()
    if row is None:
        if thread.key is not None:
            raise Retry
        owner = encode_text(thread.owner)
        values = (thread.digest, digest(thread.owner), owner, encode_text(thread.thread_id), now, now)
        created = yield Statement("add_thread", values)
        thread.key = created[0][0]
        thread.version = thread.sweep = 0
        row = yield from find(thread)
        assert row is not None
        return row
    if thread.key != row.id or thread.sweep != row.sweep:
        raise Retry
    return row


def claim(thread: ThreadRef, row: ThreadRow) -> int:
    """Return the thread's next free content number after this write's numbers are taken.

    Raises Retry when another process took numbers that this write uses.
    """
    used = thread.next_content
    if used <= thread.claimed:
        return row.next_content
    if row.next_content != thread.claimed:
        raise Retry
    thread.claimed = used + SLACK
    return thread.claimed


def store(thread: int, rows: NewRows, next_call: int) -> Op[int]:
    """Store contents, list versions, names and model calls; return the next call number."""
    if rows.contents:
        values = [(key(thread, n), codec, mid, body) for n, codec, mid, body in rows.contents]
        yield Statement("add_content", values, many=True)
    if rows.sequences:
        yield Statement("add_sequence", [(key(thread, n), body) for n, body in rows.sequences], many=True)
    if rows.names:
        yield Statement("add_name", [(name,) for name in rows.names], many=True)
    if rows.calls:
        return (yield from calls.add_reported(thread, rows.calls, next_call))
    return next_call


def namespace_number(thread: int, name: str, next_number: int) -> Op[tuple[int, int]]:
    """Return a namespace's number, 0 for the root, and the next free one."""
    if not name:
        return 0, next_number
    rows = yield Statement("namespace", (thread, encode_text(name)))
    if rows:
        return rows[0][0], next_number
    yield Statement("put_namespace", (thread, encode_text(name), next_number, None))
    return next_number, next_number + 1


def delete(thread: ThreadRef) -> Op[bool]:
    """Remove every row of a thread; return whether there was one."""
    row = yield from find(thread)
    if row is None:
        return False
    yield from delete_rows(row.id)
    return True


def delete_rows(thread: int) -> Op[None]:
    """Remove every row that carries a thread's key."""
    for table in RANGED:
        yield Statement(f"drop_thread_{table}", span(thread))
    for table in NAMED:
        yield Statement("drop_labels" if table == "labels" else f"drop_thread_{table}", (thread,))
    yield Statement("drop_thread_row", (thread,))


def copy(source: ThreadRef, target: ThreadRef, now: int) -> Op[bool]:
    """Copy every row of a thread under another id; return False when the source does not exist.

    Raises Retry when the target exists: the caller decides what that means.
    """
    row = yield from find(source)
    if row is None or not row.checkpoints:
        return False
    new = yield from enter(target, now)
    if new.checkpoints or new.next_content > 1:
        raise Retry
    first, last = span(row.id)
    low, _ = span(new.id)
    for table in RANGED:
        yield Statement(f"copy_{table}", (first, low, first, last))
    for table in NAMED:
        yield Statement(f"copy_{table}", (new.id, row.id))
    yield Statement("copy_thread_row", (row.id, new.id))
    return True


def stats(thread: int) -> Op[dict[str, tuple[int, int]]]:
    """Return rows and bytes of a thread by table, decoding nothing."""
    found: dict[str, tuple[int, int]] = {}
    for table in RANGED:
        rows = yield Statement(f"stats_{table}", span(thread))
        found[table] = (rows[0][0], rows[0][1])
    for table in (*NAMED, "threads"):
        rows = yield Statement(f"stats_{table}", (thread,))
        found[table] = (rows[0][0], rows[0][1])
    return found


def page(after: int, limit: int) -> Op[list[Row]]:
    """Return up to `limit` threads with keys above `after`: key, digest, owner digest, owner, id."""
    return (yield Statement("thread_page", (after, limit)))


def count(owner: bytes | None) -> Op[int]:
    """Return how many threads there are, of one owner or of all."""
    if owner is None:
        rows = yield Statement("count_threads")
    else:
        rows = yield Statement("count_owner_threads", (owner,))
    return int(rows[0][0])


def information(thread: ThreadRef) -> Op[Row | None]:
    """Return what the list shows of one thread, or None when it has no checkpoint."""
    rows = yield Statement("thread_info", (thread.digest,))
    return rows[0] if rows and rows[0][8] else None


def listing(
    owner: bytes, since: int, before: tuple[int, int], label: bytes | None, limit: int
) -> Op[list[Row]]:
    """Return one page of an owner's threads, newest first, those with a label only when one is given."""
    if label is None:
        return (yield Statement("thread_infos", (owner, since, *before, limit)))
    return (yield Statement("thread_infos_labelled", (owner, since, *before, label, limit)))


def update(
    thread: ThreadRef, title: bytes | None, metadata: bytes | None, labels: list[bytes] | None, now: int
) -> Op[bool]:
    """Set a thread's title, or its metadata with the labels that find it; return False when it is not there."""
    row = yield from information(thread)
    if row is None:
        return False
    new_title = row[3] if title is None else title
    new_metadata = row[5] if labels is None else metadata
    yield Statement("set_thread", (new_title, new_metadata, now, row[0]))
    if labels is not None:
        yield Statement("drop_labels", (row[0],))
        yield Statement("add_label", [(label, row[0]) for label in labels], many=True)
    return True


def branches(thread: ThreadRef) -> Op[tuple[int, int | None, list[Row]] | None]:
    """Return a thread's key, head and branches as (number, parent, forked, tip)."""
    row = yield from find(thread)
    if row is None or not row.checkpoints:
        return None
    rows = yield Statement("branches", span(row.id))
    return row.id, row.head, [(number(r[0]), *r[1:]) for r in rows]
