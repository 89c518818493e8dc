"""Exceptions that a task wrote: type name, text and plain arguments; never the object."""

from __future__ import annotations

from typing import Any

from ormsgpack import Ext

from threadkeep.serde import wire
from threadkeep.serde.paths import Refused, name_of
from threadkeep.serde.reader import Reader
from threadkeep.serde.writer import Writer


def write_failure(writer: Writer, error: BaseException, depth: int) -> Ext:
    """Return an exception as its type name, its text, its repr and its arguments.

    An argument that cannot be stored is kept as its repr. Only an exception that is the whole value
    is taken, as LangGraph writes it for a failed task: inside a state it would come back as a text.
    """
    if depth > wire.NESTED_COST:
        name = name_of(type(error))
        raise Refused(f"exception {name!r} would come back as a text; store repr(error) or its fields", name)
    arguments = [_argument(writer, argument, depth) for argument in error.args]
    texts = [writer.text(_text(show, error)) for show in (str, repr)]
    return Ext(wire.ERROR, wire.pack([name_of(type(error)), *texts, arguments]))


def _argument(writer: Writer, argument: Any, depth: int) -> Any:
    if isinstance(argument, BaseException):
        return writer.text(_text(repr, argument))
    try:
        return writer.value(argument, depth + 1)
    except Refused:
        return writer.text(_text(repr, argument))


def _text(show: Any, value: Any) -> str:
    try:
        return str(show(value))
    except Exception:  # a task's error is worth keeping even when its own __str__ is broken
        return f"<{name_of(type(value))}>"


def read_failure(reader: Reader, data: bytes) -> str:
    """Return the repr of the exception, which is what LangGraph's own savers give back."""
    _, _, shown, _ = reader.unpack(data)
    if type(shown) is not str:
        raise wire.Damaged("an exception without its text")
    return shown
