"""The contract's own tools: a comparison that sees every difference, and teardowns that complain."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langchain_core.messages import AIMessage, HumanMessage

import threadkeep
from threadkeep import Memory, StorageError
from threadkeep.testing import Capabilities, Crash, CrashingDriver, Drive, Harness, Line, difference, needs
from threadkeep.testing.harness import Store, open_files
from threadkeep.testing.processes import in_child
from threadkeep.testing.values import TYPES, VALUES, Invoice, Order, messages

DIFFERENT: list[tuple[Any, Any]] = [
    (1, True),
    (0, False),
    (1, 1.0),
    (0.0, -0.0),
    (complex(0, 0.0), complex(0, -0.0)),
    ("é", "e\u0301"),
    ("a", b"a"),
    (b"a", bytearray(b"a")),
    ([1], (1,)),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, OrderedDict(a=1)),
    ({1: "a"}, {True: "a"}),
    ({1}, {True}),
    ({1}, frozenset({1})),
    (deque([1], 2), deque([1], 3)),
    (None, [None]),
    ([[[0.0]]], [[[-0.0]]]),
    (Order(1, [1]), Order(1, [True])),
    (Invoice(number=1, order=(1,)), Invoice(number=1, order=[1])),
    (HumanMessage("a", id="1"), HumanMessage("a", id="2")),
    (HumanMessage("a", id="1"), HumanMessage("a")),
    (HumanMessage("a"), AIMessage("a")),
    (AIMessage("a", additional_kwargs={"n": 1}), AIMessage("a", additional_kwargs={"n": True})),
]


class Plain(Harness):
    """Tests that are called by the tests below, and not collected."""

    capabilities: ClassVar[Capabilities] = Capabilities(shared=False)

    def open(self, place: Path, **options: Any) -> Memory:
        return threadkeep.open(f"sqlite:///{place / 'threads.db'}", **options)

    @needs("shared", "sql")
    def test_that_needs_more(self) -> None: ...

    @needs("sql")
    def test_that_needs_what_is_there(self) -> None: ...


@pytest.mark.parametrize(("left", "right"), DIFFERENT, ids=repr)
def test_differences_are_seen(left: Any, right: Any) -> None:
    assert difference(left, right) is not None
    assert difference(right, left) is not None
    assert difference({"in": [left]}, {"in": [right]}) is not None


def test_what_is_the_same() -> None:
    assert difference(math.nan, float("nan")) is None
    assert difference(dict(VALUES), dict(VALUES)) is None
    assert difference(messages(), messages()) is None
    found = difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]})
    assert found is not None
    assert found.endswith("is 2, not 3")


def test_what_is_not_declared_is_not_collected() -> None:
    assert Plain.test_that_needs_more is None
    assert callable(Plain.test_that_needs_what_is_there)


def test_a_backend_must_say_how_it_is_opened(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="override open"):
        Harness().open(tmp_path)


def test_a_leftover_file_fails_the_test(tmp_path: Path) -> None:
    store = Store(Plain(), tmp_path)
    store.open()
    left = (tmp_path / "left").open("w")
    assert open_files(tmp_path)[0].endswith("left")
    with pytest.raises(AssertionError, match="left"):
        store.end()
    left.close()


def test_a_leftover_thread_fails_the_test(tmp_path: Path) -> None:
    store = Store(Plain(), tmp_path)
    store.open()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="forgotten")
    thread.start()
    with pytest.raises(AssertionError, match="forgotten"):
        store.end()
    stop.set()
    thread.join()


def test_damage_fails_the_test(tmp_path: Path) -> None:
    store = Store(Plain(), tmp_path)
    memory = store.open()
    memory.threads.get("t").append(("user", "x"))
    driver: Any = memory._engine.driver
    driver._connection().execute("UPDATE threads SET checkpoints = 7")
    with pytest.raises(AssertionError, match="counts 7 checkpoints"):
        store.end()


def test_the_crashing_driver_stops_once_and_counts(tmp_path: Path) -> None:
    memory = threadkeep.open(f"sqlite:///{tmp_path / 'threads.db'}", types=TYPES)
    line = Line(memory)
    line.put({"n": 0})
    driver = CrashingDriver.around(memory)
    driver.watch()
    line.put({"n": 1})
    seen = list(driver.statements)
    assert seen[-1] == "put_thread"
    assert driver.writing == [True] * len(seen)
    driver.stop_before(len(seen))
    with pytest.raises(Crash):
        line.put({"n": 2})
    assert driver.stopped == "put_thread"
    line.put({"n": 2})
    driver.stop_before(1, ZeroDivisionError, only_writes=True)
    assert line.values() == {"n": 2}
    with pytest.raises(ZeroDivisionError):
        line.put({"n": 3})
    assert len(line.ids()) == 3
    memory.close()


def test_a_failure_in_a_child_process_is_told() -> None:
    def child() -> None:
        raise ValueError("told")

    with pytest.raises(AssertionError, match="ValueError: told"):
        in_child(child)
    assert in_child(lambda: 1, lambda: [2]) == [1, [2]]


def test_drives_call_the_method_or_its_twin() -> None:
    class Both:
        def name(self) -> str:
            return "plain"

        async def aname(self) -> str:
            return "twin"

    drives = [Drive("sync"), Drive("async")]
    assert [drive(Both().name) for drive in drives] == ["plain", "twin"]
    for drive in drives:
        drive.close()


def test_a_memory_in_process_says_that_it_cannot_be_forked() -> None:
    memory = threadkeep.open("memory://")
    memory.threads.get("t").append(("user", "x"))

    def child() -> list[str]:
        told = []
        for call in (memory.threads.list, lambda: memory.threads.get("t").append(("user", "y"))):
            with pytest.raises(StorageError) as caught:
                call()
            told.append(str(caught.value))
        return told

    assert all("forked process" in line for line in in_child(child))
    assert len(memory.threads.get("t").messages()) == 1
    memory.close()
