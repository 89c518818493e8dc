"""Store a checkpoint, or the pending writes of a task."""

from __future__ import annotations

from dataclasses import replace

from threadkeep.backends.base import Op, Retry, Row, Statement
from threadkeep.errors import StaleRun
from threadkeep.ids import encode_text, unpack_id
from threadkeep.ops import packing
from threadkeep.ops.load import load_manifest, whole_body
from threadkeep.ops.names import Names
from threadkeep.ops.rows import (
    SOURCES,
    VISIBLE,
    NewCheckpoint,
    NewRows,
    NewWrites,
    ThreadRef,
    key,
    number,
    span,
)
from threadkeep.ops.threads import COUNTERS, ThreadRow, admit, claim, find, namespace_number, store


def put_checkpoint(thread: ThreadRef, new: NewCheckpoint, names: Names) -> Op[None]:
    """Store a checkpoint with everything it brings, and move its namespace's head to it.

    One that is there under the same id is replaced where it stands.

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
    space, next_namespace = yield from namespace_number(row.id, new.namespace, row.next_namespace)
    old = (yield from _existing(row, new, space)) if same_id else None
    # A run that puts the newest checkpoint again, after a failure it was told of, overtakes nobody.
    again = old is not None and number(old[0]) == row.head and old[2] == parent
    if root and new.guarded and parent != row.head and not new.addressed and not again:
        raise (yield from _stale(thread, new, row))
    next_content = claim(thread, row)
    next_call = yield from store(row.id, new.rows, row.next_call)
    run, next_run = row.next_run - 1, row.next_run
    if latest_run != new.run_body:
        run, next_run = row.next_run, row.next_run + 1
        yield Statement("add_run", (key(row.id, run), new.run_id, new.run_body))
    thread.version = row.version + 1
    if old is None:
        branch, next_branch = yield from _branch(row, new, parent)
        seq = row.next_seq
        values = (key(row.id, seq), space, new.id, parent, run, new.step, new.source, branch, new.body)
        yield Statement("add_checkpoint", values)
        if not root:
            yield Statement("put_namespace", (row.id, encode_text(new.namespace), space, seq))
        entered, gone = new.entered, 0
    else:
        seq, branch, next_branch = number(old[0]), old[6], row.next_branch
        yield from _replace(row, new, old, parent, run, names)
        entered, gone = yield from _entered_again(row, new, seq)
    if new.departed:
        yield Statement("depart", (seq, *span(row.id), packing.numbers(new.departed)))
    fresh = 0
    if entered:
        low, _ = span(row.id)
        tags = [low | tag for _, tag in entered if tag is not None]
        fresh = len(entered)
        if not new.all_new:
            known_tags = yield Statement("transcript_known", (packing.numbers(tags),))
            fresh += len(set(tags)) - len(tags) - len(known_tags)
        entries = [
            (key(row.id, row.next_position + n), content, seq, branch, None if tag is None else low | tag)
            for n, (content, tag) in enumerate(entered)
        ]
        yield Statement("add_transcript", entries, many=True)
    yield Statement(
        "put_thread",
        (
            thread.version,
            seq if root and old is None else row.head,
            row.next_seq + (old is None),
            next_content,
            row.next_position + len(entered),
            next_run,
            next_namespace,
            next_branch,
            next_call,
            row.messages + fresh - gone,
            row.checkpoints + (old is None),
            new.status if root and (old is None or seq == row.head) else row.status,
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


def _existing(row: ThreadRow, new: NewCheckpoint, space: int) -> Op[Row | None]:
    """Return what is listed under the checkpoint's id; Retry unless the preparation knew of it."""
    for old in (yield Statement("find_checkpoint", (new.id, *span(row.id), space))):
        if old[7] == VISIBLE:
            if number(old[0]) != new.replaces:
                raise Retry
            return old
    return None


def _replace(
    row: ThreadRow, new: NewCheckpoint, old: Row, parent: int | None, run: int, names: Names
) -> Op[None]:
    """Put a checkpoint in another's place; those that were stored as changes to that one become whole."""
    rows = NewRows()
    for (child,) in (yield Statement("children", (*span(row.id), number(old[0])))):
        manifest = yield from load_manifest(row.id, number(child), names)
        body = whole_body(manifest, names, rows.names)
        line = manifest.row
        yield Statement("rebase_checkpoint", (line.parent, line.hidden, body, line.key))
    yield from store(row.id, rows, row.next_call)
    yield Statement("replace_checkpoint", (parent, run, new.step, new.source, new.body, old[0]))


def _entered_again(
    row: ThreadRow, new: NewCheckpoint, seq: int
) -> Op[tuple[list[tuple[int, int | None]], int]]:
    """Return what a replacement adds to the record, and how much of what the replaced one brought goes."""
    before = {content: k for k, content in (yield Statement("transcript_entered", (*span(row.id), seq)))}
    now = {content for content, _ in new.entered}
    gone = [(k,) for content, k in before.items() if content not in now]
    yield Statement("drop_transcript", gone, many=True)
    return [(content, tag) for content, tag in new.entered if content not in before], len(gone)


def _branch(row: ThreadRow, new: NewCheckpoint, parent: int | None) -> Op[tuple[int, int]]:
    """Return the branch a root checkpoint belongs to; a branch is recorded once there is more than one."""
    if new.namespace or row.head is None:
        return 0, row.next_branch
    current = new.parent.branch if new.parent is not None else 0
    fork = SOURCES[new.source : new.source + 1] == ("fork",)
    if parent == row.head and not fork:
        if row.next_branch > 1:
            yield Statement("put_branch", (key(row.id, current), None, None, row.next_seq))
        return current, row.next_branch
    if row.next_branch == 1:
        yield Statement("put_branch", (key(row.id, 0), None, None, row.head))
    if parent is not None and not fork:
        tips = yield Statement("branch_tip", (key(row.id, current),))
        if tips and tips[0][0] == parent:
            yield Statement("put_branch", (key(row.id, current), None, None, row.next_seq))
            return current, row.next_branch
    begun = (key(row.id, row.next_branch), current if parent is not None else None, parent, row.next_seq)
    yield Statement("put_branch", begun)
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
