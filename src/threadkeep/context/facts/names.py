"""Names of people, places and organisations in a text: by capitals inside a sentence, and after "my name is"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from threadkeep.context.facts.calendar_words import month_of, weekday_of

LONGEST = 4
"""Words of one name."""

_L = r"A-Za-z\u00c0-\u024f\u0400-\u04ff"
_UPPER = r"A-ZÀ-ÖØ-ÞŁŚŻŹĆČŠŽŘĚŮİĞŞŐŰĂĐĎŤŇА-ЯЁІЇЄҐ"
# What a sentence often begins with before a name, besides the words of `_COMMON`.
_VERBS = frozenset(
    "ask call tell send email mail contact give show let meet remind schedule book move order ship deliver check find "
    "get see use add remove update visit invite message text notify inform thank forward assign bring take introduce "
    "make put write pay transfer copy cc dear yesterday today tomorrow".split()
)
_RUSSIAN_VERB = re.compile(r"[а-яіїє]{2,}(?:и|іть|ите|йте|ьте|[аія]вь|[вднт]ай)")
_PARTICLES = (
    "van",
    "von",
    "der",
    "den",
    "de",
    "da",
    "del",
    "di",
    "la",
    "le",
    "bin",
    "al",
    "el",
    "af",
    "zu",
    "dos",
)
_CAPITAL = rf"[{_UPPER}](?:[{_L}]|['-](?=[{_L}]))*"
_RUN = re.compile(
    rf"{_CAPITAL}(?:(?: |(?<=(?<![{_L}])[{_UPPER}])\. )(?:(?:{'|'.join(_PARTICLES)}) ){{0,2}}{_CAPITAL}){{0,3}}"
)
_WORD = re.compile(rf"[{_L}](?:[{_L}]|['-](?=[{_L}]))*")
_INTRODUCED = re.compile(
    rf"(?:my name is|my name's|i am called|call me|меня зовут|мене звати|мене звуть|me llamo|mi nombre es|"
    rf"ich heiße|mein name ist|je m'appelle|mi chiamo|meu nome é)\s{{1,3}}([{_L}]{{2,30}})",
    re.IGNORECASE,
)
_INTRODUCES = re.compile("name|call|зову|звати|звуть|llamo|nombre|hei|appelle|chiamo|nome", re.IGNORECASE)
_HAN = r"\u4e00-\u9fff"
_CHINESE = re.compile(
    rf"(?:名字(?:是|叫)|姓名(?:是|[:：])|名叫|叫做|叫作|叫)\s?([{_HAN}·]{{2,12}}|[A-Za-z]{{2,30}})"
)
_NOT_CALLED = "我你您他她它们什甚谁誰人车車外做作到醒停来來去起上下过過好喊不出"
_AFTER_NAME = re.compile(r"[，。是在来來的和今很也有从從去现現住想要我他她，年月岁歲个個这這那吧啊呢了]")

# Capitalised inside a sentence, and still no name.
_COMMON = frozenset(
    "i i'm i'll i've i'd ok okay yes no mr mrs ms dr the a an and or of for to in on at is it this that these those we "
    "you your my our his her its they he she please thanks thank hello hi hey dear sorry note also but so if then when "
    "what why how who where which can could would will shall do does did not let here there all any each sure great "
    "english german french spanish italian russian ukrainian chinese japanese korean portuguese arabic "
    "вы вас вам вами ваш ваша ваше ваши вашего вашей я ты он она мы они и а но да нет спасибо пожалуйста привет если "
    "это что как где когда для на в с по у к из за от до не же ли бы ну так "
    "ви вам вами ваш ваша ваше ваші вашого я ти він вона ми вони і й та але так ні дякую прошу привіт якщо "
    "це що як де коли для на в з по у до від за не же чи ну "
    "el la los las de y es un una le les des et est der die das und ist ich sie il lo gli che".split()
)
_GERMAN = re.compile(r"(?<![a-zäöüß])(?:der|die|das|und|ist|nicht|ich|ein|eine|mit|wir|zu|auf)(?![a-zäöüß])")
_ENGLISH = re.compile(r"(?<![a-z])(?:the|and|is|not|you|my|with|we|to|on|of|for)(?![a-z])")
_OFTEN_GERMAN = (" der ", " die ", " das ", " und ", " ist ", " nicht ", " ich ", " ein ", " mit ")
_STARTS = frozenset(".!?…。！？\n\r;•*>|")
_OUTER = frozenset(" \t\"'“”«»„()[]_#-—")


def names_in(flat: str) -> Iterator[tuple[int, int]]:
    """Yield where names stand in a text.

    Covered are names with capitals inside a sentence in languages that capitalise only names (English, Russian,
    Ukrainian and others; not German), names after "my name is" in several languages, and Chinese ones after 叫 and
    名字是. A single name that begins a sentence is not told from any other word.

    Args:
        flat: A text as `fact_values.flat` returns it.
    """
    for match in _INTRODUCED.finditer(flat) if _INTRODUCES.search(flat) else ():
        if match[1].casefold() not in _COMMON:
            yield match.span(1)
    for match in _CHINESE.finditer(flat) if "叫" in flat or "名" in flat else ():
        length = _called(match[1])
        if length:
            yield match.start(1), match.start(1) + length
    if not _is_german(flat):
        for run in _RUN.finditer(flat):
            yield from _named(flat, run)


def _is_german(flat: str) -> bool:
    return any(word in flat for word in _OFTEN_GERMAN) and len(_GERMAN.findall(flat)) > len(
        _ENGLISH.findall(flat)
    )


def _called(word: str) -> int:
    """Return how many characters after 叫 are a name."""
    if word[0].isascii():
        return len(word)
    if word[0] in _NOT_CALLED:
        return 0
    end = _AFTER_NAME.search(word, 2)
    length = end.start() if end else len(word)
    return length if length <= 4 or "·" in word else 3


def _named(flat: str, run: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the span of a run of capitalised words, without those at its ends that belong to no name."""
    start = run.start()
    if start and (flat[start - 1].isalnum() or flat[start - 1] == "_"):
        return
    words = list(_WORD.finditer(flat, start, run.end()))
    if flat[run.end() : run.end() + 1].isdigit():
        words.pop()
    while words and not _may_end(words[-1][0]):
        words.pop()
    if words and _begins(flat, start) and (len(words) == 1 or _is_opening(words[0][0])):
        words.pop(0)
    while words and (_is_common(words[0][0]) or words[0][0] in _PARTICLES):
        words.pop(0)
    if words and not all(_is_time(word[0]) for word in words):
        end = words[-1].end()
        yield words[0].start(), end - 2 if flat[end - 2 : end] in ("'s", "'S") else end


def _may_end(word: str) -> bool:
    """Say whether a word can end a name: no particle, no initial, no abbreviation in capitals, no common word."""
    return len(word) > 1 and word not in _PARTICLES and not word.isupper() and not _is_common(word)


def _is_opening(word: str) -> bool:
    """Say whether a word at the start of a sentence is rather a verb or a common word than a part of a name."""
    small = word.casefold()
    return small in _COMMON or small in _VERBS or _RUSSIAN_VERB.fullmatch(small) is not None


def _is_common(word: str) -> bool:
    return word.casefold() in _COMMON


def _is_time(word: str) -> bool:
    return month_of(word) is not None or weekday_of(word) is not None


def _begins(flat: str, start: int) -> bool:
    """Say whether a sentence begins here; quotes, brackets and bullets before it are skipped."""
    place = start - 1
    least = start - 8
    while place >= 0 and place > least and flat[place] in _OUTER:
        place -= 1
    return place < 0 or flat[place] in _STARTS
