"""What a model object tells about itself, by the real classes of the provider packages."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel

from threadkeep.context.providers import context_window, model_name, provider_of

KEY = "no-key"


def openai(**settings: Any) -> Any:
    return pytest.importorskip("langchain_openai").ChatOpenAI(api_key=KEY, **settings)


def anthropic(**settings: Any) -> Any:
    return pytest.importorskip("langchain_anthropic").ChatAnthropic(api_key=KEY, **settings)


def google(**settings: Any) -> Any:
    return pytest.importorskip("langchain_google_genai").ChatGoogleGenerativeAI(
        google_api_key=KEY, **settings
    )


def test_openai_by_the_api_it_uses() -> None:
    assert provider_of(openai(model="gpt-4o")) == "openai"
    assert provider_of(openai(model="gpt-4o", use_responses_api=True)) == "openai-responses"
    assert provider_of(openai(model="gpt-4o"), [{"type": "web_search"}]) == "openai-responses"
    assert provider_of(openai(model="gpt-4o", use_responses_api=False), [{"type": "web_search"}]) == "openai"


def test_anthropic_and_google() -> None:
    assert provider_of(anthropic(model="claude-sonnet-4-5")) == "anthropic"
    assert provider_of(google(model="gemini-2.5-flash")) == "google"
    assert model_name(google(model="models/gemini-2.5-flash")) == "gemini-2.5-flash"


def test_bindings_and_fallbacks_are_looked_through() -> None:
    bound = openai(model="gpt-4o").bind_tools([])
    spare = anthropic(model="claude-sonnet-4-5").with_fallbacks([openai(model="gpt-4o")])
    assert (provider_of(bound), model_name(bound)) == ("openai", "gpt-4o")
    assert (provider_of(spare), model_name(spare)) == ("anthropic", "claude-sonnet-4-5")
    assert provider_of(spare.with_retry()) == "anthropic"


class ChatBedrockConverse:
    """Stands for the class of that name in langchain-aws, which is told by its name."""

    model_id = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


class ChatOtherBedrock(ChatBedrockConverse):
    model_id = "amazon.nova-pro-v1:0"


def test_claude_on_bedrock_keeps_anthropics_rules() -> None:
    assert provider_of(ChatBedrockConverse()) == "anthropic"
    assert provider_of(ChatOtherBedrock()) == "generic"


@pytest.mark.parametrize(
    ("text", "provider"),
    [
        ("openai:gpt-4o", "openai"),
        ("gpt-4o", "openai"),
        ("claude-sonnet-4-5", "anthropic"),
        ("anthropic:claude-sonnet-4-5", "anthropic"),
        ("bedrock:us.anthropic.claude-sonnet-4-5-v1:0", "anthropic"),
        ("google_genai:gemini-2.5-pro", "google"),
        ("ollama:llama3:8b", "generic"),
        ("llama3:8b", "generic"),
        ("groq:gpt-oss-120b", "generic"),
    ],
)
def test_names_alone(text: str, provider: str) -> None:
    assert provider_of(text) == provider


def test_a_colon_in_a_models_name_is_no_provider() -> None:
    assert model_name("llama3:8b") == "llama3:8b"
    assert model_name("ollama:llama3:8b") == "llama3:8b"
    assert model_name("google_genai:models/gemini-2.5-pro") == "gemini-2.5-pro"


def test_what_is_not_known_is_generic() -> None:
    model = GenericFakeChatModel(messages=iter([]))
    assert provider_of(model) == "generic"
    assert model_name(model) is None
    assert context_window(model) is None
    assert (provider_of(None), model_name(None), context_window(None)) == ("generic", None, None)


def test_the_local_models_name_is_the_one_in_its_traces() -> None:
    from threadkeep.adapters.local import LocalChat

    assert model_name(LocalChat()) == "SmolLM2-135M-Instruct"


def test_the_window_is_the_profiles_else_the_price_datas() -> None:
    profiled = GenericFakeChatModel(messages=iter([]), profile={"max_input_tokens": 4321})
    assert context_window(profiled) == 4321
    assert context_window(profiled.bind(stop=["x"])) == 4321
    assert context_window(anthropic(model="claude-sonnet-4-5")) == 200_000
    assert context_window("openai:gpt-4o-mini") == 128_000
    assert context_window("gpt-4o-mini") == 128_000
