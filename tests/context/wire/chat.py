"""What OpenAI's Chat Completions refuse, read from a request's JSON and from nothing of ours."""

from __future__ import annotations

import re
from typing import Any

NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
PARTS = {
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "system": {"text"},
    "developer": {"text"},
    "tool": {"text", "image_url", "file"},
}


def findings(request: dict[str, Any]) -> list[str]:
    messages = request["messages"]
    found = [] if any(m["role"] not in ("system", "developer") for m in messages) else ["no message"]
    waiting: list[str] = []
    ids: set[str] = set()
    for at, message in enumerate(messages):
        role = message["role"]
        if role not in PARTS:
            found.append(f"{at}: role {role}")
            continue
        found.extend(f"{at}: {what}" for what in _content(message))
        if role == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                found.append(f"{at}: tool message answers no call before it")
            continue
        found.extend(f"{at}: no result for {one}" for one in waiting)
        waiting = []
        for call in message.get("tool_calls") or ():
            found.extend(f"{at}: {what}" for what in _call(call, ids))
            waiting.append(call["id"])
    return [*found, *(f"end: no result for {one}" for one in waiting)]


def _call(call: dict[str, Any], ids: set[str]) -> list[str]:
    found = []
    call_id = call.get("id")
    if not isinstance(call_id, str) or not 1 <= len(call_id) <= 40:
        found.append(f"call id {call_id!r}")
    if call_id in ids:
        found.append(f"call id {call_id!r} twice")
    ids.add(str(call_id))
    if not NAME.match(call["function"].get("name") or ""):
        found.append(f"tool name {call['function'].get('name')!r}")
    if not isinstance(call["function"].get("arguments"), str):
        found.append("arguments are no text")
    return found


def _content(message: dict[str, Any]) -> list[str]:
    content, role = message.get("content"), message["role"]
    if content is None:
        alone = role != "assistant" or not (message.get("tool_calls") or message.get("audio"))
        return ["null content"] if alone else []
    if isinstance(content, str):
        return []
    if not content:
        return ["content is an empty list"]
    found = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        if kind not in PARTS[role]:
            found.append(f"{role} part of type {kind}")
        elif kind == "text" and not isinstance(part.get("text"), str):
            found.append("text part without text")
    return found
