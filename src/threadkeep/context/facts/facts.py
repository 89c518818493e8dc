"""Facts that a summary must keep: which there are, which it lost, and how they are restated within a budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from threadkeep.context.facts.fact_cache import FactCache
from threadkeep.context.facts.fact_patterns import around, spans
from threadkeep.context.facts.fact_values import contains, normal
from threadkeep.context.facts.pins import Pin
from threadkeep.context.summaries.fences import is_own
from threadkeep.context.summaries.wording import ENGLISH, Wording, fill

CAP = 20_000
"""Characters of one message that are searched; what stands after them is not."""

PINS_LIMIT, FACTS_LIMIT = 400, 300
"""Tokens for restated pins and facts where no other budget is given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """Hold one detail of a message.

    Args:
        kind: `date`, `time`, `amount`, `number`, `id`, `email`, `url`, `phone` or `name`.
        value: The detail in a normal form, by which it is compared.
        text: The detail as written.
        context: The detail with at most eight words around it, as written.
        source: The id of the (newest) message it stands in.
        times: How many messages it stands in.
    """

    kind: str
    value: str
    text: str
    context: str
    source: str | None = None
    times: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Hold the restated pins and facts as text, and how many did not fit."""

    text: str = ""
    omitted_pins: int = 0
    omitted_facts: int = 0


EMPTY = Block()

_CACHE: FactCache[tuple[Fact, ...]] = FactCache(4_096)


def facts_of(message: BaseMessage, *, cache: FactCache[tuple[Fact, ...]] | None = None) -> tuple[Fact, ...]:
    """Return the facts in a human message or an answer; none in tool results and in the package's own blocks.

    Time is linear in the text, at most `CAP` characters of which are searched, once per content.

    Args:
        message: Any message.
        cache: Where facts are kept by content; by default one that the process shares.
    """
    if not isinstance(message, HumanMessage | AIMessage) or is_own(message):
        return ()
    text = message.text[:CAP]
    kept = _CACHE if cache is None else cache
    found = kept.get(text)
    if found is None:
        found = kept.put(text, facts_in(text))
    return tuple(replace(fact, source=message.id) for fact in found) if message.id else found


def facts_in(text: str) -> tuple[Fact, ...]:
    """Return the facts in a text, each value once, in the order of their first place."""
    facts: dict[tuple[str, str], Fact] = {}
    for start, end, kind, value in spans(text):
        if (kind, value) not in facts:
            context = around(text, start, end)
            facts[kind, value] = Fact(kind=kind, value=value, text=text[start:end], context=context)
    return tuple(facts.values())


def gather(messages: Iterable[BaseMessage], *, known: Iterable[Fact] = ()) -> list[Fact]:
    """Return the facts of several messages, each once, ordered by where it was said last.

    Args:
        messages: In order; a fact said again has the later message as its source.
        known: Facts of still earlier messages, which count as said before.
    """
    facts = {(fact.kind, fact.value): fact for fact in known}
    for message in messages:
        for fact in facts_of(message):
            before = facts.pop((fact.kind, fact.value), None)
            facts[fact.kind, fact.value] = replace(fact, times=before.times + 1) if before else fact
    return list(facts.values())


def lost(facts: Iterable[Fact], text: str) -> list[Fact]:
    """Return the facts that a text does not mention, whichever way it writes them."""
    written = normal(text)
    found = [(kind, value) for _, _, kind, value in spans(text)]
    dates = {f"-{value[4:]}" for kind, value in found if kind == "date" and value[:4].isdigit()}
    values = dates | {value for _, value in found}
    return [
        fact
        for fact in facts
        if fact.value not in values and not contains(written, fact.kind, fact.value, fact.text)
    ]


def ranked(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts by importance: said most often first, then the most recent."""
    places = sorted(range(len(facts)), key=lambda place: (-facts[place].times, -place))
    return [facts[place] for place in places]


def restate(
    pinned: Sequence[Pin],
    missing: Sequence[Fact],
    *,
    count: Callable[[str], int],
    pins_limit: int = PINS_LIMIT,
    facts_limit: int = FACTS_LIMIT,
    reference: str | None = None,
    wording: Wording = ENGLISH,
) -> Block:
    """Write pins and lost facts down again, each part within its budget.

    Pins come newest first, facts by `ranked`; one that does not fit gives way to a shorter one behind it. A last
    line says how many did not fit, unless it does not fit either.

    Args:
        pinned: Sentences, oldest first.
        missing: Facts, those said last at the end.
        count: Counts the tokens of a text; neither part is ever longer than its limit by this count.
        pins_limit: Tokens for the pins with their heading.
        facts_limit: Tokens for the facts with their heading.
        reference: How the earlier messages can be read, such as a call of a recall tool.
        wording: Headings.
    """
    sentences = [f"- {_line(pin.text)}" for pin in reversed(pinned)]
    pins, shown = _part(wording.pinned, sentences, wording.more_pinned, pins_limit, count, reference, wording)
    said = "\n".join(sentences[index] for index in shown)
    left = ranked(lost(missing, said)) if said else ranked(missing)
    lines, owners = _contexts(left)
    facts, told = _part(
        wording.facts, lines, wording.more_facts, facts_limit, count, reference, wording, owners
    )
    return Block(
        text="\n\n".join(part for part in (pins, facts) if part),
        omitted_pins=len(pinned) - len(shown),
        omitted_facts=len(left) - sum(owners[index] for index in told),
    )


def _contexts(facts: Sequence[Fact]) -> tuple[list[str], list[int]]:
    """Return one line per context and how many of the facts each line holds; a line may say several."""
    lines: list[str] = []
    owners: list[int] = []
    places: dict[str | None, list[int]] = {}
    for fact in facts:
        near = places.setdefault(fact.source, [])
        written = _line(fact.text)
        told = next((place for place in near if written in lines[place]), None)
        if told is None:
            near.append(len(lines))
            lines.append(f"- {_line(fact.context)}")
            owners.append(1)
        else:
            owners[told] += 1
    return lines, owners


def _part(
    heading: str,
    lines: Sequence[str],
    more: str,
    limit: int,
    count: Callable[[str], int],
    reference: str | None,
    wording: Wording,
    owners: Sequence[int] | None = None,
) -> tuple[str, list[int]]:
    """Return as many lines as fit below a heading, and which they are."""
    if not lines or limit <= 0:
        return "", []
    weights = owners or [1] * len(lines)

    def text_of(chosen: Sequence[int]) -> str:
        rest = sum(weights) - sum(weights[index] for index in chosen)
        shown = [heading, *(lines[index] for index in chosen)] if chosen else []
        return "\n".join([*shown, *([_rest(more, rest, reference, wording)] if rest else [])])

    chosen = _fitting(lines, limit - count(heading), count)
    while chosen and count(text_of(chosen)) > limit:
        chosen.pop()
    text = text_of(chosen)
    return (text, chosen) if count(text) <= limit else ("", [])


def _fitting(lines: Sequence[str], room: int, count: Callable[[str], int]) -> list[int]:
    chosen = []
    for index, line in enumerate(lines):
        tokens = count(line + "\n")
        if tokens <= room:
            chosen.append(index)
            room -= tokens
        if room <= 0:
            break
    return chosen


def _rest(more: str, number: int, reference: str | None, wording: Wording) -> str:
    end = fill(wording.reference, reference=reference) if reference else ""
    return f"({fill(more, count=number)}{end})"


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
