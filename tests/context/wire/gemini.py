"""What Gemini refuses, read from a request's contents and from nothing of ours."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")


def findings(request: dict[str, Any], *, signatures: bool = False) -> list[str]:
    contents = request["contents"]
    if not contents:
        return ["no content"]
    found = [] if contents[0]["role"] == "user" else ["the first content is not the user's"]
    for part in (request.get("system") or {"parts": []})["parts"]:
        found.extend(f"system: {what}" for what in _part(part))
    for at, content in enumerate(contents):
        parts = content["parts"]
        found.extend([] if parts else [f"{at}: no parts"])
        found.extend(f"{at}: {what}" for part in parts for what in _part(part))
        found.extend(f"{at}: {what}" for what in _turns(contents, at))
    if signatures:
        found.extend(_unsigned(contents))
    return found


def _part(part: dict[str, Any]) -> list[str]:
    found = []
    data = {key for key in part if key not in ("thought_signature", "thought", "text")}
    if not data and not part.get("text") and not part.get("thought_signature"):
        found.append("an empty part")
    for kind in ("function_call", "function_response"):
        if kind in part and not NAME.match(part[kind].get("name") or ""):
            found.append(f"{kind} of {part[kind].get('name')!r}")
    return found


def _turns(contents: list[dict[str, Any]], at: int) -> list[str]:
    calls, answers = _names(contents[at], "function_call"), _names(contents[at], "function_response")
    found = []
    if calls:
        if contents[at]["role"] != "model" or at == 0 or contents[at - 1]["role"] != "user":
            found.append("a call does not come after the user or a response")
        after = contents[at + 1] if at + 1 < len(contents) else {"role": None, "parts": []}
        if _names(after, "function_response") != calls:
            found.append(f"calls {dict(calls)}, responses {dict(_names(after, 'function_response'))}")
    if answers and (at == 0 or not _names(contents[at - 1], "function_call")):
        found.append("a response does not come after its call")
    return found


def _names(content: dict[str, Any], kind: str) -> Counter[str]:
    return Counter(part[kind].get("name") for part in content["parts"] if kind in part)


def _unsigned(contents: list[dict[str, Any]]) -> list[str]:
    """Gemini 3: the first call of each step since the user last spoke carries a signature."""
    start = 0
    for at, content in enumerate(contents):
        if content["role"] == "user" and not _names(content, "function_response"):
            start = at
    found = []
    for at in range(start, len(contents)):
        calls = [part for part in contents[at]["parts"] if "function_call" in part]
        if calls and not calls[0].get("thought_signature"):
            found.append(f"{at}: the first call has no signature")
    return found
