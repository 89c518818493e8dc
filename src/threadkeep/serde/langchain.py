"""Types of LangChain and Pydantic that are neither messages nor declared by a user."""

from __future__ import annotations

from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.messages.base import TextAccessor
from langchain_core.runnables.utils import AddableDict
from ormsgpack import Ext
from pydantic import AnyHttpUrl, AnyUrl, AnyWebsocketUrl, BaseModel, FileUrl, FtpUrl, HttpUrl, WebsocketUrl

from threadkeep.serde import wire
from threadkeep.serde.reader import Read, Reader
from threadkeep.serde.writer import Write, Writer

MODELS: Final[tuple[tuple[str, type[BaseModel]], ...]] = (("lc.Document", Document),)
"""Pydantic models under a name of ours, which stays when the class moves."""

_URLS: Final[tuple[Any, ...]] = (
    AnyUrl,
    AnyHttpUrl,
    HttpUrl,
    AnyWebsocketUrl,
    WebsocketUrl,
    FileUrl,
    FtpUrl,
)


def _write_text(writer: Writer, value: TextAccessor, depth: int) -> Ext:
    # TextAccessor overrides nothing of str, so str.__str__ gives the exact text.
    return Ext(wire.TEXT_ACCESSOR, wire.pack(writer.text(str.__str__(value))))


def _read_text(reader: Reader, data: bytes) -> TextAccessor:
    return TextAccessor(reader.unpack(data))


def _write_url(writer: Writer, value: Any, depth: int) -> Ext:
    return Ext(wire.URL, bytes([_URLS.index(type(value))]) + str(value).encode())


def _read_url(reader: Reader, data: bytes) -> Any:
    return _URLS[data[0]](data[1:].decode())


def _write_addable(writer: Writer, value: AddableDict, depth: int) -> Ext:
    return Ext(wire.ADDABLE, wire.pack(writer.mapping(dict(value), depth)))


def _read_addable(reader: Reader, data: bytes) -> AddableDict:
    return AddableDict(reader.unpack(data))


WRITE: Final[dict[type, Write]] = {
    TextAccessor: _write_text,
    AddableDict: _write_addable,
    **dict.fromkeys(_URLS, _write_url),
}

READ: Final[dict[int, Read]] = {
    wire.TEXT_ACCESSOR: _read_text,
    wire.ADDABLE: _read_addable,
    wire.URL: _read_url,
}
