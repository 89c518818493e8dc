"""What every policy promises, over random histories."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.context import (
    Buffer,
    Entities,
    HeadTail,
    Media,
    Offload,
    Policy,
    Summary,
    SummaryBuffer,
    ToolResults,
    View,
    Window,
    policy,
)
from threadkeep.context.validity.calls import call_ids, result_id
from threadkeep.context.validity.repair import repair
from threadkeep.context.validity.validate import validate
from threadkeep.testing.histories import random_history

HISTORIES = 500
PROVIDERS = ("generic", "openai", "openai-responses", "anthropic", "google")


class Scripted:
    """A summarizer that answers, or fails, without a provider."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.calls = 0

    def invoke(self, messages: list[BaseMessage]) -> AIMessage:
        self.calls += 1
        if self.fails:
            raise ConnectionError("no summarizer today")
        return AIMessage(f"They spoke of several matters, part {self.calls}.")


def policies() -> list[Policy]:
    return [
        Buffer(),
        Window(messages=12),
        Window(tokens=700),
        Window(turns=3, to=1),
        Summary(trigger=("messages", 10)),
        SummaryBuffer(trigger=("tokens", 900), model=Scripted()),
        SummaryBuffer(
            trigger=[("messages", 8), {"tokens": 400, "turns": 2}], keep=4, model=Scripted(fails=True)
        ),
        HeadTail(head=2, tail=4, model=Scripted()),
        HeadTail(head=("turns", 1), tail=("tokens", 300), summarise=False),
        Offload(trigger=("tokens", 600), keep=4, large=60, preview=20),
        ToolResults(keep=2, step=2),
        ToolResults(keep=1, trigger=("tokens", 300), shorten=20),
        Media(keep=1, step=1),
        policy(_short_ones),
        Entities(every=1, limit=60) | Window(messages=14),
        Media(keep=0, step=1) | ToolResults(keep=1, step=3) | SummaryBuffer(trigger=("messages", 9), keep=3),
        Offload(trigger=("messages", 12), keep=4) | Window(messages=10),
    ]


def _short_ones(messages: list[BaseMessage]) -> list[BaseMessage]:
    return [message for message in messages if len(str(message.content)) < 200]


def cases() -> Iterator[tuple[int, list[BaseMessage], Policy, str]]:
    chosen = policies()
    for seed in range(HISTORIES):
        history = random_history(seed)
        if len(history) > 60 and seed % 5:  # a few long histories are enough for one run
            history = random_history(seed, size=30)
        for number, one in enumerate(chosen):
            yield seed, history, one, PROVIDERS[(seed + number) % len(PROVIDERS)]


def seen(history: list[BaseMessage]) -> View:
    """Return a view that has counted and digested the history, for others to be made from."""
    return Window(tokens=10).view(history)


def test_no_view_of_a_random_history_breaks_a_rule_of_its_provider() -> None:
    broken = []
    before = seen([])
    for seed, history, one, provider in cases():
        if before.plan.request.history.messages[:1] != tuple(history[:1]):
            before = seen(history)
        view = one.view(history, provider=provider, previous=before)
        found = validate(view.messages, provider)
        if found:
            broken.append((seed, one.name, provider, found[0]))
    assert not broken, (len(broken), broken[:5])


@pytest.mark.parametrize("number", range(len(policies())))
def test_system_messages_the_open_question_and_the_last_round_stay(number: int) -> None:
    one = policies()[number]
    for seed in range(0, HISTORIES, 8):
        history = random_history(seed)
        shown = one.view(history).messages
        ids = {id(message) for message in shown} | {message.id for message in shown if message.id}
        for message in _always(history):
            there = id(message) in ids or message.id in ids
            assert there or message not in repair(history), (seed, message)


def _always(history: list[BaseMessage]) -> list[BaseMessage]:
    """Return the messages that no policy may take out."""
    found = [message for message in history if isinstance(message, SystemMessage) and message.content]
    people = [i for i, message in enumerate(history) if isinstance(message, HumanMessage)]
    if not people:
        return found
    found.append(history[people[-1]])
    callers = [i for i in range(people[-1], len(history)) if call_ids(history[i])]
    if callers:
        asked = set(call_ids(history[callers[-1]]))
        found.append(history[callers[-1]])
        found += [m for m in history[callers[-1] :] if isinstance(m, ToolMessage) and result_id(m) in asked]
    return found


@pytest.mark.parametrize("number", range(len(policies())))
def test_planning_changes_no_message_and_gives_the_same_view_again(number: int) -> None:
    one = policies()[number]
    for seed in range(1, HISTORIES, 10):
        history = random_history(seed)
        view = one.view(history, provider="anthropic")
        assert history == random_history(seed)
        again = one.view(history, provider="anthropic", previous=view)
        assert again.messages == one.view(history, provider="anthropic", previous=view).messages
        assert len(json.dumps(view.state.to_json())) < 200


@pytest.mark.parametrize("number", range(len(policies())))
def test_one_reason_per_message_and_what_is_kept_is_there(number: int) -> None:
    one = policies()[number]
    for seed in range(2, HISTORIES, 10):
        history = random_history(seed)
        view = one.view(history)
        assert [reason.index for reason in view.reasons] == list(range(len(history)))
        shown = {id(message) for message in view.messages} | {message.id for message in view.messages}
        for reason, message in zip(view.reasons, history, strict=True):
            if reason.what == "kept":
                assert id(message) in shown or message.id in shown
            elif reason.what in ("summarised", "offloaded", "left out"):
                assert id(message) not in {id(one) for one in view.messages}
