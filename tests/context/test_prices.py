"""Usage as the packages report it, and what it costs by the price data that is installed."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from threadkeep.context.prices import Tokens, price, price_data_version, usage_of, window_by_name

WHEN = datetime(2026, 9, 1, 12, tzinfo=UTC)


def cost(model: str, provider: str | None, **tokens: int) -> Decimal:
    found = price(model, provider, Tokens(**tokens), WHEN)  # type: ignore[arg-type]
    assert found is not None
    return found.amount


def reported(**usage: object) -> AIMessage:
    return AIMessage("hi", usage_metadata={"total_tokens": 0, **usage})  # type: ignore[arg-type, typeddict-item]


def test_a_price_is_a_decimal_with_the_data_it_came_from() -> None:
    found = price("gpt-4o-mini", "openai", Tokens(input=1_000_000, output=1_000_000), WHEN)
    assert found is not None
    assert (found.amount, found.provider, found.model) == (Decimal("0.75"), "openai", "gpt-4o-mini")
    assert found.version == price_data_version()
    assert found.version.startswith("genai-prices ")


def test_cached_tokens_are_part_of_the_input_and_cost_less() -> None:
    plain = cost("gpt-4o-mini", "openai", input=1_000_000, output=0)
    cached = cost("gpt-4o-mini", "openai", input=1_000_000, output=0, cache_read=1_000_000)
    assert plain == Decimal("0.15")
    assert cached == Decimal("0.075")


def test_writing_a_cache_for_an_hour_costs_more_than_for_minutes() -> None:
    model, provider = "claude-sonnet-4-5", "anthropic"
    short = cost(model, provider, input=100_000, output=0, cache_write=100_000)
    long = cost(model, provider, input=100_000, output=0, cache_write=100_000, cache_write_1h=100_000)
    assert (short, long) == (Decimal("0.375"), Decimal("0.6"))


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("models/gemini-2.5-flash", "google_genai"),
        ("gemini-2.5-flash", "google"),
        ("gpt-4o", "azure"),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon_bedrock"),
        ("gpt-4o-mini", None),
    ],
)
def test_names_that_langchain_uses_are_found(model: str, provider: str | None) -> None:
    assert cost(model, provider, input=1000, output=1000) > 0


@pytest.mark.parametrize(
    ("model", "provider", "usage"),
    [
        ("no-such-model", "openai", Tokens(input=1, output=1)),
        ("llama3", "ollama", Tokens(input=1, output=1)),
        ("gpt-4o", "threadkeep", Tokens(input=1, output=1)),
        (None, "openai", Tokens(input=1, output=1)),
        ("gpt-4o", "openai", Tokens(input=None, output=1)),
        ("gpt-4o", "openai", Tokens(input=1, output=None)),
        ("gpt-4o", "openai", Tokens(input=10, output=1, cache_read=20)),
        ("gpt-4o", "openai", None),
    ],
)
def test_what_is_unknown_has_no_price(model: str | None, provider: str, usage: Tokens | None) -> None:
    assert price(model, provider, usage, WHEN) is None


def test_a_model_listed_without_prices_is_not_free() -> None:
    from genai_prices.data import providers

    def unpriced(prices: object) -> bool:
        one = prices[0].prices if isinstance(prices, list) else prices
        return not any(value is not None for value in vars(one).values())

    names = [(m.id, p.id) for p in providers for m in p.models if unpriced(m.prices)]
    assert names, "the data lists no model without prices any more: this test proves nothing"
    for model, provider in names[:20]:
        assert price(model, provider, Tokens(input=1000, output=1000), WHEN) is None


def test_the_time_of_the_call_decides_where_prices_change() -> None:
    use = Tokens(input=1_000_000, output=1_000_000)
    from genai_prices.data import providers
    from genai_prices.types import StartDateConstraint

    for provider in providers:
        for model in provider.models:
            dated = [p for p in model.prices if isinstance(p.constraint, StartDateConstraint)] if isinstance(
                model.prices, list
            ) else []  # fmt: skip
            if not dated:
                continue
            day = dated[-1].constraint.start_date
            before = price(model.id, provider.id, use, datetime(day.year - 3, 1, 1, tzinfo=UTC))
            after = price(model.id, provider.id, use, datetime(day.year + 3, 1, 1, tzinfo=UTC))
            if before is not None and after is not None and before.amount != after.amount:
                return
    pytest.fail("no model of the data changed its price")


def test_a_flex_call_costs_what_flex_costs() -> None:
    from genai_prices.data import providers

    openai = next(provider for provider in providers if provider.id == "openai")
    flexible = [
        m.id for m in openai.models if any(v.when == {"service_tier": "flex"} for v in m.price_variants or ())
    ]
    for model in flexible:
        plain, flex = (
            price(model, "openai", Tokens(input=1000, output=0, tier=t), WHEN) for t in (None, "flex")
        )
        if plain is not None and flex is not None and flex.amount < plain.amount:
            return
    pytest.fail(f"none of {flexible} is cheaper")


def test_usage_of_openai() -> None:
    message = reported(
        input_tokens=100,
        output_tokens=20,
        input_token_details={"cache_read": 64},
        output_token_details={"reasoning": 10},
    )
    assert usage_of(message) == Tokens(input=100, output=20, cache_read=64, reasoning=10)


def test_usage_of_openai_with_a_service_tier() -> None:
    message = reported(
        input_tokens=100,
        output_tokens=20,
        input_token_details={"flex_cache_read": 64, "flex": 36},
        output_token_details={"flex_reasoning": 5, "flex": 15},
    )
    assert usage_of(message) == Tokens(input=100, output=20, cache_read=64, reasoning=5, tier="flex")


def test_usage_of_anthropic_with_lifetimes() -> None:
    message = reported(
        input_tokens=1100,
        output_tokens=20,
        input_token_details={
            "cache_read": 0,
            "cache_creation": 0,
            "ephemeral_5m_input_tokens": 300,
            "ephemeral_1h_input_tokens": 700,
        },
    )
    assert usage_of(message) == Tokens(
        input=1100, output=20, cache_read=0, cache_write=1000, cache_write_1h=700
    )


def test_usage_of_an_answer_from_langchains_cache_is_marked_and_free() -> None:
    usage = usage_of(reported(input_tokens=100, output_tokens=20, total_cost=0))
    assert usage == Tokens(input=100, output=20, from_cache=True)
    found = price("gpt-4o", "openai", usage, WHEN)
    assert found is not None and found.amount == 0


def test_usage_of_a_result_is_its_messages_or_what_the_provider_said_beside_it() -> None:
    message = reported(input_tokens=7, output_tokens=3)
    with_message = LLMResult(generations=[[ChatGeneration(message=message)]])
    beside = LLMResult(
        generations=[[ChatGeneration(message=AIMessage("hi"))]],
        llm_output={
            "token_usage": {
                "prompt_tokens": 9,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 2},
            }
        },
    )
    assert usage_of(with_message) == Tokens(input=7, output=3)
    assert usage_of(beside) == Tokens(input=9, output=4, cache_read=2)


def test_anthropics_own_form_leaves_the_cache_out_of_the_input() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 5,
        "output_tokens": 2,
    }
    assert usage_of(usage) == Tokens(input=45, output=2, cache_read=30, cache_write=5)


@pytest.mark.parametrize(
    "source",
    [
        AIMessage("hi"),
        reported(input_tokens=0, output_tokens=0),
        {},
        {"input_tokens": -3, "output_tokens": -1},
        {"input_tokens": "12", "output_tokens": None},
        LLMResult(generations=[]),
        None,
    ],
)
def test_what_was_not_reported_is_none_and_never_zero(source: object) -> None:
    assert usage_of(source) is None


def test_context_windows_by_name() -> None:
    assert window_by_name("gpt-4o-mini", "openai") == 128_000
    assert window_by_name("models/gemini-2.5-flash", "google_genai") == 1_048_576
    assert window_by_name("no-such-model") is None
    assert window_by_name(None) is None
