"""Rows become values: for a run its own live objects, for everybody else copies."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.messages import BaseMessage

from threadkeep.engine.cache import Head, Item, ListVersion, Spine, ThreadCache
from threadkeep.engine.cautions import warn_of_change
from threadkeep.ids import unpack_message_id
from threadkeep.ops import packing
from threadkeep.ops.load import Stored
from threadkeep.ops.packing import Entry
from threadkeep.serde import Serde, copy_of

_MANY = 256


class Builder:
    """Builds values from what was read and what the process keeps.

    With `live` the messages it builds are the run's own and are kept; without it every message is new,
    or with `shared` one object for all values that this builder builds.
    """

    def __init__(
        self,
        serde: Serde,
        stored: Stored,
        cache: ThreadCache | None,
        *,
        live: bool = False,
        shared: bool = False,
        wrap: Callable[[list[Any]], Any],
    ) -> None:
        self.wrap = wrap
        self._shared: dict[int, BaseMessage] | None = {} if shared else None
        self._serde = serde
        self._stored = stored
        self._cache = cache
        self._live = live and cache is not None

    # what serde asks

    def message(self, number: int) -> BaseMessage:
        """Return the message stored under a number."""
        item = self._cache.items.get(number) if self._cache is not None else None
        if item is not None:
            return self._live_message(item) if self._live else copy_of(item.snapshot)
        if self._shared is not None and (message := self._shared.get(number)) is not None:
            return message
        codec, message_id, body = self._stored.contents[number]
        text = None if message_id is None else unpack_message_id(message_id)
        message = self._decode(codec, body, text)
        if self._shared is not None:
            self._shared[number] = message
        if self._live and self._cache is not None:
            plain = body if codec == packing.MESSAGE else None
            self._cache.add_item(Item(number, message, self._serde, plain), 4 * len(body) + 400)
        return message

    def text(self, number: int) -> str:
        """Return the text stored under a number."""
        return self._content(number)[1].decode("utf-8", "surrogatepass")

    def sequence(self, number: int) -> list[Any]:
        """Return the list stored as a version."""
        items = self._items(number)
        with _uncollected(len(items)):
            return self._live_list(items) if self._live else self._copies(items)

    # values

    def value(self, entry: Entry) -> Any:
        """Return the value an entry stands for."""
        kind = entry[0]
        if kind == packing.NONE:
            return None
        if kind == packing.INLINE:
            return self._serde.decode(entry[1], self)
        if kind == packing.CONTENT:
            return self._serde.decode(self._content(entry[1])[1], self)
        if kind == packing.ITEMS:
            return [self._element(item) for item in packing.unpack_items(entry[1])]
        if kind == packing.SNAPSHOT:
            return self.wrap(self.sequence(entry[1]))
        if kind == packing.MAPPING:
            return dict(self._element(item) for item in self._items(entry[1]))
        return self.sequence(entry[1])

    def _live_list(self, items: list[Any]) -> list[Any]:
        assert self._cache is not None
        known, contents = self._cache.items, self._stored.contents
        build, add, serde = self._serde.message, self._cache.add_item, self._serde
        found = []
        for n in items:
            row = contents.get(n)
            if row is None or row[0] != packing.MESSAGE or n in known:
                found.append(self._element(n))
                continue
            _, message_id, body = row
            message = build(body, None if message_id is None else unpack_message_id(message_id))
            add(Item(n, message, serde, body), 4 * len(body) + 400)
            found.append(message)
        return found

    def _copies(self, items: list[Any]) -> list[Any]:
        if self._shared is not None:
            shared = self._shared
            return [shared.get(n) or self._element(n) for n in items]
        known = self._cache.items if self._cache is not None else {}
        return [
            copy_of(item.snapshot) if (item := known.get(n)) is not None else self._element(n) for n in items
        ]

    def _element(self, item: Any) -> Any:
        if not isinstance(item, int):
            return self._serde.decode(item, self)
        if self._cache is not None and item in self._cache.items:
            return self.message(item)
        if self._shared is not None and (message := self._shared.get(item)) is not None:
            return message
        codec, body = self._content(item)
        if codec in (packing.VALUE, packing.VALUE_REFS):
            return self._serde.decode(body, self)
        return self.message(item)

    def _content(self, number: int) -> tuple[int, bytes]:
        if self._cache is not None and (known := self._cache.values.get(number)) is not None:
            return known
        codec, _, body = self._stored.contents[number]
        return codec, body

    def _items(self, number: int) -> list[Any]:
        found = self._stored.lists.get(number)
        if found is not None:
            return found[0]
        assert self._cache is not None
        return self._cache.lists[number].items

    def _decode(self, codec: int, body: bytes, message_id: str | None) -> BaseMessage:
        if codec != packing.ALIAS:
            return self._serde.message(body, message_id, self)
        target = int.from_bytes(body, "big")
        if target in self._stored.contents:
            codec, _, body = self._stored.contents[target]
            return self._decode(codec, body, message_id)
        assert self._cache is not None
        message = copy_of(self._cache.items[target].snapshot, message_id)
        if message_id is None:
            message.__dict__["id"] = None
        return message

    def _live_message(self, item: Item) -> BaseMessage:
        if item.holds(item.message):
            return item.message
        # Its object was changed after it was stored: the record keeps what it was.
        assert self._cache is not None
        if self._cache.by_object.get(id(item.message)) is item:
            warn_of_change(self._cache, item)
            del self._cache.by_object[id(item.message)]
        item.message = copy_of(item.snapshot)
        self._cache.by_object[id(item.message)] = item
        return item.message


@contextmanager
def _uncollected(count: int) -> Iterator[None]:
    """Keep the garbage collector from looking again and again at many objects that all stay alive.

    Building thousands of messages sets it off dozens of times, for several times the cost of building.
    """
    if count < _MANY or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def live_values(builder: Builder, cache: ThreadCache, head: Head) -> dict[str, Any]:
    """Return a checkpoint's values for a run, and keep its lists as the base of what the run stores."""
    values = {}
    for channel, entry in head.values.items():
        if entry[0] in (packing.LIST, packing.SNAPSHOT) and (known := cache.lists.get(entry[1])) is not None:
            if known.live is not None and known.unchanged(cache):
                items = known.live.copy()
            else:
                items = builder.sequence(entry[1])
                if known.values is None and known.newest:
                    known.spine.bind(items, cache)
            cache.add_list(known)
            values[channel] = items if entry[0] == packing.LIST else builder.wrap(items)
        else:
            values[channel] = builder.value(entry)
    return values


def adopt(cache: ThreadCache, stored: Stored, head: Head) -> None:
    """Keep the lists and the values that a checkpoint's entries refer to."""
    for entry in head.values.values():
        if len(entry) == 3 and entry[1] not in cache.lists and entry[1] in stored.lists:
            items, changes, root = stored.lists[entry[1]]
            version = ListVersion(entry[1], root, changes, Spine(items), len(items))
            version.values = _value_bytes(items, stored, cache)
            cache.lists[entry[1]] = version
        if entry[0] == packing.CONTENT and entry[1] in stored.contents:
            codec, _, body = stored.contents[entry[1]]
            cache.values[entry[1]] = codec, body


def _value_bytes(items: list[Any], stored: Stored, cache: ThreadCache) -> list[bytes] | None:
    """Return the packed items of a list that holds no message, or None."""
    packed = []
    for item in items:
        if not isinstance(item, int):
            packed.append(item)
        elif item in stored.contents and stored.contents[item][0] == packing.VALUE:
            codec, _, body = stored.contents[item]
            cache.values[item] = codec, body
            packed.append(body)
        else:
            return None
    return packed
