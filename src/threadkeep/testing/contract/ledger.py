"""The ledger: a row for each model call, what it was sent, and sums that add up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep import ConfigurationError, Memory, ThreadNotFound, Usage
from threadkeep.testing.checkpoints import Line
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import assert_same

REPORTED: Any = {
    "input_tokens": 100,
    "output_tokens": 20,
    "total_tokens": 120,
    "input_token_details": {"cache_read": 40, "cache_creation": 8},
    "output_token_details": {"reasoning": 5},
}
PRICED: dict[str, Any] = {"model": "gpt-5-mini", "provider": "openai"}


def said(count: int) -> list[BaseMessage]:
    """Return a conversation with a tool call in every other turn."""
    messages: list[BaseMessage] = []
    for n in range(count):
        call = {"name": "look", "args": {"n": n}, "id": f"c{n}", "type": "tool_call"}
        messages += [HumanMessage(f"question {n}", id=f"h{n}")]
        if n % 2:
            messages += [
                AIMessage("", id=f"a{n}", tool_calls=[call]),
                ToolMessage(f"found {n} " * 40, id=f"r{n}", tool_call_id=f"c{n}"),
            ]
        messages.append(AIMessage(f"answer {n}", id=f"e{n}"))
    return messages


def totals(usage: Usage) -> tuple[int, ...]:
    """Return the numbers of a sum."""
    return usage.calls, usage.input_tokens, usage.output_tokens, usage.unknown, usage.unpriced, usage.cached


class LedgerContract(Harness):
    """Model calls that are told of by hand, and what is read of them."""

    def test_a_call_is_what_was_told(self, memory: Memory, drive: Drive) -> None:
        """Tokens by class, price, purpose, ids and times; the thread need not be there before."""
        begun = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
        call = drive(
            memory.record_usage, "t", REPORTED, **PRICED, purpose="summary", call_id="c", run_id="r",
            started=begun, ended=begun + timedelta(seconds=1.5),
        )  # fmt: skip
        assert (call.number, call.at, call.seconds, call.call_id, call.run_id) == (1, begun, 1.5, "c", "r")
        assert (call.input_tokens, call.output_tokens, call.cache_read_tokens) == (100, 20, 40)
        assert (call.cache_write_tokens, call.reasoning_tokens) == (8, 5)
        assert (call.purpose, call.status, call.source, call.error) == ("summary", "finished", "caller", None)
        assert call.price is not None
        assert 0 < call.price < Decimal("0.01")
        assert str(call.price_version).startswith("genai-prices ")
        thread = memory.threads.get("t")
        assert list(drive(thread.calls)) == [call]
        usage = drive(thread.usage)
        assert (usage.price, usage.last, totals(usage)) == (call.price, call, (1, 100, 20, 0, 0, 0))
        assert totals(usage.purposes["summary"]) == (1, 100, 20, 0, 0, 0)
        assert not drive(thread.exists)
        assert drive(memory.threads.list).items == ()

    def test_what_nobody_knows_is_unknown_and_not_zero(self, memory: Memory, drive: Drive) -> None:
        """A call that failed, was cancelled or reported nothing has no tokens and no price."""
        calls = [
            drive(memory.record_usage, "t", None, **PRICED, status="failed"),
            drive(memory.record_usage, "t", None, **PRICED, status="cancelled"),
            drive(memory.record_usage, "t", AIMessage("no usage", id="m"), **PRICED),
            drive(memory.record_usage, "t", {"input_tokens": 3, "output_tokens": 1}, model="nobody's model"),
        ]
        for call in calls[:3]:
            assert (call.input_tokens, call.output_tokens, call.cache_read_tokens, call.price) == (None,) * 4
        assert (calls[3].input_tokens, calls[3].cache_read_tokens, calls[3].price) == (3, None, None)
        assert totals(drive(memory.threads.get("t").usage)) == (4, 3, 1, 3, 4, 0)

    def test_a_call_counts_once(self, memory: Memory, drive: Drive) -> None:
        """The same call id, the same answer, and an answer the saver had counted are the same call."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        answer = AIMessage("x", id="one", usage_metadata=REPORTED, response_metadata={"model_name": "m"})
        line.put({"messages": [], "branch:to:model": None})
        line.write([("messages", [answer])], "task", "~__pregel_pull, model")
        assert [call.source for call in drive(thread.calls)] == ["messages"]
        for _ in range(2):
            told = drive(memory.record_usage, "t", answer, **PRICED)
            assert (told.number, told.source, told.model) == (1, "caller", "gpt-5-mini")
            again = drive(memory.record_usage, "t", REPORTED, call_id="by id")
            assert again.number == 2
        line.write([("messages", [answer])], "another task", "~__pregel_pull, model")
        assert totals(drive(thread.usage))[:2] == (2, 200)
        other = drive(memory.record_usage, "u", answer, call_id="by id")
        assert other.number == 1

    def test_an_answer_from_a_cache_costs_nothing(self, memory: Memory, drive: Drive) -> None:
        """LangChain's cache repeats an answer with its usage: it is seen, and not summed."""
        usage: Any = {**REPORTED, "total_cost": 0}
        cached = drive(memory.record_usage, "t", AIMessage("x", id="m", usage_metadata=usage), **PRICED)
        assert (cached.purpose, cached.input_tokens, cached.price) == ("cached", 100, 0)
        assert totals(drive(memory.threads.get("t").usage)) == (0, 0, 0, 0, 0, 1)
        assert totals(drive(memory.usage)) == (0, 0, 0, 0, 0, 1)

    @pytest.mark.parametrize(
        ("reported", "options"),
        [
            (None, {"purpose": "fun"}),
            (None, {"purpose": "cached"}),
            (None, {"status": "running"}),
            ({"tokens": 3}, {}),
            ({}, {}),
            ("12 tokens", {}),
            (HumanMessage("x"), {}),
        ],
    )
    def test_what_cannot_be_meant(
        self, memory: Memory, drive: Drive, reported: Any, options: dict[str, Any]
    ) -> None:
        """Another purpose, status or form is refused, and nothing is recorded."""
        with pytest.raises(ConfigurationError):
            drive(memory.record_usage, "t", reported, **options)
        with pytest.raises(ThreadNotFound):
            drive(memory.threads.get("t").usage)

    def test_what_was_sent_is_kept_by_reference(self, memory: Memory, drive: Drive) -> None:
        """It comes back exactly, and adds to the contents only what the thread does not hold, once."""
        thread = memory.threads.get("t")
        drive(thread.append, said(8))
        rows = drive(memory.threads.stats, "t").tables["contents"].rows
        system, tools = SystemMessage("Be kind. " * 30), [{"name": "look", "parameters": {"n": 1}}]
        for n in range(1, 9):
            sent = [system, *list(drive(thread.messages))[: 3 * n]]
            drive(memory.record_usage, "t", REPORTED, messages=sent, tools=tools)
            assert drive(memory.threads.stats, "t").tables["contents"].rows == rows + 2
            found = drive(thread.call, n)
            assert_same(list(found.messages), sent)
            assert (list(found.tools), found.reasons, found.call.number) == (tools, (), n)
        assert drive(memory.doctor) == ()

    @needs("shared")
    def test_what_was_sent_by_two_memories(self, memory: Memory, store: Store, drive: Drive) -> None:
        """Another process finds what the first has stored, also messages it has never read."""
        drive(memory.threads.get("t").append, said(30))
        rows = drive(memory.threads.stats, "t").tables["contents"].rows
        system = SystemMessage("Be kind.")
        for n in range(6):
            opened = memory if n % 2 else store.open()
            sent = [system, *said(30)[n:]]
            drive(opened.record_usage, "t", REPORTED, messages=sent)
            assert_same(list(drive(memory.threads.get("t").call, n + 1).messages), sent)
            assert drive(memory.threads.stats, "t").tables["contents"].rows == rows + 1

    def test_what_was_sent_survives_everything_but_deletion(self, memory: Memory, drive: Drive) -> None:
        """Prunes, forks, a state that lost it, and copies leave a call's messages as they were."""
        line, thread = Line(memory, drive=drive), memory.threads.get("t")
        line.put({"messages": said(6)})
        shortened = [ToolMessage("[cleared]", id="r1", tool_call_id="c1"), HumanMessage("a block")]
        drive(memory.record_usage, "t", REPORTED, messages=[*said(6), *shortened], tools=[{"name": "f"}])
        expected = drive(thread.call, 1)
        line.put({"messages": []})
        drive(thread.fork, before="h0")
        drive(memory.threads.prune)
        drive(memory.threads.copy, "t", "u")
        for name in "tu":
            assert_same(list(drive(memory.threads.get(name).call, 1).messages), [*said(6), *shortened])
            assert drive(memory.threads.get(name).call, 1).call == expected.call
        drive(memory.threads.delete, "t")
        assert_same(list(drive(memory.threads.get("u").call, 1).messages), [*said(6), *shortened])
        with pytest.raises(ThreadNotFound):
            drive(thread.call, 1)
        with pytest.raises(ConfigurationError, match="has no call 2"):
            drive(memory.threads.get("u").call, 2)

    def test_the_sum_of_an_owner(self, memory: Memory, drive: Drive) -> None:
        """Every call of every thread counts once: not those of others, nor of copies, nor of earlier times."""
        other, begun = memory.as_owner("other"), datetime(2026, 1, 1, tzinfo=UTC)
        for n in range(12):
            owner = other if n % 3 == 0 else memory
            usage = {"input_tokens": 10 + n, "output_tokens": n}
            drive(owner.record_usage, f"t{n % 2}", usage, started=begun + timedelta(days=n), **PRICED)
        drive(memory.threads.get("t0").append, "hello")
        drive(memory.threads.copy, "t0", "t2")
        mine = [n for n in range(12) if n % 3]
        usage = drive(memory.usage)
        assert totals(usage)[:3] == (8, sum(10 + n for n in mine), sum(mine))
        threads = [drive(memory.threads.get(name).usage) for name in ("t0", "t1")]
        assert usage.price == sum(thread.price for thread in threads) > 0
        assert totals(drive(memory.usage, owner="other"))[0] == totals(drive(other.usage))[0] == 4
        late = drive(memory.usage, since=begun + timedelta(days=6))
        assert late.input_tokens == sum(10 + n for n in mine if n >= 6)
        assert totals(drive(memory.usage, owner="nobody")) == (0,) * 6

    def test_a_ledger_without_a_conversation_is_not_pruned(self, memory: Memory, drive: Drive) -> None:
        """Pruning removes checkpoints, which such a thread has none of; deleting it leaves nothing."""
        drive(memory.record_usage, "t", REPORTED, messages=said(2))
        drive(memory.threads.prune)
        assert drive(memory.threads.get("t").usage).calls == 1
        drive(memory.threads.prune, ["t"], strategy="delete")
        with pytest.raises(ThreadNotFound):
            drive(memory.threads.get("t").usage)

    def test_a_conversation_that_begins_after_its_ledger(self, memory: Memory, drive: Drive) -> None:
        """A call that is recorded first is no obstacle, for this memory or another."""
        thread, line = memory.threads.get("t"), Line(memory, drive=drive, run=True)
        drive(memory.record_usage, "t", REPORTED, messages=[HumanMessage("q", id="q")])
        line.put({"messages": [HumanMessage("q", id="q")]})
        drive(memory.record_usage, "t", REPORTED, messages=[HumanMessage("q", id="q")])
        line.put({"messages": [HumanMessage("q", id="q"), AIMessage("a", id="a")]})
        assert [m.id for m in drive(thread.messages)] == ["q", "a"]
        assert totals(drive(thread.usage))[0] == 2
