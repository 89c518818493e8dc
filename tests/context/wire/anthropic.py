"""What Anthropic's Messages refuse, read from a request's JSON and from nothing of ours."""

from __future__ import annotations

import re
from typing import Any

ID = re.compile(r"^[A-Za-z0-9_-]+$")
NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
BLOCKS = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
}
KEYS = {
    "text": {"type", "text", "cache_control", "citations"},
    "tool_use": {"type", "id", "name", "input", "cache_control"},
    "thinking": {"type", "thinking", "signature", "cache_control"},
    "redacted_thinking": {"type", "data", "cache_control"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
}
THOUGHTS = ("thinking", "redacted_thinking")


def findings(request: dict[str, Any]) -> list[str]:
    messages = request["messages"]
    system = _blocks(request.get("system") or [])
    found = [f"system: {what}" for block in system for what in _block(block, {"text"})]
    if request.get("system") == "":
        found.append("system: empty")
    if not messages:
        return [*found, "no message"]
    if messages[0]["role"] != "user":
        found.append("the first message is not the user's")
    ids: set[str] = set()
    for at, message in enumerate(messages):
        found.extend(f"{at}: {what}" for what in _message(message, ids, last=at == len(messages) - 1))
        after = messages[at + 1] if at + 1 < len(messages) else None
        found.extend(f"{at}: {what}" for what in _pairs(message, after))
        before = messages[at - 1] if at else None
        found.extend(f"{at}: {what}" for what in _orphans(before, message))
    marks = [b for m in messages for b in _blocks(m["content"]) if b.get("cache_control")]
    marks += [b for b in system if b.get("cache_control")]
    return [*found, f"{len(marks)} cache marks"] if len(marks) > 4 else found


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _message(message: dict[str, Any], ids: set[str], *, last: bool) -> list[str]:
    role, blocks = message["role"], _blocks(message["content"])
    if role not in BLOCKS:
        return [f"role {role!r}"]
    found = [] if blocks else ["no content"]
    for block in blocks:
        found.extend(_block(block, BLOCKS[role]))
        if block["type"] == "tool_use":
            found.extend(_call(block, ids))
    kinds = [block["type"] for block in blocks]
    if any(kind in THOUGHTS for kind in kinds) and (kinds[0] not in THOUGHTS or kinds[-1] in THOUGHTS):
        found.append("thinking is not first, or it is last")
    if role == "user" and "tool_result" in kinds[kinds.count("tool_result") :]:
        found.append("a tool result after other content")
    if last and role == "assistant" and kinds and kinds[-1] == "text":
        text = blocks[-1]["text"]
        found.extend(["white space at the end"] if text != text.rstrip() else [])
    return found


def _block(block: dict[str, Any], kinds: set[str]) -> list[str]:
    kind = block.get("type")
    if kind not in kinds:
        return [f"block of type {kind!r}"]
    found = []
    extra = sorted(set(block) - KEYS.get(str(kind), set(block)))
    if extra:
        found.append(f"{kind} with {extra}")
    if kind == "text" and not block["text"].strip():
        found.append("an empty text")
    if kind == "thinking" and not block.get("signature"):
        found.append("thinking without signature")
    if kind == "tool_result":
        content = block.get("content", "")
        parts = [] if isinstance(content, str) else content
        found.extend(what for part in parts for what in _block(part, {"text", "image", "document"}))
    return found


def _call(block: dict[str, Any], ids: set[str]) -> list[str]:
    found = []
    if not ID.match(block.get("id") or ""):
        found.append(f"call id {block.get('id')!r}")
    if block.get("id") in ids:
        found.append(f"call id {block.get('id')!r} twice")
    ids.add(str(block.get("id")))
    if not NAME.match(block.get("name") or ""):
        found.append(f"tool name {block.get('name')!r}")
    if not isinstance(block.get("input"), dict):
        found.append("input is no object")
    return found


def _pairs(message: dict[str, Any], after: dict[str, Any] | None) -> list[str]:
    calls = [b["id"] for b in _blocks(message["content"]) if b["type"] == "tool_use"]
    answers = _answers(after) if after and after["role"] == "user" else []
    return [f"{answers.count(call)} results for {call!r}" for call in calls if answers.count(call) != 1]


def _orphans(before: dict[str, Any] | None, message: dict[str, Any]) -> list[str]:
    calls = [b.get("id") for b in _blocks(before["content"]) if b["type"] == "tool_use"] if before else []
    return [f"result of {one!r} without its call" for one in _answers(message) if one not in calls]


def _answers(message: dict[str, Any]) -> list[str]:
    return [b["tool_use_id"] for b in _blocks(message["content"]) if b["type"] == "tool_result"]
