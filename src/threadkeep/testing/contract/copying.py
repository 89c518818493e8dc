"""Copies are whole, and from then on threads of their own."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from threadkeep import ConfigurationError, Memory, ThreadNotFound
from threadkeep.testing.checkpoints import Line, stored
from threadkeep.testing.contract.pruning import fill, seen
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import assert_same


def moved(found: list[Any], name: str) -> list[Any]:
    """Return what a thread has stored as it would be under another id."""
    for one in found:
        for place in (one["config"], one["parent"]):
            if place is not None:
                place["thread_id"] = name
    return found


class CopyContract(Harness):
    """Copies."""

    @pytest.mark.parametrize("way", ["threads", "saver"])
    def test_a_copy_is_whole(self, memory: Memory, drive: Drive, way: str) -> None:
        """Checkpoints, writes, record, branches, usage, title and metadata are there under the new id."""
        fill(memory, drive)
        if way == "threads":
            assert drive(memory.threads.copy, "t", "u").thread_id == "u"
        else:
            drive(memory.checkpointer.copy_thread, "t", "u")
        assert_same(stored(memory, "u"), moved(stored(memory), "u"))
        assert_same(seen(memory, drive, "u"), seen(memory, drive))
        source, target = (drive(memory.threads.get(name).info) for name in "tu")
        assert (target.checkpoints, target.status) == (source.checkpoints, source.status)
        assert target.updated > source.updated
        assert [info.thread_id for info in drive(memory.threads.list, metadata={"k": 1})] == ["u", "t"]

    @needs("sql")
    def test_a_copy_takes_the_rows_of_its_source(self, memory: Memory, drive: Drive) -> None:
        """A copy has as many rows in each table as its source, and both go by themselves."""
        fill(memory, drive)
        one = self.rows(memory)
        drive(memory.threads.copy, "t", "u")
        assert self.rows(memory) == {table: 2 * count for table, count in one.items()}
        drive(memory.threads.delete, "t")
        assert self.rows(memory) == one
        drive(memory.threads.delete, "u")
        assert self.rows(memory) == {}

    @pytest.mark.parametrize("changed", ["t", "u"])
    def test_a_copy_is_independent(self, memory: Memory, drive: Drive, changed: str) -> None:
        """Whatever happens to either, the other stays what it was."""
        fill(memory, drive, turns=6)
        drive(memory.threads.copy, "t", "u")
        other = "u" if changed == "t" else "t"
        known, about = stored(memory, other), seen(memory, drive, other)
        line, thread = Line(memory, changed, drive=drive, run=True), memory.threads.get(changed)
        line.load()
        line.put(
            {"messages": [*line.values()["messages"], HumanMessage("more", id="more")], "l": ["new"] * 40}
        )
        line.write([("l", "w" * 4000)])
        drive(thread.append, HumanMessage("changed", id="h0"))
        drive(thread.fork, before="h1")
        drive(thread.update, title="another", metadata={"k": 2})
        drive(memory.checkpointer.delete_for_runs, ["none"])
        drive(memory.threads.prune, [changed])
        assert_same(stored(memory, other), known)
        assert_same(seen(memory, drive, other), about)
        drive(thread.delete)
        assert_same(stored(memory, other), known)
        assert_same(seen(memory, drive, other), about)
        drive(memory.threads.get(other).append, HumanMessage("goes on", id="on"))
        assert drive(memory.threads.get(other).messages)[-1].id == "on"

    def test_copies_of_copies_and_of_pruned_threads(self, memory: Memory, drive: Drive) -> None:
        """A copy can be copied, and one of a pruned thread has what its source has."""
        fill(memory, drive, turns=6)
        drive(memory.threads.prune, ["t"], keep_last=3)
        drive(memory.threads.copy, "t", "u")
        drive(memory.threads.copy, "u", "v")
        drive(memory.threads.delete, "u")
        assert_same(stored(memory, "v"), moved(stored(memory), "v"))
        drive(memory.threads.prune, ["v"])
        drive(memory.threads.copy, "v", "u")
        assert_same(stored(memory, "u"), moved(stored(memory, "v"), "u"))
        assert_same(seen(memory, drive, "u"), seen(memory, drive))

    def test_what_cannot_be_copied(self, memory: Memory, drive: Drive) -> None:
        """A target that exists is never written over, a source that does not exist leaves none."""
        fill(memory, drive, turns=2)
        fill(memory, drive, "u", turns=1)
        known = stored(memory, "u")
        for source, target in (("t", "u"), ("t", "t")):
            with pytest.raises(ConfigurationError, match=f"'{target}'"):
                drive(memory.threads.copy, source, target)
        with pytest.raises(ThreadNotFound, match="'none'"):
            drive(memory.threads.copy, "none", "new")
        assert not drive(memory.threads.get("new").exists)
        assert_same(stored(memory, "u"), known)
        drive(memory.threads.delete, "u")
        drive(memory.threads.copy, "t", "u")
        assert len(stored(memory, "u")) == len(stored(memory)) != len(known)

    def test_early_writes_are_copied(self, memory: Memory, drive: Drive) -> None:
        """A thread that has early writes alone is no thread yet; those of a thread are copied with it."""
        Line(memory, "early", drive=drive).write([("c", 1)], at="later")
        with pytest.raises(ThreadNotFound):
            drive(memory.threads.copy, "early", "new")
        fill(memory, drive, turns=1)
        Line(memory, drive=drive).write([("c", 2)], at="later")
        drive(memory.threads.copy, "t", "u")
        line = Line(memory, "u", drive=drive)
        line.put({"a": 1}, checkpoint_id="later")
        assert line.pending() == [("task", "c", 2)]

    @needs("shared")
    def test_a_copy_seen_from_another_memory(self, memory: Memory, store: Store, drive: Drive) -> None:
        """Another memory that had looked for the target in vain sees it, whole."""
        other = store.open()
        fill(memory, drive, turns=3)
        assert Line(other, "u", drive=drive).get() is None
        assert len(stored(other)) > 3
        drive(memory.threads.copy, "t", "u")
        assert_same(stored(other, "u"), moved(stored(memory), "u"))
        drive(other.threads.get("u").append, HumanMessage("x", id="x"))
        assert drive(memory.threads.get("u").messages)[-1].id == "x"
        assert "x" not in [m.id for m in drive(memory.threads.get("t").messages)]

    def test_many_copies_at_once(self, memory: Memory) -> None:
        """Of several copies to one target one succeeds; to different targets all do."""
        drive = Drive("sync")
        fill(memory, drive, turns=3)
        outcomes: list[str] = []

        def copy(n: int) -> None:
            memory.threads.copy("t", f"own {n}")
            try:
                memory.threads.copy("t", "shared")
                outcomes.append("done")
            except ConfigurationError:
                outcomes.append("refused")

        threads = [threading.Thread(target=copy, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["done", *["refused"] * 5]
        for name in ("shared", *(f"own {n}" for n in range(6))):
            assert_same(stored(memory, name), moved(stored(memory), name))
