"""What operations are given and give back: plain rows and numbers, without values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from threadkeep.ops.calls import CallRow

HALF = 32
LAST = (1 << HALF) - 1
# Numbers are claimed ahead, so that most writes need not touch the thread's row.
SLACK = 128

STATUSES: tuple[Literal["idle", "running", "waiting", "failed"], ...] = (
    "idle",
    "running",
    "waiting",
    "failed",
)
IDLE, RUNNING, WAITING, FAILED = range(4)
SOURCES = ("loop", "input", "update", "fork")
OTHER_SOURCE = len(SOURCES)

VISIBLE, ANCESTOR = range(2)
"""`hidden` of a checkpoint: listed, or kept only because a DeltaChannel is rebuilt from its writes."""


def key(thread: int, number: int) -> int:
    """Return the key of a thread's row with a number."""
    return thread << HALF | number


def span(thread: int) -> tuple[int, int]:
    """Return the first and last key a thread can have."""
    return thread << HALF, thread << HALF | LAST


def number(key: int) -> int:
    """Return the number within its thread that a key holds."""
    return key & LAST


class ThreadRef:
    """What a process knows of a thread's row: its key and which numbers it may use.

    `claimed` is the first content number that is not this process's to use; it and `sweep` are checked
    in every transaction. Values read inside a transaction that is rolled back are undone by `restore`.
    """

    __slots__ = (
        "_saved",
        "claimed",
        "digest",
        "key",
        "next_content",
        "owner",
        "sweep",
        "thread_id",
        "version",
    )

    def __init__(self, owner: str, thread_id: str, digest: bytes) -> None:
        self.owner = owner
        self.thread_id = thread_id
        self.digest = digest
        self.key: int | None = None
        self.version = 0
        self.sweep = 0
        self.claimed = 1
        self.next_content = 1
        self._saved: tuple[int | None, int, int, int] | None = None

    def save(self) -> None:
        """Remember the committed state before the first statement of a transaction changes it."""
        if self._saved is None:
            self._saved = (self.key, self.version, self.sweep, self.claimed)

    def commit(self) -> None:
        """Forget what `save` remembered."""
        self._saved = None

    def restore(self) -> None:
        """Return to what `save` remembered."""
        if self._saved is not None:
            self.key, self.version, self.sweep, self.claimed = self._saved
            self._saved = None


class CheckpointRef:
    """Where a checkpoint stands; `seq` is None until its put has reached the database."""

    __slots__ = ("branch", "seq")

    def __init__(self, seq: int | None = None, branch: int = 0) -> None:
        self.seq = seq
        self.branch = branch


@dataclass(slots=True)
class NewRows:
    """Rows that any write can bring: contents, list versions, names, model calls."""

    contents: list[tuple[int, int, bytes | None, bytes]] = field(default_factory=list)
    sequences: list[tuple[int, bytes]] = field(default_factory=list)
    names: list[bytes] = field(default_factory=list)
    calls: list[CallRow] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class NewCheckpoint:
    """A checkpoint ready to be stored.

    `all_new` says that no message that enters was in the record before; otherwise that is looked up.
    `guarded` asks for the second-writer check, which `addressed` (a run that began at an old checkpoint
    by name) and forks pass. `unknown_parent` is set when a parent was named that is not stored.
    """

    namespace: str
    id: bytes
    parent: CheckpointRef | None
    parent_id: bytes | None
    unknown_parent: bool
    guarded: bool
    addressed: bool
    ref: CheckpointRef
    replaces: int | None
    run_id: bytes | None
    run_body: bytes
    step: int
    source: int
    body: bytes
    rows: NewRows
    entered: list[tuple[int, int | None]]
    departed: list[int]
    all_new: bool
    status: int
    title: bytes | None
    preview: bytes | None
    now: int


@dataclass(slots=True, kw_only=True)
class NewWrites:
    """The pending writes of one task, ready to be stored; `entries` maps an index to its packed write."""

    namespace: str
    checkpoint: bytes
    task: bytes
    path: Any
    entries: dict[int, list[Any]]
    rows: NewRows
    status: int | None
    now: int


@dataclass(slots=True)
class LoadedCheckpoint:
    """One checkpoint's row, decoded no further."""

    key: int
    namespace: int
    id: bytes
    parent: int | None
    run: int
    step: int
    source: int
    branch: int
    hidden: int
    body: bytes
