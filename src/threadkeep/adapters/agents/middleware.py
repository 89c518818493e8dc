"""ContextMiddleware: an agent's model calls are given a policy's view; its state and its record stay whole."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest
from langchain.agents.middleware.types import PrivateStateAttr

from threadkeep.adapters.agents.calling import Calling, Settings
from threadkeep.adapters.agents.counting import Counters
from threadkeep.adapters.agents.order import misplaced, within
from threadkeep.adapters.agents.place import Place, place_of
from threadkeep.adapters.agents.recall import Recall
from threadkeep.adapters.agents.sessions import Sessions
from threadkeep.adapters.agents.spending import Spending
from threadkeep.adapters.agents.steps import Flow, arun, run
from threadkeep.adapters.langgraph import Checkpointer
from threadkeep.context.budget import Budget
from threadkeep.context.planning.limits import check_count
from threadkeep.context.policies.policy import Policy
from threadkeep.errors import ConfigurationError, MiddlewareOrderWarning
from threadkeep.memory import Memory

__all__ = ["ContextMiddleware"]

RECALL: Final = 1_500
"""Tokens that a recall tool returns at most."""

_PROVIDERS: Final = ("generic", "openai", "openai-responses", "anthropic", "google")


class ContextMiddleware(AgentMiddleware[Any, Any, Any]):
    """Give each model call of an agent the view that a policy makes of its messages.

    In `middleware=[...]` it stands after retry, fallback and router, and before a provider's prompt caching.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        memory: Memory | None = None,
        model: Any = None,
        mode: Literal["view", "rewrite"] = "view",
        name: str = "context",
        budget: Budget | None = None,
        context_window: int | None = None,
        provider: str | None = None,
        recall_tokens: int = RECALL,
    ) -> None:
        """Make the middleware.

        Args:
            policy: What goes to the model.
            memory: Where summaries, pins, usage and the like are kept. Not needed where the agent's checkpointer is
                Threadkeep's; without either they live in this process only.
            model: The chat model (or its name) that writes summaries for a policy that has none of its own. Without
                one a policy makes do with extracts.
            mode: `view` leaves the state's messages where they are; `rewrite` takes those out of the state that the
                view has no place for any more. The thread's record keeps them.
            name: Part of the name of the private channel that holds how far the policy has come.
            budget: What the calls of a run or a thread may take.
            context_window: Tokens of the model's context window, where neither LangChain nor the price data knows it.
            provider: Whose rules requests obey: `generic`, `openai`, `openai-responses`, `anthropic` or `google`. By
                default the model's.
            recall_tokens: Tokens that a recall tool returns at most.

        Raises:
            ConfigurationError: An option cannot be used, or `rewrite` was asked for without a memory.
        """
        super().__init__()
        _check(policy, memory, mode, name, provider)
        if context_window is not None:
            check_count(context_window, "context_window", least=1)
        check_count(recall_tokens, "recall_tokens", least=64)
        self.policy = policy
        self.mode = mode
        self.channel = f"_threadkeep_{name}"
        self.state_schema = _schema(self.channel)
        self._memory = memory
        self._sessions = Sessions()
        self._counters = Counters()
        self._ordered = False
        self._settings = Settings(
            policy=policy,
            channel=self.channel,
            rewrite=mode == "rewrite",
            model=model,
            spending=Spending(budget),
            context_window=context_window,
            provider=provider,
        )
        recall = Recall(recall_tokens, mode == "rewrite", self._place)
        self.tools = recall.tools() if policy.recalls else []

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Call the model with the view, and store how far the policy has come together with the answer."""
        return run(self._calling(request, handler))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Call the model with the view, and store how far the policy has come together with the answer."""
        return await arun(self._calling(request, handler))

    def _calling(self, request: ModelRequest[Any], handler: Callable[[Any], Any]) -> Flow[Any]:
        self._check_order(handler)
        place = place_of(request.runtime, self._memory, request.messages)
        if self.mode == "rewrite":
            self._check_record(place)
        session = self._sessions.of(place.key)
        return Calling(self._settings, request, handler, place, session, self._counters).call()

    def _place(self, runtime: Any) -> Place:
        return place_of(runtime, self._memory)

    def _check_order(self, handler: Any) -> None:
        """Warn, once, of middlewares that stand within this one, and refuse a second one of its kind."""
        if self._ordered:
            return
        for other in within(handler):
            if isinstance(other, ContextMiddleware):
                raise ConfigurationError(
                    f"the agent has two context middlewares, {self.channel!r} and {other.channel!r}; give it one, with "
                    "their policies composed: ContextMiddleware(first | second)"
                )
        self._ordered = True
        for other in misplaced(handler):
            warnings.warn(
                f"{other.name} stands after {self.name} in middleware=[...], so that it changes or repeats calls that "
                f"{self.name} has planned and counted; put {other.name} before {self.name}, which comes last but for "
                "prompt caching",
                MiddlewareOrderWarning,
                stacklevel=2,
            )

    def _check_record(self, place: Place) -> None:
        """Refuse to take messages out of a state that nothing of ours has stored."""
        if not isinstance(place.saver, Checkpointer) or place.thread is None:
            raise ConfigurationError(
                f"mode='rewrite' takes messages out of the state, and the checkpointer of this run "
                f"({type(place.saver).__name__}) is not Threadkeep's, so that nothing would keep them; compile the "
                "agent with memory.checkpointer and run it with a thread_id, or use mode='view'"
            )


def _check(policy: Any, memory: Any, mode: Any, name: Any, provider: Any) -> None:
    if not isinstance(policy, Policy):
        raise ConfigurationError(
            f"ContextMiddleware was given {policy!r} as its policy; give one, such as SummaryBuffer()"
        )
    if memory is not None and not isinstance(memory, Memory):
        raise ConfigurationError(f"memory={memory!r} is no memory; pass what threadkeep.open returned")
    if mode not in ("view", "rewrite"):
        raise ConfigurationError(f"mode={mode!r} cannot be used; pass 'view' or 'rewrite'")
    if mode == "rewrite" and memory is None:
        raise ConfigurationError(
            "mode='rewrite' takes messages out of the agent's state, and without a memory nothing would keep their "
            "summary or give them to the recall tools; pass memory=threadkeep.open(...), or use mode='view'"
        )
    if not isinstance(name, str) or not name.isidentifier():
        raise ConfigurationError(f"name={name!r} cannot be part of a channel's name; pass an identifier")
    if provider is not None and provider not in _PROVIDERS:
        raise ConfigurationError(f"provider={provider!r} is not known; pass one of {', '.join(_PROVIDERS)}")


@lru_cache(maxsize=64)
def _schema(channel: str) -> Any:
    """Return the state's schema with the private channel; the same for the same name, since LangChain keeps it."""
    private = NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr]]
    fields = {**AgentState.__annotations__, channel: private}
    return TypedDict(f"ContextState{channel}", fields)  # type: ignore[operator]
