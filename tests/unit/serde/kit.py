"""Types to declare, a strict comparison, and a memory of references for the serializer's tests."""

from __future__ import annotations

import dataclasses
import enum
import struct
from collections import defaultdict, deque
from datetime import datetime, time
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import Item
from langgraph.types import Send
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from threadkeep.adapters.langgraph_types import register_langgraph
from threadkeep.serde import Serde

T = TypeVar("T")


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"
    HUGE = ("x", 3)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Colour(str, enum.Enum):  # noqa: UP042 - the way users still write it
    RED = "red"
    BLUE = "blue"


class Right(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4


class Point(NamedTuple):
    x: Any
    y: Any = 0


@dataclasses.dataclass
class Order:
    number: int
    items: list[Any] = dataclasses.field(default_factory=list)
    total: float = dataclasses.field(init=False, default=0.0)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    left: Any
    right: Any = None


@dataclasses.dataclass
class Built:
    """Counts how often it is built: reading must not build again."""

    name: str
    built: int = 0

    def __post_init__(self) -> None:
        self.built += 1
        self.hidden = [self.name]

    @cached_property
    def shout(self) -> str:
        return self.name.upper()


class Invoice(BaseModel):
    number: int
    order: Any = None
    note: str = "none"
    lines: list[str] = Field(default_factory=list)


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 1
    _secret: Any = PrivateAttr(default=7)


class Box(BaseModel, Generic[T]):
    item: T


class Note(HumanMessage):
    """A user's own message class."""

    stars: int = 0
    _seen: bool = PrivateAttr(default=False)


class Plan(AIMessage):
    """A user's own message class with containers as defaults."""

    steps: list[str] = Field(default=["think"])
    scores: dict[str, float] = Field(default_factory=lambda: {"a": 1.0})


DECLARED = (Size, Level, Colour, Right, Point, Order, Frozen, Built, Invoice, Loose, Box[int], Note, Plan)


def serde(*types: type) -> Serde:
    """Return a serializer with LangGraph's types and, unless others are given, all of the above."""
    made = Serde(types or DECLARED)
    register_langgraph(made)
    return made


class Refs:
    """What an engine keeps: messages, texts and sequences by number. Sink and source in one."""

    def __init__(self, *, messages: bool = True, texts: bool = True, sequences: bool = True) -> None:
        self.takes = {"messages": messages, "texts": texts, "sequences": sequences}
        self.kept: list[Any] = []
        self.asked: list[tuple[str, Any]] = []

    def _keep(self, kind: str, value: Any) -> int | None:
        self.asked.append((kind, value))
        if not self.takes[kind]:
            return None
        for number, known in enumerate(self.kept):
            if known is value or (type(known) is str and known == value):
                return number
        self.kept.append(value)
        return len(self.kept) - 1

    def message(self, value: Any) -> Any:
        return self.kept[value] if type(value) is int else self._keep("messages", value)

    def text(self, value: Any) -> Any:
        return self.kept[value] if type(value) is int else self._keep("texts", value)

    def sequence(self, value: Any) -> Any:
        return self.kept[value] if type(value) is int else self._keep("sequences", value)


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same to the last bit: types, order, signs of zero, zones, folds."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return struct.pack(">d", left) == struct.pack(">d", right)
    if isinstance(left, complex):
        return same(left.real, right.real) and same(left.imag, right.imag)
    if isinstance(left, numpy.ndarray | numpy.generic):
        return _same_array(left, right)
    if isinstance(left, dict):
        return _same_dict(left, right)
    if isinstance(left, deque) and left.maxlen != right.maxlen:
        return False
    if isinstance(left, list | tuple | deque):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, set | frozenset):
        return len(left) == len(right) and all(any(same(a, b) for b in right) for a in left)
    if isinstance(left, datetime | time):
        return left.replace(tzinfo=None) == right.replace(tzinfo=None) and _same_zone(left, right)
    return _same_object(left, right)


def _same_array(left: Any, right: Any) -> bool:
    if isinstance(left, numpy.str_ | numpy.bytes_):
        return bool(left == right) and len(left) == len(right)
    form = (left.dtype, left.shape, left.dtype.str) == (right.dtype, right.shape, right.dtype.str)
    return form and left.tobytes() == right.tobytes()


def _same_dict(left: Any, right: Any) -> bool:
    if isinstance(left, defaultdict) and left.default_factory is not right.default_factory:
        return False
    return same(list(left), list(right)) and same(list(left.values()), list(right.values()))


def _same_zone(left: Any, right: Any) -> bool:
    zones = left.tzinfo, right.tzinfo
    return left.fold == right.fold and type(zones[0]) is type(zones[1]) and repr(zones[0]) == repr(zones[1])


def _same_object(left: Any, right: Any) -> bool:
    if isinstance(left, BaseModel):
        given = isinstance(left, BaseMessage) or left.model_fields_set == right.model_fields_set
        state = ("__dict__", "__pydantic_extra__", "__pydantic_private__")
        return given and all(same(getattr(left, name), getattr(right, name)) for name in state)
    if isinstance(left, enum.Enum):
        return left is right
    if dataclasses.is_dataclass(left) and not isinstance(left, type):
        names = [field.name for field in dataclasses.fields(left)]
        return all(same(getattr(left, name), getattr(right, name)) for name in names)
    if isinstance(left, slice):
        return same([left.start, left.stop, left.step], [right.start, right.stop, right.step])
    if isinstance(left, Send | Item):
        return all(same(getattr(left, name), getattr(right, name)) for name in type(left).__slots__)
    return bool(left == right)
