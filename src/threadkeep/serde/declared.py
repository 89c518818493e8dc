"""Types that a user declares: dataclasses, Pydantic models, enums and named tuples."""

from __future__ import annotations

import dataclasses
import re
import zlib
from collections.abc import Callable
from enum import Enum
from functools import cached_property
from typing import Any, Final, is_typeddict

from pydantic import BaseModel, ValidationError

from threadkeep.errors import ConfigurationError, SerializationError
from threadkeep.serde.kinds import is_dataclass, is_named_tuple
from threadkeep.serde.messages import checked_dict, new_model
from threadkeep.serde.objects import ObjectCodec
from threadkeep.serde.paths import Refused, name_of
from threadkeep.serde.writer import Writer

Upgrade = Callable[[dict[str, Any]], Any]

_NEED_NOTHING: Final = (type(None), bool, int, float, str, bytes, list, dict, object)
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")


def codec_for(cls: Any) -> ObjectCodec | None:
    """Return the codec of a type that can be declared, or None for one that needs none.

    Raises ConfigurationError for any other.
    """
    if cls in _NEED_NOTHING or is_typeddict(cls):
        return None
    if isinstance(cls, type):
        name = name_of(cls)
        if issubclass(cls, Enum):
            return EnumCodec(cls, name)
        if issubclass(cls, BaseModel):
            return ModelCodec(cls, name)
        if is_named_tuple(cls):
            return NamedTupleCodec(cls, name)
        if is_dataclass(cls):
            return DataclassCodec(cls, name)
    raise ConfigurationError(
        f"{cls!r} cannot be declared: a dataclass, a Pydantic model, an Enum, a named tuple or a subclass of "
        "a LangChain message can; store its plain data instead"
    )


class Shape:
    """A class stored by field names, whose stored values may be of an earlier shape of the class."""

    def __init__(self, cls: type, name: str) -> None:
        self.cls = cls
        self.name = name
        self.upgrade: Upgrade | None = None

    def changed(self, stored: Any, why: str) -> Any:
        """Return what the registered upgrade makes of the stored fields, or say that one is needed."""
        if self.upgrade is not None and type(stored) is dict:
            return self.upgrade(stored)
        short = self.cls.__qualname__
        raise SerializationError(
            f"a stored {self.name!r} does not fit its class any more ({why}); register a function from the "
            f"stored fields to the new object: memory.upgrade({short}, function)",
            path="",
            type_name=self.name,
        )


def difference(stored: Any, present: Any) -> str:
    """Say in which names two collections differ."""
    gone, new = sorted(set(stored) - set(present)), sorted(set(present) - set(stored))
    parts = [f"{text} {', '.join(names)}" for text, names in (("unknown", gone), ("missing", new)) if names]
    return "; ".join(parts)


class EnumCodec(Shape):
    """An enum by the name of its member, and by its value where it has no name (a Flag)."""

    def write(self, writer: Writer, value: Any, depth: int) -> list[Any]:
        """Return name and value."""
        name = value.name
        if name is not None and name in self.cls.__members__:  # type: ignore[attr-defined]
            return [name]
        return [None, *writer.named([("value", value.value)], depth)]

    def read(self, parts: list[Any]) -> Any:
        """Return the member."""
        name, *value = parts
        if name is None:
            return self.cls(*value)
        try:
            return self.cls.__members__[name]  # type: ignore[attr-defined]
        except KeyError:
            return self.changed({"name": name}, f"no member {name}")


class NamedTupleCodec(Shape):
    """A named tuple by its field names."""

    def __init__(self, cls: Any, name: str) -> None:
        super().__init__(cls, name)
        self._fields: tuple[str, ...] = cls._fields

    def write(self, writer: Writer, value: Any, depth: int) -> list[Any]:
        """Return a dict of fields."""
        return [_dict(self._fields, writer.named(zip(self._fields, value, strict=True), depth))]

    def read(self, parts: list[Any]) -> Any:
        """Return the named tuple."""
        (stored,) = parts
        if tuple(stored) != self._fields:
            return self.changed(stored, difference(stored, self._fields) or "other order")
        return tuple.__new__(self.cls, stored.values())


class DataclassCodec(Shape):
    """A dataclass by its fields, and what else its instances keep in their __dict__."""

    def __init__(self, cls: Any, name: str) -> None:
        super().__init__(cls, name)
        self._fields = tuple(field.name for field in dataclasses.fields(cls))
        self._known = frozenset(self._fields)

    def write(self, writer: Writer, value: Any, depth: int) -> list[Any]:
        """Return a dict of fields, and one of other attributes when there are any."""
        unset = [name for name in self._fields if not hasattr(value, name)]
        if unset:
            raise Refused(f"its field {unset[0]!r} has no value", self.name)
        names = self._fields
        out: list[Any] = [_dict(names, writer.named(((name, getattr(value, name)) for name in names), depth))]
        rest = self._rest(value)
        if rest:
            out.append(_dict(rest, writer.named(rest.items(), depth)))
        return out

    def _rest(self, value: Any) -> dict[str, Any]:
        own = getattr(value, "__dict__", None)
        if not own or own.keys() <= self._known:
            return {}
        return {
            name: item
            for name, item in own.items()
            if name not in self._known and not isinstance(getattr(self.cls, name, None), cached_property)
        }

    def read(self, parts: list[Any]) -> Any:
        """Return an instance, made without calling __init__ or __post_init__."""
        stored, *rest = parts
        if type(stored) is not dict or stored.keys() != self._known:
            return self.changed(stored, difference(stored, self._fields))
        made: Any = object.__new__(self.cls)
        for values in (stored, *rest):
            for name, value in values.items():
                object.__setattr__(made, name, value)
        return made


def _dict(names: Any, values: list[Any]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


class ModelCodec(Shape):
    """A Pydantic model by its values, extras, private attributes and the set of given fields.

    Restored as it was while the class is what it was when the value was stored, by a fingerprint of
    its fields; validated by the class otherwise.
    """

    def __init__(self, cls: Any, name: str) -> None:
        super().__init__(cls, name)
        self._fields: tuple[str, ...] = tuple(cls.model_fields)
        self._known = frozenset(self._fields)
        self._print: int | None = None

    @property
    def fingerprint(self) -> int:
        """A number that changes with the names and annotations of the fields."""
        if self._print is None:
            fields = self.cls.model_fields.items()  # type: ignore[attr-defined]
            text = "\n".join(f"{name}:{field.annotation!r}" for name, field in fields)
            self._print = zlib.crc32(_ADDRESS.sub("", text).encode("utf-8", "surrogatepass"))
        return self._print

    def write(self, writer: Writer, value: Any, depth: int) -> list[Any]:
        """Return fingerprint, values, names of given fields (None for all), extras and private ones."""
        values = {name: item for name, item in value.__dict__.items() if name in self._known}
        out = [self.fingerprint, _dict(values, writer.named(values.items(), depth))]
        given = value.__pydantic_fields_set__
        tail: list[Any] = [None if given == values.keys() else sorted(given)]
        for rest in (value.__pydantic_extra__, value.__pydantic_private__):
            tail.append(None if rest is None else _dict(rest, writer.named(rest.items(), depth)))
        while tail and tail[-1] is None:
            tail.pop()
        return out + tail

    def read(self, parts: list[Any]) -> Any:
        """Return the model."""
        fingerprint, stored, given, *rest = (parts + [None] * 5)[:5]
        checked_dict(stored)
        extra, private = (None if part is None else checked_dict(part) for part in rest)
        if fingerprint != self.fingerprint:
            return self._validated(stored, extra, private)
        fields_set = set(stored) if given is None else set(given)
        return new_model(self.cls, stored, fields_set, extra, private)

    def _validated(self, stored: Any, extra: Any, private: Any) -> Any:
        if self.upgrade is not None:
            return self.upgrade({**stored, **(extra or {})})
        try:
            made: Any = self.cls.model_validate({**stored, **(extra or {})}, by_name=True)  # type: ignore[attr-defined]
        except ValidationError as exc:
            return self.changed(None, str(exc).replace("\n", " "))
        for name, value in (private or {}).items():
            if name in self.cls.__private_attributes__:  # type: ignore[attr-defined]
                setattr(made, name, value)
        return made
