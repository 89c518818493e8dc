"""Planning without I/O: states, needs, limits, references, and what may leave the state."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.context import (
    Buffer,
    Entities,
    HeadTail,
    History,
    Limits,
    Media,
    Offload,
    Plan,
    Policy,
    Request,
    State,
    SummaryBuffer,
    ToolResults,
    Window,
)
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.planning.limits import Anchor
from threadkeep.context.planning.recalling import read, reference_of, resolve, search
from threadkeep.context.summaries.summarizing import Failed, SummaryText

COUNTER = Counter()


def chat(turns: int) -> list[BaseMessage]:
    found: list[BaseMessage] = []
    for turn in range(turns):
        found.append(
            HumanMessage(f"Where does box {turn} go, and who has moved it there before?", id=f"h{turn}")
        )
        found.append(
            AIMessage(f"It goes to shelf {turn}, where the evening shift put the last one.", id=f"a{turn}")
        )
    return [*found, HumanMessage("And the next?", id="last")]


def rounds(number: int, *, thinking: bool = False) -> list[BaseMessage]:
    found: list[BaseMessage] = [HumanMessage("Count every shelf.", id="h")]
    for one in range(number):
        call = {"name": "count", "args": {"shelf": one}, "id": f"c{one}", "type": "tool_call"}
        content: Any = (
            [{"type": "thinking", "thinking": f"Shelf {one} next.", "signature": "x" * 8}] if thinking else ""
        )
        if thinking:
            content.append({"type": "tool_use", "id": f"c{one}", "name": "count", "input": {"shelf": one}})
        found.append(AIMessage(content, tool_calls=[call], id=f"a{one}"))
        found.append(
            ToolMessage(f"shelf {one}: " + "box " * 40, tool_call_id=f"c{one}", name="count", id=f"t{one}")
        )
    return found


def history(messages: list[BaseMessage], previous: History | None = None) -> History:
    return History.of(messages, COUNTER, previous)


def text(covered: int = 1) -> SummaryText:
    return SummaryText(text="They moved boxes.", language="en", covered=covered)


def completed(policy: Policy, request: Request) -> tuple[Plan, dict[tuple[str, str], Any]]:
    """Plan until nothing is needed, answering with a fixed summary."""
    answers = dict(request.answers)
    for _ in range(4):
        plan = policy.plan(
            Request(history=request.history, state=request.state, limits=request.limits,
                    provider=request.provider, answers=answers)
        )  # fmt: skip
        if not plan.needs:
            return plan, answers
        for need in plan.needs:
            made = (
                text(need.covered)
                if need.kind == "summary" or need.local is None
                else need.local(COUNTER.text)
            )
            answers[need.fingerprint, need.key] = made
    raise AssertionError("a plan needed more than it should")


def test_a_plan_names_what_it_needs_and_is_complete_with_it() -> None:
    policy = SummaryBuffer(trigger=("messages", 8), keep=3)
    plan = policy.plan(Request(history=history(chat(6))))
    (need,) = plan.needs
    assert (need.kind, need.start, need.covered) == ("summary", 0, need.end)
    assert plan.state.marks[0].generation == 0
    assert len(plan.view()) <= 16  # the fallback is a view, too
    done, _ = completed(policy, plan.request)
    assert done.state.marks[0].boundary == need.end
    assert done.advanced


def test_the_next_summary_goes_on_from_the_one_before() -> None:
    policy = SummaryBuffer(trigger=("messages", 8), keep=3)
    first, answers = completed(policy, Request(history=history(chat(6))))
    later = policy.plan(Request(history=history(chat(12)), state=first.state, answers=answers))
    (need,) = later.needs
    assert need.start == first.state.marks[0].boundary
    assert need.covered == need.end


def test_without_a_state_a_stored_shorter_summary_is_built_upon() -> None:
    policy = SummaryBuffer(trigger=("messages", 8), keep=3)
    first, answers = completed(policy, Request(history=history(chat(6))))
    (need,) = policy.plan(Request(history=history(chat(12)))).needs
    (key,) = [key for _, key in answers]
    assert key in need.earlier()
    (built,) = policy.plan(Request(history=history(chat(12)), answers=answers)).needs
    assert built.start == first.state.marks[0].boundary
    assert built.key == need.key


def test_a_state_is_small_and_goes_through_json() -> None:
    policy = Media() | ToolResults(keep=1, step=1) | SummaryBuffer(trigger=("messages", 8), keep=3)
    plan, answers = completed(
        policy, Request(history=history([*rounds(20), AIMessage("ok", id="x"), *chat(900)]))
    )
    stored = json.dumps(plan.state.to_json())
    assert len(stored) < 200
    again = policy.plan(
        Request(history=plan.request.history, state=State.from_json(json.loads(stored)), answers=answers)
    )
    assert not again.needs
    assert not again.advanced
    assert again.view().messages == plan.view().messages


@pytest.mark.parametrize(
    "odd", [None, {}, {"f": 3}, {"f": "x", "s": 4}, {"f": "x", "s": [[1, 2, 3, "!", 9, 9, 9, 9, 9]]}]
)
def test_an_unreadable_state_is_an_empty_one(odd: Any) -> None:
    assert State.from_json(odd).of("x", 1) == (None,)


def test_the_state_of_another_policy_is_not_used() -> None:
    first = Window(messages=6).plan(Request(history=history(chat(10))))
    other = Window(messages=8).plan(Request(history=history(chat(10)), state=first.state))
    assert other.view().messages == Window(messages=8).view(chat(10)).messages


def test_an_edit_of_what_left_the_view_starts_anew_and_one_of_its_id_does_not() -> None:
    messages = chat(10)
    policy = Window(messages=6)
    state = policy.plan(Request(history=history(messages))).state
    renamed = [m.model_copy(update={"id": f"new-{i}"}) for i, m in enumerate(messages)]
    assert state.marks[0].holds(history(renamed))
    messages[0].content = "something else"
    assert not state.marks[0].holds(history(messages))


def test_the_model_is_not_sent_more_than_it_takes() -> None:
    for policy in (
        Window(messages=60),
        SummaryBuffer(trigger=("messages", 60)),
        Offload(trigger=("messages", 60)),
    ):
        limits = Limits(window=1_000, overhead=100, reserve=200)
        plan, _ = completed(policy, Request(history=history(chat(25)), limits=limits))
        assert plan.view().tokens.tokens <= 800, policy.name
        assert plan.view().messages[-1].id == "last"


def test_a_view_that_was_refused_as_too_long_gets_smaller() -> None:
    policy = Window(messages=60)
    whole = policy.plan(Request(history=history(chat(25)))).view().tokens.tokens
    plan = policy.plan(Request(history=history(chat(25)), limits=Limits(too_large=whole)))
    assert plan.view().tokens.tokens <= 0.8 * whole
    assert plan.advanced


def test_what_the_provider_reported_stands_for_the_estimate() -> None:
    policy = Window(tokens=600)
    messages = chat(8)
    before = policy.plan(Request(history=history(messages[:-2])))
    reported = Limits(anchor=Anchor(tokens=5_000, messages=len(messages) - 2))
    assert not before.advanced
    assert not policy.plan(Request(history=history(messages), state=before.state)).advanced
    assert policy.plan(Request(history=history(messages), state=before.state, limits=reported)).advanced


def test_reasoning_bound_to_a_prefix_leaves_with_it_and_passes_untouched_before() -> None:
    messages = [*rounds(6, thinking=True), AIMessage("Done.", id="d"), HumanMessage("Again.", id="h2")]
    kept = Buffer().view(messages, provider="anthropic").messages
    assert all(one is other for one, other in zip(kept, messages, strict=True))
    cut = Window(messages=9).view(messages, provider="anthropic").messages
    assert len(cut) <= 9
    assert "thinking" not in str([message.content for message in cut])
    assert "thinking" in str(
        [m.content for m in Window(messages=9).view(messages, provider="google").messages]
    )


def test_no_reduction_takes_the_reasoning_of_an_open_tool_loop() -> None:
    messages = rounds(8, thinking=True)
    assert Window(messages=9).view(messages, provider="anthropic").messages == messages
    assert ToolResults(keep=1, step=1).view(messages, provider="anthropic").messages == messages
    assert len(Window(messages=9).view(messages, provider="google")) <= 9


def test_a_round_that_waits_is_left_alone() -> None:
    call = {"name": "ask", "args": {}, "id": "c", "type": "tool_call"}
    messages = [*chat(6), AIMessage("", tool_calls=[call], id="waiting")]
    request = Request(history=history(messages), paused=frozenset({"c"}))
    sent = Window(messages=4).plan(request).view().messages
    assert [message.id for message in sent] == ["last", "waiting"]


def test_references_resolve_to_what_left_the_view() -> None:
    messages = chat(30)
    plan = Offload(trigger=("messages", 12), keep=4, index=200).plan(Request(history=history(messages)))
    block = str(plan.view().messages[0].content)
    shown = history(messages)
    covered: set[int] = set()
    for reference, (start, end) in plan.references.items():
        assert reference in block
        assert resolve(shown, reference) == (start, end)
        covered.update(range(start, end))
    assert covered == {reason.index for reason in plan.reasons() if reason.what == "offloaded"}
    assert COUNTER.text(block) < 260


def test_a_large_result_becomes_a_preview_at_once_and_can_be_read_in_pages() -> None:
    words = " ".join(f"item-{n}" for n in range(3_000))
    call = {"name": "list", "args": {}, "id": "c", "type": "tool_call"}
    messages = [
        HumanMessage("List."),
        AIMessage("", tool_calls=[call]),
        ToolMessage(words, tool_call_id="c", id="t"),
    ]
    plan = Offload(large=500, preview=50).plan(Request(history=history(messages)))
    preview = str(plan.view().messages[2].content)
    assert len(preview) < 400
    (reference,) = plan.references
    assert reference in preview
    found, page = "", 1
    while (passage := read(plan.request.history, f"{reference}#{page}", limit=400, count=COUNTER.text)).found:
        assert COUNTER.text(passage.text) <= 400
        found += passage.text.partition("\n[page")[0]
        page += 1
    assert found.replace("[tool] ", "") == words


def test_search_finds_rare_words_and_not_what_recall_returned() -> None:
    recall = {"name": "search_history", "args": {"query": "4711"}, "id": "s", "type": "tool_call"}
    messages = [
        *chat(5),
        HumanMessage("Мой шкафчик — 4711, рядом с воротами.", id="ru"),
        AIMessage("", tool_calls=[recall]),
        ToolMessage("ru: 4711", tool_call_id="s", name="search_history"),
        HumanMessage("我的工号是A1023", id="zh"),
    ]
    shown = history(messages)
    found = search(shown, "шкафчик 4711", limit=200, count=COUNTER.text)
    assert found.found
    assert resolve(shown, found.references[0]) == (11, 12)
    assert len(found.references) == 1
    assert "A1023" in search(shown, "工号", limit=200, count=COUNTER.text).text
    assert not search(shown, "zebra", limit=200, count=COUNTER.text).found
    assert COUNTER.text(search(shown, "box shelf", limit=60, count=COUNTER.text).text) <= 60


def test_a_reference_to_what_was_changed_says_so() -> None:
    messages = chat(4)
    reference = reference_of(history(messages), 0, 4)
    messages[1].content = "It went elsewhere."
    passage = read(history(messages), reference, limit=100, count=COUNTER.text)
    assert not passage.found
    assert reference in passage.text
    assert not read(history(messages), "../etc", limit=100, count=COUNTER.text).found


def test_only_messages_that_left_the_view_may_leave_the_state() -> None:
    messages = chat(10)
    messages[2].id = None
    plan = Window(messages=6).plan(Request(history=history(messages)))
    shown = {message.id for message in plan.view().messages}
    removable = plan.removable({"a0"})
    assert removable
    assert not shown & set(removable)
    assert "a0" not in removable
    assert None not in removable


REWRITABLE = [
    Window(messages=8),
    SummaryBuffer(trigger=("messages", 8), keep=3),
    HeadTail(head=1, tail=3),
    Offload(trigger=("messages", 8), keep=3),
    Entities(every=1) | SummaryBuffer(trigger=("messages", 9), keep=3),
]


@pytest.mark.parametrize("system", [True, False])
@pytest.mark.parametrize("policy", REWRITABLE, ids=[one.name for one in REWRITABLE])
def test_after_a_rewrite_planning_goes_on_where_it_was(policy: Policy, system: bool) -> None:
    messages = [*([SystemMessage("Be brief.")] if system else []), *chat(6)]
    for number, message in enumerate(messages):
        message.id = f"m{number}"
    plan, answers = completed(policy, Request(history=history(messages)))
    answers.update({(one.fingerprint, one.key): one.value for one in plan.lasting})
    gone = set(plan.removable())
    state = State.from_json(plan.rewritten(gone).to_json())
    rest = [message for message in messages if message.id not in gone]
    assert len(rest) < len(messages)
    rewritten = policy.plan(Request(history=history(rest), state=state, answers=answers))
    assert not rewritten.needs
    assert rewritten.view().messages == plan.view().messages
    more = chat(4)
    later, _ = completed(policy, Request(history=history([*rest, *more]), state=state, answers=answers))
    kept, _ = completed(
        policy, Request(history=history([*messages, *more]), state=plan.state, answers=answers)
    )
    assert [m.id for m in later.view().messages][-4:] == [m.id for m in kept.view().messages][-4:]
    if policy.name == "summary-buffer":
        assert later.view().messages == kept.view().messages
        assert later.state.marks[0].key == kept.state.marks[0].covered(kept.request.history)


def test_what_a_failed_summary_left_out_stays_in_the_state() -> None:
    policy = ToolResults(keep=1, step=1) | SummaryBuffer(trigger=("messages", 6), keep=2)
    messages = [*rounds(12), AIMessage("Done.", id="d"), *chat(4)]
    plan = policy.plan(Request(history=history(messages)))
    failed = {(need.fingerprint, need.key): Failed(reason="error", text="down") for need in plan.needs}
    plan = policy.plan(Request(history=history(messages), answers=failed))
    assert "left out" in {reason.what for reason in plan.reasons()}
    assert plan.removable() == ()


def test_a_failure_waits_longer_each_time() -> None:
    policy = SummaryBuffer(trigger=("messages", 8), keep=3)
    state, asked = State(), []
    for n in range(9, 121, 2):
        request = Request(history=history(chat(n // 2)), state=state)
        plan = policy.plan(request)
        if plan.needs:
            asked.append(n)
            failed = Failed(reason="error", text="down")
            answers = {(need.fingerprint, need.key): failed for need in plan.needs}
            plan = policy.plan(Request(history=request.history, state=state, answers=answers))
        assert plan.view().messages[-1].id == "last"
        state = plan.state
    assert asked == [9, 11, 15, 23, 39, 71, 103]


def test_a_history_reuses_what_it_knows_and_sees_edits_in_place() -> None:
    class Counting(Counter):
        calls = 0

        def message(self, message: BaseMessage) -> int:
            Counting.calls += 1
            return super().message(message)

    counter = Counting()
    messages = chat(20)
    before = History.of(messages, counter)
    total = sum(map(before.tokens, range(len(before))))
    Counting.calls = 0
    copies = [message.model_copy(deep=True) for message in messages]
    after = History.of([*copies, AIMessage("New.")], counter, before)
    assert sum(map(after.tokens, range(len(messages)))) == total
    assert Counting.calls == 0
    copies[4].content = "Edited."
    edited = History.of(copies, counter, after)
    assert edited.digest(4) != before.digest(4)
    assert edited.prefix_digest(4) == before.prefix_digest(4)
    assert edited.prefix_digest(5) != before.prefix_digest(5)


def test_a_result_that_comes_late_belongs_to_its_round() -> None:
    call = {"name": "count", "args": {}, "id": "c", "type": "tool_call"}
    messages = [
        HumanMessage("Count."),
        AIMessage("", tool_calls=[call]),
        HumanMessage("Still there?"),
        ToolMessage("12", tool_call_id="c"),
        AIMessage("Twelve."),
    ]
    assert list(history(messages).borders) == [1, 1, 0, 0, 1]
    grown = history(messages, history(messages[:3]))
    assert list(grown.borders) == [1, 1, 0, 0, 1]
