"""Messages: class, content, and a flat list of those fields that are not the class's default.

The body of a message has no id: the id belongs to whoever refers to the body, so that equal messages
are one body. A message is rebuilt without validation, because what is stored was valid, or was
deliberately built invalid, and must come back as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from langchain_core import messages as lc
from langchain_core.messages import BaseMessage
from langchain_core.messages.base import BaseMessageChunk
from ormsgpack import Ext
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from threadkeep.serde import usage, wire
from threadkeep.serde.paths import name_of
from threadkeep.serde.writer import Writer

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
set_dict = BaseModel.__dict__["__dict__"].__set__
set_fields = BaseModel.__dict__["__pydantic_fields_set__"].__set__
set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
set_private = BaseModel.__dict__["__pydantic_private__"].__set__


class MessageCodec:
    """How one class of messages is written and read.

    `heads` are the first bytes of a body without and with fields.
    """

    def __init__(self, cls: type[BaseMessage], code: int | str) -> None:
        self.cls = cls
        self.code = code
        self.heads = b"\x92" + wire.pack(code), b"\x93" + wire.pack(code)
        self._extra = cls.model_config.get("extra") == "allow"
        self._private = bool(cls.__private_attributes__)
        self._template: dict[str, Any] = {}
        self._fresh: list[tuple[str, Callable[[], Any]]] = []
        self._fields: list[tuple[str, int | str, Any, type]] = []
        for name, field in cls.model_fields.items():
            self._add(name, field)
        self._required = [name for name, value in self._template.items() if value is _MISSING]
        self._required.remove("content")

    def _add(self, name: str, field: FieldInfo) -> None:
        factory: Any = field.default_factory
        default = _MISSING if field.is_required() or factory is not None else field.default
        if factory in (dict, list):
            self._fresh.append((name, factory))
            default = factory()
        elif isinstance(default, (dict, list)):
            default = _MISSING
        self._template[name] = default
        if name not in ("content", "id"):
            self._fields.append((name, _NUMBERS.get(name, name), default, type(default)))

    def fields(self, message: BaseMessage) -> list[Any]:
        """Return number, value, number, value ... of what is not the default, values as they are."""
        values = message.__dict__
        fields: list[Any] = []
        for name, number, default, kind in self._fields:
            value = values[name]
            if value is default or (type(value) is kind and value == default):
                continue
            if number == _TOOL_CALLS:
                fields += _flat_calls(value)
            elif number == _USAGE_METADATA and (counts := usage.flatten(value)) is not None:
                fields += _USAGE, counts
            else:
                fields += number, value
        if message.__pydantic_extra__:
            fields += _EXTRA, message.__pydantic_extra__
        if message.__pydantic_private__:
            fields += _PRIVATE, message.__pydantic_private__
        return fields

    def write(self, writer: Writer, message: BaseMessage, depth: int) -> list[Any]:
        """Return the wire value of a body."""
        body = [self.code, *writer.named([("content", message.__dict__["content"])], depth)]
        items = iter(self.fields(message))
        fields: list[Any] = []
        for number, value in zip(items, items, strict=True):
            fields += number, _write_field(writer, number, value, depth)
        return [*body, fields] if fields else body

    def build(self, body: list[Any], message_id: Any) -> BaseMessage:
        """Return the message of a body; ValueError when its class does not fit."""
        values = self._template.copy()
        for name, make in self._fresh:
            values[name] = make()
        values["content"] = body[1]
        values["id"] = message_id
        given = {"content"} if message_id is None else {"content", "id"}
        extra: dict[str, Any] | None = {} if self._extra else None
        private: dict[str, Any] | None = None
        if len(body) > 2:
            fields = body[2]
            for at in range(0, len(fields), 2):
                number, value = fields[at], fields[at + 1]
                if number == _EXTRA:
                    extra = checked_dict(value)
                elif number == _PRIVATE:
                    private = checked_dict(value)
                else:
                    name, restore = _READ.get(number) or _unnumbered(number)
                    values[name] = value if restore is None else restore(value)
                    given.add(name)
        if self._required:
            self._check(values)
        if len(values) != len(self._template):
            extra = self._overflow(values, given, extra)
        if private is None and self._private:
            private = {}
        message: BaseMessage = new_model(self.cls, values, given, extra, private)
        return message

    def _check(self, values: dict[str, Any]) -> None:
        for name in self._required:
            if values[name] is _MISSING:
                raise wire.Damaged(f"{name_of(self.cls)} needs a field {name!r} that was not stored")

    def _overflow(
        self, values: dict[str, Any], given: set[str], extra: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Move stored fields that the class no longer has to the extras."""
        gone = [name for name in values if name not in self._template]
        given.difference_update(gone)
        return {**(extra or {}), **{name: values.pop(name) for name in gone}}


_TOOL_CALLS: Final = FIELDS.index("tool_calls")
_USAGE_METADATA: Final = FIELDS.index("usage_metadata")


def new_model(
    cls: type[Any],
    values: dict[str, Any],
    given: set[str],
    extra: dict[str, Any] | None,
    private: dict[str, Any] | None,
) -> Any:
    """Return a Pydantic model of these parts, without validation."""
    model = object.__new__(cls)
    set_dict(model, values)
    set_fields(model, given)
    set_extra(model, extra)
    set_private(model, private)
    return model


def checked_dict(value: Any) -> dict[str, Any]:
    """Return a decoded value that must be a dict; raises Damaged."""
    if type(value) is not dict:
        raise wire.Damaged("a model whose fields are no dict")
    return value


def _flat_calls(calls: Any) -> tuple[int, Any]:
    """Return tool calls as name, args, id, name, args, id ... when every one has the usual shape."""
    if type(calls) is not list:
        return _TOOL_CALLS, calls
    flat: list[Any] = []
    for call in calls:
        if type(call) is not dict or tuple(call) != _CALL_KEYS:
            return _TOOL_CALLS, calls
        name, args, call_id, kind = call.values()
        if type(kind) is not str or kind != "tool_call":
            return _TOOL_CALLS, calls
        flat += name, args, call_id
    return _CALLS, flat


def _write_field(writer: Writer, number: Any, value: Any, depth: int) -> Any:
    if number in (_EXTRA, _PRIVATE):
        return writer.mapping(value, depth)
    if number == _CALLS:
        names = (f"tool_calls[{at // 3}].{_CALL_KEYS[at % 3]}" for at in range(len(value)))
        return writer.named(zip(names, value, strict=True), depth)
    name = _READ[number][0] if type(number) is int else number
    return writer.named([(name, value)], depth)[0]


def _calls(flat: Any) -> list[dict[str, Any]]:
    """Return tool calls of a flat list."""
    return [
        {"name": flat[at], "args": flat[at + 1], "id": flat[at + 2], "type": "tool_call"}
        for at in range(0, len(flat), 3)
    ]


_READ: Final[dict[int, tuple[str, Callable[[Any], Any] | None]]] = {
    **{number: (name, None) for number, name in enumerate(FIELDS)},
    _CALLS: ("tool_calls", _calls),
    _USAGE: ("usage_metadata", usage.unflatten),
}


def _unnumbered(name: Any) -> tuple[str, None]:
    if type(name) is not str:
        raise wire.Damaged(f"field {name!r} of a message is of a later version of Threadkeep")
    return name, None


def write_message(writer: Writer, message: BaseMessage, depth: int, codec: MessageCodec) -> Ext:
    """Return a reference to a message, or the message itself."""
    number = writer.message_number(message)
    if number is not None:
        return wire.reference(wire.REF_MESSAGE, number)
    body = codec.write(writer, message, depth)
    return Ext(wire.MESSAGE, wire.pack([writer.value(message.id, depth), body]))
