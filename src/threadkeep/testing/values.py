"""Values of every kind that storage takes, and a comparison that sees every difference."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import importlib.util
import math
import struct
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import BaseModel


class Size(enum.Enum):
    """An enum."""

    SMALL = "s"
    LARGE = "l"


class Level(enum.IntEnum):
    """An enum of integers."""

    LOW = 1


class Point(NamedTuple):
    """A named tuple."""

    x: Any
    y: Any = 0


@dataclasses.dataclass
class Order:
    """A dataclass."""

    number: int
    items: list[Any] = dataclasses.field(default_factory=list)


class Invoice(BaseModel):
    """A Pydantic model."""

    number: int
    order: Any = None


TYPES: tuple[type, ...] = (Size, Level, Point, Order, Invoice)
"""The types that `VALUES` need declared."""

_KYIV = ZoneInfo("Europe/Kyiv")
_LONG = "Ґрунтовний довгий текст, " * 40

VALUES: dict[str, Any] = {
    "true": True,
    "false": False,
    "zero": 0,
    "minus one": -1,
    "63 bits": 2**63 - 1,
    "64 bits": 2**64,
    "200 bits": -(2**200),
    "float": 0.1,
    "minus zero": -0.0,
    "whole float": 1.0,
    "nan": math.nan,
    "infinity": -math.inf,
    "least float": 5e-324,
    "empty text": "",
    "nul": "a\x00b",
    "emoji": "👩\u200d👧 🙂",
    "surrogate": "\ud800 lone",
    "composed": "é",
    "decomposed": "e\u0301",
    "long text": _LONG,
    "bytes": b"\x00\xff",
    "empty bytes": b"",
    "long bytes": bytes(range(256)) * 8,
    "bytearray": bytearray(b"ab"),
    "tuple": (1, (2, [3])),
    "empty tuple": (),
    "set": {1, "1", 2.5},
    "frozenset": frozenset({b"a", (1, 2)}),
    "deque": collections.deque([1, 2], maxlen=3),
    "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
    "keys of all types": {1: "int", "1": "text", (1,): "tuple", b"1": "bytes", None: "none", 2.5: "float"},
    "order of keys": {"b": 1, "a": 2, "c": 3},
    "datetime": dt.datetime(2026, 3, 1, 12, 30, 1, 7, tzinfo=dt.UTC),
    "naive datetime": dt.datetime(2026, 3, 1),
    "zone and fold": dt.datetime(2026, 10, 25, 3, 30, tzinfo=_KYIV, fold=1),
    "date": dt.date(1, 1, 1),
    "time": dt.time(23, 59, 59, 999_999, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    "timedelta": dt.timedelta(days=-1, microseconds=1),
    "uuid": UUID(int=7),
    "decimal": Decimal("1.10"),
    "decimal exponent": Decimal("-1E+30"),
    "fraction": Fraction(1, 3),
    "complex": complex(-0.0, 2),
    "range": range(1, 10, 3),
    "path": PurePosixPath("/a/b"),
    "windows path": PureWindowsPath("C:/a"),
    "enum": Size.SMALL,
    "int enum": Level.LOW,
    "named tuple": Point(1, Size.LARGE),
    "dataclass": Order(7, [Point(1), {"a": (1, 2)}]),
    "model": Invoice(number=1, order=Order(2)),
    "none inside": [None, {"a": None}, (None,)],
    "empty list": [],
    "empty dict": {},
    "deep": [[[[[[[[["bottom"]]]]]]]]],
    "message in a value": {"last": HumanMessage("inside", id="in-1"), "n": 1},
    "messages in a value": {"all": [HumanMessage(f"m{n}", id=f"in-{n}") for n in range(12)]},
}
"""One value of each kind, by what it is."""

if importlib.util.find_spec("numpy") is not None:
    import numpy

    VALUES["numpy scalar"] = numpy.float32(0.5)
    VALUES["numpy array"] = numpy.arange(6, dtype="<i2").reshape(2, 3)
    VALUES["numpy array in a list"] = [numpy.zeros(2), {"a": numpy.array([True])}]


def messages() -> list[BaseMessage]:
    """Return a new message of every class, with every field in use."""
    call = {"name": "look", "args": {"q": "x", "n": 1}, "id": "c1", "type": "tool_call"}
    wrong = {"name": "look", "args": "{", "id": "c2", "error": "no json", "type": "invalid_tool_call"}
    usage = {
        "input_tokens": 9,
        "output_tokens": 3,
        "total_tokens": 12,
        "input_token_details": {"cache_read": 4},
        "output_token_details": {"reasoning": 1},
    }
    blocks: list[str | dict[Any, Any]] = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:x"}},
        "and",
    ]
    return [
        SystemMessage("be brief", id="s"),
        HumanMessage("hello", id="h"),
        HumanMessage(blocks, id="h2", name="olena", additional_kwargs={"flag": True, "one": 1, "real": 1.0}),
        AIMessage("", id="a", tool_calls=[call], invalid_tool_calls=[wrong], usage_metadata=usage),
        ToolMessage("found", id="t", tool_call_id="c1", artifact={"raw": (1, 2)}, status="error"),
        AIMessage(
            "answer",
            id="lc_run--0195f3a0-0000-7000-8000-000000000001-0",
            response_metadata={"model_name": "m", "logprobs": None, "score": -0.0},
        ),
        AIMessageChunk(
            content="part", id="k", tool_call_chunks=[{"name": "f", "args": "{", "id": "1", "index": 0}]
        ),
        ChatMessage(content="any", role="moderator", id="c"),
        FunctionMessage(content="old", name="f", id="f"),
        HumanMessage("no id"),
        HumanMessage("empty id", id=""),
        HumanMessage(_LONG, id="h3"),
    ]


def difference(actual: Any, expected: Any, path: str = "value") -> str | None:
    """Return the first place where two values differ in type, value or order, or None."""
    if actual is expected:
        return None
    if type(actual) is not type(expected):
        kinds = type(actual).__qualname__, type(expected).__qualname__
        return f"{path} is {actual!r} ({kinds[0]}), not {expected!r} ({kinds[1]})"
    if isinstance(expected, float):
        same = struct.pack(">d", actual) == struct.pack(">d", expected)
    elif isinstance(expected, complex):
        same = struct.pack(">dd", actual.real, actual.imag) == struct.pack(
            ">dd", expected.real, expected.imag
        )
    elif isinstance(expected, Mapping):
        return _difference_of_items(list(actual.items()), list(expected.items()), path)
    elif isinstance(expected, list | tuple | collections.deque):
        if getattr(actual, "maxlen", None) != getattr(expected, "maxlen", None):
            return f"{path} has another maxlen"
        return _difference_of_items(list(actual), list(expected), path)
    elif isinstance(expected, set | frozenset):
        return _difference_of_items(sorted(actual, key=_order), sorted(expected, key=_order), path)
    elif hasattr(expected, "tobytes"):
        same = _array(actual) == _array(expected)
    elif isinstance(expected, dt.datetime | dt.time):
        same = repr(actual) == repr(expected) and actual.fold == expected.fold
    elif isinstance(expected, BaseModel):
        return difference(_model(actual), _model(expected), path)
    elif dataclasses.is_dataclass(expected):
        return difference(_fields(actual), _fields(expected), path)
    elif isinstance(expected, Decimal):
        same = str(actual) == str(expected)
    else:
        same = bool(actual == expected)
    return None if same else f"{path} is {actual!r}, not {expected!r}"


def assert_same(actual: Any, expected: Any) -> None:
    """Assert that two values are equal in type, value and order, all the way down."""
    found = difference(actual, expected)
    assert found is None, found


def assert_same_state(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Assert that the values of channels are the same; the order of the channels is no part of a state."""
    assert_same(dict(sorted(actual.items())), dict(sorted(expected.items())))


def _difference_of_items(actual: list[Any], expected: list[Any], path: str) -> str | None:
    for n, (left, right) in enumerate(zip(actual, expected, strict=False)):
        found = difference(left, right, f"{path}[{n}]")
        if found is not None:
            return found
    if len(actual) != len(expected):
        return f"{path} has {len(actual)} items, not {len(expected)}"
    return None


def _order(value: Any) -> tuple[str, str]:
    return type(value).__name__, repr(value)


def _array(value: Any) -> tuple[Any, ...]:
    return value.dtype.descr if value.dtype.names else value.dtype.str, value.shape, value.tobytes()


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _model(value: BaseModel) -> list[Any]:
    fields = dict(sorted(value.__dict__.items()))  # whose order is no part of a model
    return [fields, value.__pydantic_extra__, value.__pydantic_private__]
