"""Values to wire values: exact plain data with `Ext` in place of everything else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import BaseMessage
from ormsgpack import Ext

from threadkeep.serde import wire
from threadkeep.serde.kinds import undeclared
from threadkeep.serde.paths import Refused

if TYPE_CHECKING:
    from threadkeep.serde.refs import RefSink

Write = Callable[["Writer", Any, int], Any]

_SCALARS: Final = frozenset({type(None), bool, int, float, bytes})
_PLAIN: Final = _SCALARS | {str}
_TEXT: Final = frozenset({str})
_CONTAINERS: Final = frozenset({dict, list})
_LOOK_DEPTH: Final = 4
_LOOK_VALUES: Final = 200


def pack_plain(value: Any) -> bytes | None:
    """Return the bytes of a list or dict of exact plain data, or None for any other."""
    try:
        return wire.pack(value) if _is_plain(value, 0) else None
    except (TypeError, RecursionError):
        return None


def _is_plain(value: Any, depth: int) -> bool:
    """Whether a list or dict holds exact plain data only, to be taken by C as it is.

    Looked at item by item, because C writes some subclasses silently as their base.
    """
    if depth >= wire.MAX_DEPTH:
        return False
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                return False
            kind = type(item)
            if kind not in _PLAIN and (kind not in _CONTAINERS or not _is_plain(item, depth + 1)):
                return False
        return True
    for item in value:
        kind = type(item)
        if kind not in _PLAIN and (kind not in _CONTAINERS or not _is_plain(item, depth + 1)):
            return False
    return True


_LONG: Final = re.compile(rb"\xd9[\x60-\xff]|\xda|\xdb").search
_SHORT: Final = 1000
_TEXT_HEADERS: Final = (b"\xd9", b"\xda", b"\xdb")
_NO_TEXT_HEADER: Final = bytes({*range(256)} - {0xD9, 0xDA, 0xDB})


def may_hold_long_text(packed: bytes) -> bool:
    """Whether packed bytes may hold a text of `LEAF_MIN` bytes: by the headers of such texts."""
    if len(packed) > _SHORT:
        seen = any(header in packed for header in _TEXT_HEADERS)
    else:
        seen = bool(packed.translate(None, _NO_TEXT_HEADER))
    return seen and _LONG(packed) is not None


class Writer:
    """One walk over one value. Not shared between threads."""

    __slots__ = ("_codecs", "_exact", "_find", "_left", "_refs", "_strict")

    def __init__(
        self,
        codecs: Mapping[type, Write],
        find: Callable[[type], Write | None],
        refs: RefSink | None,
        *,
        exact: bool = False,
        strict: bool = False,
    ) -> None:
        self._codecs = codecs
        self._find = find
        self._refs = refs
        self._exact = exact
        self._strict = strict
        self._left = _LOOK_VALUES

    def value(self, value: Any, depth: int) -> Any:
        """Return the wire value of anything, or raise Refused."""
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is str:
            return self.text(value)
        if depth >= wire.MAX_DEPTH:
            raise Refused(f"it nests deeper than {wire.MAX_DEPTH} levels or contains itself")
        if kind is dict:
            return self.mapping(value, depth)
        if kind is list:
            return self.sequence(value, depth)
        write = self._codecs.get(kind) or self._find(kind)
        if write is None:
            raise undeclared(kind)
        return write(self, value, depth + wire.NESTED_COST)

    def text(self, text: str) -> Any:
        """Return an exact str, a reference to it, or its escaped form when it holds surrogates."""
        if self._refs is not None and len(text) >= wire.LEAF_MIN:
            number = self._refs.text(text)
            if number is not None:
                return wire.reference(wire.REF_TEXT, number)
        if self._strict and _has_surrogate(text):
            return Ext(wire.TEXT, text.encode("utf-8", "surrogatepass"))
        return text

    def mapping(self, value: dict[Any, Any], depth: int) -> Any:
        """Return an exact dict: as it is when C can take it whole, else item by item."""
        if self._exact and (depth >= _LOOK_DEPTH or self._left <= 0):
            return value
        self._left -= len(value)
        kinds = set(map(type, value.values()))
        keyed = _TEXT.issuperset(map(type, value))
        if keyed and kinds <= (_SCALARS if self._looks(kinds, depth) else _PLAIN):
            return value
        if not keyed or (self._strict and any(map(_has_surrogate, value))):
            return self._pairs(value, depth)
        out: dict[str, Any] = {}
        key: Any = None
        try:
            for key, item in value.items():
                out[key] = self.value(item, depth + 1)
        except Refused as refused:
            refused.steps.append(key)
            raise
        return out

    def _pairs(self, value: dict[Any, Any], depth: int) -> Ext:
        flat: list[Any] = []
        key: Any = None
        try:
            for key, item in value.items():
                flat.append(self.value(key, depth + 1))
                flat.append(self.value(item, depth + 1))
        except Refused as refused:
            refused.steps.append(key)
            raise
        return Ext(wire.MAP, wire.pack(flat))

    def sequence(self, value: list[Any], depth: int) -> Any:
        """Return an exact list, or a reference when it holds messages and the engine keeps it."""
        if self._exact and (depth >= _LOOK_DEPTH or self._left <= 0):
            return value
        if self._refs is not None and holds_messages(value):
            number = self._refs.sequence(value)
            if number is not None:
                return wire.reference(wire.REF_SEQUENCE, number)
        self._left -= len(value)
        kinds = set(map(type, value))
        if kinds <= (_SCALARS if self._looks(kinds, depth) else _PLAIN):
            return value
        return self.items(value, depth)

    def items(self, values: Iterable[Any], depth: int) -> list[Any]:
        """Return the wire values of the items of any iterable, in order."""
        out: list[Any] = []
        try:
            for item in values:
                out.append(self.value(item, depth + 1))
        except Refused as refused:
            refused.steps.append(len(out))
            raise
        return out

    def named(self, parts: Iterable[tuple[str, Any]], depth: int) -> list[Any]:
        """Return the wire values of named parts, in order; names serve the path of an error only."""
        out: list[Any] = []
        for name, part in parts:
            try:
                out.append(self.value(part, depth + 1))
            except Refused as refused:
                refused.steps.append(name)
                raise
        return out

    def message_number(self, message: BaseMessage) -> int | None:
        """Return the content number of a message when the engine keeps it apart."""
        return None if self._refs is None else self._refs.message(message)

    def _looks(self, kinds: set[type], depth: int) -> bool:
        """Whether texts in a container have to be looked at one by one."""
        if str not in kinds:
            return False
        if self._strict:
            return True
        if self._refs is None or depth >= _LOOK_DEPTH:
            return False
        return self._left > 0


def holds_messages(items: list[Any]) -> bool:
    """Whether a list starts or ends with a message."""
    return bool(items) and (isinstance(items[0], BaseMessage) or isinstance(items[-1], BaseMessage))


def _has_surrogate(text: Any) -> bool:
    if type(text) is not str or text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
