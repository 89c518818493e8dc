"""What a chat model object or a model's name tells: the provider's rules, the name, the context window.

Classes are told by their names and modules, so that no provider's package is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from threadkeep.context.prices import window_by_name

Provider = Literal["generic", "openai", "openai-responses", "anthropic", "google"]
"""Whose rules a request must keep: the names that `validate` and `repair` take."""

_BY_CLASS: Final[tuple[tuple[str, Provider], ...]] = (
    ("ChatAnthropic", "anthropic"),
    ("ChatGoogleGenerativeAI", "google"),
    ("_BaseGoogleGenerativeAI", "google"),
    ("ChatVertexAI", "google"),
    ("BaseChatOpenAI", "openai"),
    ("ChatOpenAI", "openai"),
)
_BY_PREFIX: Final[Mapping[str, Provider]] = {
    "openai": "openai",
    "azure_openai": "openai",
    "azure": "openai",
    "deepseek": "openai",
    "xai": "openai",
    "anthropic": "anthropic",
    "google_genai": "google",
    "google_vertexai": "google",
    "google": "google",
}
_OTHER_PREFIXES: Final = frozenset(
    (
        "anthropic_bedrock", "azure_ai", "baseten", "bedrock", "bedrock_converse", "cohere", "fireworks", "groq",
        "google_anthropic_vertex", "huggingface", "ibm", "litellm", "mistralai", "nvidia", "ollama", "openrouter",
        "perplexity", "together", "upstage", "threadkeep",
    )
)  # fmt: skip
_BY_NAME: Final[tuple[tuple[str, Provider], ...]] = (
    ("claude", "anthropic"),
    ("gemini", "google"),
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
)
_NAMES: Final = ("model_name", "model", "model_id", "deployment_name", "azure_deployment")


def unwrap(model: Any) -> Any:
    """Return the chat model inside bindings and fallbacks: the one that is asked first."""
    for _ in range(16):
        inner = getattr(model, "bound", None) or getattr(model, "runnable", None)
        if inner is None or isinstance(model, str):
            break
        model = inner
    return model


def own_tokens(model: Any) -> int:
    """Return how many tokens a model itself puts before each request, as `LocalChat` does; 0 for all others."""
    found = getattr(unwrap(model), "own_tokens", 0)
    return found if isinstance(found, int) else 0


def model_name(model: Any) -> str | None:
    """Return the name under which a provider knows a model, without a `provider:` or `models/` before it."""
    model = unwrap(model)
    if isinstance(model, str):
        return _bare(model)[1] or None
    for attribute in _NAMES:
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name.removeprefix("models/")
    settings = getattr(model, "_default_config", None)
    name = settings.get("model") if isinstance(settings, Mapping) else _traced_name(model)
    return _bare(name)[1] or None if isinstance(name, str) else None


def _traced_name(model: Any) -> Any:
    """Return the name that a chat model gives to LangChain's traces, for classes that keep it elsewhere."""
    params = getattr(model, "_get_ls_params", None)
    try:
        return params().get("ls_model_name") if callable(params) else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def provider_of(model: Any, tools: Sequence[Any] = ()) -> Provider:
    """Return whose rules the requests of a model keep; `generic` for one that is not known.

    `model` is a chat model (bindings and fallbacks are looked through) or a name such as `openai:gpt-5`. `tools` matter
    for OpenAI, some of whose tools exist in the Responses API only.
    """
    model = unwrap(model)
    if isinstance(model, str):
        return _by_text(model)
    names = {kind.__name__ for kind in type(model).__mro__}
    for name, provider in _BY_CLASS:
        if name in names:
            return _openai(model, tools) if provider == "openai" else provider
    if any("Anthropic" in name for name in names):
        return "anthropic"
    if any("Bedrock" in name for name in names):
        return "anthropic" if "claude" in (model_name(model) or "").lower() else "generic"
    settings = getattr(model, "_default_config", None)
    return (
        _by_text(str(settings["model"]))
        if isinstance(settings, Mapping) and "model" in settings
        else "generic"
    )


def context_window(model: Any) -> int | None:
    """Return a model's context window in tokens, or None where nobody says.

    What the model object itself says counts first (LangChain's `profile`, or `window` of the local model), then the
    price data by the model's name.
    """
    model = unwrap(model)
    profile = getattr(model, "profile", None)
    said = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    for size in (said, getattr(model, "window", None)):
        if isinstance(size, int) and not isinstance(size, bool) and size > 0:
            return size
    if isinstance(model, str):
        provider, name = _bare(model)
        return window_by_name(name, provider) or (window_by_name(name) if provider else None)
    return window_by_name(model_name(model))


def _bare(name: str) -> tuple[str | None, str]:
    """Split `provider:model`; a colon after a model's name (`llama3:8b`) is part of it."""
    before, colon, after = name.partition(":")
    if colon and (before.lower() in _BY_PREFIX or before.lower() in _OTHER_PREFIXES):
        return before.lower(), after.removeprefix("models/")
    return None, name.removeprefix("models/")


def _by_text(text: str) -> Provider:
    prefix, name = _bare(text)
    if prefix is not None and prefix in _BY_PREFIX:
        return _BY_PREFIX[prefix]
    lower = name.lower()
    if prefix is not None and not (
        prefix in ("bedrock", "bedrock_converse", "anthropic_bedrock") and "claude" in lower
    ):
        return "anthropic" if prefix == "google_anthropic_vertex" else "generic"
    for start, provider in _BY_NAME:
        if lower.startswith(start) or (start == "claude" and start in lower):
            return provider
    return "generic"


def _openai(model: Any, tools: Sequence[Any]) -> Provider:
    """Ask a model of langchain-openai which API it uses; it decides by its settings, its name and the tools."""
    decide = getattr(model, "_use_responses_api", None)
    plain = [tool for tool in tools if isinstance(tool, Mapping)]
    if callable(decide):
        try:
            return "openai-responses" if decide({"tools": plain} if plain else {}) else "openai"
        except (AttributeError, KeyError, TypeError):
            pass
    return "openai-responses" if getattr(model, "use_responses_api", None) else "openai"
