"""Bytes that no serializer wrote: one kind of error, nothing imported, nothing called, no crash."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import ormsgpack
import pytest
from ormsgpack import Ext

from tests.unit.serde.kit import DECLARED, Refs, serde
from tests.unit.serde.test_messages import MESSAGES
from tests.unit.serde.test_values import EXACT
from threadkeep.errors import SerializationError
from threadkeep.serde import Serde, UnknownType, references, wire

CODEC = serde()
pack = ormsgpack.packb

FORGED = {
    "nothing": b"",
    "reserved": b"\xc1",
    "cut list": b"\x93\x01",
    "list of four billion": b"\xdd\xff\xff\xff\xff",
    "map of four billion": b"\xdf\xff\xff\xff\xff",
    "text of four gigabytes": b"\xdb\xff\xff\xff\xff",
    "text that is no UTF-8": b"\xa1\xff",
    "key that is no text": b"\x81\x01\x02",
    "unknown code": pack(Ext(15, b"")),
    "last code": pack(Ext(127, b"\x00")),
    "reference to a message": pack(Ext(wire.REF_MESSAGE, b"\x00")),
    "reference to a text": pack(Ext(wire.REF_TEXT, b"\x00")),
    "reference to a sequence": pack(Ext(wire.REF_SEQUENCE, b"\x00")),
    "empty tuple": pack(Ext(wire.TUPLE, b"")),
    "tuple of a number": pack(Ext(wire.TUPLE, pack(5))),
    "tuple of a text": pack(Ext(wire.TUPLE, pack("ab"))),
    "map with an odd key": pack(Ext(wire.MAP, pack([1, 2, 3]))),
    "map with a list as key": pack(Ext(wire.MAP, pack([[], 2]))),
    "map of a text": pack(Ext(wire.MAP, pack("abcd"))),
    "set of lists": pack(Ext(wire.SET, pack([[1]]))),
    "frozenset of dicts": pack(Ext(wire.FROZENSET, pack([{}]))),
    "deque of negative length": pack(Ext(wire.DEQUE, pack([-1]))),
    "deque of nothing": pack(Ext(wire.DEQUE, pack([]))),
    "default dict of another factory": pack(Ext(wire.DEFAULTS, pack([99]))),
    "default dict of a negative factory": pack(Ext(wire.DEFAULTS, pack([-1]))),
    "counter": pack(Ext(wire.COUNTER, pack([1]))),
    "decimal": pack(Ext(wire.DECIMAL, b"one")),
    "decimal bytes": pack(Ext(wire.DECIMAL, b"\xff")),
    "fraction of zero": pack(Ext(wire.FRACTION, pack([1, 0]))),
    "fraction of a text": pack(Ext(wire.FRACTION, pack(["1/2", None, 3]))),
    "complex": pack(Ext(wire.COMPLEX, b"123")),
    "uuid": pack(Ext(wire.UUID, b"123")),
    "uuid of unknown safety": pack(Ext(wire.UUID, b"1" * 16 + b"\x09")),
    "path": pack(Ext(wire.PATH, b"")),
    "path of another kind": pack(Ext(wire.PATH, b"\x09x")),
    "address": pack(Ext(wire.ADDRESS, b"\x00999.1")),
    "url": pack(Ext(wire.URL, b"\x02no url")),
    "url of another kind": pack(Ext(wire.URL, b"\xffhttp://x")),
    "range of step zero": pack(Ext(wire.RANGE, pack([1, 2, 0]))),
    "range of nothing": pack(Ext(wire.RANGE, pack([]))),
    "slice": pack(Ext(wire.SLICE, pack([]))),
    "pattern": pack(Ext(wire.PATTERN, pack(["(", 0]))),
    "pattern of a number": pack(Ext(wire.PATTERN, pack([1, 0]))),
    "pattern flags": pack(Ext(wire.PATTERN, pack(["a", "b"]))),
    "date": pack(Ext(wire.DATE, b"\x00\x00\x00\x00")),
    "cut date": pack(Ext(wire.DATE, b"\x00")),
    "datetime": pack(Ext(wire.DATETIME, pack([1, 2, 3, 25, 0, 0, 0, 0]))),
    "datetime of texts": pack(Ext(wire.DATETIME, pack(["1"] * 8))),
    "datetime with a zone that is none": pack(Ext(wire.DATETIME, pack([1, 2, 3, 0, 0, 0, 0, 0, "UTC"]))),
    "short datetime": pack(Ext(wire.DATETIME, pack([1, 2]))),
    "time": pack(Ext(wire.TIME, pack([1]))),
    "timedelta": pack(Ext(wire.TIMEDELTA, b"\x7f\xff\xff\xff" * 3)),
    "timezone": pack(Ext(wire.TIMEZONE, pack([1]))),
    "zone": pack(Ext(wire.ZONE, b"No/Where")),
    "zone out of the tree": pack(Ext(wire.ZONE, b"../../etc/passwd")),
    "zone of bytes": pack(Ext(wire.ZONE, b"\xff")),
    "array": pack(Ext(wire.ARRAY, pack(["<f8", [5], False, b"12"]))),
    "array of negative length": pack(Ext(wire.ARRAY, pack(["<f8", [-1], False, b""]))),
    "array too long": pack(Ext(wire.ARRAY, pack(["<f8", [], False, b"1" * 16]))),
    "array of objects": pack(Ext(wire.ARRAY, pack(["|O", [1], False, b"\x00" * 8]))),
    "array of an unknown dtype": pack(Ext(wire.ARRAY, pack(["wrong", [1], False, b"\x00" * 8]))),
    "array of a code": pack(Ext(wire.ARRAY, pack(["i4, O", [1], False, b"\x00" * 12]))),
    "array of nothing": pack(Ext(wire.ARRAY, pack([]))),
    "text accessor": pack(Ext(wire.TEXT_ACCESSOR, b"")),
    "addable": pack(Ext(wire.ADDABLE, pack([1]))),
    "surrogates": pack(Ext(wire.TEXT, b"\xff")),
    "message": pack(Ext(wire.MESSAGE, pack([None]))),
    "message without content": pack(Ext(wire.MESSAGE, pack([None, [0]]))),
    "message of a later class": pack(Ext(wire.MESSAGE, pack([None, [200, "x"]]))),
    "message of a list as class": pack(Ext(wire.MESSAGE, pack([None, [[], "x"]]))),
    "message with an odd field": pack(Ext(wire.MESSAGE, pack([None, [0, "x", [1]]]))),
    "message with a later field": pack(Ext(wire.MESSAGE, pack([None, [0, "x", [60, 1]]]))),
    "message with a negative field": pack(Ext(wire.MESSAGE, pack([None, [0, "x", [-1, 1]]]))),
    "message with odd calls": pack(Ext(wire.MESSAGE, pack([None, [1, "x", [64, [1]]]]))),
    "message with odd counts": pack(Ext(wire.MESSAGE, pack([None, [1, "x", [65, [50, 1, 2, 3]]]]))),
    "message with unknown counts": pack(Ext(wire.MESSAGE, pack([None, [1, "x", [65, [5_000]]]]))),
    "message with extras that are none": pack(Ext(wire.MESSAGE, pack([None, [0, "x", [66, 5]]]))),
    "message with private attributes that are none": pack(Ext(wire.MESSAGE, pack([None, [0, "x", [67, 5]]]))),
    "document with extras that are none": pack(Ext(wire.OBJECT, pack(["lc.Document", 0, {}, None, 5]))),
    "object": pack(Ext(wire.OBJECT, pack([]))),
    "object without a name": pack(Ext(wire.OBJECT, pack([1, 2]))),
    "exception": pack(Ext(wire.ERROR, pack([1]))),
    "exception without a text": pack(Ext(wire.ERROR, pack(["a:B", "x", 1, []]))),
    **{f"declared {cls.__name__}": pack(Ext(wire.OBJECT, pack([f"tests.unit.serde.kit:{cls.__qualname__}"])))
       for cls in DECLARED[:10]},
    **{f"declared {cls.__name__} of texts":
       pack(Ext(wire.OBJECT, pack([f"tests.unit.serde.kit:{cls.__qualname__}", "x", "y", "z", "v", "w"])))
       for cls in DECLARED[:10]},
    "send of nothing": pack(Ext(wire.OBJECT, pack(["lg.Send", 1, 2, 3, 4, 5]))),
    "delta of nothing": pack(Ext(wire.OBJECT, pack(["lg.Delta"]))),
    "document of a text": pack(Ext(wire.OBJECT, pack(["lc.Document", 0, "x"]))),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize(
    "around", [lambda data: data, lambda data: b"\x92\x01" + data], ids=["top", "inside"]
)
def test_forged_bytes_are_one_kind_of_error(name: str, around: Callable[[bytes], bytes]) -> None:
    with pytest.raises(SerializationError, match=r"stored bytes|does not fit"):
        CODEC.decode(around(FORGED[name]))


@pytest.mark.parametrize("body", [b"", b"\x01", b"\x90", b"\x91\x01", b"\xa1x", pack({"a": 1}), b"\xc0"])
def test_bytes_that_are_no_message(body: bytes) -> None:
    with pytest.raises(SerializationError):
        CODEC.message(body, "id")


@pytest.mark.parametrize("name", [*EXACT, *MESSAGES])
def test_bytes_cut_anywhere_are_one_kind_of_error(name: str) -> None:
    data = CODEC.encode({**EXACT, **MESSAGES}[name], refs=Refs())
    for end in range(0, len(data), max(1, len(data) // 100)):
        for read in (CODEC.decode, references):
            with pytest.raises(SerializationError):
                read(data[:end])


def test_references_of_damaged_bytes_are_an_error() -> None:
    for data in (b"", b"\xc1", pack(Ext(wire.TUPLE, b"\x93\x01")), pack(Ext(wire.OBJECT, b""))):
        with pytest.raises(SerializationError, match="damaged"):
            references(data)


def test_nothing_is_imported_or_called_because_bytes_say_so() -> None:
    for name in ("os:system", "builtins:eval", "antigravity:x", "subprocess:Popen", "threadkeep:open"):
        value = CODEC.decode(pack(Ext(wire.OBJECT, pack([name, ["echo pwned"]]))))
        assert isinstance(value, UnknownType) and value.name == name
    assert "antigravity" not in sys.modules


def test_a_declared_class_is_not_called() -> None:
    class Trap:
        def __init__(self, *args: Any) -> None:
            raise AssertionError("was called")

    codec = Serde()
    data = pack(Ext(wire.OBJECT, pack([f"{Trap.__module__}:{Trap.__qualname__}", []])))
    assert isinstance(codec.decode(data), UnknownType)


NESTED = """
    import sys, threading
    from threadkeep.errors import SerializationError
    from threadkeep.serde import Serde, references

    def bomb(lists, extensions, code):
        data = b"\\x01"
        for _ in range(extensions):
            data = b"\\x91" * lists + b"\\xc9" + len(data).to_bytes(4, "big") + bytes([code]) + data
        return data

    for lists, extensions in ((1000, 400), (250, 900), (1, 5000), (0, 20000), (1000, 6)):
        for code in (64, 65, 66, 70, 78, 96, 97, 98, 120):
            for read in (Serde().decode, references, lambda data: Serde().message(data, None)):
                try:
                    read(bomb(lists, extensions, code))
                except SerializationError:
                    continue
                assert code in (65, 97, 120), (lists, extensions, code)
    print("survived")
"""


def test_extensions_inside_each_other_do_not_overflow_the_stack() -> None:
    """The C decoder counts depth anew in each extension; unguarded this ends the process."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(NESTED)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "survived\n"), done.stderr


def test_what_can_be_stored_can_be_read_from_within_a_deep_stack() -> None:
    value: Any = ()
    while True:
        try:
            data = CODEC.encode((value,))
        except SerializationError as error:
            assert "nests deeper than 200 levels" in str(error)
            break
        value = (value,)
    data = CODEC.encode(value)
    assert _at_depth(sys.getrecursionlimit() // 2, lambda: CODEC.decode(data)) == value
    for work in (lambda: CODEC.decode(data), lambda: CODEC.encode(value)):
        # Where the stack ends decides whether the hook was entered: C says only that it failed.
        with pytest.raises(SerializationError, match=r"RecursionError|ext_hook failed"):
            _at_depth(sys.getrecursionlimit() - 100, work)


def _at_depth(depth: int, work: Callable[[], Any]) -> Any:
    frames = 0
    frame: Any = sys._getframe()
    while frame is not None:
        frames, frame = frames + 1, frame.f_back
    return _deeper(depth - frames, work)


def _deeper(more: int, work: Callable[[], Any]) -> Any:
    return work() if more <= 0 else _deeper(more - 1, work)
