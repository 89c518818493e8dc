"""Must-keep facts: what is found, what counts as lost, and how it is restated."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.context.facts import facts as facts_module
from threadkeep.context.facts import language
from threadkeep.context.facts.fact_cache import FactCache
from threadkeep.context.facts.fact_patterns import WORDS_AROUND, spans
from threadkeep.context.facts.facts import CAP, Fact, facts_in, facts_of, gather, lost, ranked, restate
from threadkeep.context.facts.pin_sentences import pinned_sentences
from threadkeep.context.facts.pins import Pin
from threadkeep.context.summaries.wording import wording_of


def found(text: str) -> set[tuple[str, str]]:
    return {(fact.kind, fact.value) for fact in facts_in(text)}


FOUND = [
    ("工号是A1023，电话13800138000", {("id", "a1023"), ("phone", "13800138000")}),
    ("Ship QX-117 to dock 5.", {("id", "qx-117"), ("id", "dock 5")}),
    ("It is 7:30 pm now", {("time", "19:30")}),
    ("Be there at 7am.", {("time", "07:00")}),
    ("Встреча в 7 вечера", {("time", "19:00")}),
    ("下午3点半见", {("time", "15:30")}),
    ("on 14 March 2025", {("date", "2025-03-14")}),
    ("on March 14th, 2025", {("date", "2025-03-14")}),
    ("14.03.2025 or so", {("date", "2025-03-14")}),
    ("2025年3月14日", {("date", "2025-03-14")}),
    ("14 марта 2025", {("date", "2025-03-14")}),
    ("3 березня", {("date", "--03-03")}),
    ("am 14. März", {("date", "--03-14")}),
    ("le 3 mars 2024", {("date", "2024-03-03")}),
    ("see you on Tuesday", {("date", "weekday-2")}),
    ("во вторник", {("date", "weekday-2")}),
    ("星期二见", {("date", "weekday-2")}),
    ("on 03/04/2025", {("date", "03/04/2025")}),
    ("on 25/12/2025", {("date", "2025-12-25")}),
    ("it costs $1,200.50", {("amount", "1200.5 usd")}),
    ("1 200 000 руб.", {("amount", "1200000 rub")}),
    ("预算5万元", {("amount", "50000 cny")}),
    ("5kg of rice", {("amount", "5 kg")}),
    ("１２３４５ in full width", {("number", "12345")}),
    ("mail Anna.K@Example.co.uk!", {("email", "anna.k@example.co.uk")}),
    ("see https://Ex.com/a?b=1, please", {("url", "ex.com/a?b=1")}),
    ("call +1 (555) 123-4567", {("phone", "15551234567")}),
    ("Please ask Maria Lopez about it", {("name", "maria lopez")}),
    ("Call Maria Lopez", {("name", "maria lopez")}),
    ("Позвони Анне Петровой", {("name", "анне петровой")}),
    ("Maria Lopez arrived", {("name", "maria lopez")}),
    ("пригласи Анну Петрову и Олега", {("name", "анну петрову"), ("name", "олега")}),
    ("поговори з Оленою Коваль у Києві", {("name", "оленою коваль"), ("name", "києві")}),
    ("my name is anna", {("name", "anna")}),
    ("меня зовут олег", {("name", "олег")}),
    ("我叫王小明，很高兴", {("name", "王小明")}),
    ("我的名字是李雷。", {("name", "李雷")}),
]


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_a_fact_is_found_in_its_normal_form(text: str, expected: set[tuple[str, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Hello! How are you today? I'm fine, and you are too.",
        "Please wait. Then go on. Yes. No. OK.",
        "It was the 1st time, support is great.",
        "Привет! Как Вы поживаете? Спасибо.",
        "他叫我去。叫车吧。你叫什么名字？",
        "Das ist nicht der Tisch, und die Lampe ist nicht schön.",
        "",
    ],
)
def test_small_talk_holds_no_facts(text: str) -> None:
    assert found(text) == set()


@pytest.mark.parametrize(
    ("said", "summary"),
    [
        ("Pay 1,200 EUR to us.", "The user pays 1200 euros."),
        ("It costs $45.", "The price is 45 USD."),
        ("on 14 March 2025", "The date is 2025-03-14."),
        ("14 марта 2025 года", "Дата: 14.03.2025"),
        ("on 14 March", "Agreed on 2025-03-14."),
        ("at 7:30 pm", "at 19:30"),
        ("工号是Ａ１０２３", "Badge A1023"),
        ("mail Anna.K@Example.com", "anna.k@example.com wrote"),
        ("ask Maria Lopez", "MARIA LOPEZ was asked"),
        ("Поговори с Анной", "Анна согласна"),
        ("call +1 (555) 123-4567", "Number: +1 555 123 4567"),
        ("我叫王小明，你好", "用户名叫王小明，需要帮助"),
    ],
)
def test_a_fact_written_another_way_is_not_lost(said: str, summary: str) -> None:
    known = facts_in(said)
    assert known
    assert lost(known, summary) == []


@pytest.mark.parametrize(
    ("said", "summary"),
    [
        ("Order A1023 please", "Order A10234 was made"),
        ("Order A1023 please", "Order XA1023 was made"),
        ("badge 4471", "badge 14471"),
        ("on 14 March 2025", "on 15 March 2025"),
        ("It costs $45.", "It costs 45 EUR."),
        ("ask Maria Lopez", "ask Mario"),
        ("Поговори с Анной", "Поговорили"),
        ("工号是A1023", "工号已记录"),
    ],
)
def test_a_fact_that_is_not_there_is_lost(said: str, summary: str) -> None:
    known = facts_in(said)
    assert lost(known, summary) == list(known)


def test_tool_results_and_own_blocks_hold_no_facts() -> None:
    text = "Order A1023 costs 45 EUR."
    messages: list[BaseMessage] = [
        ToolMessage(text, tool_call_id="1"),
        SystemMessage(text),
        HumanMessage(text, additional_kwargs={"threadkeep": "summary"}),
    ]
    assert gather(messages) == []
    assert len(gather([HumanMessage(text)])) == len(gather([AIMessage(text)])) == 2


def test_facts_are_counted_by_message_and_ordered_by_the_last_place() -> None:
    messages = [HumanMessage("A1 and B2", id="1"), AIMessage("A1, A1", id="2"), HumanMessage("C3", id="3")]
    known = gather(messages)
    assert [(f.value, f.times, f.source) for f in known] == [("b2", 1, "1"), ("a1", 2, "2"), ("c3", 1, "3")]
    assert [f.value for f in ranked(known)] == ["a1", "c3", "b2"]
    later = gather([HumanMessage("B2", id="4")], known=known)
    assert [(f.value, f.times) for f in later] == [("a1", 2), ("c3", 1), ("b2", 2)]


def test_a_message_is_searched_to_its_cap_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = facts_module.facts_in
    monkeypatch.setattr(facts_module, "facts_in", lambda text: calls.append(len(text)) or real(text))  # type: ignore[func-returns-value]
    cache: FactCache[tuple[Fact, ...]] = FactCache(8)
    text = "A1 " + "x" * CAP + " B2"
    assert [f.value for f in facts_of(HumanMessage(text), cache=cache)] == ["a1"]
    assert [f.source for f in facts_of(AIMessage(text, id="m2"), cache=cache)] == ["m2"]
    assert calls == [CAP]


def test_the_cache_is_bounded() -> None:
    cache: FactCache[int] = FactCache(3)
    for number in range(5):
        cache.put(str(number), number)
        cache.get("0")
    assert len(cache) == 3
    assert [cache.get(str(number)) for number in range(5)] == [0, None, None, 3, 4]


def test_a_context_has_at_most_eight_words_around_it() -> None:
    words = " ".join(f"w{'abcdefghijklmnop'[n % 16]}" for n in range(40))
    (fact,) = (f for f in facts_in(f"{words} QX-117 {words}") if f.value == "qx-117")
    assert fact.text in fact.context
    assert len(fact.context.split()) == 1 + WORDS_AROUND
    (other,) = facts_in("Not this one. Take QX-117 now. Nor this one.")
    assert other.context == "Take QX-117 now"


def chars(text: str) -> int:
    return (len(text) + 2) // 3


def words(text: str) -> int:
    return len(text.split()) * 2


def quirky(text: str) -> int:
    return sum(3 if not c.isascii() else 1 for c in text) // 2 + 5 * text.count("\n")


TEXT = st.text(st.sampled_from("ab 1A-,.\n我叫Ж€"), min_size=1, max_size=60)


@settings(max_examples=200, deadline=None)
@given(
    pins=st.lists(TEXT, max_size=12),
    said=st.lists(st.tuples(TEXT, TEXT), max_size=20),
    limits=st.tuples(st.integers(0, 120), st.integers(0, 120)),
    count=st.sampled_from([chars, words, quirky]),
    reference=st.sampled_from([None, "read_history('m1-m9')"]),
    tongue=st.sampled_from(["en", "ru", "zh"]),
)
def test_a_block_never_exceeds_its_budget(
    pins: list[str],
    said: list[tuple[str, str]],
    limits: tuple[int, int],
    count: Callable[[str], int],
    reference: str | None,
    tongue: str,
) -> None:
    missing = [
        Fact(kind="id", value=f"v{n}", text=text, context=f"{text} {more}")
        for n, (text, more) in enumerate(said)
    ]
    pinned = [Pin(text=text) for text in pins]
    parts = {"pins_limit": limits[0], "facts_limit": limits[1]}
    words = wording_of(tongue)
    block = restate(pinned, missing, count=count, reference=reference, wording=words, **parts)
    only_pins = restate(pinned, [], count=count, reference=reference, wording=words, **parts)
    assert count(only_pins.text) <= limits[0]
    assert count(block.text.removeprefix(only_pins.text).lstrip("\n")) <= limits[1]
    assert 0 <= block.omitted_pins <= len(pins)
    assert 0 <= block.omitted_facts <= len(said)


def test_pins_come_newest_first_and_the_rest_is_counted() -> None:
    pinned = [Pin(text=f"Remember that number {n} is for door {n}.") for n in range(40)]
    block = restate(pinned, [], count=chars, pins_limit=100, reference="read_history('m1')")
    lines = block.text.splitlines()
    assert lines[1] == "- Remember that number 39 is for door 39."
    assert lines[2] == "- Remember that number 38 is for door 38."
    assert block.omitted_pins == 40 - len([line for line in lines if line.startswith("- ")])
    assert f"{block.omitted_pins} older requests" in lines[-1]
    assert "read_history('m1')" in lines[-1]


def test_a_pin_that_does_not_fit_gives_way_to_one_that_does() -> None:
    pinned = [Pin(text="Remember A1."), Pin(text="Remember " + "very " * 300 + "long.")]
    block = restate(pinned, [], count=chars, pins_limit=60)
    assert "- Remember A1." in block.text
    assert block.omitted_pins == 1


def test_what_a_pin_says_is_not_restated_as_a_fact() -> None:
    known = gather([HumanMessage("Remember that my badge is B-4471, and use C-1.", id="1")])
    pin = Pin(text="Remember that my badge is B-4471")
    block = restate([pin], known, count=chars)
    assert block.text.count("B-4471") == 2  # in the pin, and in the words around C-1
    assert block.omitted_facts == 0
    assert "C-1" in block.text


def test_one_line_restates_all_facts_it_holds() -> None:
    known = gather([HumanMessage("Order A1023 costs 45 EUR on 3 May.", id="1")])
    block = restate([], known, count=chars)
    assert len(known) == 3
    assert len(block.text.splitlines()) == 2


NASTY = (
    "a|1|1 |1,111,|A1-|A. |Aa | |\n|Cap. Word |a@|www.|http://a|5 may |may 5 |我叫|remember |, remember|please, |"
    '```x|"|[user|(1|1:1|1-1-|€1|%|<|запомни, |Ж|+1 |dock |1月|1点|Aa-|- a\n|> a\n|A.A. |van |{"id": 1},|'
    "a'"
).split("|")


def calls_made(run: Callable[[], object]) -> int:
    """Count what the interpreter calls, a measure of work that does not depend on the machine's load."""
    made = 0

    def note(*_: object) -> None:
        nonlocal made
        made += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return made


def work(unit: str, size: int) -> tuple[int, float]:
    """Return the calls made and the processor time used (in pattern matching, too) for a text of one size."""
    text = (unit * (size // len(unit) + 1))[:size]

    def run() -> None:
        spans(text)
        pinned_sentences(text)
        language.detect(text)

    calls = calls_made(run)
    started = time.process_time()
    run()
    return calls, time.process_time() - started


@pytest.mark.parametrize("unit", NASTY)
def test_work_grows_with_the_text_and_not_faster(unit: str) -> None:
    small, large = work(unit, 1_000), work(unit, 8_000)
    assert large[0] <= 10 * small[0] + 200
    assert large[1] <= 30 * max(small[1], 0.001)  # eight times the text; squared it would be 64


@pytest.mark.parametrize("unit", NASTY)
def test_300_kilobytes_of_anything_end(unit: str) -> None:
    text = (unit * (300_000 // len(unit) + 1))[:300_000]
    message = HumanMessage(text)
    assert len(facts_of(message, cache=FactCache(1))) < CAP
    assert not any(len(pin) > CAP for pin in pinned_sentences(text[:CAP]))


def test_any_text_can_be_searched() -> None:
    chance = random.Random(7)
    alphabet = "aZ09 .,:;-/+@#€%()[]\"'\n\t我叫是年月日点ЖяїÄßé\u0300\u200b\ud800😀"
    for _ in range(400):
        text = "".join(chance.choices(alphabet, k=chance.randrange(120)))
        for fact in facts_in(text):
            assert fact.text in text
            assert fact.text in fact.context
            assert fact.context in text
            assert lost([fact], text) == []
        pinned_sentences(text)
        language.detect(text)
