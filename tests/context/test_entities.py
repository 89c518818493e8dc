"""Entities: what a model or the names in the text say, and the messages it rests on."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from threadkeep.context.summaries.entities import (
    MOST_ENTITIES,
    MOST_FACTS,
    NOTHING,
    Entities,
    Source,
    entities_note,
    extract_entities,
    named_entities,
)
from threadkeep.context.summaries.entity_json import claims
from threadkeep.context.summaries.summarizing import Ask, Failed


def count(text: str) -> int:
    return (len(text) + 3) // 4


CHAT = [
    HumanMessage("Maria Lopez leads the Hamburg warehouse.", id="h1"),
    AIMessage("Noted, I will ask Maria Lopez about it.", id="a1"),
    HumanMessage("The project Aurora starts in May.", id="h2"),
]
ITEM = {"name": "Maria Lopez", "kind": "person", "fact": "leads the Hamburg warehouse", "messages": [1]}


def run(
    messages: Sequence[BaseMessage],
    answer: Callable[[Ask], str],
    *,
    known: Entities = NOTHING,
    window: int = 8_192,
) -> Entities | Failed:
    asks = extract_entities(messages, count=count, known=known, window=window, limit=200)
    try:
        ask = next(asks)
        while True:
            try:
                text = answer(ask)
            except RuntimeError as error:
                ask = asks.throw(error)
            else:
                ask = asks.send(text)
    except StopIteration as end:
        result: Entities | Failed = end.value
        return result


def told(entities: Entities | Failed) -> dict[str, list[str]]:
    assert isinstance(entities, Entities)
    return {entity.name: [fact.text for fact in entity.facts] for entity in entities.entities}


@pytest.mark.parametrize(
    "answer",
    [
        json.dumps([ITEM]),
        f"Here you are:\n```json\n[{json.dumps(ITEM)},]\n```\nThat is all.",
        json.dumps({"entities": [ITEM]}),
        json.dumps(ITEM),
        f'[{json.dumps(ITEM)}, {{"name": "Ham',
        f"<think>[who]</think>{json.dumps(ITEM)}\n{json.dumps(ITEM)}",
        json.dumps([{**ITEM, "messages": "#1", "kind": "Person"}, {"name": "x"}, {"fact": "y"}, 3, None]),
    ],
)
def test_json_is_read_as_models_write_it(answer: str) -> None:
    entities = run(CHAT, lambda ask: answer)
    assert told(entities) == {"Maria Lopez": ["leads the Hamburg warehouse"]}
    assert isinstance(entities, Entities)
    assert entities.entities[0].kind == "person"
    assert entities.entities[0].facts[0].sources == (Source.of(CHAT[0]),)
    assert entities.covered == 3


@pytest.mark.parametrize("answer", ["", "I'm sorry.", "{", "[{]", "{" * 5_000, "[" * 5_000])
def test_what_is_no_json_changes_nothing(answer: str) -> None:
    failed = run(CHAT, lambda ask: answer)
    assert isinstance(failed, Failed)
    assert failed.reason == "unreadable"


def test_an_empty_list_is_an_answer() -> None:
    assert told(run(CHAT, lambda ask: "[]")) == {}
    assert claims("[]") == []


def test_an_exception_becomes_a_reason() -> None:
    def broken(ask: Ask) -> str:
        raise RuntimeError("no connection")

    failed = run(CHAT, broken)
    assert isinstance(failed, Failed)
    assert failed.reason == "error"


def test_a_statement_without_a_source_must_at_least_be_named_somewhere() -> None:
    items = [{**ITEM, "messages": [99]}, {**ITEM, "name": "Nobody Known", "messages": []}]
    entities = run(CHAT, lambda ask: json.dumps(items))
    assert list(told(entities)) == ["Maria Lopez"]
    assert isinstance(entities, Entities)
    assert entities.entities[0].facts[0].sources == (Source.of(CHAT[1]),)


def test_every_message_is_shown_with_its_number() -> None:
    messages = [HumanMessage(f"Person number {n} lives in town {n}. " * 5, id=str(n)) for n in range(60)]
    asks: list[Ask] = []
    run(messages, lambda ask: asks.append(ask) or "[]", window=1_200)  # type: ignore[func-returns-value]
    assert len(asks) > 2
    shown = "\n".join(ask.messages[0].text for ask in asks)
    assert all(f"#{n + 1} [user]\nPerson number {n} lives" in shown for n in range(60))
    assert all(count(ask.messages[0].text) + ask.max_tokens <= 1_200 for ask in asks)
    assert {ask.purpose for ask in asks} == {"extraction"}


def test_names_are_found_without_a_model() -> None:
    messages = [
        *CHAT,
        ToolMessage("Ask for Karl Weiss instead.", tool_call_id="1"),
        HumanMessage("Recalled: Olga Brandt.", additional_kwargs={"threadkeep": "note"}),
        HumanMessage("Позвони Анне Петровой в Киев.", id="h3"),
        HumanMessage("我叫王小明。", id="h4"),
    ]
    names = told(named_entities(messages))
    assert names["Maria Lopez"] == [CHAT[0].text, CHAT[1].text]
    assert {"Hamburg", "Aurora", "Анне Петровой", "王小明"} <= set(names)
    assert not {"Karl Weiss", "Olga Brandt"} & set(names)


def test_one_entity_is_merged_whatever_its_case_ending() -> None:
    first = named_entities([HumanMessage("Спроси у Анны, где ключ.", id="1")])
    second = named_entities([HumanMessage("Передай это Анне сегодня.", id="2")], known=first)
    assert len(second.entities) == 1
    assert len(second.entities[0].facts) == 2
    assert second.covered == 2


def test_what_is_kept_is_bounded() -> None:
    letters = "abcdefghijklmnopqrst"
    people = [f"Q{a}{b}o" for a in letters for b in letters][:100]
    known = named_entities([HumanMessage(f"Please call {name} now.") for name in people])
    assert len(known.entities) == MOST_ENTITIES
    assert known.entities[-1].name == people[-1]
    same = named_entities([HumanMessage(f"Please tell Qabo that {word}.") for word in people])
    (entity,) = [entity for entity in same.entities if entity.name == "Qabo"]
    assert len(entity.facts) == MOST_FACTS


def test_facts_of_a_changed_message_are_gone() -> None:
    entities = named_entities(CHAT)
    digests = {Source.of(message).digest for message in CHAT}
    assert entities.valid(digests) == entities
    changed = CHAT[0].model_copy(update={"content": "Somebody else leads the Hamburg warehouse."})
    digests = {Source.of(message).digest for message in (changed, *CHAT[1:])}
    left = told(entities.valid(digests))
    assert left["Maria Lopez"] == [CHAT[1].text]
    assert "Hamburg" not in left


def test_entities_survive_json() -> None:
    entities = named_entities(CHAT)
    assert Entities.from_json(json.loads(json.dumps(entities.to_json()))) == entities


@pytest.mark.parametrize("limit", [0, 5, 20, 40, 80, 300])
def test_the_note_stays_within_its_limit(limit: int) -> None:
    people = [f"Q{a}{b}o" for a in "abcdefg" for b in "abcdefg"]
    entities = named_entities([HumanMessage(f"Please call {name} now.") for name in people])
    note = entities_note(entities, count=count, limit=limit)
    assert count(note) <= limit
    assert bool(note) == (limit >= 40)


def test_the_note_begins_with_what_is_spoken_of() -> None:
    entities = named_entities(CHAT)
    note = entities_note(entities, count=count, about="What about MARIA LOPEZ?")
    assert note.splitlines()[0] == "<notes>"
    assert note.splitlines()[2].startswith("- Maria Lopez")
    assert entities_note(NOTHING, count=count) == ""
