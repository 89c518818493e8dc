"""What a model call was sent, as references: which of its messages a thread holds, and the bytes of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from threadkeep.engine.cache import Item, ThreadCache
from threadkeep.ids import pack_message_id
from threadkeep.ops import packing
from threadkeep.ops.ledger import Unheld
from threadkeep.serde import Serde


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

    def messages(self, messages: Sequence[BaseMessage]) -> list[int]:
        """Return the places of messages. Raises SerializationError for what cannot be stored."""
        turn = next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], HumanMessage)), 0)
        return [self._message(message, n >= turn) for n, message in enumerate(messages)]

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
        return self._add(packing.MESSAGE, message_id, body)

    def value(self, value: Any) -> int:
        """Return the place of a plain value. Raises SerializationError for what cannot be stored."""
        return self._add(packing.VALUE, None, self._serde.encode(value, path="sent"))

    def _add(self, codec: int, message_id: bytes | None, body: bytes) -> int:
        state = blake2b(bytes([codec]) + (message_id or b"") + b"\0", digest_size=16)
        state.update(body)
        digest = state.digest()
        place = self._places.get(digest)
        if place is None:
            self.unheld.append(Unheld(digest, codec, message_id, body))
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
