"""Thread ids are compared exactly, and owners never see each other's threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from threadkeep import ConfigurationError, InvalidThreadId, Memory, ThreadNotFound
from threadkeep.testing.checkpoints import Line, config, stored
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import assert_same

IDS = [
    "a", "A", "a ", " a", "a\x00", "a\x00b", "\x00", " ", "\n", "a\n", "\t", "é", "e\u0301", "É", "ss", "ß",
    "ﬁ", "fi", "İ", "i", "ı", "Σ", "σ", "ς", "🙂", "👩\u200d👧", "\ud800", "\udfff", "\ud83d\ude42",
    "\ufeff", "\u202e", "0", "00", "-1", "1.0", "1e3", "None", "null", "%", "_", "*", "?", "'", '"', "';--",
    "\\", "/", "..", "a:b", "a|b", "[]", "{}", "00000000-0000-6000-8000-000000000001",
    "00000000-0000-6000-8000-00000000000A", "\xff", "\xff" * 15, "\xff" * 16, "x" * 1023, "x" * 1024,
    "🙂" * 1024, "\ud800" * 1024,
]  # fmt: skip
"""Texts that something other than an exact comparison would take for one another."""

BAD = ["", "x" * 1025, "🙂" * 1025, None, 1.5, True, False, b"a", ["a"], ("a",), object()]
"""What is no thread id."""

OWNERS = ["", "a", "A", "a ", "é", "e\u0301", "\x00", "\ud800", "🙂", "ab", "o" * 5000]
"""Owners that are told apart."""


class IdentityContract(Harness):
    """Which thread is meant."""

    def test_thread_ids_are_compared_exactly(self, memory: Memory, drive: Drive) -> None:
        """Every two different texts are two threads, in every method, and come back as they were given."""
        for n, name in enumerate(IDS):
            Line(memory, name, drive=drive).put({"n": n})
        for n, name in enumerate(IDS):
            thread = memory.threads.get(name)
            assert Line(memory, name, drive=drive).values() == {"n": n}
            assert drive(thread.info).thread_id == thread.thread_id == name
            assert drive(thread.state).checkpoint.thread_id == name
            assert drive(memory.threads.stats, name).thread_id == name
        listed = drive(memory.threads.list, limit=len(IDS) + 1)
        assert [info.thread_id for info in listed] == list(reversed(IDS))
        everything = drive(memory.checkpointer.list, None)
        assert sorted(t.config["configurable"]["thread_id"] for t in everything) == sorted(IDS)
        for n, name in enumerate(IDS):
            assert drive(memory.threads.delete, name)
            assert not drive(memory.threads.get(name).exists)
            assert len(drive(memory.threads.list, limit=len(IDS))) == len(IDS) - n - 1

    def test_integers_are_their_decimal_text(self, memory: Memory, drive: Drive) -> None:
        """An integer names the thread of its decimal text, in every method."""
        for number in (42, 0, -7, 2**70):
            drive(memory.threads.get(number).append, ("user", "hello"))
            assert memory.threads.get(number).thread_id == str(number)
            assert drive(memory.threads.get(str(number)).exists)
            assert Line(memory, number, drive=drive).get() is not None
            assert drive(memory.threads.stats, number).thread_id == str(number)
            assert drive(memory.threads.copy, number, number + 1).thread_id == str(number + 1)
            drive(memory.threads.prune, [number])
            assert drive(memory.doctor, number) == ()
            assert drive(memory.threads.delete, number)
            drive(memory.checkpointer.delete_thread, number + 1)
        assert len(drive(memory.threads.list)) == 0

    @pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad)[:12])
    def test_what_is_no_thread_id(self, memory: Memory, drive: Drive, bad: Any) -> None:
        """Everything that is no id is refused by every method, with one readable line."""
        saver, threads = memory.checkpointer, memory.threads
        drive(threads.get("t").append, ("user", "hello"))
        calls: list[Callable[[], Any]] = [
            lambda: threads.get(bad),
            lambda: drive(threads.delete, bad),
            lambda: drive(threads.stats, bad),
            lambda: drive(threads.copy, bad, "u"),
            lambda: drive(threads.copy, "t", bad),
            lambda: drive(threads.prune, ["t", bad]),
            lambda: drive(saver.get_tuple, config(bad)),
            lambda: drive(saver.list, config(bad)),
            lambda: Line(memory, bad, drive=drive).put({}),
            lambda: Line(memory, bad, drive=drive).write([("a", 1)], at="x"),
            lambda: drive(saver.delete_thread, bad),
            lambda: drive(saver.copy_thread, "t", bad),
            lambda: drive(saver.prune, [bad]),
        ]
        if bad is not None:
            calls.append(lambda: drive(memory.doctor, bad))
        for call in calls:
            with pytest.raises(InvalidThreadId) as caught:
                call()
            assert len(str(caught.value)) < 300
            assert "\n" not in str(caught.value)
        assert [info.thread_id for info in drive(threads.list)] == ["t"]

    def test_a_config_without_a_thread(self, memory: Memory, drive: Drive) -> None:
        """The error says where the thread's id belongs."""
        places: list[Any] = [{}, {"configurable": {}}, {"configurable": {"checkpoint_id": "x"}}]
        for place in places:
            with pytest.raises(ConfigurationError, match="thread_id"):
                drive(memory.checkpointer.get_tuple, place)

    def test_owners_are_told_apart_exactly(self, memory: Memory, drive: Drive) -> None:
        """The same id under different owners is different threads; no pair is taken for another."""
        pairs = [(owner, name) for owner in OWNERS for name in ("t", "a", "aa", " ")]
        for n, (owner, name) in enumerate(pairs):
            Line(memory.as_owner(owner), name, drive=drive).put({"n": n})
        for n, (owner, name) in enumerate(pairs):
            mine = memory.as_owner(owner)
            assert Line(mine, name, drive=drive).values() == {"n": n}
            info = drive(mine.threads.get(name).info)
            assert (info.owner, info.thread_id) == (owner, name)
        for owner in OWNERS:
            listed = drive(memory.as_owner(owner).threads.list)
            assert sorted(info.thread_id for info in listed) == [" ", "a", "aa", "t"]
            assert drive(memory.threads.list, owner=owner) == listed
        assert sorted((stats.owner, stats.thread_id) for stats in drive(memory.stats)) == sorted(pairs)

    def test_no_method_reaches_another_owners_thread(self, memory: Memory, drive: Drive) -> None:
        """Whatever an owner calls, another's thread of the same id is not read and not changed."""
        alice, bob = memory.as_owner("alice"), memory.as_owner("bob")
        mine = Line(alice, drive=drive)
        first = mine.put({"a": 1}, metadata={"run_id": "r", "k": "v"})
        mine.put({"a": 2}, metadata={"run_id": "r"})
        mine.write([("a", 3)])
        drive(alice.threads.get("t").update, title="hers", metadata={"k": 1})
        known, about = stored(alice), drive(alice.threads.get("t").info)
        thread, threads, saver = bob.threads.get("t"), bob.threads, bob.checkpointer
        for call in (
            thread.info,
            thread.state,
            thread.messages,
            thread.history,
            thread.branches,
            thread.usage,
        ):
            with pytest.raises(ThreadNotFound):
                drive(call)
        missing: list[Callable[[], Any]] = [
            lambda: drive(thread.calls),
            lambda: drive(thread.update, title="his"),
            lambda: drive(thread.fork, first),
            lambda: drive(thread.state, first),
            lambda: drive(threads.stats, "t"),
            lambda: drive(threads.copy, "t", "u"),
            lambda: drive(bob.doctor, "t"),
        ]
        for missed in missing:
            with pytest.raises(ThreadNotFound):
                missed()
        assert drive(thread.exists) is drive(thread.delete) is drive(threads.delete, "t") is False
        assert len(drive(threads.list)) == 0
        assert drive(threads.list, metadata={"k": 1}) == drive(bob.threads.list)
        drive(threads.prune, ["t"])
        drive(threads.prune)
        drive(threads.prune, strategy="delete")
        drive(saver.prune, ["t"], strategy="delete")
        drive(saver.delete_thread, "t")
        drive(saver.delete_for_runs, ["r"])
        assert drive(saver.get_tuple, config()) is drive(saver.get_tuple, config("t", first)) is None
        assert drive(saver.list, None) == drive(saver.list, config()) == []
        assert drive(saver.list, None, filter={"k": "v"}) == []
        assert_same(stored(alice), known)
        assert drive(alice.threads.get("t").info) == about
        his = Line(bob, drive=drive)
        his.put({"a": "his"}, checkpoint_id=first)
        his.write([("a", "his")], at=first)
        drive(thread.append, ("user", "his"))
        drive(thread.delete)
        assert_same(stored(alice), known)

    @needs("shared")
    def test_an_owner_given_at_opening(self, memory: Memory, store: Store, drive: Drive) -> None:
        """`open(owner=...)` and `as_owner` are the same owner; closing one closes the memory of both."""
        drive(memory.as_owner("alice").threads.get("t").append, ("user", "hello"))
        other = store.open(owner="alice")
        assert (other.owner, memory.owner) == ("alice", "")
        assert [info.thread_id for info in drive(other.threads.list)] == ["t"]
        view = other.as_owner("bob")
        assert len(drive(view.threads.list)) == 0
        other.close()
        assert view.closed
        assert not memory.closed
