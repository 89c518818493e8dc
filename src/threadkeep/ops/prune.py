"""Remove checkpoints and what only they refer to, in one transaction; the record stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from threadkeep.backends.base import Op, Statement
from threadkeep.ids import id_time, pack_id
from threadkeep.ops import calls, packing
from threadkeep.ops.history import resolve_all
from threadkeep.ops.load import (
    Manifest,
    Stored,
    checkpoint_row,
    collect,
    collect_content,
    entries_of,
    whole_body,
    with_names,
)
from threadkeep.ops.names import Names
from threadkeep.ops.rows import ANCESTOR, IDLE, VISIBLE, NewRows, ThreadRef, key, number, span
from threadkeep.ops.threads import NAMED, RANGED, ThreadRow, delete_rows, find, stats, store

ORPHAN_AFTER = 3600 * 1_000_000
"""Microseconds after which a pending write whose checkpoint never came is garbage."""

Choose = Callable[[list[Manifest]], set[int]]
"""Given a thread's listed checkpoints in order, return the numbers of those that stay."""


def everything(manifests: list[Manifest]) -> set[int]:
    """Keep nothing: the thread goes whole."""
    return set()


class Removed(NamedTuple):
    """How much a prune removed from one thread."""

    checkpoints: int = 0
    contents: int = 0
    writes: int = 0
    bytes: int = 0
    whole: bool = False


@dataclass
class _Survey:
    """A thread as a prune finds it."""

    row: ThreadRow
    manifests: dict[int, Manifest]
    delta: set[str] = field(default_factory=set)


def prune(
    thread: ThreadRef, choose: Choose, names: Names, now: int, *, forget: bool = False, dry_run: bool = False
) -> Op[Removed]:
    """Keep the checkpoints that `choose` names and what they need; a thread left with none goes whole.

    With `forget` the record also loses what entered with the removed checkpoints and is in no kept one.
    """
    row = yield from find(thread)
    if row is None:
        return Removed()
    survey = yield from _survey(row, names)
    listed = [m for m in survey.manifests.values() if m.row.hidden == VISIBLE]
    keep = choose(listed)
    if not listed and row.next_call > 1 and choose is not everything:
        return Removed()  # a ledger without a conversation has no checkpoints to be rid of
    if not keep:
        return (yield from _remove_whole(row, len(listed), dry_run))
    hidden = _needed_ancestors(survey, keep)
    kept = {n: m for n, m in survey.manifests.items() if n in keep or n in hidden}
    gone = {n: m for n, m in survey.manifests.items() if n not in kept}
    forgotten = (yield from _forgotten(row.id, gone, keep, survey)) if forget else []
    garbage, sizes, writes = yield from _garbage(row.id, kept, gone, forgotten, now)
    removed = Removed(
        checkpoints=sum(1 for n, m in survey.manifests.items() if m.row.hidden == VISIBLE and n not in keep),
        contents=len(garbage["contents"]),
        writes=len(writes),
        bytes=sizes + sum(len(m.row.body) for m in gone.values()),
    )
    changed = removed.checkpoints or gone or any(garbage.values()) or writes or forgotten
    if dry_run or not changed:
        return removed
    yield from _remove(row.id, gone, garbage, writes, forgotten)
    yield from _rebase(row, kept, hidden, names)
    yield from _heads(row, kept, keep)
    return removed


def _survey(row: ThreadRow, names: Names) -> Op[_Survey]:
    lines = yield Statement("checkpoints_all", span(row.id))
    memo: dict[int, Manifest] = {}
    rows = [checkpoint_row(line) for line in lines]

    def resolve_rows() -> None:
        for line in rows:
            resolve_all([line], names, memo)

    yield from with_names(names, resolve_rows)
    survey = _Survey(row, memo)
    for manifest in memo.values():
        survey.delta.update(manifest.body.extra.get("deltas", ()))
        survey.delta.update(c for c, entry in manifest.values.items() if entry[0] == packing.SNAPSHOT)
    return survey


def _remove_whole(row: ThreadRow, listed: int, dry_run: bool) -> Op[Removed]:
    found = yield from stats(row.id)
    removed = Removed(
        checkpoints=listed,
        contents=found["contents"][0],
        writes=found["writes"][0],
        bytes=sum(size for _, size in found.values()),
        whole=True,
    )
    if not dry_run:
        yield from delete_rows(row.id)
    return removed


def _needed_ancestors(survey: _Survey, keep: set[int]) -> set[int]:
    """Return the ancestors whose writes a kept checkpoint's DeltaChannels are rebuilt from."""
    needed: set[int] = set()
    for n in keep:
        manifest = survey.manifests[n]
        wanted = {c for c in survey.delta if c in manifest.versions and c not in manifest.values}
        at = manifest.row.parent
        while wanted and at is not None and (ancestor := survey.manifests.get(at)) is not None:
            needed.add(at)
            wanted -= ancestor.values.keys()
            at = ancestor.row.parent
    return needed - keep


def _forgotten(thread: int, gone: dict[int, Manifest], keep: set[int], survey: _Survey) -> Op[list[int]]:
    """Return the record's entries that came with removed checkpoints and are in no kept one's lists."""
    stored = Stored()
    entries = [e for n in keep for e in survey.manifests[n].values.values() if len(e) == 3]
    yield from stored.fetch(thread, entries)
    alive = {item for items, _, _ in stored.lists.values() for item in items}
    lines = yield Statement("transcript", span(thread))
    return [line[0] for line in lines if line[2] in gone and line[1] not in alive]


def _garbage(
    thread: int, kept: dict[int, Manifest], gone: dict[int, Manifest], forgotten: list[int], now: int
) -> Op[tuple[dict[str, list[int]], int, list[tuple[bytes, int]]]]:
    """Return the numbers of what nothing kept refers to, its bytes, and the checkpoints whose writes go."""
    contents: set[int] = set()
    lists: set[int] = set()
    for manifest in kept.values():
        for entry in manifest.values.values():
            collect(entry, contents, lists)
    places = {(m.row.id, m.row.namespace) for m in kept.values()}
    dropped: set[tuple[bytes, int]] = set()
    for line in (yield Statement("writes_all", (thread,))):
        place = (line[0], line[1])
        if place in places or not _is_orphan(place, gone, now):
            for entry in entries_of([line]):
                collect(entry, contents, lists)
        else:
            dropped.add(place)
    left = set(forgotten)
    for line in (yield Statement("transcript", span(thread))):
        if line[0] not in left:
            contents.add(line[1])
    for found, needed in zip((yield from calls.referred(thread)), (contents, lists), strict=True):
        needed.update(found)
    yield from _close(thread, contents, lists)
    sizes = 0
    garbage: dict[str, list[int]] = {"contents": [], "sequences": [], "runs": []}
    for k, size in (yield Statement("content_keys", span(thread))):
        if number(k) not in contents:
            garbage["contents"].append(k)
            sizes += size
    for k, body in (yield Statement("sequences_range", span(thread))):
        if number(k) not in lists:
            garbage["sequences"].append(k)
            sizes += len(body)
    runs = {m.row.run for m in kept.values()}
    for k, _, body in (yield Statement("runs_range", span(thread))):
        if number(k) not in runs:
            garbage["runs"].append(k)
            sizes += len(body)
    return garbage, sizes, sorted(dropped)


def _is_orphan(place: tuple[bytes, int], gone: dict[int, Manifest], now: int) -> bool:
    if any((m.row.id, m.row.namespace) == place for m in gone.values()):
        return True
    made = id_time(place[0])
    return made is not None and now - made > ORPHAN_AFTER


def _close(thread: int, contents: set[int], lists: set[int]) -> Op[None]:
    """Add everything that the given contents and list versions refer to in turn."""
    bodies = {number(k): body for k, body in (yield Statement("sequences_range", span(thread)))}
    codecs = {number(k): codec for k, codec, _ in (yield Statement("content_codecs", span(thread)))}
    plain = (packing.VALUE, packing.MESSAGE, packing.TEXT)
    seen_contents: set[int] = set()
    seen_lists: set[int] = set()
    while True:
        new_lists = lists - seen_lists
        for n in new_lists:
            row = packing.unpack_sequence(n, bodies[n])
            if row.base is not None:
                lists.add(row.base)
            for item in row.inserted:
                collect(
                    (packing.CONTENT, item) if isinstance(item, int) else (packing.INLINE, item),
                    contents,
                    lists,
                )
        seen_lists |= new_lists
        new = contents - seen_contents
        seen_contents |= new
        referring = [n for n in new if codecs.get(n, 0) & ~packing.COMPRESSED not in plain]
        for at in range(0, len(referring), 1000):
            keys = packing.numbers([key(thread, n) for n in referring[at : at + 1000]])
            for line in (yield Statement("contents_list", (keys,))):
                collect_content(*packing.open_content(line[1], line[3]), contents, lists)
        if lists == seen_lists and contents == seen_contents:
            return


def _remove(
    thread: int,
    gone: dict[int, Manifest],
    garbage: dict[str, list[int]],
    writes: list[tuple[bytes, int]],
    forgotten: list[int],
) -> Op[None]:
    yield Statement("drop_checkpoint", [(m.row.key,) for m in gone.values()], many=True)
    yield Statement("drop_contents", [(k,) for k in garbage["contents"]], many=True)
    yield Statement("drop_sequences", [(k,) for k in garbage["sequences"]], many=True)
    yield Statement("drop_run", [(k,) for k in garbage["runs"]], many=True)
    yield Statement("drop_writes", [(thread, checkpoint, space) for checkpoint, space in writes], many=True)
    yield Statement("drop_transcript", [(k,) for k in forgotten], many=True)


def _rebase(row: ThreadRow, kept: dict[int, Manifest], hidden: set[int], names: Names) -> Op[None]:
    """Store the kept checkpoints whose parents went as whole ones, and hide mere ancestors."""
    rows = NewRows()
    for n, manifest in kept.items():
        line = manifest.row
        state = ANCESTOR if n in hidden else line.hidden
        if line.parent is None or line.parent in kept:
            if state != line.hidden:
                yield Statement("rebase_checkpoint", (line.parent, state, line.body, line.key))
            continue
        body = whole_body(manifest, names, rows.names)
        yield Statement("rebase_checkpoint", (None, state, body, line.key))
    yield from store(row.id, rows, row.next_call)


def _heads(row: ThreadRow, kept: dict[int, Manifest], keep: set[int]) -> Op[None]:
    """Correct the heads of namespaces and branches, and the thread's counts."""
    newest: dict[int, int] = {}
    tips: dict[int, int] = {}
    for n in sorted(keep):
        line = kept[n].row
        if line.hidden == VISIBLE:
            newest[line.namespace] = n
            if line.namespace == 0:
                tips[line.branch] = n
    spaces = {m.row.namespace for m in kept.values()}
    for _, space, _ in (yield Statement("namespaces", (row.id,))):
        if space in spaces:
            yield Statement("set_namespace_head", (newest.get(space), row.id, space))
        else:
            yield Statement("drop_namespace", (row.id, space))
    for k, *_ in (yield Statement("branches", span(row.id))):
        tip = tips.get(number(k))
        if tip is None:
            continue  # kept: messages of the record name the branch they entered on
        yield Statement("put_branch", (k, None, None, tip))
    head = newest.get(0)
    status = row.status if head == row.head else IDLE
    counted = yield Statement("count_messages", span(row.id))
    yield Statement("set_counts", (head, len(keep), counted[0][0], status, row.id))


def runs_named(run_ids: list[str], owner: bytes) -> Op[dict[tuple[bytes, bytes], set[int]]]:
    """Return an owner's threads, as (owner, id), with the numbers of their runs that have one of these ids."""
    found: dict[tuple[bytes, bytes], set[int]] = {}
    for run_id in run_ids:
        for (k,) in (yield Statement("runs_by_id", (pack_id(run_id),))):
            lines = yield Statement("thread_by_key", (k >> 32,))
            if lines and lines[0][0] == owner:
                found.setdefault((lines[0][1], lines[0][2]), set()).add(number(k))
    return found


TABLES = (*RANGED, *NAMED, "threads")
"""Every table in which a thread can have rows."""
