"""A bounded cache by content."""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import blake2b
from typing import Generic, TypeVar

T = TypeVar("T")


class FactCache(Generic[T]):
    """Keep what was found in a text, by the text's digest; the one unused for longest leaves first.

    Args:
        size: How many texts are kept.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[bytes, T] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, text: str) -> T | None:
        """Return what was found in this text, or None when it is not kept."""
        key = _key(text)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, text: str, found: T) -> T:
        """Keep what was found in a text, and return it."""
        with self._lock:
            self._kept[_key(text)] = found
            self._kept.move_to_end(_key(text))
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return found


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
