"""What a simulation found: for each policy what every call would have taken, and what stays within reach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from threadkeep.context.simulation.cache_models import EFFECTIVE, CacheModel, to_json

HELD = (
    "Answers are held fixed: each policy is asked what it would have sent before the answers that were really given. "
    "What the model would have said to another view, and which tools it would have called, is not simulated."
)
"""What every simulation takes for granted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedCall:
    """One model call under one policy; tokens as the provider would report them.

    Args:
        turn: Number of the turn, from 1.
        input_tokens: Of the view with system prompt and tools.
        output_tokens: Of the recorded answer.
        cached_tokens: Of the input, those that the provider's cache serves.
        written_tokens: Of the input, those that are written to the cache at a price of their own.
        messages: Messages that are sent.
        reduced: Whether the policy reduced in this call, so that the prompt's beginning changed.
        summaries: Calls of the summarizer before it.
        summary_input_tokens: Their input.
        summary_output_tokens: Their output.
        price: All of it in US dollars, None where there is no price.
        reported: The input tokens that were really reported for this call, under the policy that ran.
    """

    turn: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    written_tokens: int
    messages: int
    reduced: bool
    summaries: int = 0
    summary_input_tokens: int = 0
    summary_output_tokens: int = 0
    price: Decimal | None = None
    reported: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """Where messages, or facts, are at the last call.

    Args:
        total: How many there are.
        visible: In the view.
        reachable: Not in the view, but the model can read them by the recall tools.
        summarised: Neither, but a summary stands for them, which may or may not mention them.
        lost: The model has no way to them.
    """

    total: int = 0
    visible: int = 0
    reachable: int = 0
    summarised: int = 0
    lost: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedPolicy:
    """What one policy takes and keeps over the whole conversation.

    Args:
        policy: The policy as text, as `parse_policy` reads it.
        calls: Its model calls, in order, one for each recorded answer.
        messages: Where the conversation's messages are at the last call.
        facts: Where the facts in them are: dates, times, amounts, identifiers, addresses, names.
    """

    policy: str
    calls: tuple[SimulatedCall, ...]
    messages: Reach = field(default_factory=Reach)
    facts: Reach = field(default_factory=Reach)

    @property
    def model_calls(self) -> int:
        """Calls of the model and of the summarizer."""
        return len(self.calls) + self.summaries

    @property
    def summaries(self) -> int:
        """Calls of the summarizer."""
        return sum(call.summaries for call in self.calls)

    @property
    def input_tokens(self) -> int:
        """Input tokens of the model's calls, those of the summarizer apart."""
        return sum(call.input_tokens for call in self.calls)

    @property
    def output_tokens(self) -> int:
        """Output tokens of the recorded answers."""
        return sum(call.output_tokens for call in self.calls)

    @property
    def summary_input_tokens(self) -> int:
        """Input tokens of the summarizer's calls."""
        return sum(call.summary_input_tokens for call in self.calls)

    @property
    def summary_output_tokens(self) -> int:
        """Output tokens of the summarizer's calls."""
        return sum(call.summary_output_tokens for call in self.calls)

    @property
    def total_input_tokens(self) -> int:
        """Input tokens of all calls, the summarizer's included."""
        return self.input_tokens + self.summary_input_tokens

    @property
    def input_per_turn(self) -> tuple[int, ...]:
        """Input tokens of each turn, the summarizer's included."""
        return per_turn((call.turn, call.input_tokens + call.summary_input_tokens) for call in self.calls)

    @property
    def peak(self) -> int:
        """Input tokens of the largest call."""
        return max((call.input_tokens for call in self.calls), default=0)

    @property
    def cached_tokens(self) -> int:
        """Input tokens that the provider's cache serves."""
        return sum(call.cached_tokens for call in self.calls)

    @property
    def cached_share(self) -> float:
        """The cached part of the model's input tokens, from 0 to 1."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else 0.0

    @property
    def effective_tokens(self) -> int:
        """Input tokens of all calls, a cached one counting a tenth."""
        return round(self.total_input_tokens - (1 - EFFECTIVE) * self.cached_tokens)

    @property
    def reductions(self) -> int:
        """In how many calls the policy reduced."""
        return sum(call.reduced for call in self.calls)

    @property
    def price(self) -> Decimal | None:
        """All calls in US dollars, the answers included; None where one of them has no known price."""
        prices = [call.price for call in self.calls]
        known = [price for price in prices if price is not None]
        return sum(known, Decimal(0)) if known and len(known) == len(prices) else None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON types; money in US dollars as text."""
        names = (
            "model_calls", "summaries", "reductions", "input_tokens", "output_tokens", "summary_input_tokens",
            "summary_output_tokens", "total_input_tokens", "peak", "cached_tokens", "cached_share", "effective_tokens",
        )  # fmt: skip
        return {
            "policy": self.policy,
            **{name: getattr(self, name) for name in names},
            "price": _text(self.price),
            "messages": _reach(self.messages),
            "facts": _reach(self.facts),
            "input_per_turn": list(self.input_per_turn),
            "calls": [_call(call) for call in self.calls],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """What was really reported, for the calls that are simulated.

    Args:
        calls: How many of the calls have a report.
        input_tokens: Their input tokens, cached ones included.
        output_tokens: Their output tokens.
        cached_tokens: Those of the input that the provider read from its cache.
        peak: Input tokens of the largest.
        input_per_turn: Input tokens of each turn.
        price: What the calls cost in US dollars, None where that is not known of all.
        policies: Names of the policies that were recorded with them.
    """

    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    peak: int
    input_per_turn: tuple[int, ...]
    price: Decimal | None = None
    policies: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON types."""
        names = ("calls", "input_tokens", "output_tokens", "cached_tokens", "peak")
        return {
            **{name: getattr(self, name) for name in names},
            "price": _text(self.price),
            "policies": list(self.policies),
            "input_per_turn": list(self.input_per_turn),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Simulation:
    """What each policy would have taken over one conversation; `policies` has them in the order given.

    Args:
        conversation: The thread's id, or the file's name.
        model: The model whose tokens and prices are meant, None where nobody knows.
        provider: Whose rules and prices these are.
        turns: Turns of the conversation that have a call.
        calls: Calls of the model.
        policies: One result for each policy.
        recorded: What was really reported; None where nothing was.
        cache: How the provider's cache is taken to work.
        inferred: What was not recorded and is assumed, by name: a sentence each.
        remarks: What else to know: what is held fixed, which recorded calls are left out.
        price_version: The version of the price data, None without prices.
    """

    conversation: str
    model: str | None
    provider: str
    turns: int
    calls: int
    policies: tuple[SimulatedPolicy, ...]
    recorded: Recorded | None
    cache: CacheModel
    inferred: Mapping[str, str]
    remarks: Sequence[str] = (HELD,)
    price_version: str | None = None

    def __getitem__(self, policy: str) -> SimulatedPolicy:
        """Return the result of a policy by its text."""
        for one in self.policies:
            if one.policy == policy:
                return one
        raise KeyError(policy)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON types; docs/simulate.md lists the keys."""
        return {
            "conversation": self.conversation,
            "model": self.model,
            "provider": self.provider,
            "turns": self.turns,
            "calls": self.calls,
            "recorded": None if self.recorded is None else self.recorded.to_json(),
            "policies": [policy.to_json() for policy in self.policies],
            "cache": to_json(self.cache),
            "inferred": dict(self.inferred),
            "remarks": list(self.remarks),
            "price_version": self.price_version,
        }


def per_turn(amounts: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return sums by turn, from pairs of a turn's number and an amount."""
    sums: dict[int, int] = {}
    for turn, amount in amounts:
        sums[turn] = sums.get(turn, 0) + amount
    return tuple(sums.values())


def _reach(found: Reach) -> dict[str, int]:
    return {name: getattr(found, name) for name in ("total", "visible", "reachable", "summarised", "lost")}


def _call(call: SimulatedCall) -> dict[str, Any]:
    names = (
        "turn", "input_tokens", "output_tokens", "cached_tokens", "written_tokens", "messages", "reduced",
        "summaries", "summary_input_tokens", "summary_output_tokens", "reported",
    )  # fmt: skip
    return {**{name: getattr(call, name) for name in names}, "price": _text(call.price)}


def _text(price: Decimal | None) -> str | None:
    return None if price is None else format(price, "f")
