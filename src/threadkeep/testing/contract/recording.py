"""The record of what was said, appending to it by hand, and the usage of what it cost."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage

from threadkeep import ConfigurationError, Memory
from threadkeep.testing.checkpoints import Line
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import assert_same, assert_same_state


def _answer(name: str, tokens: int = 10, **fields: Any) -> AIMessage:
    usage: Any = {
        "input_tokens": tokens,
        "output_tokens": 2,
        "total_tokens": tokens + 2,
        "input_token_details": {"cache_read": 4, "cache_creation": 1},
        "output_token_details": {"reasoning": 1},
    }
    metadata = {"model_name": "model-a"}
    return AIMessage(name, id=name, usage_metadata=usage, response_metadata=metadata, **fields)


class RecordContract(Harness):
    """The record, appends and usage."""

    def test_append_takes_messages_in_every_form(self, memory: Memory, drive: Drive) -> None:
        """Messages, mappings, pairs, one or several; each call is one checkpoint, and ids are given."""
        thread = memory.threads.get("t")
        first = drive(thread.append, "hello")
        assert (first.step, first.source, first.parent_id, first.messages, first.branch) == (
            0,
            "update",
            None,
            1,
            0,
        )
        drive(thread.append, ("ai", "answer"))
        drive(thread.append, {"role": "user", "content": [{"type": "text", "text": "blocks"}]})
        last = drive(
            thread.append, [HumanMessage("a", id="mine"), ("system", "rules"), {"role": "ai", "content": "b"}]
        )
        assert (last.step, last.messages) == (3, 6)
        found = drive(thread.messages)
        assert [m.type for m in found] == ["human", "ai", "human", "human", "system", "ai"]
        assert [m.text for m in found] == ["hello", "answer", "blocks", "a", "rules", "b"]
        assert len({m.id for m in found} - {None, ""}) == 6
        assert found[3].id == "mine"
        assert_same(drive(thread.state).values["messages"], list(found))
        assert drive(thread.info).checkpoints == 4
        assert drive(thread.history).items[0] == last

    def test_what_cannot_be_appended(self, memory: Memory, drive: Drive) -> None:
        """Nothing, and what takes away instead of adding, are refused and create no thread."""
        thread = memory.threads.get("t")
        for taking in ([], RemoveMessage("x"), [("user", "a"), RemoveMessage("x")]):
            with pytest.raises(ConfigurationError):
                drive(thread.append, taking)
        for wrong in (7, None, [{"no": "role"}], ("unknown role", "text"), [object()]):
            with pytest.raises((ConfigurationError, ValueError, NotImplementedError)):
                drive(thread.append, wrong)
        assert not drive(thread.exists)

    def test_append_replaces_a_message_of_the_same_id(self, memory: Memory, drive: Drive) -> None:
        """The state and the record have it once, where it first stood, with its newest content."""
        thread = memory.threads.get("t")
        drive(thread.append, [HumanMessage("a", id="1"), AIMessage("b", id="2"), HumanMessage("c", id="3")])
        before = drive(thread.state).checkpoint.checkpoint_id
        drive(thread.append, [AIMessage("B", id="2"), HumanMessage("d", id="4")])
        for found in (drive(thread.messages), drive(thread.state).values["messages"]):
            assert [(m.id, m.text) for m in found] == [("1", "a"), ("2", "B"), ("3", "c"), ("4", "d")]
        assert [m.text for m in drive(thread.state, before).values["messages"]] == ["a", "b", "c"]
        assert drive(thread.info).messages == 4

    def test_append_keeps_everything_else_of_the_state(self, memory: Memory, drive: Drive) -> None:
        """Other channels, their versions and what nodes have seen stay as they were."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        seen = {"n": {"a": 3}}
        values = {"messages": [HumanMessage("a", id="1")], "l": [1, (2,)], "none": None}
        line.put(values, versions={"messages": 3, "l": 2, "none": 1, "gone": 1}, versions_seen=seen)
        drive(thread.append, HumanMessage("b", id="2"))
        found = line.get().checkpoint
        expected = {**values, "messages": [HumanMessage("a", id="1"), HumanMessage("b", id="2")]}
        assert_same_state(found["channel_values"], expected)
        assert found["channel_versions"] == {"messages": 4, "l": 2, "none": 1, "gone": 1}
        assert (found["versions_seen"], found["updated_channels"]) == (seen, ["messages"])

    def test_the_record_follows_the_state(self, memory: Memory, drive: Drive) -> None:
        """Whatever the state drops, reorders or brings back, the record has all of it once, as it came."""
        line, thread = Line(memory, drive=drive, run=True), memory.threads.get("t")
        a, b, c, d = (HumanMessage(name, id=name) for name in "abcd")
        for state in ([a, b], [b], [b, c], [c, b], [], [a], [d, a], [a, AIMessage("B", id="b")], []):
            line.put({"messages": state})
        expected = [a, AIMessage("B", id="b"), c, d]
        assert_same(list(drive(thread.messages)), expected)
        assert_same(list(Line(memory, drive=drive).memory.threads.get("t").messages()), expected)
        assert drive(thread.info).messages == 4

    def test_messages_without_an_id(self, memory: Memory, drive: Drive) -> None:
        """Equal messages without an id are as many as there were."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        said = [HumanMessage("same"), HumanMessage("same"), AIMessage("same")]
        for n in range(1, 4):
            line.put({"messages": said[:n]})
        assert_same(list(drive(thread.messages)), said)
        assert_same(line.values()["messages"], said)
        assert drive(thread.info).messages == 3

    def test_no_record_of_other_namespaces_and_other_channels(self, memory: Memory, drive: Drive) -> None:
        """The record is that of the root's messages; a subgraph's stay in its state."""
        root, sub = Line(memory, drive=drive), Line(memory, drive=drive, namespace="sub")
        root.put({"messages": [HumanMessage("a", id="a")], "notes": [HumanMessage("n", id="n")]})
        sub.put({"messages": [HumanMessage("a", id="a"), HumanMessage("inner", id="i")]})
        root.put({"messages": [HumanMessage("a", id="a"), HumanMessage("b", id="b")], "notes": []})
        assert [m.id for m in drive(memory.threads.get("t").messages)] == ["a", "b"]
        assert [m.id for m in sub.values()["messages"]] == ["a", "i"]

    def test_usage_is_counted_once(self, memory: Memory, drive: Drive) -> None:
        """A call counts once, however often its answer is written, put, written again and read."""
        line, thread = Line(memory, drive=drive, run=True), memory.threads.get("t")
        asked = [HumanMessage("q", id="q")]
        line.put({"messages": asked, "branch:to:model": None})
        answer = _answer("one")
        for _ in range(2):
            line.write([("messages", [answer])], "task", "~__pregel_pull, model")
        line.put({"messages": [*asked, answer]})
        line.put({"messages": [*asked, answer], "copy": {"last": answer}})
        line.put({"messages": [*asked, copy.deepcopy(answer)]})
        drive(memory.threads.prune, ["t"])
        usage = drive(thread.usage)
        assert (usage.calls, usage.input_tokens, usage.output_tokens, usage.total_tokens) == (1, 10, 2, 12)
        assert (usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (4, 1, 1)
        (call,) = drive(thread.calls)
        assert (call.message_id, call.model, usage.last) == ("one", "model-a", call)
        assert call.at.tzinfo is not None

    @pytest.mark.parametrize("again", ["same memory", "another memory"])
    def test_usage_of_a_task_that_was_retried(
        self, memory: Memory, store: Store, drive: Drive, again: str
    ) -> None:
        """Writes that a retry stores again are not counted again; a new answer is a new call."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        line.put({"messages": [], "branch:to:model": None})
        line.write([("messages", [_answer("one")])], "1", "~__pregel_pull, model")
        shared = again == "another memory" and self.capabilities.shared
        retry = Line(store.open() if shared else memory, drive=drive)
        retry.at = line.at
        retry.write([("messages", [_answer("one")])], "1", "~__pregel_pull, model")
        assert drive(thread.usage).calls == 1
        retry.write([("messages", [_answer("two", 20)])], "2", "~__pregel_pull, model")
        assert [(c.message_id, c.input_tokens) for c in drive(thread.calls)] == [("one", 10), ("two", 20)]

    def test_usage_of_an_answer_that_no_task_wrote(self, memory: Memory, drive: Drive) -> None:
        """A run that stores only its end still has its calls counted, those of this turn once."""
        line, thread = Line(memory, drive=drive, run=True), memory.threads.get("t")
        call = {"name": "f", "args": {}, "id": "c", "type": "tool_call"}
        turn = [
            HumanMessage("q", id="q"),
            _answer("one", tool_calls=[call]),
            ToolMessage("r", id="r", tool_call_id="c"),
        ]
        line.put({"messages": [*turn, _answer("two", 30)]})
        assert drive(thread.usage).calls == 2
        line.put({"messages": [*turn, _answer("two", 30)], "note": 1})
        line.put({"messages": [*turn, _answer("two", 30), HumanMessage("q2", id="q2"), _answer("three", 40)]})
        usage = drive(thread.usage)
        assert (usage.calls, usage.input_tokens) == (3, 80)
        assert sorted(str(c.message_id) for c in drive(thread.calls)) == ["one", "three", "two"]

    def test_usage_outlives_what_it_was_spent_on(self, memory: Memory, drive: Drive) -> None:
        """Calls stay counted when their answers leave the state, are forked away, pruned or copied."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        line.put({"messages": [HumanMessage("q", id="q"), _answer("one")]})
        line.put({"messages": [HumanMessage("q", id="q")]})
        drive(thread.fork, before="q")
        drive(memory.threads.prune, ["t"])
        drive(memory.threads.copy, "t", "u")
        for name in "tu":
            assert drive(memory.threads.get(name).usage).input_tokens == 10
        with_none = memory.threads.get("none used")
        drive(with_none.append, ("user", "q"))
        usage = drive(with_none.usage)
        assert (usage.calls, usage.total_tokens, usage.last, list(drive(with_none.calls))) == (0, 0, None, [])

    @needs("shared")
    def test_the_record_from_two_memories(self, memory: Memory, store: Store, drive: Drive) -> None:
        """What two memories append in turn is one record, for both and for a third."""
        threads = [memory.threads.get("t"), store.open().threads.get("t")]
        for n in range(30):
            drive(threads[n % 2 if n % 7 else 0].append, HumanMessage(f"{n}", id=f"{n}"))
        for thread in (*threads, store.open().threads.get("t")):
            assert [m.id for m in drive(thread.messages)] == [f"{n}" for n in range(30)]
            assert [m.id for m in drive(thread.state).values["messages"]] == [f"{n}" for n in range(30)]
            assert (drive(thread.info).messages, drive(thread.info).checkpoints) == (30, 30)
