"""What a policy remembers between calls: how far each stage has reduced, in a few bytes."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from threadkeep.context.planning.history import History

CHECK_BYTES: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """How far one stage has reduced a conversation.

    Args:
        generation: How many reductions there were.
        start: Index of the first message that was reduced; those before it are a head that stays.
        boundary: Index of the first message beyond what was reduced.
        at: How many messages there were at that reduction.
        check: First bytes of the digest of all messages before the boundary; the mark holds while it is theirs.
        key: The digest of everything covered, where messages of it have left the state; else it can be computed.
        wait: How many messages there must be before a failed summary is tried again; 0 after a success.
        failures: How often in a row it failed.
    """

    generation: int = 0
    start: int = 0
    boundary: int = 0
    at: int = 0
    check: bytes = b""
    key: bytes = b""
    wait: int = 0
    failures: int = 0

    def holds(self, history: History) -> bool:
        """Say whether what the mark covers is still what it was."""
        if not self.check:
            return self.boundary == 0
        if self.boundary > len(history):
            return False
        return history.prefix_digest(self.boundary)[:CHECK_BYTES] == self.check

    def sealed(self, history: History) -> Mark:
        """Return the mark with the check of what it covers."""
        check = history.prefix_digest(self.boundary)[:CHECK_BYTES] if self.boundary else b""
        return replace(self, check=check)

    def covered(self, history: History) -> bytes:
        """Return the digest of everything this mark covers, what has left the state included."""
        return self.key or history.prefix_digest(self.boundary, self.start)

    def digest_up_to(self, history: History, boundary: int) -> bytes:
        """Return the digest of everything covered once the boundary lies at a later message."""
        if self.key:
            return history.chained(self.key, self.boundary, boundary)
        return history.prefix_digest(boundary, self.start)

    def to_json(self) -> list[Any]:
        """Return the mark as a short list; trailing defaults are left out."""
        values: list[Any] = [
            self.generation, self.boundary, self.at, _text(self.check),
            self.start, _text(self.key), self.wait, self.failures,
        ]  # fmt: skip
        while values and not values[-1]:
            values.pop()
        return values

    @classmethod
    def from_json(cls, values: list[Any]) -> Mark:
        """Return the mark that `to_json` wrote."""
        generation, boundary, at, check, start, key, wait, failures = [*values, *_DEFAULTS[len(values) :]]
        return cls(
            generation=generation, boundary=boundary, at=at, check=_bytes(check),
            start=start, key=_bytes(key), wait=wait, failures=failures,
        )  # fmt: skip

    def without(self, history: History, left: Collection[int], shorter: History) -> Mark:
        """Return the mark for a history that some messages have left.

        Args:
            history: What the mark is of.
            left: Indices of the messages that have left.
            shorter: What remains.
        """
        gone = sum(1 for index in left if index < self.boundary)
        moved = replace(
            self,
            boundary=self.boundary - gone,
            start=self.start - sum(1 for index in left if index < self.start),
            at=self.at - sum(1 for index in left if index < self.at),
            wait=max(0, self.wait - len(left)),
            key=self.covered(history) if gone else self.key,
        )
        return moved.sealed(shorter)


@dataclass(frozen=True, slots=True)
class State:
    """The marks of a policy's stages, valid for the policy with this fingerprint only."""

    fingerprint: str = ""
    marks: tuple[Mark, ...] = ()

    def of(self, fingerprint: str, stages: int) -> tuple[Mark | None, ...]:
        """Return a mark per stage, or None for each if the state is another policy's."""
        if self.fingerprint != fingerprint or len(self.marks) != stages:
            return (None,) * stages
        return self.marks

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON types: under 200 bytes for up to four stages."""
        return {"f": self.fingerprint, "s": [mark.to_json() for mark in self.marks]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> State:
        """Return the state that `to_json` wrote; an empty one for None or for what is no state."""
        try:
            if not data:
                return cls()
            return cls(str(data["f"]), tuple(Mark.from_json(list(one)) for one in data["s"]))
        except (KeyError, TypeError, ValueError):
            return cls()


_DEFAULTS: Final[list[Any]] = [0, 0, 0, "", 0, "", 0, 0]


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
