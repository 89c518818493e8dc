"""What a model call used, by class of token, and what that costs.

Prices are those that ship with the installed `genai-prices`; nothing here goes to the network. A price is a decimal
number of US dollars with the version of the data it came from, or None where the data knows none: a model without a
listed price is not free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from langchain_core.messages import AIMessage

_PROVIDERS: Final = {
    "google_genai": "google",
    "google_vertexai": "google",
    "google_anthropic_vertex": "google",
    "vertexai": "google",
    "amazon_bedrock": "aws",
    "amazon_bedrock_converse": "aws",
    "bedrock": "aws",
    "bedrock_converse": "aws",
    "azure_openai": "azure",
    "azure_ai": "azure",
    "openai-codex": "openai",
    "mistralai": "mistral",
    "xai": "x-ai",
    "anthropic_bedrock": "aws",
}
"""LangChain's names of providers where genai-prices has another one."""
_TIERS: Final = ("priority", "flex")
"""The service tiers of OpenAI that langchain-openai writes into the keys of a usage's details."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """Tokens of one model call as its provider reported them; None where it reported nothing.

    `input` includes `cache_read` and `cache_write`, `output` includes `reasoning`; `cache_write_1h` is the part of
    `cache_write` that is kept for an hour. `tier` is the service tier. `from_cache` says that LangChain's own cache of
    answers gave the answer and no provider was asked: the numbers are those of the first call.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    cache_write_1h: int | None = None
    tier: str | None = None
    from_cache: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """What a call costs in US dollars, by the named version of the price data."""

    amount: Decimal
    version: str
    provider: str
    model: str


def price(
    model: str | None, provider: str | None, usage: Tokens | None, at: datetime | None = None
) -> Price | None:
    """Return what a call costs, or None where its price or its tokens are unknown.

    `provider` is LangChain's name of it (`ls_provider`) or that of genai-prices; None looks for the model's name alone.
    `at` is when the call was made (a time without a zone is UTC; None is now), since prices change, also by the hour.
    A call answered from LangChain's cache costs nothing.
    """
    if not model or usage is None or usage.input is None or usage.output is None:
        return None
    found = _find(_reference(model), _provider_id(provider))
    if found is None:
        return None
    owner, info = found
    if usage.from_cache:
        amount = Decimal(0)
    else:
        counted = _priced(info, owner, usage, at)
        if counted is None:
            return None
        amount = counted
    return Price(amount=amount, version=price_data_version(), provider=owner.id, model=info.id)


@cache
def price_data_version() -> str:
    """Return the version of the price data, as in `genai-prices 0.2.3`."""
    return f"genai-prices {version('genai-prices')}"


def window_by_name(model: str | None, provider: str | None = None) -> int | None:
    """Return a model's context window in tokens by its name, or None where the price data has none."""
    found = _find(_reference(model), _provider_id(provider)) if model else None
    window = found[1].context_window if found else None
    return window if isinstance(window, int) and window > 0 else None


def usage_of(source: Any) -> Tokens | None:
    """Return the tokens that a provider reported, or None where it reported none.

    `source` is an AI message, an `LLMResult`, or a mapping with a usage in the form of LangChain, OpenAI or Anthropic.
    A report that is all zero is none: some servers fill in zeros while they stream.
    """
    if isinstance(source, AIMessage):
        metadata = source.response_metadata
        return (
            _tokens(source.usage_metadata)
            or _tokens(metadata.get("token_usage"))
            or _tokens(metadata.get("usage"))
        )
    if isinstance(source, Mapping):
        return _tokens(source) or _tokens(source.get("token_usage")) or _tokens(source.get("usage"))
    for generations in getattr(source, "generations", None) or ():
        for generation in generations if isinstance(generations, list) else (generations,):
            message = getattr(generation, "message", None)
            if message is not None and (found := usage_of(message)) is not None:
                return found
    output = getattr(source, "llm_output", None)
    return usage_of(output) if isinstance(output, Mapping) else None


def _tokens(usage: Any) -> Tokens | None:
    if not isinstance(usage, Mapping):
        return None
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        return _from_openai(usage)
    if "input_tokens" not in usage and "output_tokens" not in usage:
        return None
    if "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        return _from_anthropic(usage)
    return _from_langchain(usage)


def _from_langchain(usage: Mapping[str, Any]) -> Tokens | None:
    inputs = usage.get("input_token_details") or usage.get("input_tokens_details") or {}
    outputs = usage.get("output_token_details") or usage.get("output_tokens_details") or {}
    lasting = _whole(inputs.get("ephemeral_1h_input_tokens"))
    by_lifetime = _sum(_whole(inputs.get("ephemeral_5m_input_tokens")), lasting)
    written = _tiered(inputs, "cache_creation")
    return _reported(
        input=_whole(usage.get("input_tokens")),
        output=_whole(usage.get("output_tokens")),
        cache_read=_first(_tiered(inputs, "cache_read"), _whole(inputs.get("cached_tokens"))),
        cache_write=written or _first(by_lifetime, written),
        reasoning=_first(_tiered(outputs, "reasoning"), _whole(outputs.get("reasoning_tokens"))),
        cache_write_1h=lasting,
        tier=next((tier for tier in _TIERS if tier in inputs or tier in outputs), None),
        from_cache=usage.get("total_cost") == 0,
    )


def _from_openai(usage: Mapping[str, Any]) -> Tokens | None:
    inputs = usage.get("prompt_tokens_details") or {}
    outputs = usage.get("completion_tokens_details") or {}
    return _reported(
        input=_whole(usage.get("prompt_tokens")),
        output=_whole(usage.get("completion_tokens")),
        cache_read=_first(_whole(inputs.get("cached_tokens")), _whole(usage.get("prompt_cache_hit_tokens"))),
        cache_write=_whole(inputs.get("cache_write_tokens")),
        reasoning=_whole(outputs.get("reasoning_tokens")),
    )


def _from_anthropic(usage: Mapping[str, Any]) -> Tokens | None:
    """Read Anthropic's own form, where `input_tokens` leaves out what was read from or written to the cache."""
    lifetimes = usage.get("cache_creation") or {}
    lasting = _whole(lifetimes.get("ephemeral_1h_input_tokens"))
    read = _whole(usage.get("cache_read_input_tokens"))
    by_lifetime = _sum(_whole(lifetimes.get("ephemeral_5m_input_tokens")), lasting)
    written = _whole(usage.get("cache_creation_input_tokens")) or by_lifetime
    return _reported(
        input=_sum(_whole(usage.get("input_tokens")), read, written),
        output=_whole(usage.get("output_tokens")),
        cache_read=read,
        cache_write=written,
        cache_write_1h=lasting,
    )


def _reported(**fields: Any) -> Tokens | None:
    found = Tokens(**fields)
    return found if found.input or found.output else None


def _tiered(details: Mapping[str, Any], key: str) -> int | None:
    """Return a detail under its plain key or one that begins with a service tier, as in `priority_cache_read`."""
    names = (key, *(f"{tier}_{key}" for tier in _TIERS))
    return _sum(*(_whole(details.get(name)) for name in names))


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _sum(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _reference(model: str) -> str:
    """Return a model's name as the price data knows it: Gemini's come as `models/gemini-…`."""
    return model.strip().removeprefix("models/")


def _provider_id(provider: str | None) -> str | None:
    return None if provider is None else _PROVIDERS.get(provider.lower(), provider.lower())


@cache
def _snapshot() -> Any:
    """Return the data that ships with the package, whatever the application's own updates put in its place."""
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    return DataSnapshot(providers=providers, from_auto_update=False)


def _find(model: str, provider: str | None) -> tuple[Any, Any] | None:
    try:
        found: tuple[Any, Any] = _snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    return found


def _priced(info: Any, owner: Any, usage: Tokens, at: datetime | None) -> Decimal | None:
    """Return the amount; None where nothing is listed, or the classes of the report contradict each other."""
    from genai_prices import Usage

    counts = {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "cache_write_1h_tokens": usage.cache_write_1h,
        "output_reasoning_tokens": usage.reasoning,
    }
    moment = at or datetime.now(UTC)
    # Older releases of the data know no variants, and no argument that chooses one.
    variant = usage.tier is not None and bool(getattr(info, "price_variants", None))
    options = {"price_context": {"service_tier": usage.tier}} if variant else {}
    listed = info.get_prices(moment, **options)
    if not any(value is not None for value in vars(listed).values()):
        return None
    try:
        counted = info.calc_price(
            Usage(**{name: count for name, count in counts.items() if count}),
            owner,
            genai_request_timestamp=moment,
            **options,
        )
    except (ValueError, LookupError):
        return None
    amount: Decimal = counted.total_price
    return amount
