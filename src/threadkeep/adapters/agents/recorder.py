"""The recorder: a callback handler that gives every call to a provider its row in the ledger.

It is installed by a context variable for as long as `recording` lasts, so that it sees retries, fallbacks, structured
output's second tries and summaries alike: each is one call with one start and one end.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import warnings
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook

from threadkeep.backends.base import Work
from threadkeep.context import prices
from threadkeep.context.planning.plan import Reason
from threadkeep.engine import budgets, ledger
from threadkeep.engine.ledger import CallRequest, Sent
from threadkeep.errors import LedgerWarning
from threadkeep.ops.calls import CANCELLED, FAILED, FINISHED, PURPOSES, Span
from threadkeep.thread import Thread

_log = logging.getLogger(__name__)
_current: ContextVar[Recorder | None] = ContextVar("threadkeep_recorder", default=None)
# Every runnable looks at the variable itself, so children need not inherit the handler: they would have it twice.
register_configure_hook(_current, inheritable=False)

_OPTIONS = ("response_format", "tool_choice")
_STOPPED = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)


@dataclass(slots=True)
class _Started:
    """A call that has not ended."""

    at: int
    messages: list[BaseMessage]
    tools: list[Any]
    options: dict[str, Any]
    model: str | None
    provider: str | None


class Recorder(BaseCallbackHandler):
    """Records the calls made while it is installed; the innermost one that is installed counts a call.

    Use as a context manager, plain or `async`; calls that an exception left open when it ends are cancelled ones. A row
    is queued when its call ends, without waiting: it is stored with, or before, whatever the thread stores next.
    A storage that fails is logged, and a LedgerWarning is issued at the end; nothing is raised into the call.
    """

    run_inline = True

    def __init__(
        self,
        thread: Thread,
        *,
        purpose: str = "answer",
        run_id: str | None = None,
        source: Sequence[BaseMessage] = (),
        reasons: Sequence[object] = (),
        spans: Sequence[Span] | None = None,
        policy: str | None = None,
        reservation: int | None = None,
    ) -> None:
        self.ended: list[CallRequest] = []
        self._engine = thread._engine
        self._ref = thread._ref
        self._purpose = PURPOSES.index(purpose)
        self._run_id = run_id
        self._source = source
        self._reasons = reasons
        self._spans = spans
        self._policy = policy
        self._reservation = reservation
        self._open: dict[UUID, _Started] = {}
        self._works: list[Work] = []
        self._errors: list[BaseException] = []
        self._lock = threading.Lock()
        self._tokens: list[Token[Recorder | None]] = []

    # installing

    def __enter__(self) -> Recorder:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            _current.reset(self._tokens.pop())
        except ValueError:
            _log.debug("recording ended in another context than it began")
        if error is not None:
            with self._lock:
                left, self._open = self._open, {}
            for run_id, started in left.items():
                self._record(run_id, started, CANCELLED, error=type(error).__name__)
        self._settle()
        self._warn()

    async def __aenter__(self) -> Recorder:
        if not _PRICES.ready:
            # Reading the price data takes up to a second, once in a process.
            await asyncio.get_running_loop().run_in_executor(None, _PRICES.load)
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def _settle(self) -> None:
        if self._open:
            return  # a stream that is read on after this gives it back when it ends
        reservation, self._reservation = self._reservation, None
        if reservation is None:
            return
        # What a call took that was broken off, or reported nothing, nobody knows: what was set aside for it stays so.
        hold = any(call.status != FAILED and call.tokens is None for call in self.ended)
        try:
            self._works.append(self._engine.run(budgets.settle(self._engine, self._ref, reservation, hold)))
        except Exception as error:
            self._failed(error)

    def _warn(self) -> None:
        errors = [
            *self._errors,
            *(work.error for work in self._works if work.done and work.error is not None),
        ]
        self._errors, self._works = [], []
        if errors:
            warnings.warn(
                f"{len(errors)} of the model calls of thread {self._ref.thread_id!r} could not be recorded "
                f"({type(errors[0]).__name__}: {errors[0]}); its usage is incomplete",
                LedgerWarning,
                stacklevel=3,
            )

    # what LangChain calls

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what a chat model is sent."""
        self._begin(run_id, messages[0] if messages else [], metadata, kwargs)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note what a completion model is sent."""
        self._begin(run_id, [HumanMessage(prompt) for prompt in prompts], metadata, kwargs)

    def on_llm_end(
        self, response: LLMResult, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Record a call that was answered."""
        started = self._take(run_id)
        if started is not None:
            self._record(run_id, started, FINISHED, response)

    def on_llm_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        """Record a call that failed or was broken off; nobody reported what it took."""
        started = self._take(run_id)
        if started is not None:
            status = CANCELLED if isinstance(error, _STOPPED) else FAILED
            self._record(run_id, started, status, error=type(error).__name__)

    def _begin(
        self,
        run_id: UUID,
        messages: list[BaseMessage],
        metadata: Mapping[str, Any] | None,
        more: Mapping[str, Any],
    ) -> None:
        if _current.get() not in (None, self):
            return  # a recorder within this one counts it
        parameters: Mapping[str, Any] = more.get("invocation_params") or {}
        told: Mapping[str, Any] = metadata or {}
        tools = parameters.get("tools") or parameters.get("functions") or []
        with self._lock:
            self._open[run_id] = _Started(
                at=self._engine.clock(),
                messages=list(messages),
                tools=list(tools) if isinstance(tools, (list, tuple)) else [tools],
                options={name: parameters[name] for name in _OPTIONS if parameters.get(name) is not None},
                model=_text(told.get("ls_model_name"), parameters.get("model"), parameters.get("model_name")),
                provider=_text(told.get("ls_provider")),
            )

    def _take(self, run_id: UUID) -> _Started | None:
        with self._lock:
            return self._open.pop(run_id, None)

    def _record(
        self,
        run_id: UUID,
        started: _Started,
        status: int,
        response: LLMResult | None = None,
        error: str | None = None,
    ) -> None:
        try:
            request = self._request(run_id, started, status, response, error)
            self.ended.append(request)
            work, _ = self._engine.run(ledger.queue(self._engine, self._ref, request))
            self._works.append(work)
        except Exception as problem:
            self._failed(problem)

    def _failed(self, problem: BaseException) -> None:
        _log.error("a model call of thread %r was not recorded: %s", self._ref.thread_id, problem)
        self._errors.append(problem)

    def _request(
        self,
        run_id: UUID,
        started: _Started,
        status: int,
        response: LLMResult | None,
        error: str | None,
    ) -> CallRequest:
        message = _answer(response)
        told: Mapping[str, Any] = getattr(message, "response_metadata", None) or {}
        model = _text(told.get("model_name"), told.get("model"), started.model)
        tokens = prices.usage_of(response) if response is not None else None
        begun = datetime.fromtimestamp(started.at / 1e6, UTC)
        provider, price = _priced(model, (started.provider, _text(told.get("model_provider"))), tokens, begun)
        reservation = None
        if tokens is not None and not tokens.from_cache:
            reservation, self._reservation = self._reservation, None
        return CallRequest(
            call_id=str(run_id),
            run_id=self._run_id,
            message_id=getattr(message, "id", None),
            started=started.at,
            ended=self._engine.clock(),
            status=status,
            purpose=self._purpose,
            model=model,
            provider=provider,
            tokens=tokens,
            price=price,
            error=error,
            sent=Sent(
                messages=started.messages,
                tools=started.tools,
                options=started.options,
                source=self._source,
                spans=spans_of(self._reasons) if self._spans is None else self._spans,
                policy=self._policy,
            ),
            reservation=reservation,
        )


class _Prices:
    """Whether the price data are at hand."""

    ready = False

    def load(self) -> None:
        """Look a price up, which reads the data."""
        prices.price("gpt-5", "openai", prices.Tokens(input=1, output=1))
        self.ready = True


_PRICES = _Prices()


def recording(
    thread: Thread,
    *,
    purpose: str = "answer",
    run_id: str | None = None,
    source: Sequence[BaseMessage] = (),
    reasons: Sequence[object] = (),
    spans: Sequence[Span] | None = None,
    policy: str | None = None,
    reservation: int | None = None,
) -> Recorder:
    """Record every model call made within `with` (or `async with`) in a thread's ledger.

    Args:
        thread: whose calls they are; it need not exist yet.
        purpose: `answer`, `summary` or `extraction`.
        run_id: the agent's run they belong to, for budgets by run.
        source: the state's messages that a policy chose from.
        reasons: why each message of `source` was sent or not, one for each, as `View.reasons` has them; their texts
            are kept.
        spans: the same as ranges (start, end, text), as `View.spans` has them, in the place of `reasons`.
        policy: the policy's name, as people read it.
        reservation: what `thread` has set aside for the call; given back when the call's row is stored.
    """
    return Recorder(
        thread,
        purpose=purpose,
        run_id=run_id,
        source=source,
        reasons=reasons,
        spans=spans,
        policy=policy,
        reservation=reservation,
    )


def spans_of(reasons: Sequence[object]) -> list[Span]:
    """Return reasons, one for each message, as spans of equal ones."""
    spans: list[Span] = []
    before: object = None
    for n, reason in enumerate(reasons):
        same = _said(reason)
        if spans and same == before:
            first, _, text = spans[-1]
            spans[-1] = first, n + 1, text
        else:
            spans.append((n, n + 1, str(reason)))
        before = same
    return spans


def _said(reason: object) -> object:
    """Return what a reason says apart from its message, without making a text of each of thousands."""
    if isinstance(reason, Reason):
        return reason.what, reason.policy, reason.generation, reason.reference
    return str(reason)


def _text(*values: Any) -> str | None:
    return next((value for value in values if isinstance(value, str) and value), None)


def _priced(
    model: str | None, providers: Sequence[str | None], tokens: prices.Tokens | None, at: datetime
) -> tuple[str | None, prices.Price | None]:
    """Return the first provider that lists a price for a call, and the price; else the first that is named."""
    named = [provider for provider in providers if provider is not None]
    for provider in named:
        price = prices.price(model, provider, tokens, at)
        if price is not None:
            return provider, price
    return (named[0], None) if named else (None, prices.price(model, None, tokens, at))


def _answer(response: LLMResult | None) -> Any:
    for generations in response.generations if response is not None else ():
        for generation in generations:
            message = getattr(generation, "message", None)
            if message is not None:
                return message
    return None
