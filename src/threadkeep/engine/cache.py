"""What a process keeps of a thread: its newest checkpoints, list versions, and live messages."""

from __future__ import annotations

import marshal
import threading
from collections import OrderedDict, deque
from operator import is_, itemgetter
from typing import Any

from langchain_core.messages import BaseMessage

from threadkeep.backends.base import Work
from threadkeep.errors import SerializationError
from threadkeep.ops.ledger import Memo
from threadkeep.ops.load import Manifest
from threadkeep.ops.packing import Element, Entry
from threadkeep.ops.rows import CheckpointRef, ThreadRef, number
from threadkeep.serde import Serde, Snapshot, matches, owned_snapshot, snapshot

_content = itemgetter("content")
_LOOK = 16
_MANIFESTS = 24
_RECENT = 6
_MOST_THREADS = 256
_MOST_BYTES = 64 * 1024 * 1024


class Item:
    """A message as it is stored under a number, and the live object that stands for it.

    `body` are the bytes that were stored, when they refer to nothing else: comparing with them is
    exact, and they take a fraction of the memory of a copied message, so that the run's own messages
    stay close together. `snapshot` is made of them when a copy is asked for.

    `entered` tells that its id may be in the thread's record already.

    `_print` stands for the attributes of an object that was found equal: seeing that they are the same
    takes a tenth of the time of encoding them again.
    """

    __slots__ = (
        "_print",
        "_serde",
        "_snapshot",
        "body",
        "content",
        "entered",
        "message",
        "message_id",
        "number",
    )

    def __init__(self, number: int, message: BaseMessage, serde: Serde, body: bytes | None) -> None:
        self.number = number
        self.message = message
        self.message_id = message.id
        self.content = message.content
        self.body = body
        self._serde = serde
        self._snapshot = snapshot(message) if body is None else None
        self._print: int | None = None
        self.entered = True

    def again(self, message: BaseMessage) -> Item:
        """Return the same item with another object, equal to what was stored, in its message's place."""
        other = Item.__new__(Item)
        other.number, other.message, other.message_id = self.number, message, message.id
        other.content, other.body, other.entered = self.content, self.body, self.entered
        other._serde, other._snapshot, other._print = self._serde, self._snapshot, self._print
        return other

    def take_print(self) -> None:
        """Remember the attributes of the message, which was stored just now."""
        if self.body is not None:
            self._print = _print_of(self.message)

    @property
    def snapshot(self) -> Snapshot:
        """What the message was when it was stored."""
        if self._snapshot is None:
            assert self.body is not None
            self._snapshot = owned_snapshot(self._serde.message(self.body, self.message_id))
        return self._snapshot

    def holds(self, message: BaseMessage) -> bool:
        """Tell whether a message is what was stored, to the type of every value: 1 is not True."""
        if message.id != self.message_id:
            return False
        now = _print_of(message) if self._print is not None and type(message) is type(self.message) else None
        if now is not None and now == self._print:
            return True
        try:
            if self.body is not None and self._serde.message_body(message) == self.body:
                self._print = _print_of(message)
                return True
        except SerializationError:
            return False  # it holds what cannot be stored: its put will say so
        if not matches(message, self.snapshot):
            return False
        try:
            return marshal.dumps(message.__dict__, 2) == marshal.dumps(self.snapshot.values, 2)
        except ValueError:
            return True  # equal, as far as can be told for values that are not plain


def _print_of(message: BaseMessage) -> int | None:
    """Return 64 bits that stand for every attribute of a message with plain values, or None for any other.

    They depend on the order of attributes, so different ones say nothing.
    """
    if message.__pydantic_extra__ or message.__pydantic_private__:
        return None
    try:
        return hash(marshal.dumps(message.__dict__, 0))
    except ValueError:
        return None


class Spine:
    """The items that successive versions of a growing list share, and the live objects behind them.

    Lists are only ever added to, and compared as lists: a pass that touches every message makes the
    processor fetch all of them for the thread that runs the graph, which is slower than the pass.
    """

    __slots__ = ("contents", "items", "live", "messages", "now")

    def __init__(self, items: list[Element]) -> None:
        self.items = items
        self.live: list[Any] | None = None
        self.now: list[dict[str, Any]] = []
        self.contents: list[Any] = []
        self.messages = True

    def bind(self, live: list[Any], cache: ThreadCache) -> None:
        """Keep the live list that stands for all items."""
        self.live, self.now, self.contents = [], [], []
        self._watch(live, self.items, cache)

    def grow(self, added: list[Element], live: list[Any], cache: ThreadCache) -> None:
        """Add items with the live objects that stand for them."""
        self.items += added
        self._watch(live, added, cache)

    def _watch(self, live: list[Any], numbers: list[Element], cache: ThreadCache) -> None:
        items = [cache.items[n] for n in numbers if isinstance(n, int)]
        self.messages = self.messages and len(items) == len(numbers)
        self.now += [item.message.__dict__ for item in items]
        self.contents += [item.content for item in items]
        assert self.live is not None
        self.live += live

    def unbind(self) -> None:
        """Let the live list go."""
        self.live = None
        self.now, self.contents = [], []

    def begins(self, items: list[Any]) -> bool:
        """Tell whether a list begins with the live objects."""
        live = self.live
        if live is None or len(live) > len(items):
            return False
        if not self.messages:
            return all(map(is_, live, items))
        last = len(live) - 1
        if live and not (
            items[0] is live[0] and items[last] is live[last] and items[last // 2] is live[last // 2]
        ):
            return False
        try:
            # Comparing lists passes over identical items without touching them; messages have no order,
            # so the first that differs ends it with a TypeError.
            return live <= items
        except TypeError:
            return False


class ListVersion:
    """A stored version of a list: the first `length` items of a spine."""

    __slots__ = ("changes", "length", "number", "root", "spine", "values")

    def __init__(self, number: int, root: int, changes: int, spine: Spine, length: int) -> None:
        self.number = number
        self.root = root
        self.changes = changes
        self.spine = spine
        self.length = length
        self.values: list[bytes] | None = None

    @property
    def newest(self) -> bool:
        """Whether the spine has not grown since."""
        return self.length == len(self.spine.items)

    @property
    def items(self) -> list[Element]:
        """The items by number; not to be changed."""
        return self.spine.items if self.newest else self.spine.items[: self.length]

    @property
    def live(self) -> list[Any] | None:
        """The live list, not to be changed; None unless this is the spine's newest version."""
        return self.spine.live if self.newest else None

    def unchanged(self, cache: ThreadCache) -> bool:
        """Tell whether the live messages still are what was stored.

        Looks at the contents of all, and at every attribute of the newest: comparing thousands of
        messages whole takes milliseconds, nearly all of it waiting for memory. What this does not see
        is not stored either, since a list refers to what was stored.
        """
        if not self.same_contents():
            return False
        newest = (cache.items[n] for n in self.items[-_LOOK:] if isinstance(n, int))
        return all(item.holds(item.message) for item in newest)

    def same_contents(self) -> bool:
        """Tell whether every live message still has the content that was stored."""
        return list(map(_content, self.spine.now)) == self.spine.contents

    def changed(self) -> list[int]:
        """Return the numbers of the messages whose content was changed in place."""
        numbers = [n for n in self.items if isinstance(n, int)]
        looks = zip(numbers, self.spine.now, self.spine.contents, strict=True)
        return [n for n, now, content in looks if now["content"] != content]


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
        self.whole_record = ref.key is None
        self.heads: OrderedDict[tuple[str, bytes], Head] = OrderedDict()
        self.newest: dict[str, Head] = {}
        self.last_work: Work | None = None
        self.ledger = Memo()

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
            oldest = self.recent[0] if len(self.recent) == _RECENT else version
            self.recent.append(version)
            if all(kept.spine is not oldest.spine for kept in self.recent):
                oldest.spine.unbind()

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
        longest = max((version.length for version in self.lists.values()), default=0)
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

    def keep(self, cache: ThreadCache) -> None:
        """Keep what one work was prepared with, unless another was kept meanwhile or it is of no use."""
        with self._lock:
            if not cache.dropped:
                self._kept.setdefault(cache.ref.digest, cache)

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
