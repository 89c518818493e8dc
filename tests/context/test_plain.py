from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.context import Buffer
from threadkeep.context.validity.plain import Plain, plain_beginning
from threadkeep.context.validity.repair import repair
from threadkeep.testing.histories import random_history, valid_history

PROVIDERS = ("generic", "openai", "openai-responses", "anthropic", "google")
TEXTS = ("said", "", " ", "\n \t", "x" * 300, " spaces around ", "\u200b", "。")
IDS = ("call", "c" * 41, "", "with space", "call")
TOOLS = ("search", "no such name!", "", "t" * 70)


def nearly_plain(seed: int) -> list[BaseMessage]:
    """A conversation of the most ordinary kind, with a fault here and there."""
    rng = random.Random(seed)

    def odd(usual: str, others: tuple[str, ...]) -> str:
        return rng.choice(others) if rng.random() < 0.04 else usual

    found: list[BaseMessage] = []
    if rng.random() < 0.5:
        found.append(SystemMessage(odd("Be brief.", TEXTS), id="s"))
    for turn in range(rng.randrange(1, 12)):
        found.append(HumanMessage(odd(f"question {turn}", TEXTS), id=f"h{turn}"))
        for step in range(rng.randrange(0, 3)):
            calls = [
                {
                    "name": odd("search", TOOLS),
                    "args": {"q": turn},
                    "id": odd(f"call-{turn}-{step}-{n}", IDS),
                    "type": "tool_call",
                }
                for n in range(rng.randrange(1, 4))
            ]
            found.append(AIMessage(rng.choice(TEXTS[:3]), tool_calls=calls, id=f"c{turn}-{step}"))
            results = [
                ToolMessage(rng.choice(TEXTS), tool_call_id=call["id"] or "", name=odd(call["name"], TOOLS))
                for call in calls
                if rng.random() > 0.03
            ]
            rng.shuffle(results)
            found += results
        if rng.random() < 0.9:
            found.append(AIMessage(odd(f"answer {turn}", TEXTS), id=f"a{turn}"))
        if rng.random() < 0.04:
            found.append(SystemMessage(odd("In between.", TEXTS)))
    return found


def histories() -> Iterator[list[BaseMessage]]:
    for seed in range(150):
        yield nearly_plain(seed)
    for seed in range(40):
        yield random_history(seed, size=30)
        yield valid_history(seed, size=30)


def test_what_is_only_looked_at_would_not_have_been_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repairing a beginning message by message gives the same request as taking it for what it is."""
    cases = [(history, provider) for history in histories() for provider in PROVIDERS]
    quick = [repair(history, provider=provider) for history, provider in cases]
    monkeypatch.setattr(sys.modules[repair.__module__], "plain_beginning", lambda messages, longest: Plain())
    for (history, provider), found in zip(cases, quick, strict=True):
        assert found == repair(history, provider=provider), provider


def test_what_is_known_of_a_beginning_is_gone_on_from() -> None:
    """Turn by turn, with what was found before, the same is found as at once."""
    for history in histories():
        known: Plain | None = None
        for end in range(1, len(history) + 1):
            known = plain_beginning(history[:end], 40, known)
            assert known == plain_beginning(history[:end], 40)


def test_an_edit_in_place_is_looked_at_again() -> None:
    said: list[BaseMessage] = []
    for turn in range(9):
        said += [HumanMessage(f"question {turn}", id=f"h{turn}"), AIMessage("answer", id=f"a{turn}")]
    view = Buffer().view([*said, HumanMessage("next")], provider="openai")
    said[3].content = ""
    again = Buffer().view([*said, HumanMessage("next")], provider="openai", previous=view)
    assert len(again.messages) == len(view.messages) - 1


def test_an_ordinary_conversation_is_only_looked_at() -> None:
    said: list[BaseMessage] = [SystemMessage("Be brief.")]
    for turn in range(50):
        call = {"name": "search", "args": {}, "id": f"c{turn}", "type": "tool_call"}
        said += [HumanMessage("question"), AIMessage("", tool_calls=[call])]
        said += [ToolMessage("found", tool_call_id=f"c{turn}"), AIMessage("answer")]
    assert plain_beginning(said, 40).end == len(said) - 1
