"""What a checkpoint adds to its thread's record: messages, title and preview, and model calls."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from threadkeep.context.prices import usage_of
from threadkeep.engine.cache import Head, Item, ThreadCache
from threadkeep.engine.prepare import Preparer
from threadkeep.engine.requests import PutRequest
from threadkeep.ids import encode_text, message_tag, pack_message_id
from threadkeep.ops import packing
from threadkeep.ops.calls import ANSWER, CACHED, FINISHED, CallBody, CallRow
from threadkeep.ops.calls import MESSAGES as OF_MESSAGES
from threadkeep.ops.names import Names
from threadkeep.ops.packing import Entry
from threadkeep.ops.rows import NewRows

MESSAGES = "messages"
"""The channel whose messages are the record, where a graph has one of this name."""
_TITLE, _PREVIEW = 60, 160
_NO_BODY = CallBody().pack()


def moved_messages(
    cache: ThreadCache, preparer: Preparer, request: PutRequest, head: Head, parent: Head | None
) -> tuple[list[tuple[int, int | None]], list[int]]:
    """Return which messages enter the record, each with its id's tag, and which leave the state."""
    channel = MESSAGES if MESSAGES in head.versions else _message_channel(head)
    if channel is None:
        return [], []
    entry = head.values.get(channel)
    before = parent.values.get(channel) if parent is not None else None
    if entry is not None and entry[0] == packing.LIST:
        added, removed = ([], []) if entry == before else _moves(cache, preparer, entry, before)
    elif entry is None or (entry[0] == packing.SNAPSHOT and request.parent_id is not None):
        # A DeltaChannel's messages are in the writes that led here.
        added, removed = cache.written.get((request.namespace, request.parent_id or b""), []), []
        if not cache.delta:
            return [], []
    elif entry[0] == packing.SNAPSHOT:
        added, removed = item_numbers(cache, entry), []
    else:
        added, removed = [], item_numbers(cache, before)
    return [(n, _tag(cache.items[n])) for n in added if n in cache.items], removed


def _moves(
    cache: ThreadCache, preparer: Preparer, entry: Entry, before: Entry | None
) -> tuple[list[int], list[int]]:
    """Return which messages a list has that the one before had not, and the other way round."""
    made = preparer.changes.get(entry[1])
    if made is not None and before is not None and made[0] == before[1]:
        _, inserted, taken = made
        if not taken:
            return [n for n in inserted if isinstance(n, int)], []
    new, old = item_numbers(cache, entry), item_numbers(cache, before)
    was, now = set(old), set(new)
    return [n for n in new if n not in was], [n for n in old if n not in now]


def only_grew(cache: ThreadCache, head: Head, parent: Head | None) -> bool:
    """Tell whether a root checkpoint's messages are its parent's and more, all with ids of their own."""
    if head.namespace:
        return True
    if parent is None:
        # Without a parent a checkpoint begins the thread, or is a copy of the one that did.
        return cache.ref.key is None
    if cache.newest.get("") is not parent:
        return False
    entry = head.values.get(MESSAGES)
    if MESSAGES not in head.versions:
        # Which channel has the messages may change from step to step where none is called so.
        return _message_channel(head) is None
    return entry is not None and entry[0] == packing.LIST


def _message_channel(head: Head) -> str | None:
    return next((c for c, entry in head.values.items() if entry[0] in (packing.LIST, packing.SNAPSHOT)), None)


def item_numbers(cache: ThreadCache, entry: Entry | None) -> list[int]:
    """Return the content numbers of a list that an entry stands for."""
    if entry is None or len(entry) != 3 or (version := cache.lists.get(entry[1])) is None:
        return []
    return [item for item in version.items if isinstance(item, int)]


def _tag(item: Item) -> int | None:
    return None if item.message_id is None else message_tag(pack_message_id(item.message_id))


def labels_of(cache: ThreadCache, numbers: list[int]) -> tuple[bytes | None, bytes | None]:
    """Return the first words of the first human message and the last message with text."""
    title = preview = None
    for number in numbers:
        message = cache.items[number].message
        text = _words(message) if isinstance(message, (HumanMessage, AIMessage)) else ""
        if text:
            preview = text
            if title is None and isinstance(message, HumanMessage):
                title = text
    return (
        encode_text(_shortened(title, _TITLE)) if title else None,
        encode_text(_shortened(preview, _PREVIEW)) if preview else None,
    )


def _words(message: BaseMessage) -> str:
    content = message.content
    if not isinstance(content, str):
        parts = [part if isinstance(part, str) else part.get("text") for part in content]
        content = " ".join(part for part in parts if isinstance(part, str))
    return " ".join(content[: 4 * _PREVIEW].split())


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > most // 2 else cut) + "…"


def count_unwritten(
    names: Names,
    preparer: Preparer,
    cache: ThreadCache,
    rows: NewRows,
    entered: list[tuple[int, int | None]],
    now: int,
) -> None:
    """Record the usage of answers that no task's writes brought (durability "exit"): those after the last human's."""
    fresh = {item.number for item in preparer.new_messages}
    for number, _ in reversed(entered):
        message = cache.items[number].message
        if isinstance(message, HumanMessage):
            return
        if number in fresh:
            record_usage(names, rows, cache.items[number], now)


def record_usage(names: Names, rows: NewRows, item: Item, now: int) -> None:
    """Add a row for a model call whose usage its answer reports."""
    row = reported_call(item.message, now)
    if row is not None:
        rows.calls.append(row)


def reported_call(message: BaseMessage, now: int) -> CallRow | None:
    """Return the ledger's row for a call that an answer reports; its price is found when it is read."""
    if not isinstance(message, AIMessage) or not message.usage_metadata:
        return None
    tokens = usage_of(message)
    if tokens is None:
        return None
    metadata = message.response_metadata
    model = metadata.get("model_name") or metadata.get("model")
    provider = metadata.get("model_provider")
    return CallRow(
        call_id=None,
        run_id=None,
        message_id=None if message.id is None else pack_message_id(message.id),
        at=now,
        status=FINISHED,
        purpose=CACHED if tokens.from_cache else ANSWER,
        origin=OF_MESSAGES,
        model=encode_text(model) if isinstance(model, str) else None,
        provider=encode_text(provider) if isinstance(provider, str) else None,
        tokens=(tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.reasoning),
        price=None,
        body=_NO_BODY,
    )
