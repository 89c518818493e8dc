"""Where the facts in a text are.

Every pattern begins at a border and is bounded, so that time is linear in the text whatever it holds. Borders are
ASCII letters and digits: a Chinese character next to a number is one, which it is not for `\\b`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from threadkeep.context.facts.calendar_words import WEEKDAYS, weekday_of
from threadkeep.context.facts.fact_values import flat
from threadkeep.context.facts.names import names_in
from threadkeep.context.facts.number_facts import Span, number_facts, plain_numbers

WORDS_AROUND = 8
"""Words of context, before and after a fact taken together."""

_BEFORE, _REACH = 5, 90
_GONE = "\0"

_URL = re.compile(r"(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ww][Ww][Ww]\.)[!-;=?-Z\[\]_a-z~]{1,2048}")
_HAS_URL = re.compile(r"://|[Ww]{3}\.")
_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}(?![A-Za-z0-9-])"
)
_WEEKDAY = re.compile(
    "|".join([f"(?:{WEEKDAYS})[а-яіїєё]{{0,4}}", "(?:星期|周|週|礼拜|禮拜)[一二三四五六日天]"])
)
_C = r"A-Za-z0-9\u0400-\u04ff"
_TOKEN = re.compile(rf"[{_C}](?:[{_C}]|[-_/.#:](?=[{_C}]))*")
_ORDINAL = re.compile(r"[0-9]{1,4}(?:st|nd|rd|th|-?[а-яі]{1,3})", re.IGNORECASE)

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\s\u3040-\u30ff\u3400-\u9fff]+")
_STOP = re.compile(r"[.!?…;](?=\s|$)|[。！？；\n]")


def spans(text: str) -> list[Span]:
    """Return each fact's start, end, kind and normal value, in the order of their places."""
    return sorted(_spans(flat(text)))


def _spans(text: str) -> Iterator[Span]:
    """Yield facts kind by kind; what one kind took is gone for those that follow."""
    for read in (_urls, _emails, number_facts, _weekdays, _tokens, plain_numbers):
        found = list(read(text))
        yield from found
        text = _without(text, found)
    for start, end in names_in(text):
        yield start, end, "name", text[start:end].casefold()


def _without(text: str, spans: Iterable[Span]) -> str:
    pieces, place = [], 0
    for start, end, _, _ in spans:
        pieces += [text[place:start], _GONE * (end - start)]
        place = end
    return "".join([*pieces, text[place:]]) if place else text


def _urls(text: str) -> Iterator[Span]:
    for match in _URL.finditer(text) if _HAS_URL.search(text) else ():
        address = match[0].rstrip(".,;:!?'\"")
        if address.endswith((")", "]")) and "(" not in address:
            address = address.rstrip(".,;:!?'\")]")
        value = re.sub(r"^(?:https?://)?(?:www\.)?", "", address, flags=re.IGNORECASE).rstrip("/").casefold()
        if value:
            yield match.start(), match.start() + len(address), "url", value


def _emails(text: str) -> Iterator[Span]:
    for match in _EMAIL.finditer(text) if "@" in text else ():
        yield match.start(), match.end(), "email", match[0].casefold()


def _weekdays(text: str) -> Iterator[Span]:
    for match in _WEEKDAY.finditer(text):
        start, end, word = match.start(), match.end(), match[0]
        if word[0] < "\u4e00" and (text[start - 1 : start].isalpha() or text[end : end + 1].isalpha()):
            continue
        day = weekday_of(word) or ("一二三四五六日".find("日" if word[-1] == "天" else word[-1]) + 1)
        if day:
            yield start, end, "date", f"weekday-{day}"


def _tokens(text: str) -> Iterator[Span]:
    for match in _TOKEN.finditer(text):
        token = match[0]
        if not token.isalpha() and _is_identifier(token):
            yield match.start(), match.end(), "id", token.casefold()


def _is_identifier(token: str) -> bool:
    """Tell `QX-117`, `ABC-DEF` and `12-345-678` from words, numbers, ranges, fractions and ordinals."""
    if len(token) > 64 or _ORDINAL.fullmatch(token):
        return False
    digits = sum(character.isdigit() for character in token)
    if any(character.isalpha() for character in token):
        return bool(digits) or (len(token) >= 5 and "-" in token and token.isupper())
    return digits >= 5 and any(mark in token for mark in "-_/#:")


def around(text: str, start: int, end: int) -> str:
    """Return a fact with the words around it, from its own sentence, as written."""
    left = text[max(0, start - _REACH) : start]
    stops = [match.end() for match in _STOP.finditer(left)]
    left = left[stops[-1] :] if stops else left
    before = [match.start() for match in _WORD.finditer(left)]
    if before and not stops and start > _REACH and before[0] == 0:
        before.pop(0)  # the first one may be half a word
    before = before[-_BEFORE:]
    right = text[end : end + _REACH]
    stop = _STOP.search(right)
    right = right[: stop.start()] if stop else right
    after = [match.end() for match in _WORD.finditer(right)]
    if after and not stop and len(right) == _REACH and after[-1] == _REACH:
        after.pop()
    after = after[: WORDS_AROUND - len(before)]
    return text[start - len(left) + before[0] if before else start : end + after[-1] if after else end]
