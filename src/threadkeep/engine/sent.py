"""What a model call was sent, as references: which of its messages a thread holds, and the bytes of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from operator import attrgetter, eq, is_
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from threadkeep.engine.cache import Item, ThreadCache
from threadkeep.ids import pack_message_id
from threadkeep.ops import packing
from threadkeep.ops.ledger import Unheld
from threadkeep.serde import Serde

_content = attrgetter("content")


class SeenList:
    """The messages of a call's list, with their places; 0 for one that had none yet when the list was seen."""

    __slots__ = ("_contents", "_messages", "_places")

    def __init__(self, messages: Sequence[BaseMessage], places: Sequence[int]) -> None:
        self._messages = list(messages)
        self._contents = list(map(_content, messages))
        self._places = [max(place, 0) for place in places]

    def common(self, messages: Sequence[BaseMessage], most: int) -> list[int]:
        """Return the places of the first messages, at most `most`, that are the same objects with the same contents."""
        length = min(most, len(self._messages))
        for same in (map(is_, self._messages, messages), map(eq, self._contents, map(_content, messages))):
            found = next((n for n, one in enumerate(islice(same, length)) if not one), length)
            length = min(length, found)
        return self._places[:length]


class Held:
    """Tells what a thread holds of a call's messages; what it does not gathers in `unheld`.

    Places are content numbers, or below zero places in `unheld`, -1 being the first.
    """

    def __init__(self, serde: Serde, cache: ThreadCache) -> None:
        self.unheld: list[Unheld] = []
        self._serde = serde
        self._cache = cache
        self._places: dict[bytes, int] = {}
        self._objects: dict[int, int] = {}

    def messages(self, lane: str, messages: Sequence[BaseMessage]) -> list[int]:
        """Return the places of the messages of a call's list. Raises SerializationError for what cannot be stored.

        Calls of a thread begin with what the call before began with: its places are taken over in one pass.
        """
        turn = next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], HumanMessage)), 0)
        before = self._cache.ledger.seen.get(lane)
        places = before.common(messages, turn) if before is not None else []
        for n, place in enumerate(places):
            if place == 0:
                places[n] = self._message(messages[n], False)
        places += [self._message(messages[n], n >= turn) for n in range(len(places), len(messages))]
        self._cache.ledger.seen[lane] = SeenList(messages, places)
        return places

    def _message(self, message: BaseMessage, check: bool) -> int:
        place = self._objects.get(id(message))
        if place is None:
            place = self._known(message, check) or self._unknown(message)
            self._objects[id(message)] = place
        return place

    def _known(self, message: BaseMessage, check: bool) -> int | None:
        cache = self._cache
        item = cache.by_object.get(id(message))
        if item is not None and item.message is message:
            same = item.holds(message) if check else _looks_same(item, message)
            return item.number if same else None
        item = None if message.id is None else cache.by_message_id.get(message.id)
        if item is None:
            return None
        return item.number if item.holds(message) or same_message(item.message, message) else None

    def _unknown(self, message: BaseMessage) -> int:
        body = self._serde.message_body(message, path="sent")
        message_id = None if message.id is None else pack_message_id(message.id)
        # LangGraph stores a message of the input before it has its id, and again, perhaps later than this, after.
        return self._add(packing.MESSAGE, message_id, body, self._cache.bodies.get(body))

    def value(self, value: Any) -> int:
        """Return the place of a plain value. Raises SerializationError for what cannot be stored."""
        return self._add(packing.VALUE, None, self._serde.encode(value, path="sent"))

    def _add(self, codec: int, message_id: bytes | None, body: bytes, same: int | None = None) -> int:
        state = blake2b(bytes([codec]) + (message_id or b"") + b"\0", digest_size=16)
        state.update(body)
        digest = state.digest()
        place = self._places.get(digest)
        if place is None:
            self.unheld.append(Unheld(digest, codec, message_id, body, same))
            place = self._places[digest] = -len(self.unheld)
        return place


def _looks_same(item: Item, message: BaseMessage) -> bool:
    # A message of an earlier turn: comparing a thousand of them whole would take milliseconds a call.
    content = message.content
    return item.message_id == message.id and (content is item.content or content == item.content)


def same_message(stored: BaseMessage, seen: BaseMessage) -> bool:
    """Tell whether a message is a stored one in the form that LangChain's callbacks see.

    Images and files are handed to callbacks in another form than to the model: their data are the same.
    """
    if type(stored) is not type(seen) or stored.id != seen.id:
        return False
    before, now = stored.content, seen.content
    if not isinstance(before, list) or not isinstance(now, list) or len(before) != len(now):
        return False
    ours, theirs = dict(stored.__dict__), dict(seen.__dict__)
    ours.pop("content")
    theirs.pop("content")
    return ours == theirs and all(map(_same_block, before, now))


def _same_block(before: Any, now: Any) -> bool:
    if before == now:
        return True
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return False
    if len(before) == 1 and "type" not in before:
        return all(now.get(name) == value for name, value in before.items())
    if before.get("type") not in ("image", "file", "audio", "video"):
        return False
    data, shown = _longest(before), _longest(now)
    return len(data) > len(str(before.get("type"))) and shown.endswith(data)


def _longest(block: Any) -> str:
    return max(_texts(block), key=len, default="")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
