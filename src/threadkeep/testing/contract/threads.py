"""The list of threads, and what it tells of each."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep import ConfigurationError, Memory, ThreadInfo, ThreadNotFound
from threadkeep.testing.checkpoints import Line
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, needs

LABELS: list[Any] = [
    1,
    True,
    "1",
    1.5,
    0,
    False,
    None,
    "",
    "é",
    "e\u0301",
    [1],
    [True],
    {"a": 1},
    {"a": "1"},
    2**70,
    "x" * 5000,
]
"""Values that are told apart when threads are looked for by their metadata."""


def _names(page: Any) -> list[str]:
    return [info.thread_id for info in page]


def _say(memory: Memory, drive: Drive, *names: str) -> None:
    for name in names:
        drive(memory.threads.get(name).append, ("user", name))


class ThreadListContract(Harness):
    """The list of threads."""

    def test_newest_first(self, memory: Memory, drive: Drive) -> None:
        """The thread that was updated last comes first, by whatever method."""
        _say(memory, drive, "a", "b", "c", "d")
        assert _names(drive(memory.threads.list)) == ["d", "c", "b", "a"]
        _say(memory, drive, "b")
        Line(memory, "a", drive=drive).put({"x": 1})
        assert _names(drive(memory.threads.list)) == ["a", "b", "d", "c"]
        drive(memory.threads.get("d").fork, drive(memory.threads.get("d").state).checkpoint.checkpoint_id)
        assert _names(drive(memory.threads.list))[0] == "d"
        times = [info.updated for info in drive(memory.threads.list)]
        assert times == sorted(times, reverse=True)
        assert all(moment.tzinfo is not None for moment in times)

    def test_pages(self, memory: Memory, drive: Drive) -> None:
        """Pages of every size give every thread once, in order, and the last has no cursor."""
        names = [f"t{n}" for n in range(13)]
        _say(memory, drive, *names)
        whole = drive(memory.threads.list, limit=50)
        assert whole.cursor is None
        for limit in (1, 2, 5, 12, 13, 14):
            found: list[ThreadInfo] = []
            cursor = None
            for _ in range(20):
                page = drive(memory.threads.list, limit=limit, cursor=cursor)
                assert len(page) <= limit
                found += page
                cursor = page.cursor
                if cursor is None:
                    break
            assert found == list(whole)

    def test_pages_while_threads_change(self, memory: Memory, drive: Drive) -> None:
        """What is updated, added or deleted between pages neither hides nor repeats any other thread."""
        names = [f"t{n}" for n in range(12)]
        _say(memory, drive, *names)
        found: list[str] = []
        cursor = None
        for n in range(20):
            page = drive(memory.threads.list, limit=2, cursor=cursor)
            found += _names(page)
            cursor = page.cursor
            if cursor is None:
                break
            if n == 0:
                _say(memory, drive, "t0", "new")
            if n == 1:
                drive(memory.threads.delete, "t4")
                drive(memory.threads.get("t11").append, ("user", "again"))
        assert len(found) == len(set(found))
        assert set(names) - set(found) <= {"t0", "t4"}
        assert [name for name in found if name in names] == [n for n in reversed(names) if n in found]

    def test_metadata_is_matched_in_type_and_value(self, memory: Memory, drive: Drive) -> None:
        """1, True and "1" are three values; None is one; every entry that is asked for must be there."""
        for n, value in enumerate(LABELS):
            _say(memory, drive, f"t{n}")
            drive(memory.threads.get(f"t{n}").update, metadata={"k": value, "n": n, "all": "of them"})
        for n, value in enumerate(LABELS):
            assert _names(drive(memory.threads.list, metadata={"k": value})) == [f"t{n}"]
            assert _names(drive(memory.threads.list, metadata={"n": n, "k": value})) == [f"t{n}"]
            assert _names(drive(memory.threads.list, metadata={"k": value, "n": n + 1})) == []
        assert len(drive(memory.threads.list, metadata={"all": "of them"}, limit=50)) == len(LABELS)
        assert len(drive(memory.threads.list, metadata={"absent": None})) == 0
        assert len(drive(memory.threads.list, metadata={})) == len(LABELS)

    @pytest.mark.parametrize(
        "name", ["k", "", "a.b", "$.a", "it's", '"', "\\", "ключ", "\x00", "\ud800", "[0]", "%"]
    )
    def test_metadata_of_any_name(self, memory: Memory, drive: Drive, name: str) -> None:
        """Names of metadata are matched literally."""
        _say(memory, drive, "a", "b")
        drive(memory.threads.get("a").update, metadata={name: {"v": 1}})
        drive(memory.threads.get("b").update, metadata={f"{name}x": {"v": 1}, "other": {name: {"v": 1}}})
        assert _names(drive(memory.threads.list, metadata={name: {"v": 1}})) == ["a"]
        assert dict(drive(memory.threads.get("a").info).metadata) == {name: {"v": 1}}

    @needs("sql")
    def test_metadata_leave_nothing_of_what_they_were(self, memory: Memory, drive: Drive) -> None:
        """Metadata that were replaced take no row any more."""
        _say(memory, drive, "t")
        before = self.rows(memory)
        drive(memory.threads.get("t").update, metadata={"a": 1, "b": 2, "c": [3]})
        drive(memory.threads.get("t").update, metadata={"a": 2})
        drive(memory.threads.get("t").update, metadata={})
        assert self.rows(memory) == before

    def test_pages_of_threads_with_some_metadata(self, memory: Memory, drive: Drive) -> None:
        """Pages and cursors work on what the metadata left; changed metadata is found, the old is not."""
        for n in range(30):
            _say(memory, drive, f"t{n}")
            drive(memory.threads.get(f"t{n}").update, metadata={"third": n % 3, "half": n % 2})
        found, cursor = [], None
        while True:
            page = drive(memory.threads.list, metadata={"third": 0, "half": 1}, limit=2, cursor=cursor)
            found += _names(page)
            cursor = page.cursor
            if cursor is None:
                break
        assert found == [f"t{n}" for n in reversed(range(30)) if n % 3 == 0 and n % 2 == 1]
        drive(memory.threads.get("t3").update, metadata={"third": 9})
        assert "t3" not in _names(drive(memory.threads.list, metadata={"third": 0}, limit=30))
        assert _names(drive(memory.threads.list, metadata={"third": 9})) == ["t3"]
        drive(memory.threads.get("t3").update, metadata={})
        assert _names(drive(memory.threads.list, metadata={"third": 9})) == []

    def test_since(self, memory: Memory, drive: Drive) -> None:
        """Only threads updated at a time or later; a time without zone is local."""
        _say(memory, drive, "a")
        time.sleep(0.002)
        _say(memory, drive, "b", "c")
        updated = {info.thread_id: info.updated for info in drive(memory.threads.list)}
        for moment in (updated["b"], updated["b"].astimezone().replace(tzinfo=None)):
            assert _names(drive(memory.threads.list, since=moment)) == ["c", "b"]
        assert _names(drive(memory.threads.list, since=updated["b"] + timedelta(microseconds=1))) == ["c"]
        assert _names(drive(memory.threads.list, since=datetime.now(UTC) + timedelta(days=1))) == []
        assert len(drive(memory.threads.list, since=datetime.now(UTC) - timedelta(days=1))) == 3

    @pytest.mark.parametrize("limit", [0, -1, True, False, 1.5, "3", None], ids=repr)
    def test_what_is_no_limit(self, memory: Memory, drive: Drive, limit: Any) -> None:
        """A page has one thread at least; what is no such number is refused."""
        _say(memory, drive, "t")
        for method in (memory.threads.list, memory.threads.get("t").history):
            with pytest.raises(ConfigurationError, match="limit"):
                drive(method, limit=limit)

    @pytest.mark.parametrize(
        "cursor", ["", "x", "1", "1.2.3", "-1.2", "1.x", "٣.٣", "9" * 40 + ".1", 7, True], ids=repr
    )
    def test_what_is_no_cursor(self, memory: Memory, drive: Drive, cursor: Any) -> None:
        """A cursor that no page gave is refused."""
        _say(memory, drive, "t")
        with pytest.raises(ConfigurationError, match="cursor"):
            drive(memory.threads.list, cursor=cursor)
        if cursor not in ("1", 7):
            with pytest.raises(ConfigurationError, match="cursor"):
                drive(memory.threads.get("t").history, cursor=cursor)

    def test_the_title(self, memory: Memory, drive: Drive) -> None:
        """It is the first words of the first human message until it is set, and then what was set."""
        thread = memory.threads.get("t")
        drive(thread.append, [SystemMessage("rules"), ("ai", "Hello!")])
        assert drive(thread.info).title == ""
        drive(thread.append, ("user", "  Where\n is  my parcel? "))
        assert drive(thread.info).title == "Where is my parcel?"
        drive(thread.append, ("user", "another"))
        assert drive(thread.info).title == "Where is my parcel?"
        for title in ("Parcel", "", "\x00 \ud800 " + "x" * 5000):
            assert drive(thread.update, title=title).title == title
            drive(thread.append, ("user", "more"))
            assert drive(thread.info).title == drive(memory.threads.list).items[0].title == title
        long = memory.threads.get("long")
        drive(long.append, HumanMessage([{"type": "text", "text": "word " * 100}]))
        title = drive(long.info).title
        assert title.startswith("word word")
        assert len(title) < 100

    def test_the_preview(self, memory: Memory, drive: Drive) -> None:
        """It is the last message with a text, shortened; a tool's result is none."""
        thread = memory.threads.get("t")
        drive(thread.append, [("user", "question"), ("ai", "answer")])
        assert drive(thread.info).preview == "answer"
        call = {"name": "f", "args": {}, "id": "1", "type": "tool_call"}
        drive(thread.append, [AIMessage("", tool_calls=[call]), ToolMessage("raw", tool_call_id="1")])
        assert drive(thread.info).preview == "answer"
        drive(thread.append, ("user", "long " * 1000))
        assert drive(thread.info).preview.startswith("long long")
        assert len(drive(thread.info).preview) < 300

    def test_counts_and_times(self, memory: Memory, drive: Drive) -> None:
        """Messages count the record, checkpoints every namespace; created stays, updated moves."""
        before = datetime.now(UTC)
        thread, line = memory.threads.get("t"), Line(memory, drive=drive)
        drive(thread.append, [("user", "a"), ("ai", "b")])
        first = drive(thread.info)
        assert (first.messages, first.checkpoints) == (2, 1)
        line.load()
        line.put({"messages": line.values()["messages"][1:]})
        Line(memory, drive=drive, namespace="sub").put({"messages": [HumanMessage("inner", id="i")]})
        drive(thread.append, ("user", "c"))
        last = drive(thread.info)
        assert (last.messages, last.checkpoints) == (3, 4)
        assert before - timedelta(seconds=1) < first.created == last.created <= first.updated < last.updated
        assert drive(memory.threads.list).items == (last,)

    def test_the_status(self, memory: Memory, drive: Drive) -> None:
        """Running while a step is due, waiting for a human, failed after an error, idle at the end."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")

        def status() -> str:
            assert drive(memory.threads.list).items[0].status == drive(thread.info).status
            return str(drive(thread.info).status)

        line.put({"__start__": {"messages": []}}, source="input")
        assert status() == "running"
        line.put({"branch:to:model": None})
        assert status() == "running"
        line.write([("__error__", "boom")])
        assert status() == "failed"
        line.put({"a": 1})
        assert status() == "idle"
        line.put({"branch:to:human": None})
        line.write([("__interrupt__", ["question"])])
        assert status() == "waiting"
        line.write([("__resume__", ["answer"])])
        assert status() == "running"
        line.put({"a": 2})
        assert status() == "idle"
        drive(thread.append, ("user", "by hand"))
        assert status() == "idle"

    def test_update(self, memory: Memory, drive: Drive) -> None:
        """Title and metadata are set each for itself; metadata as a whole; the answer is what info tells."""
        thread = memory.threads.get("t")
        with pytest.raises(ThreadNotFound, match="'t'"):
            drive(thread.update, title="early")
        assert not drive(thread.exists)
        drive(thread.append, ("user", "hello"))
        assert drive(thread.update, metadata={"a": 1, "b": 2}).title == "hello"
        changed = drive(thread.update, title="set")
        assert (changed.title, dict(changed.metadata)) == ("set", {"a": 1, "b": 2})
        assert dict(drive(thread.update, metadata={"c": 3}).metadata) == {"c": 3}
        assert drive(thread.update) == drive(thread.info)
        assert drive(thread.info).title == "set"

    def test_what_is_not_there(self, memory: Memory, drive: Drive) -> None:
        """Every method but exists, append and delete says that a thread is not there, and how one begins."""
        thread, threads = memory.threads.get("none"), memory.threads
        missing: list[Callable[[], Any]] = [
            lambda: drive(thread.info),
            lambda: drive(thread.state),
            lambda: drive(thread.state, "x"),
            lambda: drive(thread.messages),
            lambda: drive(thread.messages, branch=1),
            lambda: drive(thread.history),
            lambda: drive(thread.branches),
            lambda: drive(thread.fork, "x"),
            lambda: drive(thread.fork, before="x"),
            lambda: drive(thread.usage),
            lambda: drive(thread.calls),
            lambda: drive(thread.update, metadata={}),
            lambda: drive(threads.stats, "none"),
            lambda: drive(threads.copy, "none", "other"),
            lambda: drive(memory.doctor, "none"),
            lambda: drive(memory.checkpointer.copy_thread, "none", "other"),
        ]
        for call in missing:
            with pytest.raises(ThreadNotFound, match="'none'"):
                call()
        assert drive(thread.exists) is drive(thread.delete) is False
        assert drive(threads.prune, ["none"]).threads == 0
        assert len(drive(threads.list)) == 0
