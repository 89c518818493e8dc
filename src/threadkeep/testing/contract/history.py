"""Lists of checkpoints: the saver's, with filters, and a thread's history."""

from __future__ import annotations

import datetime as dt
import itertools
import uuid
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from threadkeep import Memory
from threadkeep.testing.checkpoints import Line, checkpoint, config
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness
from threadkeep.testing.values import assert_same

VALUES: list[Any] = [
    1, True, 0, False, None, "1", "", 1.5, -0.5, 2**70, 2**70 + 1, 2**53, 2**53 + 1, "é", "e\u0301", "a\x00b",
    "\ud800", [], [1], [True], [None], {}, {"a": 1}, {"a": True}, {"a": [{"b": None}]}, uuid.UUID(int=1),
    dt.datetime(2026, 3, 1, tzinfo=dt.UTC), dt.date(2026, 3, 1), dt.timedelta(1), Decimal("1.5"), b"1",
]  # fmt: skip
"""Values of metadata that some database takes for one another."""

KEYS = ["", "a.b", "$.a", 'a"b', "a'b", "a\\b", "[0]", "ключ", "🙂", "a\x00b", "\ud800", "%", "_", "source.x"]
"""Keys that some database reads as something else."""


class HistoryContract(Harness):
    """Lists of checkpoints."""

    def test_filters_compare_in_type_and_value(self, memory: Memory, drive: Drive) -> None:
        """A filter finds the checkpoints whose metadata has that value; numbers compare as JSON's do."""
        line = Line(memory, drive=drive)
        made = [line.put({"n": n}, metadata={"k": value}) for n, value in enumerate(VALUES)]
        line.put({"n": -1}, metadata={"other": 1})
        for at, value in zip(made, VALUES, strict=True):
            same = [a for a, other in zip(made, VALUES, strict=True) if _alike(value, other)]
            assert line.ids(filter={"k": value}) == list(reversed(same)), value
            assert at in same
        assert line.ids(filter={"absent": None}) == []

    @pytest.mark.parametrize("key", KEYS)
    def test_filters_take_any_key_literally(self, memory: Memory, drive: Drive, key: str) -> None:
        """A key of a filter is a key, and never a path, a pattern or an expression."""
        line = Line(memory, drive=drive)
        wanted = line.put({}, metadata={key: "v", "more": 1})
        line.put({}, metadata={f"{key}x": "v", "in": {key: "v"}})
        line.put({}, metadata={key: "w"})
        line.put({}, metadata={"a": {"b": "v"}})
        assert line.ids(filter={key: "v"}) == line.ids(filter={key: "v", "more": 1}) == [wanted]
        assert line.ids(filter={key: "v", "more": True}) == line.ids(filter={key: None}) == []

    def test_filters_on_source_and_step(self, memory: Memory, drive: Drive) -> None:
        """What every checkpoint's metadata has can be filtered on like anything else."""
        line = Line(memory, drive=drive)
        made = [line.put({}, source=source) for source in ("input", "loop", "loop", "update", "fork", "odd")]
        assert line.ids(filter={"source": "loop"}) == [made[2], made[1]]
        assert line.ids(filter={"source": "odd"}) == [made[5]]
        assert line.ids(filter={"step": 3}) == line.ids(filter={"step": 3.0, "source": "update"}) == [made[3]]
        assert line.ids(filter={"step": 3, "source": "loop"}) == []
        assert line.ids(filter={"parents": {}, "source": "fork"}) == [made[4]]
        assert line.ids(filter={}) == list(reversed(made))

    def test_limits_with_filters_and_before(self, memory: Memory, drive: Drive) -> None:
        """Any limit is a prefix of the whole list, over pages, with a filter and below a checkpoint."""
        line = Line(memory, drive=drive)
        made = [line.put({"n": n}, metadata={"third": n % 3}) for n in range(100)]
        for third, below in itertools.product([None, 0, 2], [None, 99, 64, 33, 1, 0]):
            options: dict[str, Any] = {}
            if third is not None:
                options["filter"] = {"third": third}
            if below is not None:
                options["before"] = config("t", made[below])
            rest = made if below is None else made[:below]
            expected = [at for n, at in reversed(list(enumerate(rest))) if third in (None, n % 3)]
            assert line.ids(**options) == expected
            for limit in (0, 1, 31, 32, 33, 1000):
                assert line.ids(**options, limit=limit) == expected[:limit]
        for limit in (-1, -5):
            with pytest.raises(ValueError, match="limit"):
                line.ids(limit=limit)

    def test_every_namespace_of_every_thread(self, memory: Memory, drive: Drive) -> None:
        """Without a namespace all are listed, without a config all of the owner's threads, each once."""
        places = list(itertools.product(["a", "b", "c"], ["", "sub", "sub|inner:1", "\ud800"]))
        lines = [Line(memory, thread_id, drive=drive, namespace=namespace) for thread_id, namespace in places]
        for n in range(3):
            for line in lines:
                line.put({"n": n, "at": line.namespace}, metadata={"n": n})
        Line(memory.as_owner("other"), "a", drive=drive).put({"n": 0}, metadata={"n": 0})
        saver = memory.checkpointer

        def told(found: list[Any]) -> list[tuple[str, str, int]]:
            where = [t.config["configurable"] for t in found]
            values = [t.checkpoint["channel_values"] for t in found]
            assert [value["at"] for value in values] == [place["checkpoint_ns"] for place in where]
            return [(p["thread_id"], p["checkpoint_ns"], v["n"]) for p, v in zip(where, values, strict=True)]

        for thread_id in "abc":
            found = told(drive(saver.list, {"configurable": {"thread_id": thread_id}}))
            mine = [place for place in reversed(places) if place[0] == thread_id]
            assert found == [(*place, n) for n in (2, 1, 0) for place in mine]
        everything = told(drive(saver.list, None))
        assert sorted(everything) == sorted((*place, n) for place in places for n in range(3))
        assert sorted(told(drive(saver.list, None, filter={"n": 1}))) == sorted(
            (*place, 1) for place in places
        )
        for limit in (1, 5, 30, 36, 40):
            assert told(drive(saver.list, None, limit=limit)) == everything[:limit]
        for line, place in zip(lines, places, strict=True):
            assert told(line.tuples()) == [(*place, n) for n in (2, 1, 0)]
            (one,) = drive(saver.list, config(line.thread_id, line.at, line.namespace))
            assert told([one]) == [(*place, 2)]

    def test_before_another_namespaces_or_an_unknown_checkpoint(self, memory: Memory, drive: Drive) -> None:
        """`before` may name a checkpoint of another namespace, or by the time in its id one never stored."""
        root, sub = Line(memory, drive=drive), Line(memory, drive=drive, namespace="sub")
        made = []
        for n in range(3):
            made.append((root.put({"n": n}), sub.put({"n": n})))
        unknown = checkpoint({}, after=made[-1][1])["id"]
        for n, (outer, _) in enumerate(made):
            before = {"configurable": {"thread_id": "t", "checkpoint_id": outer}}
            assert sub.ids(before=before) == [inner for _, inner in reversed(made[:n])]
        assert sub.ids(before=config("t", unknown)) == [inner for _, inner in reversed(made)]
        assert sub.ids(before=config("t", "00000000-0000-6000-8000-000000000000")) == []

    def test_what_is_listed_is_what_is_got(self, memory: Memory, drive: Drive) -> None:
        """Each checkpoint of a long thread is the same from the list, by its id, and in the history."""
        line = Line(memory, drive=drive)
        texts = [HumanMessage(f"m{n}", id=f"m{n}") for n in range(80)]
        for n in range(80):
            line.put({"messages": texts[: n + 1], "l": [n] * 30, "d": {f"k{i}": n for i in range(n % 9)}})
            line.write([("messages", texts[n]), ("n", n)], f"task {n}")
        for found in line.tuples():
            again = line.get(found.checkpoint["id"])
            assert_same((found.checkpoint, found.metadata), (again.checkpoint, again.metadata))
            assert (found.config, found.parent_config) == (again.config, again.parent_config)
            assert_same(found.pending_writes, again.pending_writes)

    def test_a_history_in_pages(self, memory: Memory, drive: Drive) -> None:
        """Pages of every size give each checkpoint of the namespace once, newest first, without values."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        sub = Line(memory, drive=drive, namespace="sub")
        made = []
        for n in range(25):
            made.append(
                line.put({"messages": [HumanMessage("m", id=f"{i}") for i in range(n)]}, metadata={"n": n})
            )
            sub.put({"n": n})
        whole = list(drive(thread.history, limit=100))
        assert [entry.checkpoint_id for entry in whole] == list(reversed(made))
        assert [entry.parent_id for entry in whole] == [*reversed(made[:-1]), None]
        assert [(entry.step, entry.messages, entry.metadata["n"]) for entry in whole] == [
            (n, n, n) for n in reversed(range(25))
        ]
        assert {(e.namespace, e.source, e.branch, e.thread_id) for e in whole} == {("", "loop", 0, "t")}
        assert [e.created for e in whole] == sorted((e.created for e in whole), reverse=True)
        assert len(drive(thread.history, namespace="sub", limit=100)) == 25
        assert len(drive(thread.history, namespace="none")) == 0
        for limit in (1, 7, 24, 25, 26):
            found, cursor = [], None
            while True:
                page = drive(thread.history, limit=limit, cursor=cursor)
                found += page
                cursor = page.cursor
                if cursor is None or not page.items:
                    break
            assert found == whole
        assert drive(thread.state, made[3]).checkpoint == whole[21]

    def test_a_cursor_stays_within_its_thread(self, memory: Memory, drive: Drive) -> None:
        """No number that is given for a cursor shows a checkpoint of another thread."""
        for name in "abc":
            Line(memory, name, drive=drive).put({"n": 1})
        for cursor in ("0", "1", "2", "4294967295", "4294967296", "4294967297", "8589934593", "9" * 18):
            page = drive(memory.threads.get("b").history, cursor=cursor)
            assert {entry.thread_id for entry in page} <= {"b"}
            assert len(page) <= 1

    def test_writing_between_pages(self, memory: Memory, drive: Drive) -> None:
        """A history that is read while the thread grows or is pruned gives no checkpoint twice."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        made = [line.put({"n": n}) for n in range(20)]
        first = drive(thread.history, limit=5)
        line.put({"n": 20})
        second = drive(thread.history, limit=5, cursor=first.cursor)
        assert [e.checkpoint_id for e in (*first, *second)] == list(reversed(made))[:10]
        drive(memory.threads.prune, ["t"], keep_last=13)
        third = drive(thread.history, limit=5, cursor=second.cursor)
        assert [e.checkpoint_id for e in third] == [made[9], made[8]]
        drive(thread.delete)
        drive(thread.append, ("user", "new"))
        assert len(drive(thread.history, limit=5, cursor=first.cursor)) <= 1


def _alike(left: Any, right: Any) -> bool:
    """Whether a filter takes two values for the same: equal and of one type, all numbers being one."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_alike, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_alike(left[key], right[key]) for key in left)
    return type(left) is type(right) and bool(left == right)
