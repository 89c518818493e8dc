"""Transcripts in chunks that fit a window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

LEAST_ROOM = 64
"""Tokens: a window that leaves less for messages is too small to summarise with."""


def chunked(entries: Sequence[str], room: int, count: Callable[[str], int]) -> Iterator[str | None]:
    """Yield the entries, joined, in chunks of at most `room` tokens; an entry that is longer is split, not cut.

    Yields None, once, where the room is less than `LEAST_ROOM`.

    Args:
        entries: Texts, in order.
        room: Tokens of one chunk.
        count: Counts the tokens of a text.
    """
    if room < LEAST_ROOM:
        yield None
        return
    chunk: list[str] = []
    used = 0
    for entry in entries:
        for piece in _pieces(entry, room, count):
            tokens = count(piece + "\n\n")
            if chunk and used + tokens > room:
                yield "\n\n".join(chunk)
                chunk, used = [], 0
            chunk.append(piece)
            used += tokens
    if chunk:
        yield "\n\n".join(chunk)


def _pieces(entry: str, room: int, count: Callable[[str], int]) -> list[str]:
    """Split an entry into pieces that fit, each but the first under the entry's first line again."""
    if count(entry + "\n\n") <= room or len(entry) < 2:
        return [entry]
    head, _, body = entry.partition("\n")
    if not body or count(head) > room // 4:
        head, body = "", entry
    size = len(body)
    while size > 1 and any(count(_headed(head, piece)) > room for piece in _sliced(body, size)):
        size = (size + 1) // 2
    return [_headed(head, piece) for piece in _sliced(body, size)]


def _headed(head: str, piece: str) -> str:
    return f"{head} (part)\n{piece}\n\n" if head else f"{piece}\n\n"


def _sliced(body: str, size: int) -> list[str]:
    return [body[start : start + size] for start in range(0, len(body), size)]
