"""Values become rows: what is new is encoded, what is known is referred to."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from threadkeep.engine.cache import Item, ListVersion, Spine, ThreadCache
from threadkeep.ids import pack_message_id
from threadkeep.ops import packing
from threadkeep.ops.packing import Element, Entry, SequenceRow
from threadkeep.ops.rows import NewRows
from threadkeep.serde import Serde

SMALL = 128
"""Packed values up to this many bytes stand in the checkpoint itself."""
SMALL_ITEM = 40
ITEMIZED = 1024
"""Lists and mappings from this many bytes are stored item by item, so that growing ones stay linear."""
_SHORT_LIST = 8
_LONG_TEXT = 2048


class Preparer:
    """Prepares the rows of one write; holds the thread's lock while it works.

    Everything it finds or makes is registered in the thread's cache, so a later write can refer to
    it. A failure half-way leaves the cache unusable: the caller drops it.
    """

    def __init__(self, serde: Serde, cache: ThreadCache, rows: NewRows) -> None:
        self._serde = serde
        self._cache = cache
        self._rows = rows
        self._referred = False
        self._in_message = False
        self.new_messages: list[Item] = []
        self.changes: dict[int, tuple[int, list[Element], list[Element]]] = {}

    # what serde asks

    def message(self, message: BaseMessage) -> int:
        """Return the content number of a message, storing its body when it is new."""
        self._referred = True
        return self.number(message, check=True)

    def text(self, text: str) -> int | None:
        """Return the content number of a long text that this turn holds more than once."""
        known = self._cache.texts.get(text)
        if known is None:
            if self._in_message and len(text) < _LONG_TEXT:
                return None
            known = self._new(packing.TEXT, None, text.encode("utf-8", "surrogatepass"))
            self._cache.texts[text] = known
        self._referred = True
        return known

    def sequence(self, items: list[Any]) -> int | None:
        """Return the number of a list version that holds these messages, unless the list is short."""
        if len(items) < _SHORT_LIST:
            return None
        self._referred = True
        return self.list_version(items, None)[0].number

    # values

    def entry(self, value: Any, previous: Entry | None, path: str) -> Entry:
        """Return where a value is stored; the previous entry when the value is what it was."""
        if value is None:
            return (packing.NONE,)
        kind = type(value)
        if kind is list and value and _holds_messages(value):
            version, _, _ = self.list_version(value, previous, path)
            return packing.LIST, version.number, len(value)
        if kind in (list, dict) and previous is not None and previous[0] in (packing.LIST, packing.MAPPING):
            itemized = self._itemized(value, previous, path)
            if itemized is not None:
                return itemized
        return self._plain(value, previous, path)

    def _plain(self, value: Any, previous: Entry | None, path: str) -> Entry:
        self._referred = False
        data = self._serde.encode(value, path=path, refs=self)
        referred = self._referred
        if previous is not None and self._is(previous, data):
            return previous
        if len(data) <= SMALL:
            return packing.INLINE, data
        if len(data) >= ITEMIZED and type(value) in (list, dict):
            itemized = self._itemized(value, None, path)
            if itemized is not None:
                return itemized
        number = self._new(packing.VALUE_REFS if referred else packing.VALUE, None, data)
        return packing.CONTENT, number

    def tasks_entry(self, tasks: list[Any], path: str) -> Entry:
        """Return where a list of tasks is stored; each was a pending write before."""
        items: list[Element] = []
        for n, task in enumerate(tasks):
            self._referred = False
            data = self._serde.encode(task, path=f"{path}[{n}]", refs=self)
            known = self._cache.bodies.get(data)
            if known is None and len(data) > SMALL:
                known = self._shared(data)
            items.append(data if known is None else known)
        return packing.ITEMS, packing.pack_items(items)

    def snapshot_entry(self, items: list[Any], previous: Entry | None, path: str) -> Entry:
        """Return where a DeltaChannel's whole list is stored."""
        version, _, _ = self.list_version(items, previous, path)
        return packing.SNAPSHOT, version.number, len(items)

    def write_entry(self, value: Any, path: str) -> Entry:
        """Return where a pending write's value is stored."""
        if value is None:
            return (packing.NONE,)
        self._referred = False
        data = self._serde.encode(value, path=path, refs=self)
        if len(data) <= SMALL:
            return packing.INLINE, data
        return packing.CONTENT, self._shared(data)

    def _shared(self, data: bytes) -> int:
        """Return the content number of a value that this turn may hold more than once."""
        number = self._cache.bodies.get(data)
        if number is None:
            number = self._new(packing.VALUE_REFS if self._referred else packing.VALUE, None, data)
            self._cache.bodies[data] = number
        return number

    def _is(self, previous: Entry, data: bytes) -> bool:
        if previous[0] == packing.INLINE:
            return bool(previous[1] == data)
        if previous[0] == packing.CONTENT:
            known = self._cache.values.get(previous[1])
            return known is not None and known[1] == data
        return False

    def _itemized(self, value: list[Any] | dict[Any, Any], previous: Entry | None, path: str) -> Entry | None:
        mapping = type(value) is dict
        kind = packing.MAPPING if mapping else packing.LIST
        if len(value) < _SHORT_LIST:
            return None
        # Items are shared by position and bytes; a reference inside one would not be seen to change.
        if mapping:
            pairs = value.items()  # type: ignore[union-attr]
            packed = [self._serde.encode([k, v], path=f"{path}[{k!r}]") for k, v in pairs]
        else:
            packed = [self._serde.encode(item, path=f"{path}[{n}]") for n, item in enumerate(value)]
        base = self._cache.lists.get(previous[1]) if previous is not None and previous[0] == kind else None
        if base is not None and base.values is None:
            base = None
        old = base.values if base is not None and base.values is not None else []
        start = _common(old, packed)
        end = _common(old[start:][::-1], packed[start:][::-1])
        inserted = [self._element(data) for data in packed[start : len(packed) - end]]
        if base is not None and not inserted and len(old) == len(packed):
            return kind, base.number, len(packed)
        items = [
            *(base.items[:start] if base else []),
            *inserted,
            *(base.items[len(old) - end :] if end and base else []),
        ]
        version = self._version(Spine(items), base, start, end, inserted)
        version.values = packed
        return kind, version.number, len(packed)

    def _element(self, data: bytes) -> Element:
        return data if len(data) <= SMALL_ITEM else self._new(packing.VALUE, None, data)

    # lists of messages

    def list_version(
        self, items: list[Any], previous: Entry | None, path: str = "value"
    ) -> tuple[ListVersion, list[Element], list[Element]]:
        """Return the stored version of a list of messages, with what came and went since its base."""
        cache = self._cache
        base = self._base(items, previous)
        if base is not None and base.newest and base.spine.begins(items):
            kept = base.length
            if self._unchanged(items, kept):
                if kept == len(items):
                    return base, [], []
                fresh = items[kept:]
                added = [self._item(item, f"{path}[{n}]") for n, item in enumerate(fresh, kept)]
                return self._grown(base, added, fresh), added, []
        turn = _open_turn(items)
        elements = [self._item(item, f"{path}[{n}]", check=n >= turn) for n, item in enumerate(items)]
        for known in (base, *cache.recent):
            if known is not None and known.newest and known.spine.items == elements:
                known.spine.bind(items, cache)
                cache.add_list(known)
                return known, [], []
        old = base.items if base is not None else []
        start = _common(old, elements)
        end = _common(old[start:][::-1], elements[start:][::-1])
        inserted = elements[start : len(elements) - end]
        removed = old[start : len(old) - end]
        spine = Spine(elements)
        version = self._version(spine, base, start, end, inserted)
        spine.bind(items, cache)
        return version, inserted, removed

    def _base(self, items: list[Any], previous: Entry | None) -> ListVersion | None:
        cache = self._cache
        if (
            previous is not None
            and len(previous) == 3
            and (known := cache.lists.get(previous[1])) is not None
        ):
            return known
        for version in reversed(cache.recent):
            live = version.live
            if live and len(live) <= len(items) and items[len(live) - 1] is live[-1] and items[0] is live[0]:
                return version
        return next((v for v in reversed(cache.recent) if v.live is not None), None)

    def _grown(self, base: ListVersion, added: list[Element], live: list[Any]) -> ListVersion:
        """Store a version that has more at its end, on the spine of the one before."""
        length = base.length
        base.spine.grow(added, live, self._cache)
        number = self._take()
        changes = base.changes + len(added)
        self.changes[number] = base.number, added, []
        if self._is_due(base, number, changes, length + len(added)):
            version = ListVersion(number, number, 0, base.spine, length + len(added))
            row = SequenceRow(number, number, None, 0, 0, base.spine.items)
        else:
            version = ListVersion(number, base.root, changes, base.spine, length + len(added))
            row = SequenceRow(number, base.root, base.number, 0, 0, added)
        return self._stored(version, row)

    def _version(
        self, spine: Spine, base: ListVersion | None, start: int, end: int, inserted: list[Element]
    ) -> ListVersion:
        """Store a version with a spine of its own, as changes to another where there is one."""
        number = self._take()
        items = spine.items
        if base is not None:
            removed = base.length - start - end
            changes = base.changes + len(inserted) + (removed > 0)
            self.changes[number] = base.number, inserted, base.items[start : start + removed]
            if not self._is_due(base, number, changes, len(items)):
                row = SequenceRow(number, base.root, base.number, base.length - start, removed, inserted)
                return self._stored(ListVersion(number, base.root, changes, spine, len(items)), row)
        row = SequenceRow(number, number, None, 0, 0, items)
        return self._stored(ListVersion(number, number, 0, spine, len(items)), row)

    def _is_due(self, base: ListVersion, number: int, changes: int, length: int) -> bool:
        """Tell whether a version is to be stored whole."""
        # A base with a greater number was stored by a process that claimed its numbers later.
        return base.number > number or changes > max(_SHORT_LIST, length // 2)

    def _stored(self, version: ListVersion, row: SequenceRow) -> ListVersion:
        self._rows.sequences.append((version.number, packing.pack_sequence(row)))
        self._cache.add_list(version)
        return version

    def _unchanged(self, items: list[Any], kept: int) -> bool:
        """Tell whether the kept messages of the open turn are what they were."""
        by_object = self._cache.by_object
        for n in range(kept - 1, -1, -1):
            message = items[n]
            item = by_object.get(id(message))
            if item is None or not item.holds(message):
                return item is None and not isinstance(message, BaseMessage)
            if isinstance(message, HumanMessage):
                break
        return True

    def _item(self, item: Any, path: str, *, check: bool = True) -> Element:
        if isinstance(item, BaseMessage):
            return self.number(item, check=check, path=path)
        return self._element(self._serde.encode(item, path=path))

    def number(self, message: BaseMessage, *, check: bool, path: str = "value") -> int:
        """Return the content number of a message: by its object, by id and equal content, or a new one.

        Without `check` an object that is known is taken for what it was: a message of an earlier turn
        that was changed in place keeps what is stored.
        """
        cache = self._cache
        item = cache.by_object.get(id(message))
        if item is not None and item.message is message:
            if (not check and item.message_id == message.id) or item.holds(message):
                return item.number
        elif message.id is not None:
            item = cache.by_message_id.get(message.id)
            if item is not None and item.holds(message):
                item = item.again(message)
                cache.by_object[id(message)] = item
                cache.items[item.number] = item
                cache.by_message_id[message.id] = item
                return item.number
        return self._new_message(message, path)

    def _new_message(self, message: BaseMessage, path: str) -> int:
        cache = self._cache
        outer, self._referred, self._in_message = self._referred, False, True
        try:
            body = self._serde.message_body(message, path=path, refs=self)
            codec = packing.MESSAGE_REFS if self._referred else packing.MESSAGE
        finally:
            self._referred, self._in_message = outer, False
        message_id = None if message.id is None else pack_message_id(message.id)
        same = cache.bodies.get(body)
        if same is not None:
            size = (same.bit_length() + 7) // 8
            number = self._new(packing.ALIAS, message_id, same.to_bytes(size, "big"))
        else:
            number = self._new(codec, message_id, body)
            cache.bodies[body] = number
        item = Item(number, message, self._serde, None if codec == packing.MESSAGE_REFS else body)
        item.entered = message.id is not None and message.id in cache.by_message_id
        item.take_print()
        cache.add_item(item, 4 * len(body) + 400)
        self.new_messages.append(item)
        return number

    # numbers

    def _new(self, codec: int, message_id: bytes | None, body: bytes) -> int:
        number = self._take()
        stored = packing.close_content(codec, body)
        self._rows.contents.append((number, stored[0], message_id, stored[1]))
        if codec in (packing.VALUE, packing.VALUE_REFS, packing.TEXT):
            self._cache.values[number] = (codec, body)
            self._cache.weight += len(body)
        return number

    def _take(self) -> int:
        ref = self._cache.ref
        number = ref.next_content
        ref.next_content = number + 1
        return number


def _open_turn(items: list[Any]) -> int:
    """Return where the open turn begins: at the last human message, or at the start."""
    return next((n for n in range(len(items) - 1, -1, -1) if isinstance(items[n], HumanMessage)), 0)


def _holds_messages(items: list[Any]) -> bool:
    return isinstance(items[-1], BaseMessage) or isinstance(items[0], BaseMessage)


def _common(left: list[Any], right: list[Any]) -> int:
    """Return how many items two lists have in common at their start."""
    shortest = min(len(left), len(right))
    if left[:shortest] == right[:shortest]:
        return shortest
    return next(n for n in range(shortest) if left[n] != right[n])
