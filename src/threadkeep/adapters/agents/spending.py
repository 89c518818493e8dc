"""What a model call may take: set aside before it, by a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from threadkeep.adapters.agents.place import Place
from threadkeep.adapters.agents.steps import Flow, Step
from threadkeep.context import prices
from threadkeep.context.budget import Budget
from threadkeep.context.providers import model_name, unwrap
from threadkeep.errors import ConfigurationError

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class Spending:
    """A budget, or none."""

    budget: Budget | None = None

    def reserve(self, place: Place, model: Any, tokens: int, answer: int | None) -> Flow[int | None]:
        """Set aside what a call may take, and return the reservation; None without a budget.

        Args:
            place: Where the call takes place.
            model: Whom it asks.
            tokens: The upper estimate of its input.
            answer: Tokens that the answer may have, None where nothing says.

        Raises BudgetExceeded, UnknownPrice, and ConfigurationError where there is no thread to keep accounts of.
        """
        budget = self.budget
        if budget is None:
            return None
        if place.notes is None:
            raise ConfigurationError(
                "ContextMiddleware was given a budget, and this run has no thread whose calls are counted; compile the "
                "agent with a Threadkeep checkpointer (or pass memory=), and run it with a thread_id"
            )
        room = budget.reserve if answer is None else answer
        cost = prices.price(model_name(model), _provider(model), prices.Tokens(input=tokens, output=room))
        reserved: int = yield Step.of(
            place.notes,
            "reserve",
            budget,
            tokens + room,
            None if cost is None else cost.amount,
            run_id=place.run_id,
            model=model_name(model),
        )
        return reserved


def answer_limit(model: Any, settings: Mapping[str, Any]) -> int | None:
    """Return how many tokens a model's answer may have, None where neither the model nor the call's settings say."""
    bare = unwrap(model)
    for source in (settings.get, lambda name: getattr(bare, name, None)):
        for name in _LIMITS:
            value = source(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None


def _provider(model: Any) -> str | None:
    params = getattr(unwrap(model), "_get_ls_params", None)
    try:
        found = params().get("ls_provider") if callable(params) else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return found if isinstance(found, str) else None
