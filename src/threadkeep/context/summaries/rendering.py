"""Messages as text for a summarizer: who said what, which tools ran, what they returned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.context.summaries.fences import RECALL_TOOLS, is_own

RESULT_HEAD, RESULT_TAIL = 1_500, 500
"""Characters of a tool result that are shown: from its beginning and from its end."""

ARGUMENTS = 1_000
"""Characters of a tool call's arguments that are shown."""

_MEDIA = {
    "image": "image",
    "image_url": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "file": "file",
    "document": "file",
    "text-plain": "file",
}
_SILENT = frozenset({"tool_use", "tool_call", "function_call", "reasoning", "thinking", "redacted_thinking"})

# A line of somebody's text that looks like the head of an entry.
_SPEAKER = re.compile(
    r"^\[(?=(?:user|assistant|system|result of tool)[^\]\n]{0,80}\])", re.MULTILINE | re.IGNORECASE
)


def render(message: BaseMessage) -> str:
    """Return a message as one entry of a transcript; empty where there is nothing that a summary should know.

    What recall tools returned and the package's own blocks are left out: they repeat what was there before.
    What people and the model wrote is whole, tool results and arguments are shortened, media are named.
    """
    if is_own(message):
        return ""
    parts = [*_texts(message), *_calls(message)]
    body = "\n".join(part for part in parts if part.strip())
    return f"[{_speaker(message)}]\n{_SPEAKER.sub('(', body)}" if body else ""


def render_all(messages: Iterable[BaseMessage]) -> list[str]:
    """Return the entries of a transcript, without empty ones."""
    return [entry for entry in map(render, messages) if entry]


def _speaker(message: BaseMessage) -> str:
    if isinstance(message, HumanMessage):
        return f"user {message.name}" if message.name else "user"
    if isinstance(message, AIMessage):
        return "assistant"
    if isinstance(message, ToolMessage):
        failed = ", failed" if message.status == "error" else ""
        return f"result of tool {message.name or message.tool_call_id}{failed}"
    return "system" if isinstance(message, SystemMessage) else message.type


def _texts(message: BaseMessage) -> list[str]:
    content = message.content
    blocks: list[Any] = [content] if isinstance(content, str) else list(content)
    texts = [_block(block) for block in blocks]
    if isinstance(message, ToolMessage):
        return [_shortened("\n".join(texts), RESULT_HEAD, RESULT_TAIL)]
    return texts


def _block(block: str | dict[str, Any]) -> str:
    if isinstance(block, str):
        return block
    kind = str(block.get("type", ""))
    if isinstance(block.get("text"), str) and kind not in _MEDIA:
        return str(block["text"])
    if kind in _SILENT:
        return ""
    return f"({_medium(kind, block)})"


def _medium(kind: str, block: dict[str, Any]) -> str:
    source = block.get("source")
    inner = source if isinstance(source, dict) else {}
    mime = block.get("mime_type") or inner.get("media_type")
    name = block.get("filename") or block.get("name") or block.get("title")
    details = [str(detail)[:100] for detail in (name, mime) if isinstance(detail, str)]
    return " ".join([_MEDIA.get(kind, kind or "something that is no text"), *details])


def _calls(message: BaseMessage) -> list[str]:
    if not isinstance(message, AIMessage):
        return []
    calls = [(call["name"], _arguments(call["args"])) for call in message.tool_calls]
    calls += [(call["name"] or "?", call["args"] or "") for call in message.invalid_tool_calls]
    return [
        f"(calls tool {name}: {_shortened(arguments, ARGUMENTS, 0)})"
        for name, arguments in calls
        if name not in RECALL_TOOLS
    ]


def _arguments(arguments: object) -> str:
    return json.dumps(arguments, ensure_ascii=False, default=str)


def _shortened(text: str, head: int, tail: int) -> str:
    left_out = len(text) - head - tail
    if left_out <= 100:
        return text
    end = text[-tail:] if tail else ""
    return f"{text[:head]} […{left_out} characters left out…] {end}".rstrip()
