"""What OpenAI's Responses refuse, read from a request's JSON and from nothing of ours."""

from __future__ import annotations

from typing import Any

from tests.context.wire.chat import NAME

PARTS = {
    "user": {"input_text", "input_image", "input_file"},
    "system": {"input_text"},
    "developer": {"input_text"},
    "assistant": {"output_text", "refusal"},
}
CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
FROM_MODEL = {"reasoning", *CALLS}


def findings(request: dict[str, Any], *, store: bool | None = None) -> list[str]:
    items = request["input"]
    found = ["previous_response_id"] if "previous_response_id" in request else []
    if not any(_role(item) not in ("system", "developer") for item in items):
        found.append("no message")
    found.extend(_pairs(items))
    found.extend(_reasoning(items, store))
    found.extend(_ids(items))
    for at, item in enumerate(items):
        if item.get("type") == "message":
            found.extend(f"{at}: {what}" for what in _message(item))
    return found


def _role(item: dict[str, Any]) -> str | None:
    return item.get("role") if item.get("type") == "message" else None


def _pairs(items: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    waiting: dict[str, str] = {}
    seen: set[str] = set()
    for at, item in enumerate(items):
        kind, call_id = item.get("type"), item.get("call_id")
        if kind in CALLS:
            found.extend(f"{at}: {what}" for what in _call(item, seen))
            waiting[str(call_id)] = CALLS[kind]
        elif kind in CALLS.values():
            if waiting.pop(str(call_id), None) != kind:
                found.append(f"{at}: output of {call_id!r} answers no open call")
        elif kind == "message" and waiting:
            found.extend(f"{at}: no output for {one!r}" for one in waiting)
            waiting = {}
    return [*found, *(f"end: no output for {one!r}" for one in waiting)]


def _call(item: dict[str, Any], seen: set[str]) -> list[str]:
    found = []
    call_id = item.get("call_id")
    if not isinstance(call_id, str) or not 1 <= len(call_id) <= 40:
        found.append(f"call id {call_id!r}")
    if call_id in seen:
        found.append(f"call id {call_id!r} twice")
    seen.add(str(call_id))
    if not NAME.match(item.get("name") or ""):
        found.append(f"tool name {item.get('name')!r}")
    if item["type"] == "function_call" and not isinstance(item.get("arguments"), str):
        found.append("arguments are no text")
    return found


def _reasoning(items: list[dict[str, Any]], store: bool | None) -> list[str]:
    found: list[str] = []
    reasoned = False
    for at, item in enumerate(items):
        kind = item.get("type")
        if kind == "reasoning":
            reasoned = True
            after = items[at + 1] if at + 1 < len(items) else {}
            if after.get("type") not in FROM_MODEL and _role(after) != "assistant":
                found.append(f"{at}: reasoning without the item it led to")
            if not str(item.get("id", "")).startswith("rs_"):
                found.append(f"{at}: reasoning id {item.get('id')!r}")
            if store is False and not item.get("encrypted_content"):
                found.append(f"{at}: reasoning not encrypted")
        elif kind in CALLS:
            if item.get("id") and not reasoned:
                found.append(f"{at}: call item without its reasoning")
        elif _role(item) != "assistant":
            reasoned = False
    return found


def _ids(items: list[dict[str, Any]]) -> list[str]:
    ids = [item["id"] for item in items if item.get("id")]
    return [f"item {one!r} twice" for one in sorted({one for one in ids if ids.count(one) > 1})]


def _message(item: dict[str, Any]) -> list[str]:
    content, role = item.get("content"), item.get("role")
    if role not in PARTS:
        return [f"role {role!r}"]
    if isinstance(content, str):
        return []
    if not content:
        return ["no content"]
    return [f"{role} part of type {p.get('type')!r}" for p in content if p.get("type") not in PARTS[role]]
