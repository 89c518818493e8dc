"""Facts that are written with digits: dates, times, amounts, telephone numbers, places with a number.

A text is searched at its runs of digits only: at each, readers look at the digits and at what follows, some also at the
few characters before. The first one that finds something takes the place, and the search goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from threadkeep.context.facts.calendar_words import month_of, unit_of
from threadkeep.context.facts.fact_values import number

Span = tuple[int, int, str, str]

_RUN = re.compile(r"[0-9]+")
_LETTERS = r"[^\W\d_]"
_DIGITS = r"(?:[0-9]{1,3}(?:[ ,.'][0-9]{3}){1,5}(?:[.,][0-9]{1,2})?|[0-9]{1,15}(?:[.,][0-9]{1,6})?)(?![0-9])"
_PLAIN = re.compile(_DIGITS)
_NUMBER = re.compile(rf"(?<![0-9A-Za-z])(?<![0-9][.,']){_DIGITS}")
_YMD = re.compile(r"(?<![0-9A-Za-z])([12][0-9]{3})([-/.])([01]?[0-9])\2([0-3]?[0-9])(?![0-9])")
_DMY = re.compile(
    r"(?<![0-9A-Za-z.])([0-3]?[0-9])([./-])([0-3]?[0-9])\2([12][0-9]{3}|[0-9]{2})(?![0-9A-Za-z])"
)
_HAN_DATE = re.compile(r"(?:([12][0-9]{3})年)?([01]?[0-9])月([0-3]?[0-9])[日号號]")
_DAY_MONTH = re.compile(
    rf"(?<![0-9A-Za-z])([0-3]?[0-9])(?:st|nd|rd|th|\.|-го|-е|er|º)?\s{{1,3}}(?:of |de )?({_LETTERS}{{3,12}})\.?"
    r"(?:,?\s{1,3}(?:de )?([12][0-9]{3})(?![0-9]))?"
)
_DAY_YEAR = re.compile(r"([0-3]?[0-9])(?:st|nd|rd|th)?(?![0-9:A-Za-z])(?:,?\s{1,3}([12][0-9]{3})(?![0-9]))?")
_CLOCK = re.compile(
    r"(?<![0-9:.])([01]?[0-9]|2[0-4])[:h]([0-5][0-9])(?::([0-5][0-9]))?(?![0-9])(?:\s?([ap])\.?m(?![A-Za-z]))?",
    re.IGNORECASE,
)
_HOUR = re.compile(
    r"(?<![0-9:.,A-Za-z])([01]?[0-9]|2[0-4])\s?(?:([ap])\.?m(?![A-Za-z])|(утра|ранку|ночи|ночі|дня|вечера|вечора|Uhr)"
    r"(?![^\W\d_]))",
    re.IGNORECASE,
)
_HAN_HOUR = re.compile(r"([01]?[0-9]|2[0-4])[点點時](?!間)(?:([0-5]?[0-9])分?|(半))?")
_PHONE = re.compile(
    r"(?<![0-9A-Za-z.,/-])([0-9]{1,15}(?:\)?[ -]?\(?(?<![0-9])[0-9]{2,4}(?![0-9])){0,6})(?![0-9A-Za-z])"
)
_AMOUNT = re.compile(
    rf"(?<![0-9A-Za-z])(?<![0-9][.,'])({_DIGITS})"
    r"(?:\s?(k|thousand|million|billion|тыс|тис|млн|млрд|万|萬|亿|億)(?![A-Za-z])\.?)?[\s-]?"
    r"([A-Za-z°$€£¥₽₴₹%]{1,12}|[а-яёіїєґА-ЯЁІЇЄҐ]{1,14}|[\u4e00-\u9fff]{1,3})?"
)
_CURRENCIES = (
    "US$",
    "USD",
    "EUR",
    "GBP",
    "RUB",
    "UAH",
    "CNY",
    "JPY",
    "INR",
    "$",
    "€",
    "£",
    "¥",
    "₽",
    "₴",
    "₹",
)
_PLACES = frozenset(
    "dock gate room bay aisle line lane floor unit apt apartment platform terminal seat table level shelf slot zone "
    "dept ward locker building block row step page chapter section no # № дом кв офис этаж комната кабинет склад ряд "
    "место ворота поверх кімната будинок".split()
)
_SCALES = {"k": 3, "thousand": 3, "тыс": 3, "тис": 3, "million": 6, "млн": 6, "billion": 9, "млрд": 9}
_SCALES |= {"万": 4, "萬": 4, "亿": 8, "億": 8}
_LATE = frozenset("p дня вечера вечора 下午 晚上 午後".split())
_HALVES = ("上午", "下午", "晚上", "早上", "凌晨", "中午", "午前", "午後")


def number_facts(text: str) -> Iterator[Span]:
    """Yield the start, the end, the kind and the normal value of each such fact in a flat text."""
    end = 0
    for run in _RUN.finditer(text):
        if run.start() < end or run.end() - run.start() > 15:
            continue
        readers = _readers(
            run.end() - run.start(), text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
        )
        span = next(filter(None, (read(text, run.start()) for read in readers)), None)
        if span is not None and span[0] >= end:
            end = span[1]
            yield span


def plain_numbers(text: str) -> Iterator[Span]:
    """Yield the numbers of at least two digits in what other kinds left of a flat text."""
    end = 0
    for run in _RUN.finditer(text):
        match = _NUMBER.match(text, run.start()) if run.start() >= end else None
        if match is not None and len(match[0]) > 1:
            end = match.end()
            yield match.start(), end, "number", number(match[0])


def _date(start: int, end: int, year: str | None, month: int, day: int) -> Span | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    if year and len(year) == 2:
        year = f"20{year}"
    return start, end, "date", f"{year or '-'}-{month:02}-{day:02}"


def _ymd(text: str, start: int) -> Span | None:
    match = _YMD.match(text, start)
    return _date(start, match.end(), match[1], int(match[3]), int(match[4])) if match else None


def _dmy(text: str, start: int) -> Span | None:
    match = _DMY.match(text, start)
    if match is None:
        return None
    first, second = int(match[1]), int(match[3])
    if match[2] == "." or first > 12:
        return _date(start, match.end(), match[4], second, first)
    if second > 12 or first == second:
        return _date(start, match.end(), match[4], first, second)
    return start, match.end(), "date", match[0].replace("-", "/")  # day or month first: nobody can tell


def _han_date(text: str, start: int) -> Span | None:
    match = _HAN_DATE.match(text, start)
    return _date(start, match.end(), match[1], int(match[2]), int(match[3])) if match else None


def _day_month(text: str, start: int) -> Span | None:
    match = _DAY_MONTH.match(text, start)
    month = month_of(match[2]) if match else None
    return _date(start, match.end(), match[3], month, int(match[1])) if match and month else None


def _month_day(text: str, start: int) -> Span | None:
    match = _DAY_YEAR.match(text, start)
    if match is None or text[start - 1 : start] not in (" ", "\t"):
        return None
    place, word = _word_before(text, start)
    month = month_of(word)
    return _date(place, match.end(), match[2], month, int(match[1])) if month else None


def _word_before(text: str, start: int) -> tuple[int, str]:
    """Return where the word before a place begins, at most 16 characters back, and the word."""
    least = max(0, start - 18)
    left = text[least:start]
    left = left[: _edge(left)]
    place = len(left)
    while place and left[place - 1].isalpha():
        place -= 1
    return least + place, left[place:]


def _edge(left: str) -> int:
    end = len(left)
    while end and left[end - 1] in " \t#№.:":
        end -= 1
    return end


def _time(start: int, end: int, hour: int, minute: int, late: str | None, second: str | None = None) -> Span:
    late = (late or "").casefold()
    hour = hour + 12 if late in _LATE and hour < 12 else 0 if late == "a" and hour == 12 else hour
    return start, end, "time", f"{hour:02}:{minute:02}" + (f":{second}" if second else "")


def _clock(text: str, start: int) -> Span | None:
    match = _CLOCK.match(text, start)
    return _time(start, match.end(), int(match[1]), int(match[2]), match[4], match[3]) if match else None


def _hour(text: str, start: int) -> Span | None:
    match = _HOUR.match(text, start)
    return _time(start, match.end(), int(match[1]), 0, match[2] or match[3]) if match else None


def _han_hour(text: str, start: int) -> Span | None:
    match = _HAN_HOUR.match(text, start)
    if match is None:
        return None
    half = text[max(0, start - 2) : start]
    place = start - 2 if half in _HALVES else start
    return _time(place, match.end(), int(match[1]), 30 if match[3] else int(match[2] or 0), half)


def _phone(text: str, start: int) -> Span | None:
    match = _PHONE.match(text, start)
    if match is None:
        return None
    before = text[max(0, start - 2) : start]
    place = start - 2 if before == "+(" else start - 1 if before[-1:] in ("+", "(") else start
    written = match[0]
    digits = re.sub(r"[^0-9]", "", written)
    groups = re.split(r"[ ()-]+", written)
    thousands = " " in written and all(len(group) == 3 for group in groups[1:]) and len(groups[0]) <= 3
    marked = place < start or "(" in written
    plain = len(groups) == 1 and len(digits) in (10, 11)
    fits = 7 <= len(digits) <= 15 and (marked or plain or (len(groups) > 2 and not thousands))
    return (place, match.end(), "phone", digits) if fits else None


def _money(text: str, start: int) -> Span | None:
    left = text[max(0, start - 4) : start].rstrip(" ")
    currency = next((sign for sign in _CURRENCIES if left.endswith(sign)), None)
    match = _PLAIN.match(text, start) if currency else None
    if currency is None or match is None:
        return None
    place = text.rindex(currency, 0, start)
    return place, match.end(), "amount", f"{number(match[0])} {unit_of(currency)}"


def _amount(text: str, start: int) -> Span | None:
    match = _AMOUNT.match(text, start)
    if match is None:
        return None
    scale, word = match[2], match[3] or ""
    unit = unit_of(word)
    while unit is None and len(word) > 1 and word[0] >= "\u4e00":
        word = word[:-1]
        unit = unit_of(word)
    value = _scaled(number(match[1]), _SCALES[scale.casefold()]) if scale else number(match[1])
    if unit:
        return start, match.start(3) + len(word), "amount", f"{value} {unit}"
    return (start, match.end(2), "amount", value) if scale else None


def _scaled(value: str, zeros: int) -> str:
    whole, _, decimals = value.partition(".")
    moved = (decimals + "0" * zeros)[:zeros]
    rest = decimals[zeros:]
    return number(whole + moved + (f".{rest}" if rest else ""))


def _place(text: str, start: int) -> Span | None:
    """Read `dock 5`, `room #12`, `№ 7`: a number that says little without the word before it."""
    match = _RUN.match(text, start)
    if match is None or match.end() - start > 6 or text[start - 1 : start].isalnum():
        return None
    place, word = _word_before(text, start)
    sign = text[max(0, start - 2) : start].strip()[-1:]
    if word.casefold() in _PLACES:
        return place, match.end(), "id", f"{word.casefold()} {match[0]}"
    if sign in _PLACES and sign:
        place = text.rindex(sign, 0, start)
        return place, match.end(), "id", f"{sign} {match[0]}"
    return None


def _readers(length: int, before: str, after: str) -> Iterator[Callable[[str, int], Span | None]]:
    """Yield what can be read at a run of so many digits between two characters, in order of precedence."""
    if length in (1, 2, 4) and after in _MARKS:
        yield from _MARKS[after]
    if before.isascii() and before.isalnum():
        return
    if length <= 2:
        yield from (_day_month, _month_day, _hour)
    if length >= 2 or before in ("+", "("):
        yield _phone
    yield from (_money, _amount, _place)


_MARKS: dict[str, tuple[Callable[[str, int], Span | None], ...]] = {
    "-": (_ymd, _dmy),
    "/": (_ymd, _dmy),
    ".": (_ymd, _dmy),
    ":": (_clock,),
    "h": (_clock,),
    "H": (_clock,),
    "年": (_han_date,),
    "月": (_han_date,),
    "点": (_han_hour,),
    "點": (_han_hour,),
    "時": (_han_hour,),
}
