"""One serializer used from several threads, and bytes that are the same in every process."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from tests.unit.serde.kit import DECLARED, Order, Refs, Size, same, serde
from tests.unit.serde.test_messages import MESSAGES
from tests.unit.serde.test_values import EXACT
from threadkeep.serde import Serde


def test_threads_share_one_serializer() -> None:
    codec = serde()
    values = [*EXACT.values(), *MESSAGES.values(), Order(1, [Size.SMALL])]
    start = threading.Barrier(8)

    def work(offset: int) -> None:
        start.wait()
        for turn in range(3 * len(values)):
            value = values[(turn + offset) % len(values)]
            refs = Refs()
            assert same(codec.decode(codec.encode(value)), value)
            assert same(codec.decode(codec.encode(value, refs=refs), refs), value)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, number * 7) for number in range(8)]:
            done.result()


def test_types_are_declared_while_others_encode() -> None:
    codec = Serde()
    kinds = [dataclasses.make_dataclass(f"Made{number}", ["x"]) for number in range(200)]
    start = threading.Barrier(3)

    def declare(kinds: list[Any]) -> None:
        start.wait()
        for kind in kinds:
            codec.allow(kind)
            assert codec.decode(codec.encode([kind(1)])) == [kind(1)]

    def encode() -> None:
        start.wait()
        for _ in range(500):
            assert codec.decode(codec.encode(({1}, AIMessage("x")))) == ({1}, AIMessage("x"))

    with ThreadPoolExecutor(3) as pool:
        works = [pool.submit(declare, kinds), pool.submit(declare, kinds[::-1]), pool.submit(encode)]
        for work in works:
            work.result()


PROGRAM = """
    import hashlib
    from langchain_core.messages import HumanMessage
    from threadkeep.serde import Serde
    value = {"set": {"a", "b", "c", ("d", 1)}, "frozen": frozenset("xyz")}
    data = Serde().encode(value) + Serde().message_body(HumanMessage("x", additional_kwargs=value))
    print(hashlib.sha256(data).hexdigest())
"""


def test_bytes_are_the_same_in_every_process() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_serializers_do_not_share_declarations() -> None:
    one, other = Serde(DECLARED), Serde()
    data = one.encode(Order(1))
    assert one.decode(data) == Order(1) != other.decode(data)


def test_a_callers_object_is_not_changed() -> None:
    value = {"messages": [HumanMessage("x" * 200, additional_kwargs={"a": [1]})], "set": {1}}
    before = repr(value)
    serde().encode(value, refs=Refs())
    serde().encode(value)
    assert repr(value) == before
