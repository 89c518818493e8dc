"""Turn one conversation in the form of a provider's API, as plain JSON, into LangChain's messages.

Each function takes the list and raises `Unfit` for the item that does not fit; `imports` makes an error of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
)

_LANGCHAIN: Final = {
    "human": "human", "user": "human", "humanmessage": "human", "humanmessagechunk": "human",
    "ai": "ai", "assistant": "ai", "aimessage": "ai", "aimessagechunk": "ai",
    "system": "system", "systemmessage": "system", "developer": "system", "systemmessagechunk": "system",
    "tool": "tool", "toolmessage": "tool", "toolmessagechunk": "tool",
    "function": "function", "functionmessage": "function", "chat": "chat", "chatmessage": "chat",
}  # fmt: skip
_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")


class Unfit(ValueError):
    """An item is not of the form that was read: where it is, what was found and what was expected."""

    def __init__(self, index: int, found: str, expected: str) -> None:
        super().__init__(f"item {index}: found {found}, expected {expected}")
        self.index, self.found, self.expected = index, found, expected


def shown(value: Any) -> str:
    """Describe a JSON value in a few words: never its text."""
    if isinstance(value, Mapping):
        keys = ", ".join(repr(str(key)) for key in list(value)[:6])
        return f"an object with the keys {keys}" if value else "an empty object"
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "null" if value is None else f"{type(value).__name__} {value!r}"[:40]


def from_openai(items: Sequence[Any]) -> list[BaseMessage]:
    """Read messages of OpenAI's chat completions."""
    made: list[BaseMessage] = []
    for index, item in enumerate(items):
        role = _object(index, item, "an object with 'role' and 'content'").get("role")
        if role in ("system", "developer"):
            made.append(SystemMessage(_content(index, item.get("content")), **_about(item)))
        elif role == "user":
            made.append(HumanMessage(_content(index, item.get("content")), **_about(item)))
        elif role == "assistant":
            made.append(_openai_answer(index, item))
        elif role == "tool":
            call = _text(index, item, "tool_call_id")
            made.append(ToolMessage(_content(index, item.get("content")), tool_call_id=call, **_about(item)))
        elif role == "function":
            made.append(
                ToolMessage(_content(index, item.get("content")), tool_call_id=_legacy(made), **_about(item))
            )
        else:
            raise Unfit(index, f"role {role!r}", f"one of the roles {', '.join(_ROLES)}")
    return made


def _openai_answer(index: int, item: Mapping[str, Any]) -> AIMessage:
    calls = item.get("tool_calls") or []
    old = item.get("function_call")
    if old:
        calls = [{"id": f"call_{index}", "function": old}]
    if not isinstance(calls, list):
        raise Unfit(index, f"tool_calls: {shown(calls)}", "a list of calls")
    parsed: dict[str, list[Any]] = {"tool_calls": [], "invalid_tool_calls": []}
    for call in calls:
        function = call.get("function") or call.get("custom") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise Unfit(
                index,
                f"a tool call that is {shown(call)}",
                "a call with 'id' and 'function' (name, arguments)",
            )
        _add_call(parsed, call.get("id"), function["name"], function.get("arguments", function.get("input")))
    content = item.get("content")
    if content is None:
        content = item.get("refusal") or ""
    return AIMessage(_content(index, content), **parsed, **_about(item))


def _add_call(parsed: dict[str, list[Any]], identity: Any, name: str, arguments: Any) -> None:
    """Add a call; arguments that are no JSON object make it an invalid one, as LangChain's own parsers do."""
    identity = identity if isinstance(identity, str) else None
    try:
        args = json.loads(arguments or "{}") if isinstance(arguments, str | None) else arguments
    except ValueError:
        args = None
    if isinstance(args, dict):
        parsed["tool_calls"].append({"name": name, "args": args, "id": identity, "type": "tool_call"})
    else:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        parsed["invalid_tool_calls"].append(
            {
                "name": name,
                "args": text,
                "id": identity,
                "error": "not a JSON object",
                "type": "invalid_tool_call",
            }
        )


def _legacy(made: Sequence[BaseMessage]) -> str:
    """Return the id of the last call, which a result of the old `function` role answers."""
    for message in reversed(made):
        if isinstance(message, AIMessage) and (calls := message.tool_calls or message.invalid_tool_calls):
            return calls[-1].get("id") or "call"
    return "call"


def from_responses(items: Sequence[Any]) -> list[BaseMessage]:
    """Read items of OpenAI's Responses; those of one answer (reasoning, text, calls) become one message."""
    made: list[BaseMessage] = []
    answer: list[Mapping[str, Any]] = []
    start = 0
    for index, item in enumerate(items):
        kind = _object(index, item, "an item with 'type'").get("type", "message")
        role = item.get("role")
        spoken = kind == "message" and role != "assistant"
        if not spoken and not str(kind).endswith("_output"):
            start = start if answer else index
            answer.append(item)
            continue
        if answer:
            made.append(_responses_answer(start, answer))
            answer = []
        if str(kind).endswith("_output"):
            content = _responses_content(index, item.get("output"))
            made.append(ToolMessage(content, tool_call_id=_text(index, item, "call_id")))
        elif role in ("user", "system", "developer"):
            kinds = HumanMessage if role == "user" else SystemMessage
            made.append(kinds(_responses_content(index, item.get("content")), **_about(item)))
        else:
            raise Unfit(index, f"role {role!r}", "one of the roles user, assistant, system, developer")
    if answer:
        made.append(_responses_answer(start, answer))
    return made


def _responses_answer(start: int, items: Sequence[Mapping[str, Any]]) -> AIMessage:
    blocks: list[Any] = []
    parsed: dict[str, list[Any]] = {"tool_calls": [], "invalid_tool_calls": []}
    for index, item in enumerate(items, start):
        kind = item.get("type", "message")
        if kind == "message":
            content = _responses_content(index, item.get("content"))
            blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
        elif kind in ("function_call", "custom_tool_call"):
            arguments = item.get("arguments", item.get("input"))
            _add_call(parsed, _text(index, item, "call_id"), _text(index, item, "name"), arguments)
            blocks.append(dict(item))
        else:
            blocks.append(dict(item))
    plain = all(block.get("type") == "text" for block in blocks)
    text = "".join(block["text"] for block in blocks) if plain else ""
    return AIMessage(text if plain else blocks, **parsed)


def _responses_content(index: int, content: Any) -> Any:
    if not isinstance(content, list):
        return _content(index, content)
    parts: list[Any] = []
    for part in content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in ("input_text", "output_text", "text"):
            parts.append({"type": "text", "text": str(part.get("text", ""))})
        elif kind == "refusal":
            parts.append({"type": "text", "text": str(part.get("refusal", ""))})
        elif kind == "input_image" and isinstance(part.get("image_url"), str):
            parts.append({"type": "image_url", "image_url": {"url": part["image_url"]}})
        elif isinstance(part, Mapping):
            parts.append(dict(part))
        else:
            raise Unfit(index, f"a part of the content that is {shown(part)}", "an object with 'type'")
    return _flat(parts)


def from_anthropic(items: Sequence[Any], system: Any = None) -> list[BaseMessage]:
    """Read Anthropic's messages; tool results inside a user's message become messages of their own."""
    made: list[BaseMessage] = [SystemMessage(_content(0, system))] if system else []
    for index, item in enumerate(items):
        role = _object(index, item, "an object with 'role' and 'content'").get("role")
        content = _content(index, item.get("content"))
        if role == "user":
            made += _anthropic_user(index, content, _about(item))
        elif role == "assistant":
            made.append(_anthropic_answer(index, content, _about(item)))
        elif role == "system":
            made.append(SystemMessage(content))
        else:
            raise Unfit(index, f"role {role!r}", "one of the roles user, assistant")
    return made


def _anthropic_user(index: int, content: Any, about: dict[str, Any]) -> list[BaseMessage]:
    if isinstance(content, str):
        return [HumanMessage(content, **about)]
    made: list[BaseMessage] = []
    rest: list[Any] = []
    for block in content:
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            result = _content(index, block.get("content") or "")
            status = "error" if block.get("is_error") else "success"
            call = _text(index, block, "tool_use_id")
            made.append(ToolMessage(result, tool_call_id=call, status=status))
        else:
            rest.append(block)
    return [*made, HumanMessage(_flat(rest), **about)] if rest or not made else made


def _anthropic_answer(index: int, content: Any, about: dict[str, Any]) -> AIMessage:
    parsed: dict[str, list[Any]] = {"tool_calls": [], "invalid_tool_calls": []}
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and block.get("type") == "tool_use":
            _add_call(parsed, block.get("id"), _text(index, block, "name"), block.get("input"))
    return AIMessage(_flat(content), **parsed, **about)


def from_langchain(items: Sequence[Any]) -> list[BaseMessage]:
    """Read what `messages_to_dict`, `dumpd` or a message's `model_dump` wrote. No class is loaded by its name."""
    made: list[BaseMessage] = []
    expected = "a message of LangChain: 'type' and 'content', 'type' and 'data', or 'lc'"
    for index, item in enumerate(items):
        item = _object(index, item, expected)
        data = item.get("kwargs") if "lc" in item else item.get("data", item)
        path = item.get("id")
        name = path[-1] if "lc" in item and isinstance(path, list) and path else item.get("type")
        kind = _LANGCHAIN.get(str(name).lower())
        if kind is None or not isinstance(data, Mapping):
            found = f"type {name!r}" if isinstance(data, Mapping) else shown(item)
            raise Unfit(index, found, expected if kind else "one of the types human, ai, system, tool")
        if "content" not in data:
            raise Unfit(index, shown(data), "'content'")
        made += messages_from_dict([{"type": kind, "data": {**data, "type": kind}}])
    return made


def _object(index: int, item: Any, expected: str) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise Unfit(index, shown(item), expected)
    return item


def _text(index: int, item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    if not isinstance(value, str) or not value:
        raise Unfit(index, f"{key}: {shown(value)}", f"a text under {key!r}")
    return value


def _content(index: int, content: Any) -> Any:
    """Return content that LangChain takes: a text, or a list of texts and objects."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, str | Mapping) for part in content):
        return _flat([dict(part) if isinstance(part, Mapping) else part for part in content])
    raise Unfit(index, f"content: {shown(content)}", "a text, or a list of content parts")


def _flat(blocks: Any) -> Any:
    """Return the text of a list that is one plain text block and nothing more."""
    if isinstance(blocks, list) and len(blocks) == 1 and isinstance(blocks[0], Mapping):
        only = blocks[0]
        if set(only) == {"type", "text"} and only["type"] == "text" and isinstance(only["text"], str):
            return only["text"]
    return blocks


def _about(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in ("id", "name") if isinstance(item.get(key), str) and item[key]}
