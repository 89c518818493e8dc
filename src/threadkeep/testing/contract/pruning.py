"""Pruning and deleting: what goes is gone for good, what stays is what it was."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from threadkeep import ConfigurationError, Memory
from threadkeep.ids import new_checkpoint_id, now
from threadkeep.testing.checkpoints import Line, stored
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import assert_same


def fill(memory: Memory, drive: Drive, name: str = "t", *, turns: int = 12) -> Line:
    """Fill a thread with a bit of everything: lists, mappings, branches, namespaces, writes, calls."""
    line, sub = Line(memory, name, drive=drive), Line(memory, name, drive=drive, namespace="sub")
    said: list[Any] = []
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    for n in range(turns):
        run = {"run_id": f"r{n}"}
        said = [*said, HumanMessage(f"question {n} of {name}", id=f"h{n}")]
        state = {
            "messages": said,
            "l": [f"{i} of {n}" * 9 for i in range(n)],
            "d": {f"k{i}": n for i in range(9)},
        }
        line.put({"__start__": {"messages": said[-1:]}, **state}, source="input", metadata=run)
        line.put({**state, "branch:to:model": None}, metadata=run)
        answer = AIMessage(f"answer {n}", id=f"a{n}", usage_metadata=usage)
        line.write([("messages", [answer]), ("blob", f"{n}" * 5000)], f"task {n}", "~__pregel_pull, model")
        said = [*said, answer]
        line.put({"messages": said, "blob": f"{n}" * 5000, "l": state["l"]}, metadata=run)
        sub.put({"messages": said, "inner": {"n": n}}, metadata=run)
        sub.write([("inner", n)])
    thread = memory.threads.get(name)
    drive(thread.fork, before=f"h{turns // 2}")
    drive(thread.append, [HumanMessage("other", id="other")])
    drive(thread.update, title="A title", metadata={"k": 1, "l": [1]})
    line.load()
    return line


def seen(memory: Memory, drive: Drive, name: str = "t") -> dict[str, Any]:
    """Return everything that a thread shows beside its checkpoints."""
    thread = memory.threads.get(name)
    info = drive(thread.info)
    return {
        "messages": list(drive(thread.messages)),
        "branches": [list(drive(thread.messages, branch=branch.branch)) for branch in drive(thread.branches)],
        "usage": drive(thread.usage),
        "title": (info.title, info.preview, dict(info.metadata), info.messages),
    }


class PruneContract(Harness):
    """Deleting and pruning."""

    @needs("sql")
    @pytest.mark.parametrize("way", ["threads", "thread", "saver", "prune", "saver's prune", "runs"])
    def test_delete_leaves_no_row(self, memory: Memory, drive: Drive, way: str) -> None:
        """Whichever way a thread is removed, no table keeps a row of it, and its neighbour keeps all."""
        fill(memory, drive, "other")
        rows, known, about = self.rows(memory), stored(memory, "other"), seen(memory, drive, "other")
        fill(memory, drive)
        if way == "runs":
            drive(memory.threads.delete, "t")
            line = Line(memory, drive=drive)
            line.put({"a": 1, "messages": [HumanMessage("m", id="m")]}, metadata={"run_id": "only"})
            line.write([("a", "x" * 900)])
        ways: dict[str, Callable[[], Any]] = {
            "threads": lambda: drive(memory.threads.delete, "t"),
            "thread": lambda: drive(memory.threads.get("t").delete),
            "saver": lambda: drive(memory.checkpointer.delete_thread, "t"),
            "prune": lambda: drive(memory.threads.prune, ["t"], strategy="delete"),
            "saver's prune": lambda: drive(memory.checkpointer.prune, ["t"], strategy="delete"),
            "runs": lambda: drive(memory.checkpointer.delete_for_runs, ["only"]),
        }
        ways[way]()
        assert self.rows(memory) == rows
        assert not drive(memory.threads.get("t").exists)
        assert Line(memory, drive=drive).get() is None
        assert_same(stored(memory, "other"), known)
        assert_same(seen(memory, drive, "other"), about)
        drive(memory.threads.prune, strategy="delete")
        assert self.rows(memory) == {}

    def test_a_deleted_thread_begins_anew(self, memory: Memory, drive: Drive) -> None:
        """A thread that is made again under a deleted one's id has nothing of it."""
        for n in range(3):
            line = fill(memory, drive, turns=3)
            assert drive(line.memory.threads.get("t").info).checkpoints > 9
            assert drive(memory.threads.delete, "t")
            assert not drive(memory.threads.delete, "t")
            fresh = Line(memory, drive=drive, run=True)
            assert fresh.load() is None
            at = fresh.put({"messages": [HumanMessage("new", id="h0")], "n": n})
            thread = memory.threads.get("t")
            assert [m.text for m in drive(thread.messages)] == ["new"]
            info = drive(thread.info)
            assert (info.title, dict(info.metadata), info.messages, info.checkpoints) == ("new", {}, 1, 1)
            assert drive(thread.usage).calls == 0
            assert fresh.ids() == [at]
            assert drive(thread.delete)

    @needs("shared")
    def test_the_disk_is_given_back(self, memory: Memory, store: Store, drive: Drive) -> None:
        """After deleting what took most of the space, the database is small again."""
        line = Line(memory, drive=drive)
        Line(memory, "kept", drive=drive).put({"a": "kept"})
        for n in range(30):
            line.put({"blob": random.Random(n).randbytes(40_000)})
        full = drive(memory.size)
        assert full > 1_000_000
        drive(memory.threads.delete, "t")
        report = drive(memory.compact)
        assert report.complete
        assert report.after == drive(memory.size) < full / 5
        assert Line(store.open(), "kept", drive=drive).values() == {"a": "kept"}

    @pytest.mark.parametrize("keep", [None, 1, 2, 7, 1000])
    def test_what_stays_is_what_it_was(self, memory: Memory, drive: Drive, keep: int | None) -> None:
        """The newest of each namespace stay as they were; only a parent that went is no longer named."""
        line = fill(memory, drive)
        known, about = stored(memory), seen(memory, drive)
        spaces = {ns: [t for t in known if t["config"]["checkpoint_ns"] == ns] for ns in ("", "sub")}
        expected = [t for found in spaces.values() for t in found[: keep or 1]]
        names = {t["config"]["checkpoint_id"] for t in expected}
        for one in expected:
            if one["parent"] is not None and one["parent"]["checkpoint_id"] not in names:
                one["parent"] = None
        report = drive(memory.threads.prune, ["t"], keep_last=keep)
        assert report.checkpoints == len(known) - len(expected)
        found = {(t["config"]["checkpoint_ns"], t["config"]["checkpoint_id"]): t for t in stored(memory)}
        assert len(found) == len(expected)
        for one in expected:
            assert_same(found[one["config"]["checkpoint_ns"], one["config"]["checkpoint_id"]], one)
        assert_same(seen(memory, drive), about)
        assert drive(memory.threads.get("t").info).checkpoints == len(expected)
        line.put({"messages": [*line.values()["messages"], HumanMessage("after", id="after")]})
        assert [m.id for m in drive(memory.threads.get("t").messages)][-1] == "after"

    @needs("shared")
    def test_what_stays_is_what_it_was_for_a_fresh_reader(
        self, memory: Memory, store: Store, drive: Drive
    ) -> None:
        """The same where nothing of the thread is kept in the process."""
        fill(memory, drive)
        drive(memory.threads.prune, ["t"], keep_last=3)
        known, about = stored(memory), seen(memory, drive)
        other = store.open()
        assert_same(stored(other), known)
        assert_same(seen(other, drive), about)

    @needs("sql")
    @pytest.mark.parametrize("keep", [1, 4])
    def test_nothing_unreferenced_stays(self, memory: Memory, drive: Drive, keep: int) -> None:
        """A pruned thread takes as many rows as one that never had more, and a second prune finds nothing."""
        line = Line(memory, drive=drive)
        for n in range(40):
            line.put(
                {
                    "blob": f"{n}" * 9000,
                    "l": [f"item {i} of {n}" * 9 for i in range(40)],
                    "n": {"k": [n] * 900},
                }
            )
            line.write([("blob", f"w{n}" * 9000)])
        drive(memory.threads.prune, ["t"], keep_last=keep)
        pruned = drive(memory.threads.stats, "t")
        again = drive(memory.threads.prune, ["t"], keep_last=keep)
        assert (again.checkpoints, again.contents, again.writes, again.threads) == (0, 0, 0, 0)
        fresh = Line(memory, "fresh", drive=drive)
        for n in range(40 - keep, 40):
            fresh.put(
                {
                    "blob": f"{n}" * 9000,
                    "l": [f"item {i} of {n}" * 9 for i in range(40)],
                    "n": {"k": [n] * 900},
                }
            )
            fresh.write([("blob", f"w{n}" * 9000)])
        never = drive(memory.threads.stats, "fresh")
        for table in ("contents", "checkpoints", "writes"):
            # Whether a small value stands on its own depends on the size of the numbers in it.
            assert pruned.tables[table].rows <= never.tables[table].rows + keep, table
        assert pruned.bytes < 1.2 * never.bytes + 2000

    def test_a_prune_that_only_looks(self, memory: Memory, drive: Drive) -> None:
        """`dry_run` reports what the prune then does, and changes nothing."""
        fill(memory, drive)
        known = stored(memory)
        for options in ({"keep_last": 5}, {}, {"strategy": "delete"}):
            looked = drive(memory.threads.prune, ["t"], dry_run=True, **options)
            assert looked.dry_run
            assert_same(stored(memory), known)
            done = drive(memory.threads.prune, ["t"], **options)
            fields = ("threads", "checkpoints", "contents", "writes", "bytes")
            assert [getattr(looked, f) for f in fields] == [getattr(done, f) for f in fields]
            assert done.threads == 1
            assert done.bytes > 0
            known = stored(memory)
        assert known == []

    def test_by_age(self, memory: Memory, drive: Drive) -> None:
        """What is younger stays, and the newest of each namespace however old it is."""
        line, sub = Line(memory, drive=drive), Line(memory, drive=drive, namespace="sub")
        ages = (50, 30, 10, 5, 1)
        made = [line.put({"n": n}, checkpoint_id=_hours_ago(n)) for n in ages]
        old = [sub.put({"n": n}, checkpoint_id=_hours_ago(n)) for n in (90, 80)]
        drive(memory.threads.prune, ["t"], older_than=timedelta(hours=200))
        assert (line.ids(), sub.ids()) == (made[::-1], old[::-1])
        drive(memory.threads.prune, older_than=timedelta(hours=20))
        assert (line.ids(), sub.ids()) == ([made[4], made[3], made[2]], [old[1]])
        drive(memory.threads.prune, older_than=timedelta(hours=7), keep_last=2)
        assert line.ids() == [made[4], made[3]]
        drive(memory.threads.prune, older_than=timedelta(0))
        assert (line.ids(), sub.ids()) == ([made[4]], [old[1]])

    def test_writes_without_a_checkpoint(self, memory: Memory, drive: Drive) -> None:
        """Early writes survive a prune for an hour, in which their checkpoint may still come, and then go."""
        line = Line(memory, drive=drive)
        line.put({"n": 1})
        young, old = new_checkpoint_id(), _hours_ago(2)
        for at in (young, old):
            line.write([("c", "x" * 3000)], at=at)
        report = drive(memory.threads.prune, ["t"])
        assert (report.writes, report.checkpoints) == (1, 0)
        line.put({"n": 2}, checkpoint_id=young)
        assert line.pending() == [("task", "c", "x" * 3000)]

    @pytest.mark.parametrize(
        "options",
        [
            {"strategy": "keep"},
            {"strategy": "delete", "keep_last": 1},
            {"strategy": "delete", "older_than": timedelta(1)},
            {"keep_last": 0},
            {"keep_last": -1},
            {"older_than": timedelta(-1)},
        ],
        ids=repr,
    )
    def test_options_that_make_no_sense(self, memory: Memory, drive: Drive, options: dict[str, Any]) -> None:
        """They are refused, and nothing is removed."""
        Line(memory, drive=drive).put({"n": 1})
        Line(memory, drive=drive).put({"n": 2})
        for method in (memory.threads.prune, memory.checkpointer.prune):
            with pytest.raises(ConfigurationError):
                drive(method, ["t"], **options)
        assert len(stored(memory)) == 2

    def test_the_record_outlives_removal_and_prune(self, memory: Memory, drive: Drive) -> None:
        """What was said stays in the record when the state forgets it and when its checkpoints go."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        said = [HumanMessage(f"m{n}", id=f"m{n}") for n in range(20)]
        for n in range(1, 21):
            line.put({"messages": said[max(0, n - 3) : n]})
        line.put({"messages": []})
        assert_same(list(drive(thread.messages)), said)
        drive(memory.threads.prune, ["t"])
        assert_same(list(drive(thread.messages)), said)
        line.put({"messages": [*said[5:7], HumanMessage("new", id="new")]})
        drive(memory.threads.prune, ["t"])
        assert [m.id for m in drive(thread.messages)] == [*(m.id for m in said), "new"]
        assert_same(line.values(), {"messages": [*said[5:7], HumanMessage("new", id="new")]})

    def test_the_checkpoints_of_runs(self, memory: Memory, drive: Drive) -> None:
        """`delete_for_runs` removes the checkpoints of those runs in every thread, and no others."""
        for name in "ab":
            fill(memory, drive, name, turns=4)
        known = {name: stored(memory, name) for name in "ab"}
        before = {name: copy.deepcopy(seen(memory, drive, name)) for name in "ab"}
        drive(memory.checkpointer.delete_for_runs, ["r1", "r3", "none"])
        for name in "ab":
            left = stored(memory, name)
            runs = {t["config"]["checkpoint_id"]: t["metadata"].get("run_id") for t in known[name]}
            expected = [t for t in known[name] if runs[t["config"]["checkpoint_id"]] not in ("r1", "r3")]
            ids = {t["config"]["checkpoint_id"] for t in expected}
            for one in expected:
                if one["parent"] is not None and one["parent"]["checkpoint_id"] not in ids:
                    one["parent"] = None
            assert_same(left, expected)
            said = [m.id for m in before[name]["messages"]]
            assert {m.id for m in drive(memory.threads.get(name).messages)} <= set(said)
        drive(memory.checkpointer.delete_for_runs, [])
        assert len(stored(memory, "a")) == len(stored(memory, "b")) > 4


def _bulk(n: int) -> dict[str, Any]:
    items = [f"item {i} of {n}" * 9 for i in range(40)]
    return {"blob": f"{n}" * 9000, "l": items, "n": {"k": [n] * 900}}


def _hours_ago(hours: int) -> str:
    """Return a checkpoint id that was made some hours ago."""
    return new_checkpoint_id(lambda: now() - hours * 3600 * 1_000_000)
