"""What kind of type a class is, and so what a user can do about it."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import Any, Final, TypeGuard

from pydantic import BaseModel

from threadkeep.serde.paths import Refused, name_of

_BUILT_IN: Final = (str, bytes, int, float, complex, list, dict, set, frozenset, tuple)
_MADE_ELSEWHERE: Final = (*_BUILT_IN, bytearray, BaseException, type)


def is_named_tuple(cls: type) -> TypeGuard[type[tuple[Any, ...]]]:
    """Whether a class is a named tuple."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_dataclass(cls: type) -> bool:
    """Whether a class is a dataclass and nothing else: one that is also a list or an error is not."""
    return dataclasses.is_dataclass(cls) and not issubclass(cls, _MADE_ELSEWHERE)


def is_declarable(cls: type) -> bool:
    """Whether values of a class can be stored once the class is declared."""
    return issubclass(cls, (Enum, BaseModel)) or is_named_tuple(cls) or is_dataclass(cls)


def undeclared(cls: type) -> Refused:
    """Return the refusal of a value whose type is not known, with the remedy."""
    name, short = name_of(cls), cls.__qualname__
    if is_declarable(cls):
        remedy = f"declare it with memory.allow({short}) or threadkeep.open(..., types=[{short}])"
        return Refused(f"type {name!r} is not declared; {remedy}", name)
    for base in _BUILT_IN:
        if issubclass(cls, base):
            remedy = f"convert it with {base.__name__}(...)"
            return Refused(f"type {name!r} would come back as a plain {base.__name__}; {remedy}", name)
    remedy = "store plain data, or a declared dataclass or Pydantic model, in its place"
    return Refused(f"type {name!r} cannot be stored; {remedy}", name)
