"""Thread: the handle bound to one thread id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage

from threadkeep.engine import deleting, edits, flows, ledger, mending, notes, records
from threadkeep.engine.engine import Engine
from threadkeep.models import (
    AuditEntry,
    Branch,
    Call,
    CallRecord,
    CheckpointInfo,
    Page,
    State,
    SummaryInfo,
    ThreadInfo,
    Usage,
)
from threadkeep.ops.rows import ThreadRef

if TYPE_CHECKING:
    from threadkeep.context.planning.plan import View
    from threadkeep.context.policies.policy import Policy


class Thread:
    """One thread. Making a handle reads nothing; each operation stands twice: plain, and with an `a`.

    Everything but `exists`, `append` and `delete` raises ThreadNotFound for a thread that is not there.
    """

    def __init__(self, engine: Engine, ref: ThreadRef) -> None:
        self._engine = engine
        self._ref = ref

    def __repr__(self) -> str:
        return f"<threadkeep.Thread {self.thread_id!r}>"

    @property
    def thread_id(self) -> str:
        """The thread's id."""
        return self._ref.thread_id

    @property
    def owner(self) -> str:
        """Whose thread it is."""
        return self._ref.owner

    def info(self) -> ThreadInfo:
        """Return title, counts, status and times."""
        return self._engine.run(records.info(self._engine, self._ref))

    async def ainfo(self) -> ThreadInfo:
        """Return title, counts, status and times."""
        return await self._engine.arun(records.info(self._engine, self._ref))

    def exists(self) -> bool:
        """Tell whether the thread has a checkpoint."""
        return self._engine.run(records.exists(self._engine, self._ref))

    async def aexists(self) -> bool:
        """Tell whether the thread has a checkpoint."""
        return await self._engine.arun(records.exists(self._engine, self._ref))

    def update(self, *, title: str | None = None, metadata: Mapping[str, Any] | None = None) -> ThreadInfo:
        """Set the title, the metadata (as a whole), or both; what is left out stays."""
        return self._engine.run(records.update(self._engine, self._ref, title, metadata))

    async def aupdate(
        self, *, title: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> ThreadInfo:
        """Set the title, the metadata (as a whole), or both; what is left out stays."""
        return await self._engine.arun(records.update(self._engine, self._ref, title, metadata))

    def append(self, messages: Any) -> CheckpointInfo:
        """Add messages to the thread, creating it if needed: one durable checkpoint, readable by an agent.

        Takes LangChain messages, `{"role", "content"}` mappings or `(role, text)` pairs, one or several.
        A message with the id of one in the state replaces it. Two appends at once both succeed.
        """
        return self._engine.run(edits.append(self._engine, self._ref, messages))

    async def aappend(self, messages: Any) -> CheckpointInfo:
        """Add messages to the thread, creating it if needed: one durable checkpoint."""
        return await self._engine.arun(edits.append(self._engine, self._ref, messages))

    def messages(self, *, branch: int | None = None) -> Sequence[BaseMessage]:
        """Return the transcript of a branch, the current one by default: complete and in order.

        It holds what was removed from the state too; a message replaced under its id stands once, newest.
        """
        return self._engine.run(records.messages(self._engine, self._ref, branch))

    async def amessages(self, *, branch: int | None = None) -> Sequence[BaseMessage]:
        """Return the transcript of a branch: complete and in order."""
        return await self._engine.arun(records.messages(self._engine, self._ref, branch))

    def state(self, checkpoint_id: str | None = None) -> State:
        """Return a checkpoint's values, the newest by default. Raises CheckpointNotFound."""
        return self._engine.run(records.state(self._engine, self._ref, checkpoint_id))

    async def astate(self, checkpoint_id: str | None = None) -> State:
        """Return a checkpoint's values, the newest by default."""
        return await self._engine.arun(records.state(self._engine, self._ref, checkpoint_id))

    def history(
        self, *, namespace: str = "", limit: int = 50, cursor: str | None = None
    ) -> Page[CheckpointInfo]:
        """Return a page of checkpoints, newest first; values are read by `state(checkpoint_id)`."""
        return self._engine.run(records.history(self._engine, self._ref, namespace, limit, cursor))

    async def ahistory(
        self, *, namespace: str = "", limit: int = 50, cursor: str | None = None
    ) -> Page[CheckpointInfo]:
        """Return a page of checkpoints, newest first."""
        return await self._engine.arun(records.history(self._engine, self._ref, namespace, limit, cursor))

    def branches(self) -> tuple[Branch, ...]:
        """Return the thread's branches; a thread that was never forked has one."""
        return self._engine.run(records.branches(self._engine, self._ref))

    async def abranches(self) -> tuple[Branch, ...]:
        """Return the thread's branches; a thread that was never forked has one."""
        return await self._engine.arun(records.branches(self._engine, self._ref))

    def fork(self, checkpoint_id: str | None = None, *, before: str | None = None) -> CheckpointInfo:
        """Start a branch at a checkpoint, or before the message with an id; it becomes the current one.

        Raises CheckpointNotFound, MessageNotFound, and ConfigurationError unless exactly one is given.
        """
        return self._engine.run(edits.fork(self._engine, self._ref, checkpoint_id, before))

    async def afork(self, checkpoint_id: str | None = None, *, before: str | None = None) -> CheckpointInfo:
        """Start a branch at a checkpoint, or before the message with an id."""
        return await self._engine.arun(edits.fork(self._engine, self._ref, checkpoint_id, before))

    def usage(self) -> Usage:
        """Return the tokens of the thread's model calls, as their providers reported them, and what they cost."""
        return self._engine.run(records.usage(self._engine, self._ref))

    async def ausage(self) -> Usage:
        """Return the tokens of the thread's model calls, as their providers reported them."""
        return await self._engine.arun(records.usage(self._engine, self._ref))

    def calls(self) -> Sequence[Call]:
        """Return the thread's model calls in order."""
        return self._engine.run(records.calls(self._engine, self._ref))

    async def acalls(self) -> Sequence[Call]:
        """Return the thread's model calls in order."""
        return await self._engine.arun(records.calls(self._engine, self._ref))

    def call(self, number: int) -> CallRecord:
        """Return a model call with exactly what it was sent, and the policy's reason for every message of the state.

        Raises ConfigurationError when the thread has no call of this number.
        """
        return self._engine.run(ledger.one(self._engine, self._ref, number))

    async def acall(self, number: int) -> CallRecord:
        """Return a model call with exactly what it was sent, and the policy's reason for every message of the state."""
        return await self._engine.arun(ledger.one(self._engine, self._ref, number))

    def view(
        self,
        policy: Policy,
        *,
        model: Any = None,
        system: Any = None,
        tools: Sequence[Any] = (),
        response_format: Any = None,
        provider: str | None = None,
        context_window: int | None = None,
    ) -> View:
        """Return what a policy sends of the thread's state to a model: `view.messages`, for a loop without an agent.

        Pinned messages stay. Summaries are made by the model that the policy was given, without one by an extract,
        and stored at once, as is how far the policy has come: the next call of `view`, in any process, goes on from
        there and pays nothing again. The thread's messages are not changed.

        Args:
            policy: What decides.
            model: The model that will be called, or its name: for its context window, its provider and counting.
            system: The system prompt, if it is no message of the thread; counted, not returned.
            tools: The tools of the call; counted.
            response_format: The response schema of the call; counted.
            provider: Whose rules the view obeys; by default the model's.
            context_window: Tokens of the model's context window, where the model does not say.
        """
        from threadkeep.adapters.agents import looking, steps

        asked = looking.Asked(
            model=model,
            system=system,
            tools=tools,
            response_format=response_format,
            provider=provider,
            context_window=context_window,
        )
        return steps.run(looking.thread_view(self, policy, asked))

    async def aview(
        self,
        policy: Policy,
        *,
        model: Any = None,
        system: Any = None,
        tools: Sequence[Any] = (),
        response_format: Any = None,
        provider: str | None = None,
        context_window: int | None = None,
    ) -> View:
        """Return what a policy sends of the thread's state to a model; a summarizer is awaited."""
        from threadkeep.adapters.agents import looking, steps

        asked = looking.Asked(
            model=model,
            system=system,
            tools=tools,
            response_format=response_format,
            provider=provider,
            context_window=context_window,
        )
        return await steps.arun(looking.thread_view(self, policy, asked))

    def pin(self, message_id: str) -> None:
        """Pin a message: policies keep it in the view, or restate what it says. Raises MessageNotFound."""
        self._engine.run(notes.pin(self._engine, self._ref, message_id))

    async def apin(self, message_id: str) -> None:
        """Pin a message: policies keep it in the view, or restate what it says."""
        await self._engine.arun(notes.pin(self._engine, self._ref, message_id))

    def unpin(self, message_id: str) -> bool:
        """Take a pin off; return whether there was one."""
        return self._engine.run(notes.unpin(self._engine, self._ref, message_id))

    async def aunpin(self, message_id: str) -> bool:
        """Take a pin off; return whether there was one."""
        return await self._engine.arun(notes.unpin(self._engine, self._ref, message_id))

    def pins(self) -> tuple[str, ...]:
        """Return the ids of the pinned messages, the oldest pin first."""
        return self._engine.run(notes.pins(self._engine, self._ref))

    async def apins(self) -> tuple[str, ...]:
        """Return the ids of the pinned messages, the oldest pin first."""
        return await self._engine.arun(notes.pins(self._engine, self._ref))

    def summaries(self) -> tuple[SummaryInfo, ...]:
        """Return the summaries that policies made of the thread's older messages, oldest first."""
        return self._engine.run(notes.summaries(self._engine, self._ref))

    async def asummaries(self) -> tuple[SummaryInfo, ...]:
        """Return the summaries that policies made of the thread's older messages, oldest first."""
        return await self._engine.arun(notes.summaries(self._engine, self._ref))

    def audit(self) -> tuple[AuditEntry, ...]:
        """Return who did what to the thread by hand, in order; never a text."""
        return self._engine.run(notes.audit(self._engine, self._ref))

    async def aaudit(self) -> tuple[AuditEntry, ...]:
        """Return who did what to the thread by hand, in order; never a text."""
        return await self._engine.arun(notes.audit(self._engine, self._ref))

    def delete_messages(self, message_ids: Iterable[str], *, actor: str = "") -> CheckpointInfo:
        """Take messages out of the state, and so out of every view: one durable checkpoint and an audit entry.

        With a message that calls tools the results of its calls go too; a call whose result goes gets one that says so.
        The transcript keeps them. Pins on them are taken off. `actor` is who wanted it, for the audit.

        Raises MessageNotFound for an id that the transcript does not have, and then takes nothing out.
        """
        return self._engine.run(deleting.delete_messages(self._engine, self._ref, message_ids, actor))

    async def adelete_messages(self, message_ids: Iterable[str], *, actor: str = "") -> CheckpointInfo:
        """Take messages out of the state, and so out of every view: one durable checkpoint and an audit entry."""
        return await self._engine.arun(deleting.delete_messages(self._engine, self._ref, message_ids, actor))

    def repair(self, *, actor: str = "") -> CheckpointInfo | None:
        """Make the messages of the state valid for any provider: one durable checkpoint and an audit entry.

        The same as `threadkeep.context.repair` does to a view: calls without a result are closed, by the result
        that did finish where the thread has one; results without a call leave; ids that miss or repeat are mended.
        The transcript and earlier checkpoints keep everything. `actor` is who wanted it, for the audit. Returns
        None, and stores nothing, where all is valid.

        Raises ConfigurationError while the thread waits for a human and something is to be mended.
        """
        return self._engine.run(mending.repair_state(self._engine, self._ref, actor))

    async def arepair(self, *, actor: str = "") -> CheckpointInfo | None:
        """Make the messages of the state valid for any provider: one durable checkpoint and an audit entry."""
        return await self._engine.arun(mending.repair_state(self._engine, self._ref, actor))

    def delete(self) -> bool:
        """Remove the thread: no row of it stays. Returns False when it was not there."""
        return self._engine.run(flows.delete(self._engine, self._ref))

    async def adelete(self) -> bool:
        """Remove the thread: no row of it stays."""
        return await self._engine.arun(flows.delete(self._engine, self._ref))
