"""One conversation, annotated once: what each message says, how large it is, and where it may be cut."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final, Protocol

from langchain_core.messages import BaseMessage, ChatMessage

from threadkeep.context.validity.calls import call_ids, is_ai, is_human, is_system, is_tool, result_id
from threadkeep.context.validity.plain import Plain

HUMAN, AI, TOOL, SYSTEM, OTHER = "human", "ai", "tool", "system", "other"

_START: Final = bytes(16)
_UNCOUNTED: Final = -1
_MEMO_LIMIT: Final = 512
_KINDS: Final[dict[type[BaseMessage], str]] = {}
_values = attrgetter("__dict__")


class Counting(Protocol):
    """What a history asks of a counter: upper estimates in tokens. `tokens.Counter` is one."""

    @property
    def quality(self) -> Any:
        """Say how good the estimates are: `exact`, `calibrated` or `cold`."""

    def message(self, message: BaseMessage) -> int:
        """Return the upper estimate of one message with its wrapper."""

    def text(self, text: str) -> int:
        """Return the upper estimate of a text."""


class History:
    """The messages of one conversation, in order, with what planning needs to know of each.

    Made by `History.of`. A *turn* is a human message and all that answers it; the last one is the open turn. A
    *round* is an AI message with tool calls and its results. `borders[i]` is 1 where a cut before message `i` splits
    no round. Counting and digesting happen when they are first asked for, once for each message.
    """

    __slots__ = (
        "_chains", "_counts", "_digests", "_memo", "_snapshots", "_variants",
        "borders", "callers", "counter", "kinds", "messages",
        "plain", "results", "turn_starts",
    )  # fmt: skip

    def __init__(self, counter: Counting) -> None:
        self.counter = counter
        self.messages: tuple[BaseMessage, ...] = ()
        self.kinds: list[str] = []
        self.borders = bytearray()
        self.turn_starts: list[int] = []
        self.results: list[int] = []
        self.callers: list[int] = []
        self._snapshots: list[dict[str, Any]] = []
        self._counts: list[int] = []
        self._digests: list[bytes | None] = []
        self._variants: list[dict[Hashable, tuple[BaseMessage, int]] | None] = []
        self._chains: dict[int, list[bytes]] = {}
        self._memo: dict[Hashable, Any] = {}
        self.plain: dict[int | None, tuple[list[BaseMessage], Plain]] = {}
        """The last view's messages, and how many of them needed no repair, by how long a call's id may be."""

    @classmethod
    def of(
        cls, messages: Sequence[BaseMessage], counter: Counting, previous: History | None = None
    ) -> History:
        """Annotate messages, reusing what `previous` knows of those at its beginning that are unchanged.

        Args:
            messages: The whole conversation; none of the objects is changed.
            counter: Where token estimates come from. Estimates of `previous` are reused if its counter is equal.
            previous: A history of an earlier moment. Messages that were edited in place since are noticed.
        """
        made = cls(counter)
        made.messages = tuple(messages)
        if previous is not None:
            made._take(previous, _common(previous._snapshots, made.messages))
        made._extend(len(made._snapshots))
        return made

    def __len__(self) -> int:
        return len(self.messages)

    def tokens(self, index: int) -> int:
        """Return the upper estimate of one message in tokens, its wrapper included."""
        count = self._counts[index]
        if count == _UNCOUNTED:
            count = self._counts[index] = self.counter.message(self.messages[index])
        return count

    def token_list(self, start: int, end: int) -> list[int]:
        """Return the estimates of the messages from `start` up to `end`."""
        counts = self._counts
        for index in range(start, end):
            if counts[index] == _UNCOUNTED:
                counts[index] = self.counter.message(self.messages[index])
        return counts[start:end]

    def digest(self, index: int) -> bytes:
        """Return 16 bytes that stand for what a message says; its id and its usage do not matter."""
        known = self._digests[index]
        if known is None:
            known = self._digests[index] = content_digest(self.messages[index])
        return known

    def prefix_digest(self, end: int, start: int = 0) -> bytes:
        """Return 16 bytes that stand for the messages from `start` up to `end`, in order: a chain of digests."""
        chain = self._chains.setdefault(start, [_START])
        for index in range(start + len(chain) - 1, end):
            chain.append(_link(chain[-1], self.digest(index)))
        return chain[end - start]

    def chained(self, seed: bytes, start: int, end: int) -> bytes:
        """Return the digest of what `seed` stands for followed by the messages from `start` up to `end`."""
        for index in range(start, end):
            seed = _link(seed, self.digest(index))
        return seed

    def variant(
        self, index: int, key: Hashable, make: Callable[[BaseMessage], BaseMessage | None]
    ) -> tuple[BaseMessage, int]:
        """Return the changed copy of a message that `make` gives, and its tokens; made once for each key.

        Where `make` returns None the message itself is returned.
        """
        kept = self._variants[index]
        if kept is None:
            kept = self._variants[index] = {}
        found = kept.get(key)
        if found is None:
            copy = make(self.messages[index])
            found = (self.messages[index], -1) if copy is None else (copy, self.counter.message(copy))
            kept[key] = found
        return found if found[1] >= 0 else (self.messages[index], self.tokens(index))

    def memo(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what `make` returns, made once; the key must name all contents it depends on by digest."""
        if key not in self._memo:
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            self._memo[key] = make()
        return self._memo[key]

    def turn_start(self, index: int) -> int | None:
        """Return where the turn begins that a message belongs to; None before the first human message."""
        place = bisect_right(self.turn_starts, index)
        return self.turn_starts[place - 1] if place else None

    def last_unit(self, end: int) -> int:
        """Return where the last round or single message of the first `end` messages begins."""
        index = end - 1
        while index > 0 and not self.borders[index]:
            index -= 1
        return max(index, 0)

    def latest(self, end: int) -> int:
        """Return from where on everything stays, whatever a policy wants: the open turn's last round, if it has one.

        Args:
            end: How many messages there are.
        """
        last = self.last_unit(end)
        turn = self.turn_start(end - 1) if end else None
        place = bisect_left(self.callers, end)
        if turn is None or not place or self.callers[place - 1] < turn:
            return last
        return min(last, self.last_unit(self.callers[place - 1] + 1))

    def call_points(self, start: int) -> Iterator[int]:
        """Yield after how many messages the model was called, or is about to be, beyond the first `start`."""
        kinds = self.kinds
        for index in range(start + 1, len(kinds)):
            if kinds[index] == AI:
                yield index
        yield len(kinds)

    def _take(self, previous: History, size: int) -> None:
        """Copy what a former history knows of its first `size` messages."""
        self._snapshots = previous._snapshots[:size]
        self.kinds = previous.kinds[:size]
        self.borders = previous.borders[:size]
        self.turn_starts = previous.turn_starts[: bisect_right(previous.turn_starts, size - 1)]
        self.results = previous.results[: bisect_right(previous.results, size - 1)]
        self.callers = previous.callers[: bisect_right(previous.callers, size - 1)]
        self._digests = previous._digests[:size]
        self._chains = {s: c[: size - s + 1] for s, c in previous._chains.items() if s < size}
        self._memo = previous._memo
        if size == len(previous.messages):  # otherwise one of them may have been edited in place
            self.plain = previous.plain
        same = previous.counter is self.counter or previous.counter == self.counter
        self._counts = previous._counts[:size] if same else [_UNCOUNTED] * size
        self._variants = previous._variants[:size] if same else [None] * size

    def _extend(self, known: int) -> None:
        """Annotate the messages beyond the first `known`."""
        messages = self.messages
        # A result that comes late still belongs to its call if it comes before the turn after the call's ends.
        begin = self.turn_starts[-2] if len(self.turn_starts) > 1 else 0
        pending: dict[str, int] = {}
        expired: list[str] = []
        for index in range(min(begin, known), len(messages)):
            message = messages[index]
            if index >= known:
                self._annotate(index, message)
            kind = self.kinds[index]
            if kind == HUMAN:
                for one in expired:
                    pending.pop(one, None)
                expired = list(pending)
            elif kind == AI:
                asks = call_ids(message)
                if asks and index >= known:
                    self.callers.append(index)
                pending.update(dict.fromkeys(asks, index))
            elif kind == TOOL:
                asked = pending.pop(result_id(message) or "", None)
                if asked is not None:
                    self.borders[asked + 1 : index + 1] = bytes(index - asked)

    def _annotate(self, index: int, message: BaseMessage) -> None:
        kind = _kind(message)
        self.kinds.append(kind)
        self.borders.append(kind != TOOL)
        if kind == HUMAN:
            self.turn_starts.append(index)
        elif kind == TOOL:
            self.results.append(index)
        self._snapshots.append(_snapshot(message))
        self._counts.append(_UNCOUNTED)
        self._digests.append(None)
        self._variants.append(None)


def content_digest(message: BaseMessage) -> bytes:
    """Return 16 bytes that stand for what a message says.

    Role, content, name, tool calls, the answered call and its status count; id, usage and response metadata do not.
    """
    values = _values(message)
    content = values.get("content")
    said = [message.type, content, values.get("name")]
    for field in ("tool_calls", "invalid_tool_calls", "tool_call_id", "status"):
        if values.get(field):
            said.append(values[field])
    if type(content) is str and len(said) == 3 and said[2] is None:
        text = f"{message.type}\0{content}"
    else:
        text = _canonical(said)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _canonical(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=repr)
    except (TypeError, ValueError):  # keys of several types, or a cycle
        return repr(value)


def _link(before: bytes, digest: bytes) -> bytes:
    return blake2b(before + digest, digest_size=16).digest()


def _kind(message: BaseMessage) -> str:
    kind = _KINDS.get(type(message))
    if kind is None:
        kind = _kind_of(message)
        if not isinstance(message, ChatMessage):
            _KINDS[type(message)] = kind
    return kind


def _kind_of(message: BaseMessage) -> str:
    if is_human(message):
        return HUMAN
    if is_ai(message):
        return AI
    if is_tool(message):
        return TOOL
    if is_system(message):
        return SYSTEM
    role = getattr(message, "role", "") if isinstance(message, ChatMessage) else ""
    return {
        "user": HUMAN,
        "human": HUMAN,
        "assistant": AI,
        "ai": AI,
        "system": SYSTEM,
        "developer": SYSTEM,
    }.get(role, OTHER)


def _snapshot(message: BaseMessage) -> dict[str, Any]:
    """Copy what may be edited in place; what planning does not look at is shared."""
    copy: dict[str, Any] = _values(message).copy()
    if type(copy["content"]) is not str:
        copy["content"] = _copied(copy["content"])
    kwargs = copy["additional_kwargs"]
    copy["additional_kwargs"] = _copied(kwargs) if kwargs else {}
    if "tool_calls" in copy:
        for name in ("tool_calls", "invalid_tool_calls"):
            calls = copy[name]
            copy[name] = _copied(calls) if calls else []
    return copy


def _copied(value: Any) -> Any:
    if type(value) is list:
        return [_copied(item) for item in value]
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return value


def _common(snapshots: list[dict[str, Any]], messages: tuple[BaseMessage, ...]) -> int:
    """Return how many messages at the beginning are what they were."""
    size = min(len(snapshots), len(messages))
    values = list(map(_values, messages[:size]))
    if _equal(values, snapshots[:size]):
        return size
    return next(i for i in range(size) if not _equal(values[i], snapshots[i]))


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except (
        Exception
    ):  # an array answers == with an array, and a user's __eq__ may raise: then it counts as changed
        return False
