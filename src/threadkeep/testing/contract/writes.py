"""Pending writes: early or late, once or twice, always in order."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from threadkeep import Memory
from threadkeep.testing.checkpoints import Line, checkpoint, config
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import assert_same

SPECIAL = ("__error__", "__scheduled__", "__interrupt__", "__resume__")
"""Channels of which a task has one write, where the last one counts."""


class WriteContract(Harness):
    """Pending writes of a checkpoint's tasks."""

    @pytest.mark.parametrize("seed", range(4))
    def test_writes_replay_in_order_of_path_task_and_index(
        self, memory: Memory, drive: Drive, seed: int
    ) -> None:
        """Whatever the order they came in, writes are read by task path, then task, then index."""
        paths = [
            "",
            "~__pregel_pull, a",
            "~__pregel_pull, b",
            "~__pregel_push, 00001",
            "\ud800",
            "é",
            "~",
            "Z",
        ]
        tasks = ["9", "10", "00000000-0000-0000-0000-00000000000a", "b" * 36, "é"]
        places = list(itertools.product(paths, tasks))
        random.Random(seed).shuffle(places)
        line = Line(memory, drive=drive)
        line.put({"a": 1})
        for n, (path, task) in enumerate(places):
            line.write([("c", (path, task, i)) for i in range(1 + n % 12)], f"{task}:{path}", path)
        expected = [
            (f"{task}:{path}", "c", (path, task, i))
            for path, task in sorted(places, key=lambda place: (place[0], f"{place[1]}:{place[0]}"))
            for i in range(1 + places.index((path, task)) % 12)
        ]
        assert_same(line.pending(), expected)
        assert_same([tuple(write) for write in line.tuples()[0].pending_writes], expected)
        state = drive(memory.threads.get("t").state)
        assert_same([(write.task_id, write.channel, write.value) for write in state.pending], expected)

    def test_writes_before_their_checkpoint(self, memory: Memory, drive: Drive) -> None:
        """Writes are accepted before their checkpoint, and make no thread by themselves."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        made = checkpoint({"a": 1})
        line.write([("c", "early"), ("m", HumanMessage("x", id="x"))], "1", at=made["id"])
        assert line.get() is None
        assert line.get(made["id"]) is None
        assert line.tuples() == []
        assert not drive(thread.exists)
        assert len(drive(memory.threads.list)) == 0
        drive(line.saver.put, line.config(), made, {"source": "loop", "step": 0, "parents": {}}, {})
        line.write([("c", "late")], "2", at=made["id"])
        expected = [("1", "c", "early"), ("1", "m", HumanMessage("x", id="x")), ("2", "c", "late")]
        assert_same(line.pending(), expected)
        assert drive(thread.info).checkpoints == 1

    @needs("sql")
    def test_writes_whose_checkpoint_never_comes_are_deleted_with_the_thread(
        self, memory: Memory, drive: Drive
    ) -> None:
        """A thread of early writes alone leaves no row either."""
        Line(memory, drive=drive).write([("c", "x" * 3000), ("m", HumanMessage("x", id="x"))], at="never")
        Line(memory, "u", drive=drive, namespace="sub").write([("c", 1)], at="never")
        drive(memory.threads.delete, "t")
        drive(memory.checkpointer.delete_thread, "u")
        assert self.rows(memory) == {}

    def test_writes_after_other_checkpoints(self, memory: Memory, drive: Drive) -> None:
        """Writes are accepted for a checkpoint that is no longer the latest."""
        line = Line(memory, drive=drive)
        first = line.put({"a": 1})
        line.put({"a": 2})
        line.write([("c", 1)], at=first)
        assert line.pending(first) == [("task", "c", 1)]
        assert line.pending() == []

    def test_a_regular_write_stays_as_it_came_first(self, memory: Memory, drive: Drive) -> None:
        """A second write of a task at an index changes nothing, whether its content is the same or not."""
        line = Line(memory, drive=drive)
        line.put({"a": 1})
        for attempt in ("first", "first", "second"):
            line.write([("c", attempt), ("d", [attempt] * 100)])
        line.write([("c", "third"), ("d", "third"), ("e", "new index")])
        assert_same(
            line.pending(),
            [("task", "c", "first"), ("task", "d", ["first"] * 100), ("task", "e", "new index")],
        )

    @needs("sql")
    def test_a_write_put_twice_is_put_once(self, memory: Memory, drive: Drive) -> None:
        """The same writes again leave the database as it was."""
        line = Line(memory, drive=drive)
        line.put({"a": 1})
        line.write([("c", 1), ("m", AIMessage("x", id="x"))], "t1", "~p")
        rows, before = self.rows(memory), line.pending()
        for _ in range(3):
            line.write([("c", 1), ("m", AIMessage("x", id="x"))], "t1", "~p")
        assert self.rows(memory) == rows
        assert_same(line.pending(), before)

    @pytest.mark.parametrize("channel", SPECIAL)
    def test_a_special_write_replaces_the_one_before(
        self, memory: Memory, drive: Drive, channel: str
    ) -> None:
        """The last error, interrupt, resume or schedule counts, beside the task's regular writes."""
        line = Line(memory, drive=drive)
        line.put({"a": 1})
        line.write([("c", 1), ("d", 2)])
        line.write([(channel, ["one"])])
        line.write([(channel, ["one", "two"])])
        line.write([("c", "again")])
        line.write([(channel, "of another task")], "other")
        found = sorted(line.pending(), key=repr)
        expected = [("other", channel, "of another task"), ("task", channel, ["one", "two"])]
        assert_same(found, sorted([*expected, ("task", "c", 1), ("task", "d", 2)], key=repr))

    def test_all_special_writes_of_one_task_stand_together(self, memory: Memory, drive: Drive) -> None:
        """Each special channel has a place of its own, given at once or one by one."""
        line = Line(memory, drive=drive)
        line.put({"a": 1})
        line.write([(channel, n) for n, channel in enumerate(SPECIAL)], "at once")
        for n, channel in enumerate(SPECIAL):
            line.write([(channel, n)], "singly")
        expected = {(task, channel, n) for task in ("at once", "singly") for n, channel in enumerate(SPECIAL)}
        assert set(line.pending()) == expected

    def test_writes_of_one_checkpoint_id_in_two_namespaces(self, memory: Memory, drive: Drive) -> None:
        """A write belongs to its thread, namespace and checkpoint, and to no other."""
        lines = [
            Line(memory, thread_id, drive=drive, namespace=namespace)
            for thread_id, namespace in itertools.product("tu", ["", "sub"])
        ]
        for line in lines:
            line.put({"a": 1}, checkpoint_id="same")
        for n, line in enumerate(lines):
            line.write([("c", n)])
        for n, line in enumerate(lines):
            assert line.pending() == [("task", "c", n)]

    def test_odd_writes(self, memory: Memory, drive: Drive) -> None:
        """None is a value, one channel may be written twice, and a task may write nothing."""
        line = Line(memory, drive=drive)
        line.put({"a": 1})
        line.write([], "nothing")
        line.write([("c", None), ("c", None), ("", []), ("\ud800", {})], "odd", "~\ud800")
        expected: list[Any] = [("odd", "c", None), ("odd", "c", None), ("odd", "", []), ("odd", "\ud800", {})]
        assert_same(line.pending(), expected)

    def test_a_message_is_one_row_wherever_it_is_written(self, memory: Memory, drive: Drive) -> None:
        """A message written by a task and then part of the state is stored once."""
        message = AIMessage("a text that is long enough to be seen " * 60, id="m")
        line = Line(memory, drive=drive, run=True)
        line.put({"messages": [HumanMessage("h", id="h")]})
        line.write([("messages", [message])])
        line.put({"messages": [HumanMessage("h", id="h"), message]})
        line.put({"messages": [HumanMessage("h", id="h"), message], "other": {"last": message}})
        size = drive(memory.threads.stats, "t").bytes
        assert size < 1.5 * len(message.text)
        assert_same(line.values()["other"], {"last": message})

    @needs("shared")
    def test_writes_of_one_task_from_two_memories(self, memory: Memory, store: Store, drive: Drive) -> None:
        """The first of two writes at an index stays, and each memory sees what the other wrote."""
        one, two = Line(memory, drive=drive), Line(store.open(), drive=drive)
        one.put({"a": 1})
        one.write([("c", "one")])
        two.at = one.at
        two.write([("c", "two"), ("d", "two")])
        one.write([("c", "again"), ("d", "again"), ("e", "one")])
        expected = [("task", "c", "one"), ("task", "d", "two"), ("task", "e", "one")]
        assert one.pending() == two.pending() == expected

    def test_reading_what_was_only_queued(self, memory: Memory, drive: Drive) -> None:
        """The input checkpoint of a run, whose put returns early, is seen by whoever reads next."""
        line = Line(memory, drive=drive, run=True)
        for n in range(5):
            at = line.put({"a": n, "__start__": {"messages": []}}, source="input")
            assert line.get().checkpoint["id"] == at
            assert Line(memory, drive=drive).ids()[0] == at
            assert drive(memory.threads.get("t").info).checkpoints == n + 1
            assert drive(memory.checkpointer.get_tuple, config("t", at)) is not None
