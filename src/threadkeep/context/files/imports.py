"""Read a conversation from a file or from JSON in the form of OpenAI, Anthropic or LangChain."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args

from langchain_core.messages import BaseMessage
from pydantic import ValidationError

from threadkeep.context.files import forms
from threadkeep.context.files.forms import Unfit, shown
from threadkeep.errors import ConfigurationError, InvalidMessages

Form = Literal["openai", "openai-responses", "anthropic", "langchain"]
"""Whose form a file of messages has."""

_LISTS: Final = ("messages", "input", "output", "items")
_RESPONSES: Final = (
    "function_call",
    "function_call_output",
    "reasoning",
    "custom_tool_call",
    "item_reference",
)
_CLAUDE: Final = ("tool_use", "tool_result", "thinking", "redacted_thinking")
_READERS: Final[Mapping[str, Callable[[Sequence[Any]], list[BaseMessage]]]] = {
    "openai": forms.from_openai,
    "openai-responses": forms.from_responses,
    "langchain": forms.from_langchain,
}


def load_messages(source: Any, *, form: Form | None = None) -> list[BaseMessage]:
    """Read the messages of one conversation; `form` is found out when it is not given.

    `source` is a path, JSON or JSON Lines as text or bytes, or the parsed value: a list of messages, or an object
    that holds them under `messages` (or `input`, `output`), with Anthropic's `system` or OpenAI's `instructions`
    beside them. A text that begins with a bracket or a brace is JSON, any other a path.

    Raises `InvalidMessages`, which names the item, what was found and what was expected; nothing is returned half.
    OSError where the file cannot be read, ConfigurationError for a form that does not exist.
    """
    if form is not None and form not in get_args(Form):
        raise ConfigurationError(
            f"there is no form {form!r} of messages; use one of {', '.join(get_args(Form))}"
        )
    value, name = _parsed(source)
    try:
        items, system = _listed(value)
        chosen = form or _form_of(items, value)
        made = _made(items, system, chosen)
    except Unfit as unfit:
        raise _error(name, unfit.index, unfit.found, unfit.expected) from unfit
    return made


def _made(items: Sequence[Any], system: Any, form: str) -> list[BaseMessage]:
    """Read the items one list at a time; where a message refuses its fields, find out which."""
    if not items:
        raise Unfit(0, "no message", "at least one")
    try:
        if form == "anthropic":
            return forms.from_anthropic(items, system)
        made = _READERS[form](items)
        return [*forms.from_openai([{"role": "system", "content": system}]), *made] if system else made
    except Unfit:
        raise
    except (ValidationError, TypeError, ValueError, KeyError, AttributeError, RecursionError) as refused:
        read = forms.from_anthropic if form == "anthropic" else _READERS[form]
        for index, item in enumerate(items):
            try:
                read([item])
            except Unfit:
                continue
            except (
                ValidationError,
                TypeError,
                ValueError,
                KeyError,
                AttributeError,
                RecursionError,
            ) as reason:
                raise Unfit(index, _first_line(reason), f"a message in the form {form!r}") from reason
        raise Unfit(0, _first_line(refused), f"messages in the form {form!r}") from refused


def _parsed(source: Any) -> tuple[Any, str]:
    """Return the JSON value, and what to call it in an error."""
    if isinstance(source, list | Mapping):
        return source, "the messages"
    if isinstance(source, str) and source.lstrip()[:1] in ("[", "{"):
        return _json(source, "the text"), "the text"
    if isinstance(source, bytes):
        return _json(_utf8(source, "the bytes"), "the bytes"), "the bytes"
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        name = repr(str(path))
        return _json(_utf8(path.read_bytes(), name), name), name
    raise _error("the source", 0, type(source).__name__, "a path, JSON, or a list of messages")


def _utf8(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _error(name, 0, f"bytes that are not UTF-8 at {error.start}", "JSON in UTF-8") from error


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise _error(name, 0, "JSON that is nested too deeply", "a list of messages") from error
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise _error(name, 0, f"no JSON ({error})", "JSON or JSON Lines") from error
    values = []
    for index, line in enumerate(lines):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise _error(name, index, f"a line that is no JSON ({error})", "one JSON value a line") from error
    return values


def _listed(value: Any) -> tuple[Sequence[Any], Any]:
    """Return the list of messages and the system prompt that stands beside it."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping) and _key_of(value[0]):
        value = value[0]
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, Mapping) and "role" not in item and isinstance(item.get("messages"), list):
                raise Unfit(index, "a conversation among several", "one conversation; split the file")
        return value, None
    if isinstance(value, Mapping):
        if isinstance(value.get("values"), Mapping):
            value = value["values"]
        if (key := _key_of(value)) is not None:
            inner = value[key]
            items = [{"role": "user", "content": inner}] if isinstance(inner, str) else inner
            return items, value.get("system") or value.get("instructions")
        if "role" in value or "type" in value or "lc" in value:
            return [value], None
    raise Unfit(0, shown(value), "a list of messages, or an object with 'messages'")


def _key_of(value: Mapping[str, Any]) -> str | None:
    if "role" in value:
        return None
    return next(
        (key for key in _LISTS if isinstance(value.get(key), list | str if key == "input" else list)), None
    )


def _form_of(items: Sequence[Any], whole: Any) -> str:
    """Find the form by what only one of them has; messages of text alone read the same in two of them."""
    if isinstance(whole, Mapping) and "system" in whole and "messages" in whole:
        return "anthropic"
    kinds = [item for item in items if isinstance(item, Mapping)]
    if any(
        item.get("type") in _RESPONSES or (item.get("type") == "message" and "role" in item) for item in kinds
    ):
        return "openai-responses"
    if any("role" not in item and ("lc" in item or "type" in item) for item in kinds):
        return "langchain"
    parts = [part for item in kinds if isinstance(item.get("content"), list) for part in item["content"]]
    types = {part.get("type") for part in parts if isinstance(part, Mapping)}
    if types.intersection(_CLAUDE) or any(
        isinstance(p, Mapping) and isinstance(p.get("source"), Mapping) for p in parts
    ):
        return "anthropic"
    if types.intersection(("input_text", "output_text", "input_image", "input_file")):
        return "openai-responses"
    return "openai"


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


def _error(name: str, index: int, found: str, expected: str) -> InvalidMessages:
    return InvalidMessages(
        f"{name}: message {index} (counted from 0) cannot be read: found {found}, expected {expected}",
        index=index,
        found=found,
        expected=expected,
    )
