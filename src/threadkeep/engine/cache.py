"""What a process keeps of a thread: its newest checkpoints, list versions, and live messages."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from operator import itemgetter
from typing import Any

from langchain_core.messages import BaseMessage

from threadkeep.backends.base import Work
from threadkeep.ops.load import Manifest
from threadkeep.ops.packing import Element, Entry
from threadkeep.ops.rows import CheckpointRef, ThreadRef, number
from threadkeep.serde import Serde, Snapshot, owned_snapshot

_content = itemgetter("content")
_LOOK = 64
_MANIFESTS = 24
_RECENT = 6
_MOST_THREADS = 256
_MOST_BYTES = 64 * 1024 * 1024


class Item:
    """A message as it is stored under a number, and the live object that stands for it.

    `snapshot` tells what it was when stored. One that was read has its body instead until somebody
    asks: most processes that load a thread end before that.
    """

    __slots__ = ("_body", "_serde", "_snapshot", "message", "message_id", "number")

    def __init__(self, number: int, message: BaseMessage, snapshot: Snapshot | None) -> None:
        self.number = number
        self.message = message
        self.message_id = message.id
        self._snapshot = snapshot
        self._serde: Serde | None = None
        self._body = b""

    @classmethod
    def read(cls, number: int, message: BaseMessage, serde: Serde, body: bytes) -> Item:
        """Return the item of a message that was just built from a body that refers to nothing."""
        item = cls(number, message, None)
        item._serde, item._body = serde, body
        return item

    def again(self, message: BaseMessage) -> Item:
        """Return the same item with another object, equal to what was stored, in its message's place."""
        other = Item(self.number, message, self._snapshot)
        other._serde, other._body = self._serde, self._body
        return other

    @property
    def snapshot(self) -> Snapshot:
        """What the message was when it was stored."""
        if self._snapshot is None:
            assert self._serde is not None
            self._snapshot = owned_snapshot(self._serde.message(self._body, self.message_id))
            self._body = b""
        return self._snapshot

    def content(self) -> Any:
        """Return the content that was stored; only for an item whose message was not changed since it was read."""
        return self.message.content if self._snapshot is None else self._snapshot.values["content"]


class ListVersion:
    """A stored version of a list: its items by number, and the live list it was made from.

    `now` and `then` hold the live messages' attributes and what they were when stored, so that one
    comparison tells whether any message was changed in place; `then` is filled when first asked for.
    `contents` are the contents alone, for a quicker look.
    """

    __slots__ = ("changes", "contents", "items", "live", "now", "number", "root", "then", "values")

    def __init__(self, number: int, root: int, changes: int, items: list[Element]) -> None:
        self.number = number
        self.root = root
        self.changes = changes
        self.items = items
        self.live: list[Any] | None = None
        self.now: list[dict[str, Any]] = []
        self.then: list[dict[str, Any]] | None = None
        self.contents: list[Any] = []
        self.values: list[bytes] | None = None

    def bind(self, live: list[Any], cache: ThreadCache, base: ListVersion | None = None) -> None:
        """Keep the live list; with `base` its first messages are those of that version."""
        start = 0
        self.now, self.then, self.contents = [], None, []
        if base is not None and base.live is not None:
            start = len(base.live)
            self.now, self.contents = base.now.copy(), base.contents.copy()
            self.then = base.then.copy() if base.then is not None else None
        items = [cache.items[n] for n in self.items[start:] if isinstance(n, int)]
        self.now += [item.message.__dict__ for item in items]
        self.contents += [item.content() for item in items]
        if self.then is not None:
            self.then += [item.snapshot.values for item in items]
        self.live = live.copy()

    def unbind(self) -> None:
        """Let the live list go."""
        self.live = self.then = None
        self.now, self.contents = [], []

    def unchanged(self, cache: ThreadCache) -> bool:
        """Tell whether the live messages still are what was stored (1 and True are not told apart).

        Looks at the contents of all, and at all attributes of the newest and of a window that moves on
        with each look: comparing thousands of messages whole takes milliseconds, nearly all of it
        waiting for memory. Whatever is found later is never stored, for it is not what is looked at here
        that is stored.
        """
        if self.then is None:
            self.then = [cache.items[n].snapshot.values for n in self.items if isinstance(n, int)]
        if not self.same_contents():
            return False
        newest = max(0, len(self.now) - _LOOK)
        start = cache.looked % newest if newest else 0
        cache.looked = start + _LOOK
        try:
            return (
                self.now[newest:] == self.then[newest:]
                and self.now[start : min(start + _LOOK, newest)]
                == self.then[start : min(start + _LOOK, newest)]
            )
        except Exception:  # a value that cannot be compared: the caller looks at each message
            return False

    def same_contents(self) -> bool:
        """Tell whether every live message still has the content that was stored."""
        return list(map(_content, self.now)) == self.contents


class Head:
    """A checkpoint as the process knows it: where its values are, and where it stands."""

    __slots__ = (
        "depth",
        "extra",
        "id",
        "namespace",
        "parent_id",
        "ref",
        "run_body",
        "seen",
        "source",
        "step",
        "time",
        "updated",
        "values",
        "versions",
    )

    id: bytes
    namespace: str
    ref: CheckpointRef
    depth: int
    versions: dict[str, Any]
    values: dict[str, Entry]
    seen: dict[str, dict[str, Any]]
    updated: list[str] | None
    step: int
    source: int
    run_body: bytes
    parent_id: bytes | None
    time: int | str
    extra: dict[str, Any]

    @classmethod
    def of(cls, manifest: Manifest, namespace: str, updated: list[str] | None) -> Head:
        """Return what was read from the database."""
        head = cls()
        row = manifest.row
        head.id = row.id
        head.namespace = namespace
        head.ref = CheckpointRef(number(row.key), row.branch)
        head.depth = manifest.body.depth
        head.versions = manifest.versions
        head.values = manifest.values
        head.seen = manifest.seen
        head.updated = updated
        head.step = row.step
        head.source = row.source
        head.run_body = manifest.run_body
        head.parent_id = manifest.parent_id
        head.time = manifest.body.time
        head.extra = manifest.body.extra
        return head


class ThreadCache:
    """Everything the process keeps of one thread. Guarded by `lock`; useless once `dropped`."""

    def __init__(self, ref: ThreadRef) -> None:
        self.ref = ref
        self.lock = threading.RLock()
        self.dropped = False
        self.weight = 0
        self.items: dict[int, Item] = {}
        self.by_object: dict[int, Item] = {}
        self.by_message_id: dict[str, Item] = {}
        self.values: dict[int, tuple[int, bytes]] = {}
        self.lists: dict[int, ListVersion] = {}
        self.recent: deque[ListVersion] = deque(maxlen=_RECENT)
        self.texts: dict[str, int] = {}
        self.bodies: dict[bytes, int] = {}
        self.written: dict[tuple[str, bytes], list[int]] = {}
        self.warned: set[int] = set()
        self.delta = False
        self.looked = 0
        self.whole_record = ref.key is None
        self.heads: OrderedDict[tuple[str, bytes], Head] = OrderedDict()
        self.newest: dict[str, Head] = {}
        self.last_work: Work | None = None

    # what ops.load.Known asks

    def has_content(self, number: int) -> bool:
        """Return whether a content is at hand."""
        return number in self.items or number in self.values

    def list_items(self, number: int) -> list[Element] | None:
        """Return the items of a list version that may still have to be read."""
        version = self.lists.get(number)
        if version is None:
            return None
        return [] if version.live is not None else version.items

    def remember(self, head: Head, *, newest: bool) -> None:
        """Keep a checkpoint, and let the oldest ones go with the list versions that only they used."""
        place = (head.namespace, head.id)
        self.delta = self.delta or "counters" in head.extra
        self.heads[place] = head
        self.heads.move_to_end(place)
        if newest:
            self.newest[head.namespace] = head
        while len(self.heads) > _MANIFESTS:
            old, _ = self.heads.popitem(last=False)
            if (kept := self.newest.get(old[0])) is not None and kept.id == old[1] and old[0]:
                del self.newest[old[0]]
        if len(self.lists) > 4 * _MANIFESTS:
            used = self._used_lists()
            self.lists = {n: version for n, version in self.lists.items() if n in used}

    def _used_lists(self) -> set[int]:
        """Return the numbers of the list versions that a kept checkpoint has, or that are recent."""
        heads = [*self.heads.values(), *self.newest.values()]
        used = {entry[1] for head in heads for entry in head.values.values() if len(entry) == 3}
        return used | {version.number for version in self.recent}

    def add_list(self, version: ListVersion) -> None:
        """Keep a list version, as a base for the next ones."""
        self.lists[version.number] = version
        if version not in self.recent:
            if len(self.recent) == _RECENT:
                self.recent[0].unbind()
            self.recent.append(version)

    def add_item(self, item: Item, weight: int = 0) -> None:
        """Keep a message: found by its object, its id and its number."""
        self.items[item.number] = item
        self.by_object[id(item.message)] = item
        if item.message_id is not None:
            self.by_message_id[item.message_id] = item
        self.weight += weight

    def start_turn(self) -> None:
        """Forget the texts and bodies that only one turn can share."""
        self.texts.clear()
        self.bodies.clear()
        self.written.clear()
        self.warned.clear()
        self._sweep()

    def _sweep(self) -> None:
        """Let go of messages and values that no kept checkpoint has, once they are the many."""
        longest = max((len(version.items) for version in self.lists.values()), default=0)
        if len(self.by_object) + len(self.values) < 2 * longest + 512:
            return
        used = self._used_lists()
        self.lists = {n: version for n, version in self.lists.items() if n in used}
        kept: set[Any] = set()
        for version in self.lists.values():
            kept.update(version.items)
        for head in [*self.heads.values(), *self.newest.values()]:
            kept.update(entry[1] for entry in head.values.values() if len(entry) == 2)
        self.items = {n: item for n, item in self.items.items() if n in kept}
        self.values = {n: value for n, value in self.values.items() if n in kept}
        self.by_object = {id(item.message): item for item in self.items.values()}
        self.by_message_id = {
            item.message_id: item for item in self.items.values() if item.message_id is not None
        }


class Threads:
    """The threads a process keeps, least recently used first; at most 256 of them or 64 MB."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, ThreadCache] = OrderedDict()

    def get(self, digest: bytes) -> ThreadCache | None:
        """Return what is kept of a thread."""
        with self._lock:
            cache = self._kept.get(digest)
            if cache is not None:
                self._kept.move_to_end(digest)
            return cache

    def add(self, cache: ThreadCache) -> ThreadCache:
        """Keep a thread unless one was kept meanwhile; return the one that is."""
        with self._lock:
            kept = self._kept.setdefault(cache.ref.digest, cache)
            self._kept.move_to_end(cache.ref.digest)
            while len(self._kept) > 1 and (
                len(self._kept) > _MOST_THREADS or sum(c.weight for c in self._kept.values()) > _MOST_BYTES
            ):
                if not self._evict():
                    break
            return kept

    def _evict(self) -> bool:
        for digest, cache in self._kept.items():
            if cache.last_work is None or cache.last_work.done:
                del self._kept[digest]
                return True
        return False

    def drop(self, cache: ThreadCache) -> None:
        """Forget a thread whose rows are no longer what was kept."""
        with self._lock:
            cache.dropped = True
            if self._kept.get(cache.ref.digest) is cache:
                del self._kept[cache.ref.digest]

    def drop_all(self) -> None:
        """Forget every thread."""
        with self._lock:
            for cache in self._kept.values():
                cache.dropped = True
            self._kept.clear()
