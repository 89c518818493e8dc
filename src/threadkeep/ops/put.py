"""Store a checkpoint, or the pending writes of a task."""

from __future__ import annotations

from dataclasses import replace

from threadkeep.backends.base import Op, Retry, Statement
from threadkeep.errors import StaleRun
from threadkeep.ids import encode_text, unpack_id
from threadkeep.ops import packing
from threadkeep.ops.rows import VISIBLE, NewCheckpoint, NewWrites, ThreadRef, key, number, span
from threadkeep.ops.threads import COUNTERS, ThreadRow, admit, claim, find, namespace_number, store


def put_checkpoint(thread: ThreadRef, new: NewCheckpoint) -> Op[None]:
    """Store a checkpoint with everything it brings, and move its namespace's head to it.

    Raises StaleRun when the checkpoint's run no longer continues the head, and Retry when the
    preparation no longer fits: contents were swept, numbers were taken, the id exists already.
    """
    if new.guarded and new.unknown_parent:
        raise (yield from _stale(thread, new, None))
    lines = yield Statement("thread_put", (new.id, thread.digest))
    known = ThreadRow._make(lines[0][:COUNTERS]) if lines else None
    latest_run, same_id = lines[0][COUNTERS:] if lines else (None, 0)
    row = yield from admit(thread, known, new.now)
    root = not new.namespace
    parent = new.parent.seq if new.parent is not None else None
    if new.parent is not None and parent is None:
        raise Retry
    if root and new.guarded and parent != row.head and not new.addressed:
        raise (yield from _stale(thread, new, row))
    space, next_namespace = yield from namespace_number(row.id, new.namespace, row.next_namespace)
    replaced = bool(same_id) and (yield from _replaced(row, new, space))
    next_content = claim(thread, row)
    next_call = yield from store(row.id, new.rows, row.next_call)
    run, next_run = row.next_run - 1, row.next_run
    if latest_run != new.run_body:
        run, next_run = row.next_run, row.next_run + 1
        yield Statement("add_run", (key(row.id, run), new.run_id, new.run_body))
    branch, next_branch = yield from _branch(row, new, parent)
    seq = row.next_seq
    values = (key(row.id, seq), space, new.id, parent, run, new.step, new.source, branch, new.body)
    yield Statement("add_checkpoint", values)
    if not root:
        yield Statement("put_namespace", (row.id, encode_text(new.namespace), space, seq))
    if new.departed:
        yield Statement("depart", (seq, *span(row.id), packing.numbers(new.departed)))
    if new.entered:
        low, _ = span(row.id)
        lines = [
            (key(row.id, row.next_position + n), content, seq, branch, None if tag is None else low | tag)
            for n, (content, tag) in enumerate(new.entered)
        ]
        yield Statement("add_transcript", lines, many=True)
    thread.version = row.version + 1
    yield Statement(
        "put_thread",
        (
            thread.version,
            seq if root else row.head,
            seq + 1,
            next_content,
            row.next_position + len(new.entered),
            next_run,
            next_namespace,
            next_branch,
            next_call,
            row.messages + new.messages,
            row.checkpoints + (0 if replaced else 1),
            new.status if root else row.status,
            max(new.now, row.updated + 1),
            None if row.titled else new.title,
            new.preview,
            row.id,
        ),
    )
    new.ref.seq = seq
    new.ref.branch = branch


def _stale(thread: ThreadRef, new: NewCheckpoint, row: ThreadRow | None) -> Op[StaleRun]:
    if row is None:
        row = yield from find(thread)
    actual = None
    if row is not None and row.head is not None:
        rows = yield Statement("checkpoint_id", (key(row.id, row.head),))
        actual = unpack_id(rows[0][0]) if rows else None
    expected = None if new.parent_id is None else unpack_id(new.parent_id)
    return StaleRun(
        f"thread {thread.thread_id!r} moved on while this run was working: it continues checkpoint {expected!r}, "
        f"but the newest is now {actual!r}; nothing of this step was stored. Load the thread and run again",
        thread_id=thread.thread_id,
        expected=expected,
        actual=actual,
    )


def _replaced(row: ThreadRow, new: NewCheckpoint, space: int) -> Op[bool]:
    found = yield Statement("find_checkpoint", (new.id, *span(row.id), space))
    for old in found:
        if old[7] == VISIBLE:
            if number(old[0]) != new.replaces:
                raise Retry
            yield Statement("hide_checkpoint", (old[0],))
            return True
    return False


def _branch(row: ThreadRow, new: NewCheckpoint, parent: int | None) -> Op[tuple[int, int]]:
    """Return the branch a root checkpoint belongs to; a branch is recorded once there is more than one."""
    if new.namespace or row.head is None:
        return 0, row.next_branch
    current = new.parent.branch if new.parent is not None else 0
    if parent == row.head:
        if row.next_branch > 1:
            yield Statement("put_branch", (key(row.id, current), None, None, row.next_seq))
        return current, row.next_branch
    if row.next_branch == 1:
        yield Statement("put_branch", (key(row.id, 0), None, None, row.head))
    if parent is not None:
        tips = yield Statement("branch_tip", (key(row.id, current),))
        if tips and tips[0][0] == parent:
            yield Statement("put_branch", (key(row.id, current), None, None, row.next_seq))
            return current, row.next_branch
    fork = (key(row.id, row.next_branch), current if parent is not None else None, parent, row.next_seq)
    yield Statement("put_branch", fork)
    return row.next_branch, row.next_branch + 1


def put_writes(thread: ThreadRef, new: NewWrites) -> Op[None]:
    """Store the pending writes of one task; a write at a positive index is never replaced.

    Raises Retry when the preparation no longer fits the thread.
    """
    lines = yield Statement("thread_writes", (new.checkpoint, new.task, thread.digest))
    known = ThreadRow._make(lines[0][:COUNTERS]) if lines else None
    row = yield from admit(thread, known, new.now)
    space, next_namespace = yield from namespace_number(row.id, new.namespace, row.next_namespace)
    place = (row.id, new.checkpoint, space, new.task)
    stored = lines[0][COUNTERS] if lines and space == 0 else None
    if space:
        found = yield Statement("write", place)
        stored = found[0][0] if found else None
    body = packing.merge_writes(stored, new.path, new.entries)
    next_content = claim(thread, row)
    # A retry that writes nothing new was counted when its writes came first.
    rows = new.rows if body is not None else replace(new.rows, calls=[])
    next_call = yield from store(row.id, rows, row.next_call)
    if body is not None:
        yield Statement("put_write", (*place, body))
    if (next_content, next_namespace, next_call) != (row.next_content, row.next_namespace, row.next_call):
        yield Statement("claim_contents", (next_content, next_namespace, next_call, row.id))
    if new.status is not None and new.status != row.status and not new.namespace:
        yield Statement("set_status", (new.status, row.id))
