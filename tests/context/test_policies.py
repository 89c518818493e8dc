"""What each policy does to a conversation, as a user sees it."""

from __future__ import annotations

import asyncio
import copy
import pickle
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.context import (
    Buffer,
    Compose,
    Entities,
    HeadTail,
    Media,
    Offload,
    Summary,
    SummaryBuffer,
    ToolResults,
    View,
    Window,
    policy,
)
from threadkeep.errors import ConfigurationError, UnknownContextWindowWarning

FACT = "My locker is number 4711 and I am allergic to walnuts."


class Writer:
    """A summarizer that keeps what it was told, or fails."""

    def __init__(
        self, answer: str | Exception = "They talked about shelves; the locker is number 4711."
    ) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def invoke(self, messages: Sequence[BaseMessage]) -> AIMessage:
        self.asked.append("\n".join(str(message.content) for message in messages))
        if isinstance(self.answer, Exception):
            raise self.answer
        return AIMessage(self.answer)

    async def ainvoke(self, messages: Sequence[BaseMessage]) -> AIMessage:
        await asyncio.sleep(0)
        return self.invoke(messages)


def chat(turns: int, first: str = FACT) -> list[BaseMessage]:
    found: list[BaseMessage] = []
    for turn in range(turns):
        text = first if turn == 0 else f"Where does box {turn} go, and who has moved it there before?"
        found.append(HumanMessage(text, id=f"h{turn}"))
        found.append(
            AIMessage(f"It goes to shelf {turn}, where the evening shift put the last one.", id=f"a{turn}")
        )
    return [*found, HumanMessage("Which locker is mine?", id="last")]


def rounds(number: int, size: int = 40) -> list[BaseMessage]:
    found: list[BaseMessage] = [HumanMessage("Count every shelf.", id="h")]
    for one in range(number):
        call = {"name": "count", "args": {"shelf": one}, "id": f"c{one}", "type": "tool_call"}
        found.append(AIMessage("", tool_calls=[call], id=f"a{one}"))
        found.append(
            ToolMessage(f"shelf {one}: " + "box " * size, tool_call_id=f"c{one}", name="count", id=f"t{one}")
        )
    return found


def texts(view: View) -> str:
    return "\n".join(str(message.content) for message in view.messages)


def ids(view: View) -> list[str | None]:
    return [message.id for message in view.messages]


def replayed(one: Any, messages: list[BaseMessage], start: int = 1) -> list[View]:
    """Return the view of each call of a conversation, each knowing the one before."""
    views: list[View] = []
    for n in range(start, len(messages) + 1):
        if n == len(messages) or messages[n].type == "ai":
            views.append(one.view(messages[:n], previous=views[-1] if views else None))
    return views


def test_a_buffer_sends_everything_as_the_same_objects() -> None:
    messages = chat(5)
    assert all(one is other for one, other in zip(Buffer().view(messages).messages, messages, strict=True))


@pytest.mark.parametrize(
    ("one", "largest"),
    [(Window(messages=6), 6), (Window(messages=6, to=6), 6), (Window(messages=7, to=1), 7)],
)
def test_a_window_never_holds_more_messages_and_always_the_newest(one: Window, largest: int) -> None:
    for view in replayed(one, chat(20)):
        assert len(view) <= largest
        assert view.messages[0].type == "human"
    assert ids(view)[-1] == "last"
    assert "4711" not in texts(view)


def test_a_window_of_turns_holds_whole_turns() -> None:
    for view in replayed(Window(turns=4), chat(12)):
        people = [message for message in view.messages if message.type == "human"]
        assert 1 <= len(people) <= 4
        assert view.messages[0] is people[0]


def test_a_window_of_tokens_stays_below_them_by_its_own_count() -> None:
    for view in replayed(Window(tokens=300), chat(30)):
        assert view.tokens.tokens <= 300


def test_a_turn_of_60_tool_rounds_stays_in_20_messages() -> None:
    for view in replayed(Window(messages=20), rounds(60)):
        assert len(view) <= 20
        assert view.messages[0].id == "h"
    assert ids(view)[-2:] == ["a59", "t59"]


def test_parallel_results_stay_together() -> None:
    calls = [{"name": "count", "args": {}, "id": f"c{n}", "type": "tool_call"} for n in range(6)]
    results = [ToolMessage("12", tool_call_id=f"c{n}", id=f"t{n}") for n in range(6)]
    messages = [*chat(4), AIMessage("", tool_calls=calls, id="ai"), *results]
    view = Window(messages=4).view(messages)
    assert ids(view) == ["last", "ai", *(f"t{n}" for n in range(6))]


def test_a_view_is_the_same_whether_or_not_the_former_one_is_given() -> None:
    for one in (
        Window(messages=9),
        Window(tokens=400),
        HeadTail(head=1, tail=4, summarise=False),
        ToolResults(),
    ):
        messages = chat(20) if one.name != "tool-results" else rounds(30)
        for view in replayed(one, messages):
            size = len(view.plan.request.history)
            assert ids(copy.deepcopy(one).view(messages[:size])) == ids(view)


def test_a_long_conversation_seen_for_the_first_time_is_cut_like_one_that_was_followed() -> None:
    messages = chat(600)
    followed = replayed(Window(messages=10), messages, start=len(messages) - 40)
    fresh = [Window(messages=10).view(messages[:n]) for n in range(len(messages) - 40, len(messages) + 1, 2)]
    changes = sum(1 for one, other in pairwise(fresh) if ids(one)[0] != ids(other)[0])
    assert changes <= 20 * 2 / 5 + 1
    assert ids(followed[-1])[-1] == ids(fresh[-1])[-1] == "last"


def test_system_and_pinned_messages_stay() -> None:
    messages = [
        SystemMessage("Be brief.", id="s"),
        *chat(6),
        SystemMessage("Night shift now.", id="s2"),
        *chat(12),
    ]
    for number, message in enumerate(messages):
        message.id = message.id if message.id in ("s", "s2") else f"m{number}"
    view = Window(messages=8).view(messages, pins=["m3"])
    assert ids(view)[:3] == ["s", "m3", "s2"]
    assert len(view) <= 8
    unpinned = Window(messages=8).view(messages)
    assert "m3" not in ids(unpinned)


def test_summary_buffer_answers_the_first_fact_and_window_does_not() -> None:
    summarizer = Writer()
    one = SummaryBuffer(trigger=("messages", 10), keep=4, model=summarizer)
    view = replayed(one, chat(12))[-1]
    assert "4711" in texts(view)
    assert view.messages[0].type == "human"
    assert "<background>" in str(view.messages[0].content)
    assert FACT in summarizer.asked[0]
    assert "4711" not in texts(Window(messages=10).view(chat(12)))


def test_summary_buffer_fires_at_ten_messages_and_keeps_four() -> None:
    summarizer = Writer()
    views = replayed(SummaryBuffer(trigger=("messages", 10), keep=4, model=summarizer), chat(12))
    sizes = [len(view) for view in views]
    assert sizes[:6] == [1, 3, 5, 7, 9, 5]
    assert max(sizes) <= 10
    assert ids(views[5])[1:] == ["a3", "h4", "a4", "h5"]


def test_the_summarizer_sees_everything_that_leaves_the_view_once() -> None:
    summarizer = Writer()
    messages = chat(20)
    view = replayed(SummaryBuffer(trigger=("messages", 8), keep=3, model=summarizer), messages)[-1]
    asked = "\n".join(summarizer.asked)
    for reason, message in zip(view.reasons, messages, strict=True):
        assert (reason.what == "summarised") == (str(message.content) in asked)
        if reason.what == "summarised":
            assert asked.count(str(message.content)) == 1


async def test_a_view_can_be_awaited() -> None:
    one = SummaryBuffer(trigger=("messages", 10), keep=4, model=Writer())
    assert ids(await one.aview(chat(12))) == ids(copy.deepcopy(one).view(chat(12)))


def test_a_view_made_twice_asks_for_a_summary_once() -> None:
    summarizer = Writer()
    one = SummaryBuffer(trigger=("messages", 10), keep=4, model=summarizer)
    assert ids(one.view(chat(9))) == ids(one.view(chat(9)))
    assert len(summarizer.asked) == 1


@pytest.mark.parametrize(
    "answer", [ConnectionError("down"), "", "word " * 4_000, "I'm sorry, I can't help with that."]
)
def test_a_useless_summary_changes_nothing_and_is_tried_again_later(answer: str | Exception) -> None:
    summarizer = Writer(answer)
    messages = chat(40)
    one = SummaryBuffer(trigger=("messages", 10), keep=4, model=summarizer)
    views = replayed(one, messages)
    assert all(view.state.marks[0].generation == 0 for view in views)
    assert ids(views[6]) == [
        message.id for message in messages[:13]
    ]  # everything, while that is no more than twice
    assert max(len(view) for view in views) <= 20
    assert 4 <= len(summarizer.asked) <= 12
    summarizer.answer = "They talked about shelves."
    recovered = replayed(one, messages)[-1]
    assert recovered.state.marks[0].generation > 0


def test_a_failed_summary_is_not_asked_for_again_by_the_same_call() -> None:
    summarizer = Writer(ConnectionError("down"))
    one = SummaryBuffer(trigger=("messages", 10), keep=4, model=summarizer)
    view = one.view(chat(6))
    for _ in range(3):
        view = one.view(chat(6), previous=view)
    assert len(summarizer.asked) == 1


def test_an_edit_of_something_covered_makes_a_new_summary() -> None:
    summarizer = Writer()
    one = SummaryBuffer(trigger=("messages", 10), keep=4, model=summarizer)
    messages = chat(8)
    view = one.view(messages)
    made = len(summarizer.asked)
    messages[0].content = "My locker is number 9000."
    edited = one.view(messages, previous=view)
    assert len(summarizer.asked) == made + 1
    assert "9000" in summarizer.asked[-1]
    assert edited.reasons[0].what == "summarised"


def test_a_fork_before_the_boundary_finds_the_summary_that_was_made_there() -> None:
    summarizer = Writer()
    one = SummaryBuffer(trigger=("messages", 10), keep=4, model=summarizer)
    messages = chat(20)
    last = replayed(one, messages)[-1]
    made = len(summarizer.asked)
    one.view(messages[:17], previous=last)
    assert len(summarizer.asked) == made


def test_summary_without_a_model_is_an_extract() -> None:
    view = replayed(Summary(trigger=("messages", 8)), chat(12))[-1]
    assert "4711" in texts(view)
    assert len(view) <= 8


def test_head_and_tail_stay_and_the_middle_is_summarised_or_left_out() -> None:
    summarizer = Writer()
    view = replayed(HeadTail(head=1, tail=4, model=summarizer), chat(15))[-1]
    assert ids(view)[0] == "h0"
    assert "<background>" in str(view.messages[1].content)
    assert FACT not in "\n".join(summarizer.asked)
    silent = replayed(HeadTail(head=1, tail=4, summarise=False), chat(15))[-1]
    assert ids(silent)[0] == "h0"
    assert len(silent) <= 11
    assert {reason.what for reason in silent.reasons} == {"kept", "left out"}


def test_head_tail_keeps_the_question_of_a_long_first_turn() -> None:
    for view in replayed(HeadTail(head=("turns", 1), tail=6, summarise=False), rounds(20)):
        assert view.messages[0].id == "h"
        assert len(view) <= 14


def test_tool_results_clear_old_results_and_keep_the_last() -> None:
    views = replayed(ToolResults(keep=3), rounds(30))
    for view in views:
        results = [message for message in view.messages if message.type == "tool"]
        cleared = ["cleared" in str(message.content) for message in results]
        assert not any(cleared[-3:])
        assert sum(not one for one in cleared) < 3 + 10
    assert len({reason.what for reason in views[-1].reasons} & {"cleared"}) == 1
    assert [message.id for message in views[-1].messages] == [message.id for message in rounds(30)]


def test_tool_results_can_be_shortened_or_left_alone() -> None:
    view = ToolResults(keep=1, step=1, shorten=16).view(rounds(4, size=200))
    first = str(view.messages[2].content)
    assert first.startswith("shelf 0: box")
    assert first.endswith("box ")
    assert "left out" in first
    assert len(first) < 150
    spared = ToolResults(keep=1, step=1, exclude=("count",)).view(rounds(4, size=200))
    assert texts(spared) == texts(Buffer().view(rounds(4, size=200)))


def test_media_become_a_line_but_for_the_newest_and_the_open_question() -> None:
    picture = {"type": "image", "base64": "aGVsbG8=" * 2_000, "mime_type": "image/png"}
    messages: list[BaseMessage] = []
    for turn in range(6):
        content = [{"type": "text", "text": f"What is on picture {turn}?"}, picture]
        messages += [HumanMessage(content, id=f"h{turn}"), AIMessage("A shelf.", id=f"a{turn}")]
    messages.append(HumanMessage([{"type": "text", "text": "And here?"}, picture], id="h6"))
    view = Media(keep=2, step=1).view(messages)
    shown = [message.id for message in view.messages if "aGVsbG8=" in str(message.content)]
    assert shown == ["h5", "h6"]
    assert "aGVsbG8=" in str(Media(keep=0, step=1).view(messages).messages[-1].content)
    assert "image/png, 12 KB" in str(view.messages[0].content)
    assert "What is on picture 0?" in str(view.messages[0].content)
    assert view.reasons[0].what == "replaced"


def test_entities_are_said_again_next_to_the_question() -> None:
    messages = chat(8, first="I spoke to Marta Kowalska about the project Falcon.")
    view = (Entities(every=1) | Window(messages=6)).view(messages)
    assert "Marta Kowalska" in texts(view)
    assert ids(view)[-2] == "last"
    assert "Marta" not in texts(Window(messages=6).view(messages))


def test_stages_work_one_after_the_other() -> None:
    one = Media() | ToolResults(keep=3) | SummaryBuffer(trigger=("messages", 12), keep=4)
    assert isinstance(one, Compose)
    assert [stage.name for stage in one.stages] == ["media", "tool-results", "summary-buffer"]
    assert ids(one.view(rounds(30))) == ids(Compose([Compose([Media(), *one.stages[1:]])]).view(rounds(30)))
    assert len(one.view(rounds(30))) <= 12


def test_a_policy_of_your_own_decides_by_content() -> None:
    @policy
    def without_weather(messages: list[BaseMessage]) -> list[BaseMessage]:
        return [message for message in messages if "weather" not in str(message.content)]

    messages = [HumanMessage("How is the weather?", id="w"), AIMessage("Fine.", id="f"), *chat(2)]
    view = without_weather.view(messages)
    assert "w" not in ids(view)
    assert str(view.reasons[0]) == "left out by without_weather"


def test_a_policy_of_your_own_may_give_reasons_or_copies() -> None:
    reasons = policy(lambda messages: ["old" if message.id == "a0" else None for message in messages])
    assert "a0" not in ids(reasons.view(chat(3)))
    short = policy(lambda messages: [m.model_copy(update={"content": str(m.content)[:9]}) for m in messages])
    assert texts(short.view(chat(1))).splitlines()[0] == FACT[:9]
    odd = policy(lambda messages: [HumanMessage("made up")])
    with pytest.raises(ConfigurationError, match="made up"):
        odd.view(chat(1))


def test_a_policy_of_your_own_cannot_split_a_round() -> None:
    no_results = policy(lambda messages: [message for message in messages if message.type != "tool"])
    assert ids(no_results.view([*rounds(3), AIMessage("Done.", id="d"), *chat(1)])) == [
        "h",
        "d",
        "h0",
        "a0",
        "last",
    ]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Window(), "one size"),
        (lambda: Window(messages=3, tokens=4), "one size"),
        (lambda: Window(messages=0), "messages"),
        (lambda: Window(messages=4, to=5), "to=5"),
        (lambda: Window(fraction=1.5), "fraction"),
        (lambda: SummaryBuffer(trigger=("token", 4)), "token"),  # type: ignore[arg-type]
        (lambda: SummaryBuffer(trigger=[]), "trigger"),
        (lambda: SummaryBuffer(trigger={}), "trigger"),
        (lambda: SummaryBuffer(trigger=("messages", True)), "True"),
        (lambda: SummaryBuffer(keep=-1), "keep"),
        (lambda: Summary(limit=1), "limit"),
        (lambda: Summary(pins=("messages", 3)), "pins"),
        (lambda: HeadTail(head=("fraction", 0.1), trigger=("messages", 9)), "head"),
        (lambda: ToolResults(exclude="count"), "exclude"),  # type: ignore[arg-type]
        (lambda: Offload(index=3), "index"),
        (lambda: Media(step=0), "step"),
        (lambda: Entities(every=0), "every"),
        (lambda: Compose([]), "no policy"),
        (lambda: Compose([3]), "3"),  # type: ignore[list-item]
        (lambda: Buffer() | 3, "3"),  # type: ignore[operator]
        (lambda: policy(3), "3"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_used_is_refused_when_the_policy_is_made(make: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make()


def test_a_fraction_is_of_the_window_of_the_model_that_is_called() -> None:
    class Model:
        profile = {"max_input_tokens": 1_000}  # noqa: RUF012

    messages = chat(60)
    assert Window(fraction=0.5).view(messages, model=Model()).tokens.tokens <= 500
    assert Window(fraction=0.5, context_window=600).view(messages, model=Model()).tokens.tokens <= 300
    with pytest.warns(UnknownContextWindowWarning, match="context_window="):
        assert len(Window(fraction=0.5).view(messages)) == len(messages)


def test_system_prompt_and_tools_count_in_a_fraction_and_in_the_view() -> None:
    messages = chat(60)
    system = "Follow the rules of the warehouse. " * 40
    bare = Window(fraction=0.5, context_window=2_000).view(messages)
    full = Window(fraction=0.5, context_window=2_000).view(messages, system=system)
    assert full.tokens.tokens <= 1_000
    assert len(full) < len(bare)


def test_policies_are_values() -> None:
    one = SummaryBuffer(trigger=("messages", 10), keep=4)
    assert one == SummaryBuffer(trigger=("messages", 10), keep=4)
    assert one.fingerprint == SummaryBuffer(trigger=("messages", 10), keep=("messages", 4)).fingerprint
    assert one.fingerprint != SummaryBuffer(trigger=("messages", 10), keep=5).fingerprint
    one.view(chat(9))
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(AttributeError):
        one.keep = 3  # type: ignore[misc]


def test_no_warning_where_nothing_is_wrong() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replayed(SummaryBuffer(), chat(5))
