"""Messages as people read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from textwrap import indent
from typing import Any

from langchain_core.messages import BaseMessage
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from threadkeep.cli import documents
from threadkeep.cli.text import block, one_line, size

_COLORS = {"human": "green", "ai": "blue", "tool": "magenta", "system": "yellow"}
_INDENT = 4
_ARGUMENTS = 400
"""Characters of a tool call's arguments that are shown; JSON has them whole."""
_MEDIA = ("image", "audio", "video", "file", "input_image", "input_audio", "image_url", "document")


def print_messages(console: Console, messages: Iterable[BaseMessage], first: int = 1) -> None:
    """Print messages with their numbers."""
    for number, message in enumerate(messages, first):
        console.print(heading(message, number))
        for line in body(message):
            print_indented(console, line)


def print_indented(console: Console, text: Text) -> None:
    """Print a text of several lines with an indent; wrapped on a terminal, whole when piped."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, _INDENT)))
        return
    console.print(Text(indent(text.plain, " " * _INDENT)), soft_wrap=True)


def heading(message: BaseMessage, number: int) -> Text:
    """Return the line above a message: number, who speaks, and what is special."""
    found = Text.assemble((f"{number:>3} ", "dim"))
    found.append(one_line(message.type), style=f"bold {_COLORS.get(message.type, 'white')}")
    if message.name:
        found.append(f" {one_line(message.name)}")
    if getattr(message, "status", None) == "error":
        found.append(" failed", style="red")
    usage = getattr(message, "usage_metadata", None)
    if usage:
        found.append(f"  {usage['input_tokens']:,} in, {usage['output_tokens']:,} out", style="dim")
    return found


def body(message: BaseMessage) -> Iterator[Text]:
    """Yield what a message says, part by part; a part may have several lines."""
    content: Any = message.content
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        text = _part(part)
        if text:
            yield text
    for call in getattr(message, "tool_calls", ()):
        arguments = ", ".join(f"{k}={_short(v)}" for k, v in call["args"].items())
        yield Text(f"→ {one_line(call['name'])}({arguments})", style="magenta")
    for call in getattr(message, "invalid_tool_calls", ()):
        yield Text(
            f"→ {one_line(str(call.get('name')))} (not readable: {_short(call.get('args'))})", style="red"
        )


def _part(part: Any) -> Text | None:
    if isinstance(part, str):
        return Text(block(part)) if part else None
    if not isinstance(part, dict):
        return Text(_short(part), style="dim")
    kind = str(part.get("type", ""))
    if isinstance(part.get("text"), str) and kind == "text":
        return Text(block(part["text"]))
    if kind in ("tool_use", "tool_call", "function_call", "tool_call_chunk"):
        return None
    if kind in ("reasoning", "thinking"):
        said = part.get("reasoning") or part.get("thinking") or part.get("summary") or ""
        return Text(f"({kind}) {block(said if isinstance(said, str) else _short(said))}", style="dim italic")
    if kind in _MEDIA:
        return Text(f"[{one_line(kind)}{_media(part)}]", style="dim")
    return Text(f"[{one_line(kind) or 'part'}] {_short(part)}", style="dim")


def _media(part: dict[str, Any]) -> str:
    """Return where a picture, sound or file is: its address, or its kind and size."""
    inner = part.get("source") or part.get(str(part["type"]))
    fields = {**part, **inner} if isinstance(inner, dict) else part
    address = fields.get("url") or fields.get("image_url") or fields.get("file_id") or ""
    if isinstance(address, str) and address.startswith("data:"):
        kind, _, encoded = address[5:].partition(",")
        return f" {one_line(kind.partition(';')[0])}, {size(len(encoded) * 3 // 4)}"
    data = fields.get("base64") or fields.get("data")
    if isinstance(data, str):
        named = fields.get("mime_type") or fields.get("media_type") or fields.get("format") or ""
        return f" {one_line(str(named))}, {size(len(data) * 3 // 4)}"
    return f" {one_line(address)}" if isinstance(address, str) and address else ""


def _short(value: Any) -> str:
    text = one_line(json.dumps(documents.plain(value), ensure_ascii=False))
    return text if len(text) <= _ARGUMENTS else text[: _ARGUMENTS - 1] + "…"
