"""Ids as the database keeps them, and the clock; both can be replaced in tests.

A UUID in its canonical text takes 16 bytes; any other text is kept as `surrogatepass` UTF-8 behind a
byte that no UTF-8 text starts with, so that ids compare exactly: case, accents, NUL and all.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b

from threadkeep.errors import InvalidThreadId

Clock = Callable[[], int]

MAX_THREAD_ID = 1024
_TEXT = b"\xff"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
# LangChain names an AI message after its run: the affixes take one byte, the UUID sixteen.
_AFFIXES = {
    b"\xfe": ("lc_run--", ""),
    b"\xfd": ("lc_run--", "-0"),
    b"\xfc": ("run--", "-0"),
    b"\xfb": ("run-", "-0"),
}
_GREGORIAN = 0x01B21DD213814000  # 100 ns from 1582-10-15 to 1970-01-01, RFC 9562 section 5.1


def now() -> int:
    """Return the time in microseconds since 1970, UTC."""
    return time.time_ns() // 1000


def check_thread_id(value: object) -> str:
    """Return a thread id as text; integers are taken as their decimal text.

    Raises InvalidThreadId unless it is a text of 1 to 1,024 characters or an integer.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, str):
        kind = type(value).__name__
        raise InvalidThreadId(
            f"thread_id {value!r} is a {kind}; pass a text of 1 to {MAX_THREAD_ID:,} characters or an integer",
            thread_id=repr(value),
        )
    if not 1 <= len(value) <= MAX_THREAD_ID:
        shown = value if len(value) < 40 else value[:37] + "..."
        raise InvalidThreadId(
            f"thread_id {shown!r} has {len(value):,} characters; 1 to {MAX_THREAD_ID:,} are allowed",
            thread_id=value,
        )
    return value


def encode_text(text: str) -> bytes:
    """Return any Python text as bytes, lone surrogates and NUL included."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(data: bytes) -> str:
    """Return the text that `encode_text` was given."""
    return data.decode("utf-8", "surrogatepass")


@lru_cache(4096)
def digest(*parts: str) -> bytes:
    """Return 16 bytes that stand for a tuple of texts."""
    state = blake2b(digest_size=16)
    for part in parts:
        data = encode_text(part)
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return state.digest()


@lru_cache(4096)
def pack_id(text: str) -> bytes:
    """Return an id as bytes: 16 for a canonical UUID, never 16 for anything else."""
    if len(text) == 36 and _UUID.match(text):
        return bytes.fromhex(text.replace("-", ""))
    data = encode_text(text)
    return _TEXT * (2 if len(data) == 15 else 1) + data


@lru_cache(4096)
def unpack_id(data: bytes) -> str:
    """Return the id that `pack_id` was given."""
    if len(data) == 16:
        return _hyphenated(data)
    return decode_text(data.lstrip(_TEXT))


def pack_message_id(text: str) -> bytes:
    """Return a message id as bytes, with LangChain's `lc_run--` affixes in one byte."""
    if len(text) > 38:
        for mark, (prefix, suffix) in _AFFIXES.items():
            if text.startswith(prefix) and text.endswith(suffix):
                middle = text[len(prefix) : len(text) - len(suffix)]
                if len(middle) == 36 and _UUID.match(middle):
                    return mark + bytes.fromhex(middle.replace("-", ""))
    return pack_id(text)


def unpack_message_id(data: bytes) -> str:
    """Return the message id that `pack_message_id` was given."""
    if len(data) == 17 and (affix := _AFFIXES.get(data[:1])):
        return f"{affix[0]}{_hyphenated(data[1:])}{affix[1]}"
    return unpack_id(data)


def message_tag(data: bytes) -> int:
    """Return 32 bits of a packed message id, for the index that finds it within its thread."""
    return int.from_bytes(blake2b(data, digest_size=4).digest(), "big")


@lru_cache(4096)
def id_time(checkpoint_id: bytes) -> int | None:
    """Return the time within a version 6 UUID in microseconds since 1970, or None for any other id."""
    if len(checkpoint_id) != 16 or checkpoint_id[6] >> 4 != 6:
        return None
    high = int.from_bytes(checkpoint_id[:6], "big")
    low = int.from_bytes(checkpoint_id[6:8], "big") & 0x0FFF
    return ((high << 12 | low) - _GREGORIAN) // 10


def new_checkpoint_id(clock: Clock = now, *, after: str | None = None) -> str:
    """Return a version 6 UUID for this moment that sorts after `after`."""
    ticks = clock() * 10 + _GREGORIAN
    if after is not None and len(data := pack_id(after)) == 16 and (earlier := id_time(data)) is not None:
        ticks = max(ticks, (earlier + 1) * 10 + _GREGORIAN)
    tail = uuid.uuid4().int & ((1 << 62) - 1)
    value = (ticks >> 12) << 80 | 0x6 << 76 | (ticks & 0x0FFF) << 64 | 0x2 << 62 | tail
    return str(uuid.UUID(int=value))


def _hyphenated(data: bytes) -> str:
    text = data.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
