"""What an agent's middleware reads and notes of its thread, sync and async."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from threadkeep.adapters.langgraph import Checkpointer
from threadkeep.context.budget import Budget
from threadkeep.engine import budgets, notes
from threadkeep.engine.notes import ENTITIES, SUMMARY, Note
from threadkeep.thread import Thread


def thread_of(checkpointer: Checkpointer, thread_id: object) -> Thread:
    """Return the handle of a checkpointer's thread. Raises InvalidThreadId."""
    return Thread(checkpointer._engine, checkpointer._engine.ref(checkpointer._owner, thread_id))


class Notes:
    """One thread's notes. Each call is one transaction; the thread need not exist yet.

    `policy` is a policy's fingerprint, `digest` that of the contents a note covers: a note is found as long as these
    are what they were. The first note for a digest stays; `keep_...` returns the one that is stored. Values are plain
    data. A summary's value has `text`, and may have `covered` (how many messages), `language`, `model` and more.
    """

    def __init__(self, thread: Thread) -> None:
        self._engine = thread._engine
        self._ref = thread._ref

    def summaries(self, policy: str, digests: Sequence[bytes]) -> dict[bytes, Note]:
        """Return the summaries by digest, those of `digests` that there are."""
        return self._engine.run(notes.find(self._engine, self._ref, SUMMARY, policy, digests))

    async def asummaries(self, policy: str, digests: Sequence[bytes]) -> dict[bytes, Note]:
        """Return the summaries by digest, those of `digests` that there are."""
        return await self._engine.arun(notes.find(self._engine, self._ref, SUMMARY, policy, digests))

    def keep_summary(self, policy: str, digest: bytes, value: Mapping[str, Any]) -> Note:
        """Store a summary at once."""
        return self._engine.run(notes.keep(self._engine, self._ref, SUMMARY, policy, digest, value))

    async def akeep_summary(self, policy: str, digest: bytes, value: Mapping[str, Any]) -> Note:
        """Store a summary at once."""
        return await self._engine.arun(notes.keep(self._engine, self._ref, SUMMARY, policy, digest, value))

    def entities(self, policy: str, digests: Sequence[bytes]) -> dict[bytes, Note]:
        """Return the facts about entities by digest, those of `digests` that there are."""
        return self._engine.run(notes.find(self._engine, self._ref, ENTITIES, policy, digests))

    async def aentities(self, policy: str, digests: Sequence[bytes]) -> dict[bytes, Note]:
        """Return the facts about entities by digest, those of `digests` that there are."""
        return await self._engine.arun(notes.find(self._engine, self._ref, ENTITIES, policy, digests))

    def keep_entities(self, policy: str, digest: bytes, value: Mapping[str, Any]) -> Note:
        """Store facts about entities at once."""
        return self._engine.run(notes.keep(self._engine, self._ref, ENTITIES, policy, digest, value))

    async def akeep_entities(self, policy: str, digest: bytes, value: Mapping[str, Any]) -> Note:
        """Store facts about entities at once."""
        return await self._engine.arun(notes.keep(self._engine, self._ref, ENTITIES, policy, digest, value))

    def pinned(self) -> frozenset[str]:
        """Return the ids of the pinned messages."""
        return self._engine.run(notes.pinned(self._engine, self._ref))

    async def apinned(self) -> frozenset[str]:
        """Return the ids of the pinned messages."""
        return await self._engine.arun(notes.pinned(self._engine, self._ref))

    def calibration(self, model: str) -> Any:
        """Return what was learned of a model's way of counting, by every thread; None when nothing was."""
        return self._engine.run(notes.calibration(self._engine, model))

    async def acalibration(self, model: str) -> Any:
        """Return what was learned of a model's way of counting, by every thread; None when nothing was."""
        return await self._engine.arun(notes.calibration(self._engine, model))

    def learn(self, model: str, change: Callable[[Any], Any]) -> Any:
        """Change what was learned of a model: `change` makes the new plain data of the old (or None)."""
        return self._engine.run(notes.learn(self._engine, model, change))

    async def alearn(self, model: str, change: Callable[[Any], Any]) -> Any:
        """Change what was learned of a model: `change` makes the new plain data of the old (or None)."""
        return await self._engine.arun(notes.learn(self._engine, model, change))

    def reserve(
        self,
        budget: Budget,
        tokens: int,
        money: Decimal | None,
        *,
        run_id: str | None = None,
        model: str | None = None,
    ) -> int:
        """Set aside what a call may take; give the number to `recording(reservation=...)`, or to `settle`.

        Raises BudgetExceeded and UnknownPrice.
        """
        return self._engine.run(
            budgets.reserve(self._engine, self._ref, budget, tokens, money, run_id=run_id, model=model)
        )

    async def areserve(
        self,
        budget: Budget,
        tokens: int,
        money: Decimal | None,
        *,
        run_id: str | None = None,
        model: str | None = None,
    ) -> int:
        """Set aside what a call may take; give the number to `recording(reservation=...)`, or to `settle`."""
        return await self._engine.arun(
            budgets.reserve(self._engine, self._ref, budget, tokens, money, run_id=run_id, model=model)
        )

    def settle(self, reservation: int, *, hold: bool = False) -> None:
        """Give a reservation back, or with `hold` keep it for good as spent: nobody knows what the call took."""
        self._engine.run(budgets.settle(self._engine, self._ref, reservation, hold))

    async def asettle(self, reservation: int, *, hold: bool = False) -> None:
        """Give a reservation back, or with `hold` keep it for good as spent."""
        await self._engine.arun(budgets.settle(self._engine, self._ref, reservation, hold))
