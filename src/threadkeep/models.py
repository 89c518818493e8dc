"""What callers are given: frozen values without I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Generic, Literal, TypeVar

Status = Literal["idle", "running", "waiting", "failed"]
Source = Literal["input", "loop", "update", "fork"]
Purpose = Literal["answer", "summary", "extraction", "cached"]
CallStatus = Literal["finished", "failed", "cancelled"]
Progress = Callable[[int, int], None]
"""Called with how many threads are done, and how many there are; from the thread that does the work."""
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Page(Generic[T]):
    """One page of a listing; `cursor` continues it and is None on the last page."""

    items: tuple[T, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadInfo:
    """What the list of threads knows of one thread, without decoding a message.

    `messages` counts the transcript, `checkpoints` every namespace. `status` is `idle` (nothing is
    left to do), `running` (the newest checkpoint has a next step: a run is on its way, or died),
    `waiting` (for a human) or `failed` (the newest step raised).
    """

    thread_id: str
    owner: str
    title: str
    preview: str
    metadata: Mapping[str, Any]
    status: Status
    messages: int
    checkpoints: int
    created: datetime
    updated: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointInfo:
    """One checkpoint of a thread; its values are read by `Thread.state(checkpoint_id)`."""

    thread_id: str
    checkpoint_id: str
    parent_id: str | None
    namespace: str
    step: int
    source: str
    branch: int
    created: datetime
    messages: int
    metadata: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingWrite:
    """A value that a task wrote at a checkpoint, to be applied by the step after it."""

    task_id: str
    channel: str
    value: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """A checkpoint with its values, as plain data a caller may change freely."""

    checkpoint: CheckpointInfo
    values: Mapping[str, Any]
    pending: tuple[PendingWrite, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """A line of checkpoints: 0 is the first; others start at `forked_from` of `parent`."""

    branch: int
    parent: int | None
    forked_from: str | None
    tip: str
    current: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One model call of a thread: the ledger's row.

    Tokens are as the provider reported them, None where it reported nothing; `input_tokens` includes cached ones.
    `number` counts the thread's calls from 1. `source` tells who counted: `recorder` (the callback handler),
    `messages` (the saver, by the answer's own report) or `caller` (`Memory.record_usage`). `price` is in US dollars,
    by the data that `price_version` names, and None where there is no price. `seconds` is how long the call took, and
    `error` the type of what it raised. A call with purpose `cached` was answered from LangChain's cache: no provider
    was asked, and its tokens are those of an earlier call.
    """

    number: int
    at: datetime
    message_id: str | None
    model: str | None
    provider: str | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    purpose: Purpose
    status: CallStatus
    source: str
    price: Decimal | None
    price_version: str | None
    call_id: str | None
    run_id: str | None
    seconds: float | None
    error: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens and money of model calls, summed over what is known. `input_tokens` includes cached ones.

    `calls` counts those that asked a provider; `unknown` of them reported no tokens, `unpriced` have no price, and
    `cached` more were answered from LangChain's cache. `price` is in US dollars. `purposes` has the sums by purpose.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    price: Decimal = Decimal(0)
    unknown: int = 0
    unpriced: int = 0
    cached: int = 0
    purposes: Mapping[str, Usage] = field(default_factory=dict)
    last: Call | None = None

    @property
    def total_tokens(self) -> int:
        """Input plus output tokens."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageReason:
    """What a policy did with one message of the state for a model call, and why; `position` counts from 1."""

    position: int
    message: Any
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRecord:
    """What one model call was sent: messages and tools, and why every message of the state is among them or not.

    `messages` is None where nobody saw what was sent (a call that was counted by its answer). `options` are the
    response format and the tool choice, as far as given. `reasons` is empty where no policy chose.
    """

    call: Call
    messages: tuple[Any, ...] | None
    tools: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    policy: str | None = None
    reasons: tuple[MessageReason, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryInfo:
    """A summary that a policy made of a thread's older messages; `covered` counts them."""

    at: datetime
    policy: str
    text: str
    covered: int
    language: str | None
    model: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """Who did what to a thread, and to which of its messages; never a text."""

    at: datetime
    action: str
    actor: str
    message_ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TableStats:
    """Rows of one table and the bytes of their values (without index and page overhead)."""

    rows: int
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadStats:
    """How large one thread is, by table."""

    thread_id: str
    owner: str
    tables: Mapping[str, TableStats]

    @property
    def rows(self) -> int:
        """Rows in all tables."""
        return sum(table.rows for table in self.tables.values())

    @property
    def bytes(self) -> int:
        """Bytes in all tables."""
        return sum(table.bytes for table in self.tables.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class PruneReport:
    """What a prune removed, or would remove when `dry_run` is true."""

    threads: int = 0
    checkpoints: int = 0
    contents: int = 0
    writes: int = 0
    bytes: int = 0
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CompactReport:
    """Bytes on disk before and after; `complete` is false when a reader kept old pages."""

    before: int
    after: int
    complete: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A broken invariant that `Memory.doctor` found."""

    thread_id: str
    table: str
    detail: str
    fields: Mapping[str, Any] = field(default_factory=dict)
