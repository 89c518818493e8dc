"""The JSON that the providers' packages would send for a list of messages. Nothing is sent."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

from langchain_core.messages import BaseMessage

MODELS: dict[str, tuple[str, ...]] = {
    "openai": ("gpt-4o",),
    "openai-responses": ("gpt-5",),
    "anthropic": ("claude-sonnet-4-5",),
    "google": ("gemini-2.5-pro", "gemini-3-pro-preview"),
}
"""Models by provider; Gemini 3 wants thought signatures that the older ones do not."""

LOGGERS = ("langchain_google_genai", "langchain_google_genai.chat_models", "langchain_google_genai._compat")


def payload(
    provider: str, messages: Sequence[BaseMessage], model: str | None = None, **options: Any
) -> dict[str, Any]:
    """Return what would be sent. Raises what the package raises."""
    chat = _chat(provider, model or MODELS[provider][0], tuple(sorted(options.items())))
    with warnings.catch_warnings():
        # The packages warn of what they leave out; the checkers see that it is gone.
        warnings.simplefilter("ignore")
        if provider != "google":
            return chat._get_request_payload(list(messages))  # type: ignore[no-any-return]
        return _google(chat._prepare_request(list(messages)))


@cache
def _chat(provider: str, model: str, options: tuple[tuple[str, Any], ...]) -> Any:
    if provider == "anthropic":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(model=model, api_key="unused", **dict(options))  # type: ignore[call-arg, arg-type]
    if provider == "google":
        from langchain_google_genai import ChatGoogleGenerativeAI

        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.ERROR)
        return ChatGoogleGenerativeAI(model=model, api_key="unused", **dict(options))
    from langchain_openai import ChatOpenAI

    responses = provider == "openai-responses"
    return ChatOpenAI(model=model, api_key="unused", use_responses_api=responses, **dict(options))  # type: ignore[arg-type]


def _google(request: dict[str, Any]) -> dict[str, Any]:
    system = getattr(request["config"], "system_instruction", None)
    return {
        "contents": [_content(content) for content in request["contents"]],
        "system": None if system is None else _content(system),
    }


def _content(content: Any) -> dict[str, Any]:
    return {"role": content.role, "parts": [_part(part) for part in content.parts or []]}


def _part(part: Any) -> dict[str, Any]:
    found = part.model_dump(exclude_none=True, exclude={"thought_signature"})
    if part.thought_signature:
        found["thought_signature"] = True
    return found  # type: ignore[no-any-return]
