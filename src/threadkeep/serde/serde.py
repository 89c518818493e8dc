"""Serde: values to bytes and back, exactly or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NoReturn

import ormsgpack
from langchain_core.messages import BaseMessage
from ormsgpack import Ext

from threadkeep.errors import ConfigurationError, SerializationError, ThreadkeepError
from threadkeep.serde import arrays, failures, langchain, stdlib, temporal, wire
from threadkeep.serde.declared import ModelCodec, Shape, Upgrade, codec_for
from threadkeep.serde.kinds import undeclared
from threadkeep.serde.messages import CLASSES, MessageCodec, write_message
from threadkeep.serde.objects import ObjectCodec, PartsCodec, checked
from threadkeep.serde.paths import Refused, name_of, refusal
from threadkeep.serde.reader import Read, Reader, number
from threadkeep.serde.refs import RefSink, RefSource, references
from threadkeep.serde.unknown import UnknownMessage, UnknownType, inlined, unknown_message
from threadkeep.serde.writer import (
    Write,
    Writer,
    holds_messages,
    may_hold_long_text,
    pack_plain,
)


class Serde:
    """A closed registry of types, and the bytes of their values.

    What is encoded comes back equal, of the same type and in the same order, or is refused with a
    SerializationError that names its place and the remedy. Bytes never cause an import or a call of
    anything that was not registered. May be used from several threads.
    """

    def __init__(self, types: Iterable[type] = (), *, max_bytes: int = wire.MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._write: dict[type, Write] = {**stdlib.WRITE, **temporal.WRITE, **langchain.WRITE}
        self._write[UnknownType] = _write_unknown
        self._write[UnknownMessage] = _write_unknown_message
        self._objects: dict[str, ObjectCodec] = {}
        self._messages: dict[type, MessageCodec] = {}
        self._by_code: dict[Any, MessageCodec] = {}
        for code, cls in enumerate(CLASSES):
            self._add_message(MessageCodec(cls, code))
        for name, model in langchain.MODELS:
            self._add_object(ModelCodec(model, name))
        self._read: dict[int, Read] = {**stdlib.READ, **temporal.READ, **arrays.READ, **langchain.READ}
        self._read.update(_REFERENCES)
        self._read[wire.ERROR] = failures.read_failure
        self._read[wire.OBJECT] = self._read_object
        self._read[wire.MESSAGE] = self._read_inline
        self.allow(*types)

    def allow(self, *types: type) -> None:
        """Declare types whose values may be stored: dataclasses, Pydantic models, enums, named tuples.

        A subclass of a LangChain message is declared likewise. Declaring a type twice, or one that
        needs no declaration, does nothing. Raises ConfigurationError for a type of another kind.
        """
        with self._lock:
            for cls in types:
                self._allow(cls)

    def upgrade(self, cls: type, function: Upgrade) -> None:
        """Declare a type and what to do with stored values that do not fit it any more.

        `function` is given the stored fields by name and returns the object. It is called for a
        dataclass or a named tuple whose field names differ, for an enum without the stored member,
        and for a Pydantic model whose fields or their annotations have changed.
        """
        self.allow(cls)
        with self._lock:
            codec = self._objects.get(name_of(cls))
            if not isinstance(codec, Shape):
                raise ConfigurationError(f"{cls!r} has no shape of its own to upgrade from")
            codec.upgrade = function

    def register(
        self,
        code: str,
        cls: type,
        to_parts: Callable[[Any], Iterable[Any]],
        from_parts: Callable[[list[Any]], Any],
        fields: Sequence[str] = (),
    ) -> None:
        """Register a class of a framework: its values are stored as `code` and a list of parts.

        `fields` name the parts in the path of an error. For adapters.
        """
        with self._lock:
            self._add_object(PartsCodec(code, cls, to_parts, from_parts, fields))

    def encode(self, value: Any, *, path: str = "value", refs: RefSink | None = None) -> bytes:
        """Return the bytes of a value.

        `path` is where the value is, for errors. With `refs`, messages, long texts and lists of
        messages are offered to it and written as references. Raises SerializationError.
        """
        packed = None
        if type(value) is dict or (type(value) is list and not holds_messages(value)):
            packed = pack_plain(value)
        if packed is None or (refs is not None and may_hold_long_text(packed)):
            exact = packed is not None
            packed = self._walk(lambda writer: writer.value(value, 0), path, refs, exact)
        return packed if len(packed) <= self._max_bytes else self._too_long(packed, path)

    def decode(self, data: bytes, refs: RefSource | None = None) -> Any:
        """Return the value of encoded bytes; a type that was not declared is an UnknownType.

        Raises SerializationError for damaged bytes, and for a class whose shape has changed.
        """
        return Reader(self._read, refs).read(data)

    def message_body(
        self, message: BaseMessage, *, path: str = "value", refs: RefSink | None = None
    ) -> bytes:
        """Return the bytes of a message without its id; equal messages have equal bytes."""
        codec = self._messages.get(type(message))
        if codec is None:
            return self._other_body(message, path)
        packed = _plain_body(message, codec, refs)
        if packed is None:
            packed = self._walk(lambda writer: codec.write(writer, message, 0), path, refs, False)
        return packed if len(packed) <= self._max_bytes else self._too_long(packed, path)

    def message(self, body: bytes, message_id: str | None, refs: RefSource | None = None) -> BaseMessage:
        """Return the message of a body, with this id.

        The message of a class that was not declared is an UnknownMessage.
        """
        try:
            parts = ormsgpack.unpackb(body)
            return self._by_code[parts[0]].build(parts, message_id)
        except (ValueError, TypeError, LookupError):
            return self._slow_message(body, message_id, refs)

    def _slow_message(self, body: bytes, message_id: str | None, refs: RefSource | None) -> BaseMessage:
        """Read a message with references or other extensions, of an unknown class, or damaged."""
        reader = Reader(self._read, refs)
        parts = reader.read(body)
        try:
            return self._message(reader, parts, message_id, body)
        except (ValueError, TypeError, LookupError) as exc:
            raise reader.damage(exc) from exc

    def _allow(self, cls: Any) -> None:
        if isinstance(cls, type) and issubclass(cls, BaseMessage):
            if cls not in self._messages and cls is not UnknownMessage:
                self._add_message(MessageCodec(cls, name_of(cls)))
        elif cls not in self._write and not (isinstance(cls, type) and self._find(cls)):
            codec = codec_for(cls)
            if codec is not None:
                self._add_object(codec)

    def _find(self, kind: type) -> Write | None:
        """Return how values of a type that was not met before are written, or None."""
        write = failures.write_failure if issubclass(kind, BaseException) else arrays.array_writer(kind)
        if write is not None:
            self._write[kind] = write
        return write

    def _add_message(self, codec: MessageCodec) -> None:
        def write(writer: Writer, value: Any, depth: int) -> Ext:
            return write_message(writer, value, depth, codec)

        self._messages[codec.cls] = codec
        self._by_code[codec.code] = codec
        self._write[codec.cls] = write

    def _add_object(self, codec: ObjectCodec) -> None:
        def write(writer: Writer, value: Any, depth: int) -> Ext:
            return Ext(wire.OBJECT, wire.pack([codec.name, *codec.write(writer, value, depth)]))

        self._objects[codec.name] = codec
        self._write[codec.cls] = write

    def _walk(self, work: Callable[[Writer], Any], path: str, refs: RefSink | None, exact: bool) -> bytes:
        """Pack what a writer makes; once more with a look at every text when C refuses one."""
        try:
            try:
                return wire.pack(work(Writer(self._write, self._find, refs, exact=exact)))
            except TypeError:
                return wire.pack(work(Writer(self._write, self._find, refs, strict=True)))
        except Refused as refused:
            raise refusal(path, refused) from None
        except ThreadkeepError:
            raise
        except Exception as exc:  # attributes of a user's type may raise anything
            reason = Refused(f"encoding it raised {type(exc).__name__}: {exc}")
            raise refusal(path, reason) from exc

    def _too_long(self, packed: bytes, path: str) -> NoReturn:
        raise SerializationError(
            f"cannot store {path}: it takes {len(packed):,} bytes and the limit is {self._max_bytes:,}; "
            "keep large data outside the state and store a reference to it",
            path=path,
            type_name="",
        )

    def _other_body(self, message: BaseMessage, path: str) -> bytes:
        if isinstance(message, UnknownMessage):
            return message.raw
        raise refusal(path, undeclared(type(message)))

    def _message(self, reader: Reader, parts: Any, message_id: Any, body: bytes) -> BaseMessage:
        if type(parts) is not list or len(parts) < 2:
            raise wire.Damaged("no message")
        codec = self._by_code.get(parts[0])
        if codec is not None:
            return codec.build(parts, message_id)
        if type(parts[0]) is not str:
            raise wire.Damaged(f"message class {parts[0]!r} is of a later version of Threadkeep")
        return unknown_message(parts[0], parts[1], self._standalone(reader, body), message_id)

    def _read_inline(self, reader: Reader, data: bytes) -> BaseMessage:
        message_id, parts = reader.unpack(data)
        return self._message(reader, parts, message_id, data[1 + len(self.encode(message_id)) :])

    def _read_object(self, reader: Reader, data: bytes) -> Any:
        name, parts = checked(reader.unpack(data))
        codec = self._objects.get(name)
        if codec is None:
            return UnknownType(name, self._standalone(reader, data))
        return codec.read(parts)

    def _standalone(self, reader: Reader, raw: bytes) -> bytes:
        """Return raw bytes without references, which mean nothing outside the thread they are from."""
        if references(raw) == ([], []):
            return raw

        def resolve(code: int, payload: bytes) -> Any:
            writer = Writer(self._write, self._find, None, strict=True)
            return writer.value(_REFERENCES[code](reader, payload), 0)

        return inlined(raw, resolve)


_REFERENCES: Final[dict[int, Read]] = {
    wire.REF_MESSAGE: lambda reader, data: reader.refs.message(number(data)),
    wire.REF_TEXT: lambda reader, data: reader.refs.text(number(data)),
    wire.REF_SEQUENCE: lambda reader, data: reader.refs.sequence(number(data)),
}


def _plain_body(message: BaseMessage, codec: MessageCodec, refs: RefSink | None) -> bytes | None:
    """Return the body of a message with plain content and fields, or None for any other."""
    try:
        content = _plain_content(message.__dict__["content"], refs)
        fields = codec.fields(message)
    except (TypeError, LookupError):
        return None
    if content is None or not fields:
        return content and codec.heads[0] + content
    packed = pack_plain(fields)
    if packed is None or (refs is not None and may_hold_long_text(packed)):
        return None
    return codec.heads[1] + content + packed


def _plain_content(content: Any, refs: RefSink | None) -> bytes | None:
    if type(content) is str:
        if refs is not None and len(content) >= wire.LEAF_MIN:
            number = refs.text(content)
            content = content if number is None else wire.reference(wire.REF_TEXT, number)
        return wire.pack(content)
    packed = pack_plain(content) if type(content) is list else None
    if packed is None or (refs is not None and may_hold_long_text(packed)):
        return None
    return packed


def _write_unknown(writer: Writer, value: UnknownType, depth: int) -> Ext:
    return Ext(wire.OBJECT, value.raw)


def _write_unknown_message(writer: Writer, value: UnknownMessage, depth: int) -> Ext:
    number = writer.message_number(value)
    if number is not None:
        return wire.reference(wire.REF_MESSAGE, number)
    return Ext(wire.MESSAGE, wire.joined([wire.pack(writer.value(value.id, depth)), value.raw]))
