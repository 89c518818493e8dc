"""Where the facts in a text are.

Every pattern begins at a border and is bounded, so that time is linear in the text whatever it holds. Borders are
ASCII letters and digits: a Chinese character next to a number is one, which it is not for `\\b`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from threadkeep.context.calendar_words import month_of, unit_of, weekday_of
from threadkeep.context.fact_values import flat, number
from threadkeep.context.names import names_in

WORDS_AROUND = 8
"""Words of context, before and after a fact taken together."""

_BEFORE, _REACH = 5, 90
_GONE = "\0"
_DIGITS = r"(?:[0-9]{1,3}(?:[ ,.'][0-9]{3}){1,5}(?:[.,][0-9]{1,2})?|[0-9]{1,15}(?:[.,][0-9]{1,6})?)(?![0-9])"
_N = rf"(?<![0-9A-Za-z])(?<![0-9][.,']){_DIGITS}"
_LETTERS = r"[^\W\d_]"

_URL = re.compile(r"(?<![A-Za-z0-9])(?:https?://|www\.)[!-;=?-Z\[\]_a-z~]{1,2048}", re.IGNORECASE)
_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}(?![A-Za-z0-9-])"
)
_YMD = re.compile(r"(?<![0-9A-Za-z])([12][0-9]{3})([-/.])([01]?[0-9])\2([0-3]?[0-9])(?![0-9])")
_DMY = re.compile(
    r"(?<![0-9A-Za-z.])([0-3]?[0-9])([./-])([0-3]?[0-9])\2([12][0-9]{3}|[0-9]{2})(?![0-9A-Za-z])"
)
_HAN_DATE = re.compile(r"(?<![0-9])(?:([12][0-9]{3})年)?([01]?[0-9])月([0-3]?[0-9])[日号號]")
_DAY_MONTH = re.compile(
    rf"(?<![0-9A-Za-z])([0-3]?[0-9])(?:st|nd|rd|th|\.|-го|-е|er|º)?\s{{1,3}}(?:of |de )?({_LETTERS}{{3,12}})\.?"
    r"(?:,?\s{1,3}(?:de )?([12][0-9]{3})(?![0-9]))?"
)
_MONTH_DAY = re.compile(
    rf"(?<!{_LETTERS})({_LETTERS}{{3,12}})\.?\s{{1,3}}([0-3]?[0-9])(?:st|nd|rd|th)?(?![0-9:A-Za-z])"
    r"(?:,?\s{1,3}([12][0-9]{3})(?![0-9]))?"
)
_WEEKDAY = re.compile(
    rf"(?<!{_LETTERS}){_LETTERS}{{1,2}}['’]?{_LETTERS}{{2,12}}(?!{_LETTERS})|(?:星期|周|週|礼拜|禮拜)[一二三四五六日天]"
)
_CLOCK = re.compile(
    r"(?<![0-9:.])([01]?[0-9]|2[0-4])[:h]([0-5][0-9])(?::([0-5][0-9]))?(?![0-9])(?:\s?([ap])\.?m(?![A-Za-z]))?",
    re.IGNORECASE,
)
_HOUR = re.compile(
    r"(?<![0-9:.,A-Za-z])([01]?[0-9]|2[0-4])\s?(?:([ap])\.?m(?![A-Za-z])|(утра|ранку|ночи|ночі|дня|вечера|вечора|Uhr)"
    r"(?![^\W\d_]))",
    re.IGNORECASE,
)
_HAN_HOUR = re.compile(
    r"(上午|下午|晚上|早上|凌晨|中午|午前|午後)?(?<![0-9])([01]?[0-9]|2[0-4])[点點時](?!間)(?:([0-5]?[0-9])分?|(半))?"
)
_PHONE = re.compile(
    r"(?<![0-9A-Za-z+.,/-])(?:\+[0-9]{1,3}[ -]?)?(?:\([0-9]{2,5}\)[ -]?)?[0-9]{2,15}(?:[ -][0-9]{2,4}){0,5}(?![0-9A-Za-z])"
)
_MONEY = re.compile(rf"(?<![A-Za-z])(US\$|USD|EUR|GBP|RUB|UAH|CNY|JPY|INR|[$€£¥₽₴₹])\s?({_DIGITS})")
_AMOUNT = re.compile(
    rf"({_N})(?:\s?(k|thousand|million|billion|тыс|тис|млн|млрд|万|萬|亿|億)(?![A-Za-z])\.?)?[\s-]?"
    rf"([A-Za-z°$€£¥₽₴₹%]{{1,12}}|[а-яёіїєґА-ЯЁІЇЄҐ]{{1,14}}|[\u4e00-\u9fff]{{1,3}})?"
)
_PLACE = re.compile(
    r"(?<![A-Za-z])(?:dock|gate|room|bay|aisle|line|lane|floor|unit|apt|apartment|platform|terminal|seat|table|level|"
    r"shelf|slot|zone|dept|ward|locker|building|block|row|step|page|chapter|section|no\.|#|№|дом|кв\.|офис|"
    r"этаж|комната|"
    r"кабинет|склад|ряд|место|ворота|поверх|кімната|будинок)\s{0,2}(?:#|№)?\s?[0-9]{1,6}(?![0-9])",
    re.IGNORECASE,
)
_C = r"A-Za-z0-9\u0400-\u04ff"
_TOKEN = re.compile(rf"[{_C}](?:[{_C}]|[-_/.#:](?=[{_C}]))*")
_NUMBER = re.compile(_N)
_ORDINAL = re.compile(r"[0-9]{1,4}(?:st|nd|rd|th|-?[а-яі]{1,3})", re.IGNORECASE)

_SCALES = {"k": 3, "thousand": 3, "тыс": 3, "тис": 3, "million": 6, "млн": 6, "billion": 9, "млрд": 9}
_SCALES |= {"万": 4, "萬": 4, "亿": 8, "億": 8}
_LATE = frozenset("p дня вечера вечора 下午 晚上 午後".split())

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\s\u3040-\u30ff\u3400-\u9fff]+")
_STOP = re.compile(r"[.!?…;](?=\s|$)|[。！？；\n]")

Span = tuple[int, int, str, str]


def find(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield each fact's kind, normal value, text as written, and text with at most eight words around it."""
    for start, end, kind, value in sorted(_spans(flat(text))):
        yield kind, value, text[start:end], _around(text, start, end)


def _spans(text: str) -> Iterator[Span]:
    """Yield facts kind by kind; what one kind took is gone for those that follow."""
    names = text
    for pattern, reader in _READERS:
        if pattern is _TOKEN:
            names = text
        found = [span for span in map(reader, pattern.finditer(text)) if span is not None]
        yield from found
        text = _without(text, found)
    for start, end in names_in(names):
        value = names[start:end].casefold()
        if _GONE not in value:
            yield start, end, "name", value


def _without(text: str, spans: list[Span]) -> str:
    pieces, place = [], 0
    for start, end, _, _ in spans:
        pieces += [text[place:start], _GONE * (end - start)]
        place = end
    return "".join([*pieces, text[place:]]) if spans else text


def _url(match: re.Match[str]) -> Span | None:
    address = match[0].rstrip(".,;:!?'\"")
    while address.endswith((")", "]")) and address.count("(") < address.count(")") + address.count("]"):
        address = address[:-1].rstrip(".,;:!?'\"")
    value = re.sub(r"^(?:https?://)?(?:www\.)?", "", address, flags=re.IGNORECASE).rstrip("/").casefold()
    return (match.start(), match.start() + len(address), "url", value) if value else None


def _email(match: re.Match[str]) -> Span:
    return match.start(), match.end(), "email", match[0].casefold()


def _date(match: re.Match[str], year: str | None, month: int, day: int) -> Span | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    if year and len(year) == 2:
        year = f"20{year}"
    return match.start(), match.end(), "date", f"{year or '-'}-{month:02}-{day:02}"


def _ymd(match: re.Match[str]) -> Span | None:
    return _date(match, match[1], int(match[3]), int(match[4]))


def _dmy(match: re.Match[str]) -> Span | None:
    first, second = int(match[1]), int(match[3])
    if match[2] == "." or first > 12:
        return _date(match, match[4], second, first)
    if second > 12 or first == second:
        return _date(match, match[4], first, second)
    return (
        match.start(),
        match.end(),
        "date",
        match[0].replace("-", "/"),
    )  # day or month first: nobody can tell


def _han_date(match: re.Match[str]) -> Span | None:
    return _date(match, match[1], int(match[2]), int(match[3]))


def _day_month(match: re.Match[str]) -> Span | None:
    month = month_of(match[2])
    return _date(match, match[3], month, int(match[1])) if month else None


def _month_day(match: re.Match[str]) -> Span | None:
    month = month_of(match[1])
    return _date(match, match[3], month, int(match[2])) if month else None


def _weekday(match: re.Match[str]) -> Span | None:
    word = match[0]
    day = weekday_of(word) or ("一二三四五六日".find("日" if word[-1] == "天" else word[-1]) + 1)
    return (match.start(), match.end(), "date", f"weekday-{day}") if day else None


def _time(match: re.Match[str], hour: int, minute: int, late: str | None, second: str | None = None) -> Span:
    late = (late or "").casefold()
    hour = hour + 12 if late in _LATE and hour < 12 else 0 if late == "a" and hour == 12 else hour
    return match.start(), match.end(), "time", f"{hour:02}:{minute:02}" + (f":{second}" if second else "")


def _clock(match: re.Match[str]) -> Span:
    return _time(match, int(match[1]), int(match[2]), match[4], match[3])


def _hour(match: re.Match[str]) -> Span:
    return _time(match, int(match[1]), 0, match[2] or match[3])


def _han_hour(match: re.Match[str]) -> Span:
    return _time(match, int(match[2]), 30 if match[4] else int(match[3] or 0), match[1])


def _phone(match: re.Match[str]) -> Span | None:
    written = match[0]
    digits = re.sub(r"[^0-9]", "", written)
    groups = re.split(r"[ -]", written)
    thousands = "-" not in written and all(len(group) == 3 for group in groups[1:]) and len(groups[0]) <= 3
    marked = written.startswith("+") or "(" in written
    plain = len(groups) == 1 and len(digits) in (10, 11)
    grouped = len(groups) > 2 and not thousands
    fits = 7 <= len(digits) <= 15 and (marked or plain or grouped)
    return (match.start(), match.end(), "phone", digits) if fits else None


def _money(match: re.Match[str]) -> Span:
    return match.start(), match.end(), "amount", f"{number(match[2])} {unit_of(match[1])}"


def _amount(match: re.Match[str]) -> Span | None:
    written, scale, word = match[1], match[2], match[3] or ""
    unit = unit_of(word)
    while unit is None and len(word) > 1 and word[0] >= "\u4e00":
        word = word[:-1]
        unit = unit_of(word)
    value = number(written)
    if scale:
        value = _scaled(value, _SCALES[scale.casefold()])
    if unit:
        return match.start(), match.start(3) + len(word), "amount", f"{value} {unit}"
    return (match.start(), match.end(2), "amount", value) if scale else None


def _scaled(value: str, zeros: int) -> str:
    whole, _, decimals = value.partition(".")
    moved = (decimals + "0" * zeros)[:zeros]
    rest = decimals[zeros:]
    return number(whole + moved + (f".{rest}" if rest else ""))


def _place(match: re.Match[str]) -> Span:
    return match.start(), match.end(), "id", " ".join(match[0].casefold().split())


def _token(match: re.Match[str]) -> Span | None:
    token = match[0]
    if len(token) > 64 or _ORDINAL.fullmatch(token):
        return None
    digits = sum(character.isdigit() for character in token)
    letters = any(character.isalpha() for character in token)
    coded = letters and (digits or (len(token) >= 5 and "-" in token and token.isupper()))
    return (
        (match.start(), match.end(), "id", token.casefold())
        if coded or (_is_grouped(token, digits))
        else None
    )


def _is_grouped(token: str, digits: int) -> bool:
    """Tell `12-345-678` from a number, a range and a fraction."""
    return digits >= 5 and any(mark in token for mark in "-_/#:")


def _number(match: re.Match[str]) -> Span | None:
    value = number(match[0])
    return (match.start(), match.end(), "number", value) if len(match[0]) > 1 else None


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Span | None]], ...] = (
    (_URL, _url),
    (_EMAIL, _email),
    (_YMD, _ymd),
    (_DMY, _dmy),
    (_HAN_DATE, _han_date),
    (_DAY_MONTH, _day_month),
    (_MONTH_DAY, _month_day),
    (_CLOCK, _clock),
    (_HOUR, _hour),
    (_HAN_HOUR, _han_hour),
    (_WEEKDAY, _weekday),
    (_PHONE, _phone),
    (_MONEY, _money),
    (_AMOUNT, _amount),
    (_PLACE, _place),
    (_TOKEN, _token),
    (_NUMBER, _number),
)


def _around(text: str, start: int, end: int) -> str:
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
