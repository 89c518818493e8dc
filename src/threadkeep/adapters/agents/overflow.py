"""Tell a provider's refusal of an input as too long from its other errors."""

from __future__ import annotations

from typing import Any, Final

from langchain_core.exceptions import ContextOverflowError
from langgraph.errors import GraphBubbleUp

from threadkeep.errors import ThreadkeepError

STATUSES: Final = frozenset({400, 413, 422})
"""HTTP statuses with which providers refuse an input that is too long; others come with texts that look alike."""

TEXTS: Final = (
    "context length", "context_length", "context window", "contextwindow", "context size", "maximum context",
    "prompt is too long", "prompt too long", "input is too long", "input tokens exceed", "input length and",
    "exceeds the maximum number of tokens", "maximum number of input tokens", "exceeds the maximum input",
    "token limit", "too many tokens", "too many input tokens",
)  # fmt: skip
"""What OpenAI, Anthropic, Google, Bedrock, vLLM, llama.cpp and gateways in front of them write then, in lower case."""


def overflows(error: BaseException) -> bool:
    """Say whether a model call failed because its input was too long.

    LangChain's `ContextOverflowError` says so, and else a known text together with a known status; an error that has no
    status at all (a model that runs locally) is told by its text.
    """
    if isinstance(error, ContextOverflowError):
        return True
    if isinstance(error, GraphBubbleUp | ThreadkeepError):
        return False  # no provider's word: an interrupt may hold any text
    status = _status(error)
    if status is not None and status not in STATUSES:
        return False
    text = str(error).casefold()
    return any(known in text for known in TEXTS)


def _status(error: BaseException) -> int | None:
    response: Any = getattr(error, "response", None)
    for holder in (error, response):
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    metadata = response.get("ResponseMetadata") if isinstance(response, dict) else None
    value = metadata.get("HTTPStatusCode") if isinstance(metadata, dict) else None
    return value if isinstance(value, int) else None
