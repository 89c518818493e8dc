"""Forks and branches, and the record of each."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from threadkeep import CheckpointNotFound, ConfigurationError, Memory, MessageNotFound
from threadkeep.testing.checkpoints import Line
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import assert_same_state


def _ids(messages: Any) -> list[str]:
    return [message.id for message in messages]


def _said(drive: Drive, thread: Any, branch: int | None = None) -> list[str]:
    return _ids(drive(thread.messages, branch=branch))


def _talk(thread: Any, drive: Drive, *names: str) -> list[str]:
    return [drive(thread.append, HumanMessage(name, id=name)).checkpoint_id for name in names]


class BranchContract(Harness):
    """Forks and branches."""

    def test_a_fork_at_a_checkpoint(self, memory: Memory, drive: Drive) -> None:
        """A fork has the checkpoint's values, becomes the current branch, and what follows belongs to it."""
        thread, line = memory.threads.get("t"), Line(memory, drive=drive)
        made = _talk(thread, drive, "a", "b", "c")
        line.load()
        line.put({**line.values(), "extra": {"k": [1, 2]}})
        made.append(str(line.at))
        forked = drive(thread.fork, made[1])
        assert (forked.parent_id, forked.source, forked.branch, forked.messages) == (made[1], "fork", 1, 2)
        assert _ids(drive(thread.state).values["messages"]) == ["a", "b"]
        assert "extra" not in drive(thread.state).values
        _talk(thread, drive, "x", "y")
        assert _said(drive, thread) == _said(drive, thread, 1) == ["a", "b", "x", "y"]
        assert _said(drive, thread, 0) == ["a", "b", "c"]
        assert drive(thread.state, made[3]).values["extra"] == {"k": [1, 2]}
        first, second = drive(thread.branches)
        assert (first.branch, first.parent, first.forked_from, first.tip, first.current) == (
            0, None, None, made[3], False,
        )  # fmt: skip
        newest = drive(thread.state).checkpoint.checkpoint_id
        assert (second.branch, second.parent, second.forked_from, second.tip, second.current) == (
            1, 0, made[1], newest, True,
        )  # fmt: skip
        again = drive(thread.fork, made[3])
        assert (again.branch, _said(drive, thread)) == (2, ["a", "b", "c"])
        assert drive(thread.state).values["extra"] == {"k": [1, 2]}

    def test_a_thread_without_a_fork_has_one_branch(self, memory: Memory, drive: Drive) -> None:
        """It is number 0, it is the current one, and its tip is the latest checkpoint."""
        thread = memory.threads.get("t")
        made = _talk(thread, drive, "a", "b")
        (only,) = drive(thread.branches)
        assert (only.branch, only.parent, only.forked_from, only.tip, only.current) == (
            0,
            None,
            None,
            made[1],
            True,
        )
        assert _said(drive, thread, 0) == ["a", "b"]
        for branch in (1, -1):
            with pytest.raises(ConfigurationError, match=f"no branch {branch}"):
                drive(thread.messages, branch=branch)

    @pytest.mark.parametrize("name", ["a", "b", "c", "d"])
    def test_a_fork_before_a_message(self, memory: Memory, drive: Drive, name: str) -> None:
        """The branch has everything that was said before the message, also when that is nothing."""
        thread = memory.threads.get("t")
        _talk(thread, drive, "a", "b", "c", "d")
        rest = "abcd"[: "abcd".index(name)]
        forked = drive(thread.fork, before=name)
        assert (forked.messages, forked.branch) == (len(rest), 1)
        assert _said(drive, thread) == list(rest)
        assert _ids(drive(thread.state).values.get("messages", [])) == list(rest)
        _talk(thread, drive, "new")
        assert _said(drive, thread) == [*rest, "new"]
        assert _said(drive, thread, 0) == ["a", "b", "c", "d"]
        _talk(thread, drive, "more")
        assert _said(drive, thread) == [*rest, "new", "more"]
        assert len(drive(thread.branches)) == 2

    def test_a_fork_before_a_message_of_one_call(self, memory: Memory, drive: Drive) -> None:
        """Messages that came with one checkpoint have nothing between them: the branch begins before it."""
        thread = memory.threads.get("t")
        _talk(thread, drive, "a")
        drive(thread.append, [HumanMessage("b", id="b"), AIMessage("c", id="c")])
        drive(thread.fork, before="c")
        assert _said(drive, thread) == ["a"]

    def test_a_fork_before_a_runs_input(self, memory: Memory, drive: Drive) -> None:
        """A run keeps its input beside the state before it is part of it; the branch begins before both."""
        line, thread = Line(memory, drive=drive, run=True), memory.threads.get("t")
        first, second = HumanMessage("a", id="a"), HumanMessage("b", id="b")
        line.put({"__start__": {"messages": [first]}}, source="input")
        line.put({"messages": [first]})
        before = line.put({"messages": [first], "note": "done"})
        line.put({"messages": [first], "note": "done", "__start__": {"messages": [second]}}, source="input")
        line.put({"messages": [first, second], "note": "done"})
        forked = drive(thread.fork, before="b")
        assert forked.parent_id == before
        assert_same_state(drive(thread.state).values, {"messages": [first], "note": "done"})

    def test_forks_of_forks(self, memory: Memory, drive: Drive) -> None:
        """Every branch has its own line of what was said, back through the branches it came from."""
        thread = memory.threads.get("t")
        _talk(thread, drive, "a", "b", "c")
        drive(thread.fork, before="c")
        _talk(thread, drive, "d", "e")
        drive(thread.fork, before="e")
        _talk(thread, drive, "f")
        drive(thread.fork, before="b")
        _talk(thread, drive, "g")
        said = {branch.branch: _said(drive, thread, branch.branch) for branch in drive(thread.branches)}
        assert said == {0: ["a", "b", "c"], 1: ["a", "b", "d", "e"], 2: ["a", "b", "d", "f"], 3: ["a", "g"]}
        tip = next(branch.tip for branch in drive(thread.branches) if branch.branch == 1)
        assert _ids(drive(thread.state, tip).values["messages"]) == ["a", "b", "d", "e"]
        drive(thread.fork, tip)
        assert _said(drive, thread) == ["a", "b", "d", "e"]
        assert drive(thread.info).messages == 7

    def test_a_branch_goes_on_at_its_tip(self, memory: Memory, drive: Drive) -> None:
        """A put on the tip of a branch that is not the current one goes on with that branch."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        a, b, c, d = (HumanMessage(name, id=name) for name in "abcd")
        root = line.put({"messages": [a]})
        left = line.put({"messages": [a, b]})
        line.at = root
        line.put({"messages": [a, c]})
        assert len(drive(thread.branches)) == 2
        line.at = left
        line.put({"messages": [a, b, d]})
        assert len(drive(thread.branches)) == 2
        assert _said(drive, thread) == _said(drive, thread, 0) == ["a", "b", "d"]
        assert _said(drive, thread, 1) == ["a", "c"]
        assert [branch.current for branch in drive(thread.branches)] == [True, False]

    def test_a_message_replaced_on_a_branch(self, memory: Memory, drive: Drive) -> None:
        """A message that one branch replaced under its id is on every other branch what it was."""
        thread = memory.threads.get("t")
        made = _talk(thread, drive, "a", "b")
        drive(thread.fork, made[1])
        drive(thread.append, HumanMessage("changed", id="a"))
        assert [m.text for m in drive(thread.messages)] == ["changed", "b"]
        assert [m.text for m in drive(thread.messages, branch=0)] == ["a", "b"]
        assert [m.text for m in drive(thread.state, made[1]).values["messages"]] == ["a", "b"]

    def test_what_cannot_be_forked(self, memory: Memory, drive: Drive) -> None:
        """The error names what is not there; the thread stays as it was."""
        thread = memory.threads.get("t")
        made = _talk(thread, drive, "a", "b")
        with pytest.raises(CheckpointNotFound, match="'none'"):
            drive(thread.fork, "none")
        with pytest.raises(MessageNotFound, match="'none'"):
            drive(thread.fork, before="none")
        for options in ({}, {"checkpoint_id": made[0], "before": "b"}):
            with pytest.raises(ConfigurationError, match="exactly one"):
                drive(thread.fork, **options)
        with pytest.raises(CheckpointNotFound, match="'none'"):
            drive(thread.state, "none")
        assert drive(thread.info).checkpoints == 2
        assert len(drive(thread.branches)) == 1

    def test_branches_after_a_prune(self, memory: Memory, drive: Drive) -> None:
        """A prune takes checkpoints and no part of what was said on any branch."""
        thread = memory.threads.get("t")
        _talk(thread, drive, "a", "b", "c")
        drive(thread.fork, before="c")
        _talk(thread, drive, "d")
        drive(memory.threads.prune, ["t"])
        assert _said(drive, thread) == ["a", "b", "d"]
        assert _said(drive, thread, 0) == ["a", "b", "c"]
        assert _talk(thread, drive, "e")
        assert _said(drive, thread) == ["a", "b", "d", "e"]
        with pytest.raises(CheckpointNotFound):
            drive(thread.fork, before="b")
        assert _said(drive, thread) == ["a", "b", "d", "e"]
        drive(thread.fork, before="e")
        assert _said(drive, thread) == ["a", "b", "d"]

    @needs("shared")
    def test_branches_seen_from_another_memory(self, memory: Memory, store: Store, drive: Drive) -> None:
        """A fork by one memory is where another's next call goes on."""
        one, two = memory.threads.get("t"), store.open().threads.get("t")
        _talk(one, drive, "a", "b")
        _talk(two, drive, "c")
        drive(one.fork, before="b")
        _talk(two, drive, "d")
        drive(two.fork, before="d")
        _talk(one, drive, "e")
        for thread in (one, two):
            assert _said(drive, thread) == ["a", "e"]
            assert _said(drive, thread, 1) == ["a", "d"]
            assert _said(drive, thread, 0) == ["a", "b", "c"]
