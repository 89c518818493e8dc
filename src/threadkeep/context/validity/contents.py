"""Make a message's content one that a provider takes: no empty texts, no foreign blocks, no media it refuses."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.context.validity.calls import CALL_BLOCKS
from threadkeep.context.validity.reasoning import is_reasoning

EMPTY_HUMAN = "[empty message]"
"""Stands for a human message without any content: providers take none, and the turn must keep its beginning."""

# Media that the package of a provider raises on or leaves out without a word.
_REFUSED: dict[str, frozenset[str]] = {
    "openai": frozenset({"video", "media"}),
    "openai-responses": frozenset({"audio", "input_audio", "video", "media"}),
    "anthropic": frozenset({"audio", "input_audio", "video", "media"}),
}
_MEDIA = frozenset({"image", "image_url", "input_image", "audio", "video", "file", "media"})

# Blocks of an answer that may be sent back, or that the provider's package takes out by itself.
_OPENAI_ANSWER = frozenset(
    """text refusal tool_use thinking reasoning reasoning_content function_call code_interpreter_call tool_call
    invalid_tool_call""".split()
)
_ANTHROPIC_ANSWER = frozenset(
    "text refusal tool_use thinking redacted_thinking reasoning function_call".split()
)
_ANTHROPIC_OWN = ("server_tool_use", "mcp_tool_use", "compaction")
_STANDARD = frozenset("tool_call invalid_tool_call server_tool_call server_tool_result non_standard".split())
_OWNERS = {
    "openai": "openai",
    "azure": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "google_genai": "google",
    "google_vertexai": "google",
}


def cleaned(message: BaseMessage, provider: str, *, calls: bool = False) -> BaseMessage | None:
    """Return the message with a content the provider takes, the same object where it does; None if nothing is left.

    `calls` says that the message calls tools, so that it stands without any content too.
    """
    if isinstance(message, AIMessage):
        return _answer(message, provider, calls)
    if isinstance(message.content, str):
        return _plain(message)
    blocks = _blocks(message.content, message, provider)
    if blocks is None and message.content:
        return message
    if not blocks and isinstance(message, SystemMessage):
        return None
    empty = EMPTY_HUMAN if isinstance(message, HumanMessage) else ""
    return message.model_copy(update={"content": blocks or empty})


def owner(message: BaseMessage) -> str | None:
    """Return whose model wrote a message: `openai`, `anthropic`, `google`, another's name, or None if not known."""
    found = message.response_metadata.get("model_provider")
    return _OWNERS.get(found, found) if isinstance(found, str) else None


def is_foreign(message: BaseMessage, provider: str) -> bool:
    """Say whether another provider's model is known to have written a message."""
    found = owner(message)
    return found is not None and found != _OWNERS.get(provider)


def is_blank(block: Any) -> bool:
    """Say whether a block of a content is text that says nothing."""
    if isinstance(block, str):
        return not block.strip()
    return (
        isinstance(block, dict) and block.get("type") == "text" and not str(block.get("text") or "").strip()
    )


def _plain(message: BaseMessage) -> BaseMessage | None:
    if str(message.content).strip() or isinstance(message, ToolMessage):
        return message
    if isinstance(message, SystemMessage):
        return None
    return message.model_copy(update={"content": EMPTY_HUMAN})


def _answer(message: AIMessage, provider: str, calls: bool) -> AIMessage | None:
    if isinstance(message.content, str):
        return _plain_answer(message, message.content, provider, calls)
    blocks = _blocks(message.content, message, provider)
    kept = message.content if blocks is None else blocks
    if not calls and not any(_says_something(block) for block in kept) and not _speaks(message, provider):
        return None
    if blocks is None:
        return message
    return message.model_copy(update={"content": blocks})


def _plain_answer(message: AIMessage, content: str, provider: str, calls: bool) -> AIMessage | None:
    says = bool(content.strip())
    if not says and not calls and not _speaks(message, provider):
        return None
    if message.response_metadata.get("output_version") == "v1":
        # The packages take the content for blocks, and raise on a text.
        return message.model_copy(update={"content": [{"type": "text", "text": content}] if says else []})
    return message if says or not content else message.model_copy(update={"content": ""})


def _speaks(message: AIMessage, provider: str) -> bool:
    """Say whether a message is an answer in OpenAI's audio, which is sent back by its id."""
    return provider in ("openai", "generic") and bool(message.additional_kwargs.get("audio"))


def _says_something(block: Any) -> bool:
    """Say whether a block is more than reasoning, which no provider takes without what it led to."""
    if not isinstance(block, dict):
        return bool(block)
    if block.get("type") == "text":
        return bool(str(block.get("text") or "").strip())
    return not is_reasoning(block) and block.get("type") not in CALL_BLOCKS


def _blocks(content: list[Any], message: BaseMessage, provider: str) -> list[Any] | None:
    """Return the blocks that may be sent; None where those are all of them, as they are."""
    kept: list[Any] = []
    changed = False
    for block in content:
        sent = _sent(block, message, provider)
        changed = changed or sent is not block
        if sent is not None:
            kept.append(sent)
    if isinstance(message, AIMessage) and provider == "anthropic":
        first = next((index for index, block in enumerate(kept) if not is_reasoning(block)), len(kept))
        if first == 0 and any(is_reasoning(block) for block in kept):
            return [block for block in kept if not is_reasoning(block)]
    return kept if changed else None


def _sent(block: Any, message: BaseMessage, provider: str) -> Any | None:
    """Return a block as it may be sent; None if it may not."""
    if isinstance(block, str):
        return {"type": "text", "text": block} if block.strip() else None
    if not isinstance(block, dict):
        return None
    if is_blank(block):
        return block if _is_signature(block, message, provider) else None
    if _is_refused(block, message, provider):
        return {"type": "text", "text": f"[{_medium(block)}: this model does not take it]"}
    if isinstance(message, AIMessage) and not _may_return(block, message, provider):
        return None
    return block


def _is_signature(block: dict[str, Any], message: BaseMessage, provider: str) -> bool:
    """Say whether a block without text carries a signature that Gemini wants back."""
    if provider not in ("google", "generic") or is_foreign(message, "google"):
        return False
    extras = block.get("extras")
    return bool(block.get("thought_signature") or (isinstance(extras, dict) and extras.get("signature")))


def _is_refused(block: dict[str, Any], message: BaseMessage, provider: str) -> bool:
    kind = block.get("type")
    if kind in _REFUSED.get(provider, ()):
        # An answer in OpenAI's audio is sent back by its id alone.
        return not (isinstance(message, AIMessage) and block.get("id") and provider == "openai")
    if isinstance(message, AIMessage) and kind in _MEDIA:
        if provider == "openai" and kind == "audio" and block.get("id"):
            return False
        return provider in ("openai", "anthropic")
    return provider == "openai" and kind == "file" and "url" in block


def _medium(block: dict[str, Any]) -> str:
    return str(block.get("mime_type") or block["type"])


def _may_return(block: dict[str, Any], message: AIMessage, provider: str) -> bool:
    kind = str(block.get("type"))
    if provider == "openai":
        return kind in _OPENAI_ANSWER or (kind == "audio" and bool(block.get("id")))
    if provider == "anthropic":
        return _may_return_to_anthropic(block, kind, message)
    if provider == "google" and kind in ("thinking", "reasoning"):
        extras = block.get("extras")
        signed = block.get("signature") or (isinstance(extras, dict) and extras.get("signature"))
        return bool(block.get(kind) or block.get("summary") or signed)
    return True


def _may_return_to_anthropic(block: dict[str, Any], kind: str, message: AIMessage) -> bool:
    foreign = is_foreign(message, "anthropic")
    standard = message.response_metadata.get("output_version") == "v1"
    if kind == "redacted_thinking" or kind == "thinking":
        own = owner(message) == "anthropic" or bool(block.get("signature") or block.get("data"))
        return own and not foreign
    if kind in _STANDARD:
        return standard and (not foreign or kind in ("tool_call", "invalid_tool_call"))
    if kind in _ANTHROPIC_ANSWER:
        return True
    return not foreign and (kind in _ANTHROPIC_OWN or kind.endswith("_tool_result") or kind == "tool_result")
