"""Warnings about what is allowed but surely not meant."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from threadkeep.engine.cache import Head, Item, ThreadCache
from threadkeep.errors import ChangedMessageWarning, DuplicateHistoryWarning
from threadkeep.ops import packing

_START = "__start__"


def warn_of_duplicates(cache: ThreadCache, checkpoint: Mapping[str, Any], parent: Head | None) -> None:
    """Warn of a run's input that begins like the thread it is for: the history passed again by hand."""
    given = checkpoint["channel_values"].get(_START)
    if not isinstance(given, Mapping) or parent is None:
        return
    for channel, items in given.items():
        entry = parent.values.get(channel)
        if not isinstance(items, list) or len(items) < 2 or entry is None or entry[0] != packing.LIST:
            continue
        version = cache.lists.get(entry[1])
        first = version.items[:2] if version is not None else []
        known = [cache.items[n] for n in first if isinstance(n, int) and n in cache.items]
        if len(known) == 2 and all(_repeats(item, old) for item, old in zip(items, known, strict=False)):
            warnings.warn(
                f"the run on thread {cache.ref.thread_id!r} was given {len(items)} messages that begin like the "
                f"thread's own {channel!r}; the checkpointer adds the history by itself, so these will be there "
                "twice. Pass only the new message",
                DuplicateHistoryWarning,
                stacklevel=2,
            )
            return


def warn_of_changes(cache: ThreadCache, head: Head) -> None:
    """Warn, at the end of a run, of messages of earlier turns whose content it changed in place.

    Other attributes are looked at when the thread is loaded again.
    """
    for entry in head.values.values():
        version = cache.lists.get(entry[1]) if entry[0] == packing.LIST else None
        if version is not None and version.live is not None and not version.same_contents():
            for number in version.changed():
                warn_of_change(cache, cache.items[number])


def _repeats(given: Any, known: Item) -> bool:
    """Tell whether a given message has a known one's role and text, but not its id."""
    stored = known.message
    if isinstance(given, BaseMessage):
        return given.id != known.message_id and given.type == stored.type and given.content == stored.content
    if isinstance(given, Mapping):
        return given.get("content") == stored.content and given.get("id") != known.message_id
    return isinstance(given, tuple) and len(given) == 2 and given[1] == stored.content


def warn_of_change(cache: ThreadCache, item: Item) -> None:
    """Warn once a turn that a stored message's object was changed in place; an id it was given is no change."""
    if item.message_id is None or item.number in cache.warned:
        return
    cache.warned.add(item.number)
    warnings.warn(
        f"message {item.message_id!r} of thread {cache.ref.thread_id!r} was changed in place after its turn; "
        "the thread keeps what was stored. To change it, return a message with the same id from a node",
        ChangedMessageWarning,
        stacklevel=2,
    )
