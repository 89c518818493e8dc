"""Every type of the registry comes back equal, of the same type, in the same order, to the last bit."""

from __future__ import annotations

import array
import collections
import dataclasses
import enum
import io
import math
import re
import struct
import types
import uuid
import zoneinfo
from collections import Counter, OrderedDict, UserDict, defaultdict, deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables.utils import AddableDict
from pydantic import AnyUrl, HttpUrl, SecretStr

from tests.unit.serde.kit import Colour, Level, Order, Point, Size, same, serde
from threadkeep.errors import SerializationError
from threadkeep.serde import Serde

KYIV = zoneinfo.ZoneInfo("Europe/Kyiv")

EXACT = {
    "none": None,
    "true": True,
    "one": 1,
    "one point": 1.0,
    "mixed ones": [1, True, 1.0, 0, False, 0.0],
    "negative zero": [-0.0, 0.0],
    "not a number": [math.nan, math.inf, -math.inf],
    "largest 64 bit": [2**63 - 1, 2**63, 2**64 - 1, -(2**63)],
    "beyond 64 bit": [2**64, -(2**63) - 1, 2**1000, -(2**1000)],
    "text": ["", "x", "Ünïcödé", "日本語", "👩‍👩‍👧", "a\x00b", "x" * 70_000],
    "surrogate": "\ud800 lone",
    "surrogate in a dict": {"k": ["fine", "\udfff"], "\ud800": 1},
    "bytes": [b"", b"\xff\x00", b"x" * 300],
    "bytearray": [bytearray(b""), bytearray(b"ab"), b"ab"],
    "text of letters whose bytes look like headers of bytes": "ĄČĘ" * 10,
    "dict order": {"b": 1, "a": 2, "c": {"z": 1, "y": 2}},
    "bool and int keys": {True: "t", 2: "i", None: "n", 1.5: "f"},
    "float key": {1.0: "one"},
    "tuple keys": {(1, "a"): 1, (1, ("b", 2)): 2},
    "bytes keys": {b"k": 1},
    "uuid key": {uuid.UUID(int=5): 1},
    "enum keys": {Size.SMALL: 1, Colour.RED: 2, Level.LOW: 3},
    "date key": {date(2026, 1, 2): 1},
    "frozenset key": {frozenset({1}): 1},
    "nan key": {math.nan: 1},
    "huge int key": {2**70: 1, -(2**70): 2},
    "tuple": ((), (1,), (1, (2, [3, (4,)]))),
    "set": {1, "a", 2.5, (1, 2), frozenset({3})},
    "many in a set": set(range(-20, 70_000, 1_000)),
    "frozenset": frozenset({b"x", None}),
    "empty containers": [[], {}, (), set(), frozenset(), deque(), OrderedDict()],
    "deque": deque([1, [2], 3]),
    "bounded deque": deque([1, 2, 3], maxlen=5),
    "deque of nothing": deque(maxlen=0),
    "ordered dict": OrderedDict([("b", 1), ("a", 2)]),
    "default dict": defaultdict(list, {"a": [1], 2: [3]}),
    "default dict without factory": defaultdict(None, {"a": 1}),
    "counter": Counter({"b": 2, "a": -1}),
    "addable dict": AddableDict({"a": 1, "b": [2]}),
    "naive": datetime(2026, 10, 25, 3, 30, 1, 999_999),
    "utc": datetime(1, 1, 1, tzinfo=UTC),
    "zone": datetime(2026, 10, 25, 3, 30, tzinfo=KYIV),
    "fold": datetime(2026, 10, 25, 3, 30, tzinfo=KYIV, fold=1),
    "offset": datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-3, minutes=-30, seconds=5))),
    "named offset": datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2), "Kyiv winter")),
    "utc with another name": timezone(timedelta(0), "Z"),
    "zones": [UTC, KYIV, zoneinfo.ZoneInfo("UTC")],
    "date": [date.min, date.max],
    "time": [time(23, 59, 59, 1), time(1, tzinfo=UTC), time(2, fold=1), time(3, tzinfo=KYIV)],
    "timedelta": [timedelta.min, timedelta.max, timedelta(days=-1, microseconds=1), timedelta.resolution],
    "uuid": [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)],
    "safe uuid": uuid.UUID(int=3, is_safe=uuid.SafeUUID.unsafe),
    "decimal": [Decimal("1.10"), Decimal("-0"), Decimal("1E+400"), Decimal("Infinity")],
    "fraction": [Fraction(1, 3), Fraction(-(2**80), 7)],
    "complex": [1 + 2j, complex(-0.0, math.inf), complex(0, -0.0)],
    "range": [range(3), range(10, 0, -3), range(0, 2**70, 2**69)],
    "slice": [slice(1), slice(None, "x", 2)],
    "ellipsis": ...,
    "path": [Path("/a/b c"), Path("."), PurePosixPath("a/../b"), PureWindowsPath("C:\\x")],
    "path of bytes that are no text": Path("/a/\udcff"),
    "pattern": [re.compile(r"a(b)?", re.I | re.M), re.compile(rb"\x00+"), re.compile("(?i)x")],
    "addresses": [ip_address("10.0.0.1"), ip_network("10.0.0.0/8"), ip_interface("10.0.0.1/8")],
    "addresses 6": [ip_address("fe80::1%eth0"), ip_network("2001:db8::/32"), ip_interface("::1/64")],
    "urls": [AnyUrl("ftp://x/y"), HttpUrl("https://example.org/a?b=c#d")],
    "document": Document("text", metadata={"page": 3, "box": (1, 2)}, id="d1"),
    "text of a message": AIMessage(["a", {"type": "text", "text": "b"}]).text,
    "long text of a message": AIMessage("long " * 50).text,
    "numpy scalars": [
        numpy.float64(1.5),
        numpy.float32("nan"),
        numpy.int8(-3),
        numpy.uint64(2**64 - 1),
        numpy.bool_(True),
        numpy.complex128(1j),
        numpy.datetime64("2026-01-02T03:04:05.678", "ms"),
        numpy.timedelta64(5, "D"),
        numpy.datetime64("NaT"),
        numpy.str_("né\x00"),
        numpy.bytes_(b"a\x00"),
        numpy.float16(0.1),
    ],
    "numpy keys": {numpy.str_("k"): 1, numpy.int64(2): 2},
    "numpy array": numpy.arange(6, dtype="<i4").reshape(2, 3),
    "numpy big endian": numpy.array([1, 2], dtype=">u2"),
    "numpy without items": numpy.zeros((0, 3), "f4"),
    "numpy without axes": numpy.array(3.5),
    "numpy texts": numpy.array(["a", "bcd"]),
    "numpy dates": numpy.array(["2026-01-01", "NaT"], dtype="M8[D]"),
    "numpy records": numpy.array([(1, [1.5, 2.5])], dtype=[("a", "<i4"), ("b", "<f8", (2,))]),
    "numpy record": numpy.array([(1, 2.5)], dtype=[("a", "<i4"), ("b", "<f8")])[0],
    "enums": [Size.SMALL, Size.HUGE, Level.HIGH, Colour.BLUE],
    "named tuple": Point(1, (2, Point(3))),
}


@pytest.mark.parametrize("name", EXACT)
def test_comes_back_as_it_was(name: str) -> None:
    codec, value = serde(), EXACT[name]
    assert same(codec.decode(codec.encode(value)), value)
    assert same(codec.decode(codec.encode([{"deep": (value,)}])), [{"deep": (value,)}])


@pytest.mark.parametrize("name", EXACT)
def test_equal_values_give_equal_bytes(name: str) -> None:
    codec, value = serde(), EXACT[name]
    assert codec.encode(value) == serde().encode(codec.decode(codec.encode(value)))


def test_numpy_arrays_keep_their_order_and_can_be_written_to() -> None:
    codec = serde()
    fortran = numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3))
    back = codec.decode(codec.encode(fortran))
    assert back.flags.f_contiguous and not back.flags.c_contiguous and (back == fortran).all()
    back[0, 0] = 9
    assert back[0, 0] == 9 and fortran[0, 0] == 0
    strided = numpy.arange(10)[::3]
    assert same(codec.decode(codec.encode(strided)), strided)


def test_ones_of_different_types_have_different_bytes() -> None:
    codec = serde()
    assert len({codec.encode({"a": one}) for one in (1, True, 1.0, "1", b"1", Decimal(1), 1 + 0j)}) == 7
    assert codec.encode(0.0) != codec.encode(-0.0)
    assert codec.encode([1]) != codec.encode((1,))


def test_decoded_containers_are_nobody_elses() -> None:
    codec, value = serde(), {"a": [1, {"b": 2}]}
    data = codec.encode(value)
    codec.decode(data)["a"].append(3)
    assert codec.decode(data) == value == {"a": [1, {"b": 2}]}


class Text(str):
    pass


class Number(int):
    pass


class Real(float):
    pass


class Items(list[Any]):
    pass


class Table(dict[str, Any]):
    pass


class Raw(bytes):
    pass


class Pair(tuple[Any, ...]):
    pass


class Group(set[Any]):
    pass


class Moment(datetime):
    pass


class Somewhere(collections.UserString):
    pass


class Mood(enum.Enum):
    GOOD = 1


class Stranger:
    pass


def _generator() -> Any:
    yield 1


REFUSED = {
    "str subclass": Text("x"),
    "int subclass": Number(1),
    "float subclass": Real(1.0),
    "list subclass": Items([1]),
    "dict subclass": Table(a=1),
    "bytes subclass": Raw(b"x"),
    "tuple subclass": Pair((1,)),
    "set subclass": Group({1}),
    "datetime subclass": Moment(2026, 1, 1),
    "undeclared enum": Mood.GOOD,
    "object": object(),
    "stranger": Stranger(),
    "class": Stranger,
    "function": _generator,
    "generator": _generator(),
    "memoryview": memoryview(b"x"),
    "array of the standard library": array.array("i", [1]),
    "mapping proxy": types.MappingProxyType({"a": 1}),
    "user dict": UserDict(a=1),
    "namespace": types.SimpleNamespace(a=1),
    "secret": SecretStr("x"),
    "numpy objects": numpy.array([object()], dtype=object),
    "numpy object fields": numpy.array([(1, None)], dtype=[("a", "i4"), ("b", object)]),
    "masked array": numpy.ma.masked_array([1], [True]),
    "default dict with a function": defaultdict(lambda: 0),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize(
    "place",
    [
        lambda value: value,
        lambda value: [value],
        lambda value: {"a": value},
        lambda value: {"a": [1, ({"b": value},)]},
        lambda value: [value] * 300,
    ],
    ids=["top", "list", "dict", "deep", "many"],
)
def test_what_would_not_come_back_is_refused(name: str, place: Any) -> None:
    with pytest.raises(SerializationError, match=r"^cannot store state"):
        serde().encode(place(REFUSED[name]), path="state")


@pytest.mark.parametrize("key", [Text("k"), Colour.RED, Mood.GOOD, Number(3), Level.LOW], ids=repr)
@pytest.mark.parametrize("others", [{}, {"a": 1}, dict.fromkeys(map(str, range(500)))], ids=len)
def test_a_key_that_c_would_write_as_its_base_is_refused(key: Any, others: Any) -> None:
    with pytest.raises(SerializationError):
        Serde().encode([{**others, key: 1}])


def test_a_zone_without_a_key_is_refused() -> None:
    counts = struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    file = io.BytesIO(b"TZif" + b"\0" * 16 + counts + struct.pack(">lbb", 0, 0, 0) + b"UTC\0")
    nameless = zoneinfo.ZoneInfo.from_file(file)
    with pytest.raises(SerializationError, match=r"^cannot store value\.tzinfo: .* has no key"):
        serde().encode(datetime(2026, 1, 1, tzinfo=nameless))


def test_an_undeclared_type_is_refused_with_place_and_remedy() -> None:
    with pytest.raises(SerializationError) as caught:
        Serde().encode({"cart": {"items": [1, 2, 3, Order(1)]}}, path="state")
    assert caught.value.path == "state.cart.items[3]"
    assert str(caught.value) == (
        "cannot store state.cart.items[3]: type 'tests.unit.serde.kit:Order' is not declared; "
        "declare it with memory.allow(Order) or threadkeep.open(..., types=[Order])"
    )


def test_a_subclass_of_a_builtin_is_refused_with_its_remedy() -> None:
    with pytest.raises(SerializationError, match=r"Text' would come back as a plain str; convert it with"):
        Serde().encode(Text("x"))


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"odd key": [object()]}, "state['odd key'][0]"),
        ({3: object()}, "state[3]"),
        ({("a", 1): object()}, "state[('a', 1)]"),
        ([{"a": {1, object()}}], "state[0].a{...}"),
        ((1, deque([object()])), "state[1][0]"),
        ({"p": Point(1, object())}, "state.p.y"),
        ({"o": Order(1, [object()])}, "state.o.items[0]"),
        ({"d": Document("x", metadata={"a": object()})}, "state.d.metadata.a"),
        ({"m": [AIMessage("x", additional_kwargs={"k": object()})]}, "state.m[0].additional_kwargs.k"),
        ({"m": AIMessage([{"type": "x", "v": object()}])}, "state.m.content[0].v"),
        (slice(None, object()), "state.stop"),
        ({object(): 1}, "state[<object object at"),
    ],
)
def test_the_place_of_what_is_refused(value: Any, place: str) -> None:
    with pytest.raises(SerializationError) as caught:
        serde().encode(value, path="state")
    assert caught.value.path.startswith(place)


def test_a_tool_calls_arguments_have_a_place() -> None:
    call = {"name": "n", "args": {"x": [object()]}, "id": "i"}
    message = AIMessage("", tool_calls=[{"name": "n", "args": {}, "id": "j"}, call])
    with pytest.raises(SerializationError) as caught:
        serde().message_body(message, path="state.messages[3]")
    assert caught.value.path == "state.messages[3].tool_calls[1].args.x[0]"


@dataclasses.dataclass
class Slow:
    x: int

    def __getattribute__(self, name: str) -> Any:
        if name == "x":
            raise OSError("gone")
        return super().__getattribute__(name)


def test_an_error_of_the_users_own_code_is_an_error_of_the_value() -> None:
    with pytest.raises(SerializationError, match=r"^cannot store state: .* raised OSError: gone") as caught:
        serde(Slow).encode([Slow(1)], path="state")
    assert isinstance(caught.value.__cause__, OSError)


def test_cycles_and_depth_are_refused() -> None:
    loop: list[Any] = [1]
    loop.append({"again": (loop,)})
    plain: dict[str, Any] = {}
    plain["self"] = plain
    for value in (loop, plain, _nested(201), _nested(5_000)):
        with pytest.raises(SerializationError, match=r"nests deeper than 200 levels or contains itself"):
            serde().encode(value)


def test_the_deepest_values_come_back() -> None:
    codec = serde()
    assert codec.decode(codec.encode(_nested(200))) == _nested(200)
    value: Any = 1
    for _ in range(40):
        value = ({"a": [value]},)
    assert same(codec.decode(codec.encode(value)), value)


def _nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    return value


def test_a_value_larger_than_the_limit_is_refused() -> None:
    small = Serde(max_bytes=1_000)
    assert small.encode("x" * 900)
    for refused in (lambda: small.encode("x" * 1_000), lambda: small.message_body(AIMessage("x" * 1_000))):
        with pytest.raises(SerializationError, match=r"takes 1,00\d bytes and the limit is 1,000"):
            refused()
