"""Store one model call with what was sent, by reference: only what the thread does not hold becomes a content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from threadkeep.backends.base import Op, Statement
from threadkeep.ids import message_tag
from threadkeep.ops import calls, packing
from threadkeep.ops.calls import CallBody, CallRow
from threadkeep.ops.load import Stored
from threadkeep.ops.packing import SequenceRow
from threadkeep.ops.rows import ThreadRef, key, span
from threadkeep.ops.rows import number as number_of
from threadkeep.ops.threads import ThreadRow, claim, enter

SENT, SOURCE = "sent", "source"
"""The two lists of a call: what the model was sent, and the state that it was chosen from."""
_SHORT = 8


class Unheld(NamedTuple):
    """A value that the process does not know to be in the thread, ready to become a content.

    `same` is the number of a content with this body under another message id.
    """

    digest: bytes
    codec: int
    message_id: bytes | None
    body: bytes
    same: int | None = None


class KeptList(NamedTuple):
    """A stored list version of an earlier call, as a base for the next."""

    number: int
    root: int
    changes: int
    items: list[int]


@dataclass(slots=True)
class Memo:
    """What a process knows of the lists and contents that a thread's calls have stored.

    `seen` is for whoever prepares a call: the messages of the last one, list by list.
    """

    seen: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, KeptList] = field(default_factory=dict)
    contents: dict[bytes, int] = field(default_factory=dict)

    def forget_from(self, first: int) -> None:
        """Forget what has a number from `first` on: it was rolled back, or belongs to a later call."""
        self.lists = {lane: kept for lane, kept in self.lists.items() if kept.number < first}
        if any(n >= first for n in self.contents.values()):
            self.contents = {digest: n for digest, n in self.contents.items() if n < first}


@dataclass(slots=True, kw_only=True)
class NewCall:
    """A call ready to be stored.

    `lists` holds, by name, items that are content numbers or, below zero, places in `unheld` (-1 is the first).
    `tools` and `options` are places likewise. Numbers from `first` on are this call's: one for each of `unheld`, then
    one for each list. `plain` returns the bytes of a stored message as `unheld` has them.
    """

    row: CallRow
    body: CallBody
    unheld: list[Unheld]
    lists: dict[str, list[int]]
    tools: int | None
    options: int | None
    first: int
    plain: Callable[[Stored, int], bytes | None]
    reservation: int | None
    now: int


def needed_numbers(unheld: Sequence[Unheld]) -> int:
    """Return how many content numbers a call may need."""
    return len(unheld) + 2


def record(thread: ThreadRef, new: NewCall, memo: Memo) -> Op[int]:
    """Store a call unless it is stored; return its number.

    One that the saver had counted by its answer's own report is replaced by this, which knows more. Raises Retry when
    the preparation no longer fits the thread.
    """
    row = yield from enter(thread, new.now)
    next_content = claim(thread, row)
    memo.forget_from(new.first)
    stored_at = yield from _stored_at(row, new.row)
    if new.reservation is not None:
        yield Statement("drop_reservation", (new.reservation,))
    if stored_at is not None and stored_at[1]:
        return stored_at[0]
    number = row.next_call if stored_at is None else stored_at[0]
    body = yield from _references(row, new, memo)
    yield Statement("add_call", calls.values_of(row.id, number, new.row._replace(body=body.pack())))
    next_call = row.next_call + (stored_at is None)
    yield Statement("claim_contents", (next_content, row.next_namespace, next_call, row.id))
    return number


def _stored_at(row: ThreadRow, call: CallRow) -> Op[tuple[int, bool] | None]:
    """Return the number under which a call is stored, and whether it is to stay as it is."""
    if call.call_id is not None:
        found = yield Statement("call_by_id", (call.call_id, *span(row.id)))
        if found:
            # A stream that was taken for broken off may have been read to its end after all.
            late = found[0][1] == calls.CANCELLED and call.status == calls.FINISHED
            return number_of(found[0][0]), not late
    if call.message_id is None or call.purpose == calls.CACHED:
        return None
    known = (yield from calls.tagged(row.id, [call.message_id])).get(call.message_id)
    if known is None or (known[1] == calls.RECORDER and call.call_id is not None):
        # Scripted models give one answer, with one id, for several calls.
        return None
    return number_of(known[0]), known[1] != calls.MESSAGES


def _references(row: ThreadRow, new: NewCall, memo: Memo) -> Op[CallBody]:
    """Store what the thread does not hold, and the lists; return the body that refers to them."""
    numbers = yield from _numbers(row.id, new, memo)

    def real(place: int) -> int:
        return place if place > 0 else numbers[-1 - place]

    found: dict[str, tuple[int, int]] = {}
    sequences = []
    for n, (lane, places) in enumerate(new.lists.items()):
        items = [real(place) for place in places]
        kept, line = _version(memo.lists.get(lane), new.first + len(new.unheld) + n, items)
        memo.lists[lane] = kept
        found[lane] = kept.number, len(items)
        if line is not None:
            sequences.append((key(row.id, kept.number), packing.pack_sequence(line)))
    if sequences:
        yield Statement("add_sequence", sequences, many=True)
    return new.body._replace(
        sent=found.get(SENT),
        source=found.get(SOURCE),
        tools=None if new.tools is None else real(new.tools),
        options=None if new.options is None else real(new.options),
    )


def _numbers(thread: int, new: NewCall, memo: Memo) -> Op[list[int]]:
    """Return the content number of each value, storing those that the thread does not hold."""
    found: list[int] = []
    contents, digests = [], []
    held = yield from _held(thread, new, memo)
    for n, value in enumerate(new.unheld):
        number = held.get(value.digest)
        if number is None:
            number = held[value.digest] = new.first + n
            codec, body = _stored_as(value)
            contents.append((key(thread, number), codec, value.message_id, body))
            digests.append((thread, value.digest, number))
        found.append(number)
    if contents:
        yield Statement("add_content", contents, many=True)
        yield Statement("add_sent", digests, many=True)
    memo.contents.update(held)
    return found


def _stored_as(value: Unheld) -> tuple[int, bytes]:
    """Return the codec and the bytes of a value's content."""
    if value.same is None:
        return packing.close_content(value.codec, value.body)
    return packing.ALIAS, value.same.to_bytes((value.same.bit_length() + 7) // 8, "big")


def _held(thread: int, new: NewCall, memo: Memo) -> Op[dict[bytes, int]]:
    """Return the numbers of the values that the thread holds: by digest, or as messages of its record."""
    held: dict[bytes, int] = {}
    open_ = []
    for value in new.unheld:
        number = memo.contents.get(value.digest)
        if number is None:
            rows = yield Statement("sent_known", (thread, value.digest))
            number = rows[0][0] if rows else None
        if number is not None:
            held[value.digest] = number
        elif value.message_id is not None:
            open_.append((key(thread, message_tag(value.message_id)), value))
    if not open_:
        return held
    tags = packing.numbers(sorted({tag for tag, _ in open_}))
    places: dict[int, list[int]] = {}
    for tag, content in (yield Statement("transcript_contents", (tags,))):
        places.setdefault(tag, []).append(content)
    stored = Stored()
    yield from stored.fetch(thread, [(packing.CONTENT, n) for ns in places.values() for n in ns])
    for tag, value in open_:
        for n in places.get(tag, ()):
            if stored.contents[n][1] == value.message_id and new.plain(stored, n) == value.body:
                held[value.digest] = n
    return held


def _version(base: KeptList | None, number: int, items: list[int]) -> tuple[KeptList, SequenceRow | None]:
    """Return a list version with these items, and its row unless it is stored: as changes to an earlier one."""
    if base is not None and base.items == items:
        return base, None
    if base is not None:
        start = _common(base.items, items)
        end = _common(base.items[start:][::-1], items[start:][::-1])
        inserted = list(items[start : len(items) - end])
        removed = len(base.items) - start - end
        changes = base.changes + len(inserted) + (removed > 0)
        if changes <= max(_SHORT, len(items) // 2):
            back = len(base.items) - start
            line = SequenceRow(number, base.root, base.number, back, removed, [*inserted])
            return KeptList(number, base.root, changes, items), line
    return KeptList(number, number, 0, items), SequenceRow(number, number, None, 0, 0, [*items])


def _common(left: list[int], right: list[int]) -> int:
    shortest = min(len(left), len(right))
    if left[:shortest] == right[:shortest]:
        return shortest
    return next(n for n in range(shortest) if left[n] != right[n])
