"""Messages: a flat list of class, content, and only those fields that are not the class's default.

The body of a message has no id: the id belongs to whoever refers to the body, so that equal messages
are one body. A message is rebuilt without validation, because what is stored was valid, or was
deliberately built invalid, and must come back as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from langchain_core import messages as lc
from langchain_core.messages import BaseMessage
from langchain_core.messages.base import BaseMessageChunk
from ormsgpack import Ext
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from threadkeep.serde import usage, wire
from threadkeep.serde.paths import Refused, name_of
from threadkeep.serde.refs import RefSource
from threadkeep.serde.writer import Writer

if TYPE_CHECKING:
    from threadkeep.serde.reader import Reader

CLASSES: Final[tuple[type[BaseMessage], ...]] = (
    lc.HumanMessage,
    lc.AIMessage,
    lc.ToolMessage,
    lc.SystemMessage,
    lc.RemoveMessage,
    lc.ChatMessage,
    lc.FunctionMessage,
    lc.HumanMessageChunk,
    lc.AIMessageChunk,
    lc.ToolMessageChunk,
    lc.SystemMessageChunk,
    lc.ChatMessageChunk,
    lc.FunctionMessageChunk,
    BaseMessage,
    BaseMessageChunk,
)
"""Append-only: the place of a class is its number in stored bodies."""

FIELDS: Final = (
    "additional_kwargs",
    "response_metadata",
    "name",
    "tool_calls",
    "invalid_tool_calls",
    "usage_metadata",
    "tool_call_id",
    "artifact",
    "status",
    "tool_call_chunks",
    "chunk_position",
    "role",
    "type",
)
"""Append-only: the place of a field is its number in stored bodies; others are stored by name."""

_NUMBERS: Final[dict[str, int | str]] = {name: number for number, name in enumerate(FIELDS)}
_CALLS, _USAGE, _EXTRA, _PRIVATE = 64, 65, 66, 67
_CALL_KEYS: Final = ("name", "args", "id", "type")
_MISSING: Final = object()

# Slots of BaseModel, set directly: 50 ns each instead of pydantic's own __setattr__.
_set_dict = BaseModel.__dict__["__dict__"].__set__
_set_fields = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


class MessageCodec:
    """How one class of messages is written and read."""

    def __init__(self, cls: type[BaseMessage], code: int | str) -> None:
        self.cls = cls
        self.code = code
        self.extra = cls.model_config.get("extra") == "allow"
        self.private = bool(cls.__private_attributes__)
        self.template: dict[str, Any] = {}
        self.fresh: list[tuple[str, type]] = []
        self.fields: list[tuple[str, int | str, Any, type | None]] = []
        for name, field in cls.model_fields.items():
            self._add(name, field.get_default(call_default_factory=False), field.default_factory)
        self.required = [name for name, value in self.template.items() if value is _MISSING]

    def _add(self, name: str, default: Any, factory: Any) -> None:
        if factory in (dict, list):
            self.fresh.append((name, factory))
            default = factory()
        elif factory is not None or default is PydanticUndefined:
            default = _MISSING
        self.template[name] = default
        if name not in ("content", "id"):
            self.fields.append((name, _NUMBERS.get(name, name), default, type(default)))

    def parts(self, message: BaseMessage, writer: Writer | None, depth: int) -> list[Any]:
        """Return the flat list of a message; without a writer the values are left as they are."""
        values = message.__dict__
        parts = [self.code, values["content"]]
        if writer is not None:
            parts[1] = _step(writer, "content", parts[1], depth)
        for name, number, default, kind in self.fields:
            value = values[name]
            if value is default or (type(value) is kind and value == default):
                continue
            if number == 3 and (calls := _flat_calls(value)) is not None:
                number, value = _CALLS, calls
            elif number == 5 and (counts := usage.flatten(value)) is not None:
                number, value = _USAGE, counts
            parts += number, value if writer is None else _step(writer, name, value, depth)
        for number, rest in ((_EXTRA, message.__pydantic_extra__), (_PRIVATE, message.__pydantic_private__)):
            if rest:
                parts += number, rest if writer is None else writer.mapping(rest, depth)
        return parts

    def build(self, parts: list[Any], message_id: Any) -> BaseMessage:
        """Return the message of a flat list; ValueError when its class does not fit."""
        values = self.template.copy()
        for name, kind in self.fresh:
            values[name] = kind()
        values["content"] = parts[1]
        values["id"] = message_id
        given = {"content"} if message_id is None else {"content", "id"}
        extra: dict[str, Any] | None = {} if self.extra else None
        private: dict[str, Any] | None = {} if self.private else None
        if len(parts) > 2:
            for number, value in _pairs(parts):
                if number == _EXTRA:
                    extra = value
                elif number == _PRIVATE:
                    private = value
                else:
                    name, value = _field(number, value)
                    if name not in values:
                        extra = {**(extra or {}), name: value}
                        continue
                    values[name] = value
                    given.add(name)
        for name in self.required:
            if values[name] is _MISSING:
                raise wire.Damaged(f"{name_of(self.cls)} needs a field {name!r} that was not stored")
        return new_model(self.cls, values, given, extra, private)


def new_model(
    cls: type[Any],
    values: dict[str, Any],
    given: set[str],
    extra: dict[str, Any] | None,
    private: dict[str, Any] | None,
) -> Any:
    """Return a Pydantic model of these parts, without validation."""
    model = cls.__new__(cls)
    _set_dict(model, values)
    _set_fields(model, given)
    _set_extra(model, extra)
    _set_private(model, private)
    return model


def _step(writer: Writer, name: str, value: Any, depth: int) -> Any:
    try:
        return writer.value(value, depth + 1)
    except Refused as refused:
        refused.steps.append(name)
        raise


def _flat_calls(calls: Any) -> list[Any] | None:
    """Return tool calls as name, args, id, name, args, id ... when every one has the usual shape."""
    if type(calls) is not list:
        return None
    flat: list[Any] = []
    for call in calls:
        if type(call) is not dict or tuple(call) != _CALL_KEYS:
            return None
        name, args, call_id, kind = call.values()
        if type(kind) is not str or kind != "tool_call":
            return None
        flat += name, args, call_id
    return flat


def _pairs(parts: list[Any]) -> Iterator[tuple[Any, Any]]:
    items = iter(parts)
    next(items)
    next(items)
    return zip(items, items, strict=True)


def _field(number: Any, value: Any) -> tuple[str, Any]:
    """Return the name and the value of a stored field."""
    if type(number) is str:
        return number, value
    if type(number) is not int:
        raise wire.Damaged("a field of a message is neither a number nor a name")
    if number < len(FIELDS):
        return FIELDS[number], value
    if number == _CALLS:
        items = iter(value)
        return "tool_calls", [
            {"name": name, "args": args, "id": call_id, "type": "tool_call"}
            for name, args, call_id in zip(items, items, items, strict=True)
        ]
    if number == _USAGE:
        return "usage_metadata", usage.unflatten(value)
    raise wire.Damaged(f"field {number} of a message is of a later version of Threadkeep")


def write_message(writer: Writer, message: BaseMessage, depth: int, codec: MessageCodec) -> Ext:
    """Return a reference to a message, or the message itself."""
    number = writer.message_number(message)
    if number is not None:
        return wire.reference(wire.REF_MESSAGE, number)
    parts = codec.parts(message, writer, depth)
    return Ext(wire.MESSAGE, wire.pack([writer.value(message.id, depth), parts]))
