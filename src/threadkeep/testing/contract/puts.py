"""Checkpoints: which is the latest, what a second put does, and what callers may do to their objects."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from threadkeep import Memory
from threadkeep.testing.checkpoints import Line, checkpoint, config, stored
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import assert_same

HIGH, MIDDLE, LOW = (f"{first}0000000-0000-6000-8000-000000000001" for first in "f81")

ODD: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"updated_channels": ["a"], "versions_seen": {"n": {"a": 1}, "m": {}}}, {"source": "input", "step": -1}),
    ({"updated_channels": []}, {"source": "loop", "step": 2**40, "parents": {"": "x", "ns": "y"}}),
    ({"v": 1, "ts": "no time"}, {"source": "something else", "parents": {}}),
    ({"ts": "2026-01-01T00:00:00.000001+02:00"}, {"step": 1.5, "source": None}),
    ({"ts": "2026-01-01T00:00:00", "extra": {"more": (1,)}}, {}),
    ({"pending_sends": [1]}, {"source": "fork", "step": True, "parents": None, "run_id": "r"}),
    ({}, {"source": "update", "step": 3, "parents": {}, "writes": {"n": {"a": 1}}}),
]
"""Fields of a checkpoint, and its metadata."""

_UUID = "0195f3a0-1111-6000-8000-00000000000a"
NAMES = [
    *("x" * n for n in range(1, 42)), *("é" * n for n in (1, 7, 8, 9)), "\xff", "\xff" * 15, "\ud800", "a\x00", " ",
    _UUID, _UUID.upper(), _UUID.replace("-", ""), "{" + _UUID + "}", f"urn:uuid:{_UUID}", f"{_UUID} ", _UUID[:-1],
    f"lc_run--{_UUID}", f"lc_run--{_UUID}-0", f"lc_run--{_UUID}-1", f"run--{_UUID}-0", f"run-{_UUID}-0",
    f"run-{_UUID}", f"lc_run--{_UUID.upper()}-0", "lc_run--", "lc_run---0", "run-" + "x" * 36 + "-0",
]  # fmt: skip
"""Texts of every length, UUIDs, and what looks like one."""


def _chat(*texts: str) -> list[Any]:
    return [HumanMessage(text, id=f"id-{text}") for text in texts]


class PutContract(Harness):
    """Checkpoints, one after another."""

    @pytest.mark.parametrize(
        "names", [(HIGH, LOW, MIDDLE), ("zz", "a", "m"), ("10", "9", "1"), (HIGH, "a", LOW)]
    )
    def test_latest_is_by_insertion(self, memory: Memory, drive: Drive, names: tuple[str, ...]) -> None:
        """The checkpoint that was put last is the latest, whatever the ids' order; the list agrees."""
        line = Line(memory, drive=drive)
        for n, name in enumerate(names):
            line.put({"n": n}, checkpoint_id=name)
            assert line.get().checkpoint["id"] == name
        newest_first = list(reversed(names))
        assert line.ids() == newest_first
        history = drive(memory.threads.get("t").history)
        assert [entry.checkpoint_id for entry in history] == newest_first
        assert drive(memory.threads.get("t").state).values == {"n": len(names) - 1}
        for n, name in enumerate(names):
            assert line.ids(before=config("t", name)) == newest_first[len(names) - n :]
            assert line.values(name) == {"n": n}

    def test_latest_of_each_namespace(self, memory: Memory, drive: Drive) -> None:
        """Each namespace has a latest of its own, and one id may stand in several."""
        root, sub = Line(memory, drive=drive), Line(memory, drive=drive, namespace="sub:1|inner:2")
        root.put({"n": 1}, checkpoint_id=HIGH)
        sub.put({"n": 2}, checkpoint_id=HIGH)
        sub.put({"n": 3}, checkpoint_id=LOW)
        assert (root.values(), sub.values(), sub.values(HIGH), root.ids(), sub.ids()) == (
            {"n": 1},
            {"n": 3},
            {"n": 2},
            [HIGH],
            [LOW, HIGH],
        )
        assert Line(memory, drive=drive, namespace="sub").get() is None
        assert drive(memory.threads.get("t").info).checkpoints == 3

    @needs("sql")
    def test_put_twice_is_put_once(self, memory: Memory, drive: Drive) -> None:
        """A put that is repeated, as after a lost answer, changes nothing."""
        line = Line(memory, drive=drive)
        line.put({"messages": _chat("a"), "n": [1, 2]}, metadata={"k": "v"})
        made = checkpoint({"messages": _chat("a", "b"), "n": [1, 2, 3]}, after=line.at)
        told = {"source": "loop", "step": 1, "parents": {}, "k": "v"}
        arguments: Any = (line.config(line.at), made, told, {})
        drive(line.saver.put, *arguments)
        before, seen = self.dump(memory), stored(memory)
        for _ in range(3):
            assert drive(line.saver.put, *copy.deepcopy(arguments)) == config("t", made["id"])
        assert self.dump(memory) == before
        assert_same(stored(memory), seen)
        info = drive(memory.threads.get("t").info)
        assert (info.checkpoints, info.messages) == (2, 2)

    @needs("sql", "shared")
    def test_put_again_by_another_memory(self, memory: Memory, store: Store, drive: Drive) -> None:
        """A put that is repeated by a process that has nothing of it at hand changes nothing."""
        line = Line(memory, drive=drive)
        line.put({"messages": _chat("a"), "n": list(range(300))})
        made = checkpoint({"messages": _chat("a", "b"), "n": list(range(301)), "m": {"k": 1}}, after=line.at)
        arguments: Any = (line.config(line.at), made, {"source": "loop", "step": 1, "parents": {}}, {})
        drive(line.saver.put, *arguments)
        line.at = made["id"]
        line.put({"messages": _chat("a", "b", "c"), "n": []})
        seen, info = stored(memory), drive(memory.threads.get("t").info)
        drive(store.open().checkpointer.put, *copy.deepcopy(arguments))
        assert_same(stored(memory), seen)
        assert_same(stored(store.open()), seen)
        again = drive(memory.threads.get("t").info)
        assert (again.checkpoints, again.messages) == (info.checkpoints, info.messages)

    @pytest.mark.parametrize("children", [0, 1, 40])
    def test_put_again_with_other_content(self, memory: Memory, drive: Drive, children: int) -> None:
        """The content given last counts, there is one checkpoint of the id, and its children keep theirs."""
        _replace(memory, memory, drive, children)

    @needs("shared")
    @pytest.mark.parametrize("children", [0, 1, 40])
    def test_put_again_with_other_content_by_another_memory(
        self, memory: Memory, store: Store, drive: Drive, children: int
    ) -> None:
        """The same holds for a process that has nothing of the checkpoint at hand."""
        _replace(memory, store.open(), drive, children)

    def test_put_again_and_go_on(self, memory: Memory, drive: Drive) -> None:
        """A checkpoint that replaced another one of its id is a parent like any other."""
        line = Line(memory, drive=drive)
        first = line.put({"messages": _chat("a"), "n": 0})
        target = line.put({"messages": _chat("a", "b"), "n": 1})
        line.at = first
        line.put({"messages": _chat("a", "x"), "n": 2}, checkpoint_id=target)
        child = line.put({"messages": _chat("a", "x", "y"), "n": 3})
        assert_same(line.values(target), {"messages": _chat("a", "x"), "n": 2})
        assert_same(line.values(child), {"messages": _chat("a", "x", "y"), "n": 3})
        assert line.get(child).parent_config == config("t", target)
        assert line.ids() == [child, target, first]
        memory.threads.prune(["t"])
        assert_same(line.values(), {"messages": _chat("a", "x", "y"), "n": 3})

    @pytest.mark.parametrize("n", range(7))
    def test_a_checkpoint_as_it_was_given(self, memory: Memory, drive: Drive, n: int) -> None:
        """Every field of a checkpoint and its metadata comes back, odd and missing ones too."""
        fields, metadata = ODD[n]
        line = Line(memory, drive=drive)
        line.put({"a": 0, "z": 1})
        made = checkpoint({"a": n, "b": [n]}, {"a": n, "b": 1.5, "c": f"{n:032}.0.1"}, **fields)
        if fields == {}:
            del made["updated_channels"]
        drive(line.saver.put, line.config(line.at), made, metadata, {})
        for found in (line.get(), line.tuples()[0], Line(memory, drive=drive, run=True).get()):
            assert_same({key: found.checkpoint[key] for key in made}, made)
            assert found.checkpoint.keys() - made.keys() <= {"pending_sends"}
            assert_same(dict(sorted(found.metadata.items())), dict(sorted(metadata.items())))

    def test_ids_of_every_form(self, memory: Memory, drive: Drive) -> None:
        """Ids of checkpoints, tasks and messages are any text, and come back as they were given."""
        line = Line(memory, drive=drive)
        for name in NAMES:
            said = [HumanMessage("x", id=name), AIMessage("y", id=f"{name}-0")]
            assert line.put({"messages": said}, checkpoint_id=name) == name
            line.write([("messages", said)], task=name)
            assert line.get().checkpoint["id"] == name
            assert_same(line.pending(name), [(name, "messages", said)])
            assert [m.id for m in line.values(name)["messages"]] == [name, f"{name}-0"]
        assert line.ids() == NAMES[::-1]
        assert [found.parent_config for found in line.tuples()][:-1] == [
            config("t", name) for name in NAMES[-2::-1]
        ]
        everyone = [name for each in NAMES for name in (each, f"{each}-0")]
        said_ids = [m.id for m in drive(memory.threads.get("t").messages)]
        assert sorted(map(repr, said_ids)) == sorted(map(repr, dict.fromkeys(everyone)))
        for name in NAMES:
            assert drive(memory.threads.get("t").state, name).checkpoint.checkpoint_id == name

    def test_a_checkpoint_whose_parent_is_unknown(self, memory: Memory, drive: Drive) -> None:
        """A program that is no graph's run may name a parent that is not stored, and is told it again."""
        line = Line(memory, drive=drive)
        line.at = "never stored"
        at = line.put({"a": [1]})
        assert line.get().parent_config == config("t", "never stored")
        line.put({"a": [1, 2]})
        assert_same(
            [found.checkpoint["channel_values"] for found in line.tuples()], [{"a": [1, 2]}, {"a": [1]}]
        )
        assert line.tuples()[1].checkpoint["id"] == at

    def test_a_callers_objects_are_left_alone(self, memory: Memory, drive: Drive) -> None:
        """Nothing that is given to a method is changed by it, ids of messages included."""
        line = Line(memory, drive=drive, run=True)
        values = {
            "messages": [HumanMessage("a"), AIMessage("b", id="b")],
            "l": [1, [2]],
            "d": {"k": {"v": [1]}},
        }
        made = checkpoint(
            values, {"messages": 1, "l": 2, "d": 3}, versions_seen={"n": {"l": 1}}, updated_channels=["l"]
        )
        told = {"source": "loop", "step": 0, "parents": {"a": "b"}, "tags": ["x"]}
        versions = {"messages": 1}
        place = line.config()
        given = (place, made, told, versions)
        known = copy.deepcopy(given)
        drive(line.saver.put, *given)
        line.at = made["id"]
        writes = [("messages", HumanMessage("c")), ("l", [1, {"a": 1}])]
        known_writes = copy.deepcopy(writes)
        line.write(writes)
        metadata = {"m": [1, {"a": 1}]}
        known_metadata = copy.deepcopy(metadata)
        drive(memory.threads.get("t").update, metadata=metadata)
        appended = [HumanMessage("d")]
        drive(memory.threads.get("u").append, appended)
        assert_same(given, known)
        assert_same(writes, known_writes)
        assert_same(metadata, known_metadata)
        assert appended[0].id is None

    def test_what_was_given_can_be_changed_afterwards(self, memory: Memory, drive: Drive) -> None:
        """A caller that changes its objects after a put does not change what is stored."""
        line = Line(memory, drive=drive)
        values: dict[str, Any] = {"messages": _chat("a", "b"), "l": [1, [2]], "d": {"k": {"v": [1]}}}
        told: dict[str, Any] = {"source": "loop", "step": 0, "parents": {}, "tags": ["x"]}
        made = checkpoint(values, versions_seen={"n": {"l": 1}}, updated_channels=["l"])
        known = copy.deepcopy((made, told))
        drive(line.saver.put, line.config(), made, told, {})
        line.at = made["id"]
        written: list[Any] = [("messages", HumanMessage("w", id="w")), ("l", [3])]
        known_writes = [("task", *write) for write in copy.deepcopy(written)]
        line.write(written)
        _spoil(made, told, *written)
        found = line.get()
        assert_same({key: found.checkpoint[key] for key in known[0]}, known[0])
        assert_same({key: found.metadata[key] for key in known[1]}, known[1])
        assert_same(line.pending(), known_writes)

    def test_what_was_got_can_be_changed(self, memory: Memory, drive: Drive) -> None:
        """No two callers are given the same object, and what one does to it no other sees."""
        line = Line(memory, drive=drive)
        line.put(
            {"messages": _chat("a", "b"), "l": [1, [2]], "d": {"k": {"v": [1]}}, "m": {"in": _chat("c")[0]}}
        )
        line.write([("messages", _chat("w")), ("l", [3])])
        thread = memory.threads.get("t")
        drive(thread.update, metadata={"m": [1]})
        run = Line(memory, drive=drive, run=True)
        reads: list[Callable[[], Any]] = [
            line.get,
            lambda: line.tuples()[0],
            lambda: drive(thread.state),
            lambda: list(drive(thread.messages)),
            lambda: drive(thread.info).metadata,
            lambda: drive(thread.history).items[0].metadata,
            lambda: drive(memory.threads.list).items[0].metadata,
        ]
        known = [copy.deepcopy(read()) for read in reads]
        mine = run.load()
        for read in reads:
            found = read()
            assert not _mutable(found) & _mutable(mine)
            assert not _mutable(found) & _mutable(read())
            _spoil(found)
        assert_same([_plain(read()) for read in reads], [_plain(value) for value in known])
        assert_same(run.load().checkpoint, known[0].checkpoint)

    def test_a_checkpoint_is_visible_only_whole(self, memory: Memory, store: Store) -> None:
        """Whoever reads while another writes sees a checkpoint with all its values, or does not see it."""
        readers = [memory, *([store.open()] if self.capabilities.shared else [])]
        problems: list[Any] = []
        done = threading.Event()

        def read(reader: Memory) -> None:
            line = Line(reader)
            while not done.is_set():
                newest = line.get()
                found = [] if newest is None else [newest, *line.tuples(limit=3)]
                for each in found:
                    values = each.checkpoint["channel_values"]
                    n = values["n"]
                    whole = (len(values["l"]), len(values["d"]), len(values["messages"])) == (n, n, n)
                    if not whole or values["blob"] != f"{n}" * 3000 or each.metadata["step"] != n:
                        problems.append(each)

        threads = [threading.Thread(target=read, args=(reader,)) for reader in readers]
        for thread in threads:
            thread.start()
        line = Line(memory)
        for n in range(60):
            numbers = [f"item {i} is long enough to be stored on its own" for i in range(n)]
            values = {"n": n, "l": numbers, "d": dict.fromkeys(numbers, n), "blob": f"{n}" * 3000}
            line.put({**values, "messages": _chat(*numbers)}, metadata={"step": n})
        done.set()
        for thread in threads:
            thread.join()
        assert problems == []


def _plain(value: Any) -> Any:
    """Return what was read as data that can be compared."""
    if hasattr(value, "checkpoint") and hasattr(value, "pending_writes"):
        return value.checkpoint, value.metadata, value.pending_writes
    return value


def _spoil(*values: Any) -> None:
    """Change everything that can be changed in place."""
    for value in values:
        if isinstance(value, dict):
            _spoil(*value.values())
            value["spoilt"] = True
        elif isinstance(value, list):
            _spoil(*value)
            value.append("spoilt")
        elif isinstance(value, tuple):
            _spoil(*value)
        elif isinstance(value, HumanMessage | AIMessage):
            value.content = "spoilt"
            value.additional_kwargs["spoilt"] = True
        elif hasattr(value, "__dataclass_fields__"):
            _spoil(*(getattr(value, name) for name in value.__dataclass_fields__))


def _mutable(value: Any) -> set[int]:
    """Return the ids of every object inside a value that can be changed in place."""
    if isinstance(value, dict):
        return {id(value)}.union(*map(_mutable, value.values()))
    if isinstance(value, list):
        return {id(value)}.union(*map(_mutable, value))
    if isinstance(value, tuple):
        return set().union(*map(_mutable, value))
    if isinstance(value, HumanMessage | AIMessage):
        return {id(value), id(value.additional_kwargs)}
    if hasattr(value, "__dataclass_fields__"):
        return set().union(*(_mutable(getattr(value, name)) for name in value.__dataclass_fields__))
    return set()


def _replace(memory: Memory, other: Memory, drive: Drive, children: int) -> None:
    """Put a checkpoint with children once more, with other content, by the other memory."""
    line, writer = Line(memory, drive=drive), Line(other, drive=drive)
    first = line.put({"messages": _chat("a"), "n": 0, "kept": "k"})
    target = line.put({"messages": _chat("a", "b"), "n": 1, "kept": "k", "gone": 1})
    after = [
        line.put({"messages": _chat("a", "b", f"c{n}"), "n": 2 + n, "kept": "k"}) for n in range(children)
    ]
    changed = {"messages": _chat("a", "B", "B2"), "n": -1, "new": [1, 2]}
    versions = {"messages": 9, "n": 9, "new": 9}
    made = checkpoint(changed, versions, checkpoint_id=target)
    drive(
        writer.saver.put, config("t", first), made, {"source": "update", "step": 7, "parents": {}, "x": 1}, {}
    )
    for reader in (line, writer):
        found = reader.get(target)
        assert_same(found.checkpoint["channel_values"], changed)
        assert found.checkpoint["channel_versions"] == versions
        assert (found.metadata["step"], found.metadata["x"]) == (7, 1)
        assert found.parent_config == config("t", first)
        for n, child in enumerate(after):
            assert_same(reader.values(child), {"messages": _chat("a", "b", f"c{n}"), "n": 2 + n, "kept": "k"})
        assert reader.ids() == [*reversed(after), target, first]
        assert reader.get().checkpoint["id"] == (after or [target])[-1]
    assert drive(memory.threads.get("t").info).checkpoints == children + 2
