"""What a model says about entities, read from JSON as models write it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from threadkeep.context.summaries.useless import cleaned

MOST = 200
"""Objects of one answer that are read."""

_LONGEST = 200
_DECODER = json.JSONDecoder()
_TRAILING = re.compile(r",(?=\s{0,50}[}\]])")
_KINDS = {
    "organization": "organisation",
    "company": "organisation",
    "org": "organisation",
    "location": "place",
    "city": "place",
    "people": "person",
}
_KNOWN = ("person", "place", "project", "organisation")


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """Hold one statement about an entity as a model made it, with the numbers of the messages it names."""

    name: str
    kind: str
    fact: str
    messages: tuple[int, ...]


def claims(answer: str) -> list[Claim] | None:
    """Return the statements in an answer, or None where it holds no JSON.

    Text around the JSON, code fences, commas before a closing bracket, a list inside an object and an answer that was
    cut off are all read; an item without a name or a fact is left out.
    """
    text = _TRAILING.sub("", cleaned(answer))
    found = False
    read: list[Claim] = []
    for value in _values(text):
        found = True
        read += _claims(value)
    return read[:MOST] if found else None


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON lists and objects in a text; inside one that does not parse, those it holds."""
    place, tries = 0, 0
    while tries < MOST:
        match = re.compile(r"[\[{]").search(text, place)
        if match is None:
            return
        tries += 1
        try:
            value, place = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            place = match.end()
        else:
            yield value


def _claims(value: Any) -> Iterator[Claim]:
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from _claims(item)
    elif isinstance(value, dict):
        if isinstance(value.get("name"), str):
            yield from _claim(value)
        else:
            for inner in value.values():
                if isinstance(inner, list):
                    yield from _claims(inner)


def _claim(item: dict[str, Any]) -> Iterator[Claim]:
    facts = item.get("fact", item.get("facts"))
    name, kind = _text(item["name"]), str(item.get("kind", item.get("type", ""))).casefold()
    kind = _KINDS.get(kind, kind)
    for fact in facts if isinstance(facts, list) else [facts]:
        if isinstance(fact, str) and name and _text(fact):
            yield Claim(
                name=name[:80],
                kind=kind if kind in _KNOWN else "",
                fact=_text(fact),
                messages=_numbers(item.get("messages", item.get("message"))),
            )


def _numbers(value: Any) -> tuple[int, ...]:
    values = value if isinstance(value, list) else [value]
    digits = (re.sub(r"[^0-9]", "", str(number))[:9] for number in values[:20])
    return tuple(int(number) for number in digits if number)


def _text(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]
