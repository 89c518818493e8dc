"""Which sentences of a text ask to remember something: imperatives, by language.

A sentence is a request when it begins with one (after words such as "please" or "and"), or ends with one after a comma
("my badge is 4471, please remember that"). Questions, reports ("he asked me to remember"), the past tense and denials
are none, and neither are quotations and code. All patterns are bounded and anchored, so that time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from threadkeep.context.facts.sentences import sentences

LONGEST = 600
"""Characters of one request, with the list that follows it."""

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_BULLET = re.compile(r"^(?:[-*•·–—]|\d{1,3}[.)])\s+")
_QUESTION = re.compile(r"[?？؟][\"'”’»)」』]{0,3}$|[吗嗎][。.！!]?$|^¿")
_APOSTROPHES = str.maketrans("’ʼ‘`", "''''")

# What may stand before the imperative, besides a name and a comma ("Claude, remember ...").
_BEFORE = {
    "en": r"(?:please|pls|kindly|and|also|but|so|ok|okay|now|just|always|hey|hi|oh|then|first|btw|by the way|"
    r"one more thing|important|note|yes|no|thanks|thank you|great|good|you must|you should|you need to|make sure to|"
    r"make sure you|be sure to|be sure you|let's|i(?: really)? (?:want|need) you to|i'd like you to|"
    r"i would like you to|i'd like for you to|i ask you to|try to|do)",
    "ru": r"(?:пожалуйста|плиз|и|а|но|ещё|еще|также|тоже|обязательно|только|просто|ну|так|кстати|слушай|слушайте|"
    r"значит|ок|окей|хорошо|спасибо|да|нет|теперь|сейчас|важно|навсегда|привет|"
    r"(?:я )?(?:очень )?прошу(?: тебя| вас)?|(?:я )?хочу, чтобы (?:ты|вы)|(?:мне )?(?:надо|нужно), чтобы (?:ты|вы))",
    "uk": r"(?:будь ласка|прошу|і|й|та|а|але|ще|також|теж|обов'язково|тільки|просто|ну|так|до речі|слухай|слухайте|"
    r"отже|ок|окей|добре|дякую|ні|тепер|зараз|важливо|назавжди|привіт|"
    r"(?:я )?(?:дуже )?прошу(?: тебе| вас)?|(?:я )?хочу, щоб (?:ти|ви)|(?:мені )?(?:треба|потрібно), щоб (?:ти|ви))",
    "es": r"(?:por favor|y|también|pero|ok|ahora|siempre|hola|quiero que|necesito que|oye|oiga|gracias)",
    "de": r"(?:bitte|und|auch|aber|ok|okay|jetzt|immer|hallo|also|danke|übrigens)",
    "fr": r"(?:s'il te plaît|s'il vous plaît|svp|stp|et|aussi|mais|ok|maintenant|toujours|bonjour|merci de|merci|"
    r"je veux que tu|je voudrais que vous|veuillez)",
    "pt": r"(?:por favor|e|também|mas|ok|agora|sempre|olá|obrigad[oa])",
    "it": r"(?:per favore|per piacere|e|anche|ma|ok|ora|sempre|ciao|grazie|ti prego di|la prego di)",
    "pl": r"(?:proszę|i|a|też|także|ale|ok|teraz|zawsze|cześć|dziękuję)",
}

# The imperative itself. `(?!...)` after it keeps out what only looks like one.
_ASKS = {
    "en": r"(?:remember|memori[sz]e|keep in mind|bear in mind|don't (?:ever )?forget|do not (?:ever )?forget|"
    r"never forget|make a note|take note|keep a note|write (?:this|that|it) down|note (?:this|that|it) down|"
    r"commit (?:this|that|it) to memory|keep (?:this|that|it) in mind|bear (?:this|that|it) in mind|"
    r"save (?:this|that|it) (?:for later|to memory|in your memory)|pin (?:this|that|it))"
    r"(?! (?:when|how|the time|that time|the days?|those days|the old days|last (?:time|summer|year)|me(?![a-z])))",
    "ru": r"(?:запомни(?:те)?|запомнил[аи]?(?=[ ,:])|помни(?:те)?|не забудь(?:те)?|не забывай(?:те)?|запомнить|"
    r"не забыть|не забывать|помнить|(?:имей|имейте|держи|держите) в (?:виду|голове|уме)|учти(?:те)?|"
    r"(?:запиши|запишите|заметь|заметьте) себе|зафиксируй(?:те)?|возьми(?:те)? на заметку)",
    "uk": r"(?:запам'ятай(?:те)?|запам'ятав(?=[ ,:])|запам'ятал[аи](?=[ ,:])|пам'ятай(?:те)?|не забудь(?:те)?|"
    r"не забувай(?:те)?|запам'ятати|не забути|не забувати|пам'ятати|май(?:те)? на увазі|врахуй(?:те)?|"
    r"(?:запиши|запишіть|занотуй|занотуйте) собі|візьми(?:іть)? до уваги|візьміть до уваги|зафіксуй(?:те)?)",
    "es": r"(?:recuerd[ae]n?|recuérda(?:lo|me)|recuérdelo|acuérdate|acuérdese|no (?:te |se )?olvides?|no lo olvides?|"
    r"(?:ten|tenga|tengan)(?:lo)? (?:en cuenta|presente)|memori[cz]a|memorice)",
    "de": r"(?:merke? dir|merken sie sich|merkt euch|vergiss(?: das| es)? nicht|vergesst(?: das| es)? nicht|"
    r"vergessen sie(?: das| es)? nicht|denke? (?:bitte )?(?:daran|dran)|denken sie (?:bitte )?(?:daran|dran)|"
    r"behalte?(?: das| es)? im (?:kopf|hinterkopf|gedächtnis)|behalten sie(?: das| es)? im (?:kopf|hinterkopf)|"
    r"notiere? dir|notieren sie sich)",
    "fr": r"(?:souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous|n'oublie pas|n'oubliez pas|ne l'oublie pas|"
    r"ne l'oubliez pas|retiens|retenez|retenir|gardez?(?:-le)? (?:en tête|à l'esprit|en mémoire)|mémorisez?|"
    r"prends(?: bonne)? note|prenez(?: bonne)? note)",
    "pt": r"(?:lembra-te|lembre-se|lembrem-se|lembre|não (?:se |te )?esqueças?|tenha em mente|tem em mente|memorize|"
    r"anote|guarde na memória)",
    "it": r"(?:ricordat[ie](?!vi)|ricordatevi|ricorda|ricordi|si ricordi|non dimenticare|non dimenticar(?:lo|ti)|"
    r"non dimentichi|tieni(?:lo)? (?:a mente|presente)|tenga (?:a mente|presente)|memorizza)",
    "pl": r"(?:zapamiętaj(?:cie)?|pamiętaj(?:cie)?|nie zapomnij(?:cie)?|nie zapominaj(?:cie)?|miej na uwadze|"
    r"proszę (?:zapamiętać|pamiętać))",
}

# Forms that are an imperative only after "I want you to" and the like: infinitives and, after "чтобы", the past.
_DEPENDENT = re.compile(
    r"^(?:запомнил|запомнить|не забыть|не забывать|помнить|запам'ята(?:в|л|ти)|не забути|"
    r"не забувати|пам'ятати|retenir)"
)
_WISH = re.compile(r"(?:прошу|хочу|надо|нужно|треба|потрібно|merci de|veuillez)[^.!?\n]{0,40}$")

_LETTER = r"[^\W\d_]"
_VOCATIVE = rf"(?:{_LETTER}{{1,20}}(?:[ -]{_LETTER}{{1,20}})?[,:!]\s{{0,3}})?"


def _starting(language: str) -> re.Pattern[str]:
    before = rf"(?:{_BEFORE[language]}[,:;!.…]?\s{{1,3}}){{0,5}}"
    return re.compile(rf"(?P<before>{_VOCATIVE}{before})(?P<asks>{_ASKS[language]})(?!{_LETTER})")


def _ending(language: str) -> re.Pattern[str]:
    """What asks to remember at the end of a sentence, or with "please" in its middle."""
    before = rf"(?:{_BEFORE[language]}[,]?\s{{1,3}}){{1,5}}"
    joint = r"(?:[,;:)–—-]\s{0,3}|(?<=\s)(?=(?:and|so|but|и|і|та|й|y|und|et|e|i)\s))"
    pronoun = r"(?:\s{1,3}[^\W\d_]{1,6}){0,2}"
    asks = rf"{_ASKS[language]}(?!{_LETTER})"
    return re.compile(rf"{joint}(?:{before}{asks}|{asks}{pronoun}\s{{0,3}}[.!…]{{0,3}}$)")


_STARTING = {language: _starting(language) for language in _ASKS}
_ENDING = {language: _ending(language) for language in _ASKS}

# Somebody reports a request, or what they do themselves: not a request to the assistant.
_REPORT = re.compile(
    r"(?:^|[^\w'])(?:said|says|told|tells|asked|asks|wrote|writes|reminded|reminds|"
    r"сказал[аи]?|говорит|говорил[аи]?|просил[аи]?|попросил[аи]?|велел[аи]?|написал[аи]?|"
    r"сказав|сказала|сказали|каже|просив|просила|попросив|попросила|написав|написала|"
    r"dijo|pidió|dice|sagte|sagt|bat|dit|demandé|disse|pediu|chiesto|powiedział|powiedziała|prosił|prosiła)(?:[^\w']|$)"
)

_ZH = re.compile(
    r"^(?:[\u4e00-\u9fff]{1,4}[，,：:])?(?:请你?|請你?|您|你(?!还|還)|麻烦你?|麻煩你?|帮我|幫我|帮忙|一定要|一定|千万|千萬|要|务必|務必|"
    r"另外|还有|還有|对了|對了|好的|那么?|也|都|永远|永遠|[，,\s]){0,6}"
    r"(?:记住(?!了)|記住(?!了)|牢记|牢記|谨记|謹記|记得(?!了|我|你|他|她|那|上次|当时)|記得(?!了|我|你|他|她|那|上次)|"
    r"别忘|別忘|不要忘|勿忘|记下|記下|记一下|記一下|记好|記好|铭记|銘記|备注一下)"
)
_ZH_END = re.compile(
    r"[，,；;、](?:也|都|还|還)?(?:请你?|請你?|麻烦你?|麻煩你?|帮我|幫我|一定要|千万|务必|務必|你要|要)?(?:记住|記住|牢记|牢記|记得|記得|别忘了|別忘了|"
    r"不要忘了|不要忘记|不要忘記|记下来?|記下來?|记一下|記一下)(?:这一?点|這一?點|这个|這個|这件事|它|哦|喔|啊|吧|[。！!～~.]){0,3}$"
)
_ZH_REPORT = re.compile(
    r"(?:他|她|他们|她们|它|老板|同事|妈妈|爸爸|医生)(?:让|讓|叫|要求|说|說|告诉|告訴)|我(?:已经|已經)?(?:记|記)(?:住|得)"
)
_JA = re.compile(
    r"(?:覚えておいて|覚えといて|おぼえておいて|おぼえといて|覚えて|忘れないで(?:おいて)?|記憶して(?:おいて)?|"
    r"メモして(?:おいて)?|記録して(?:おいて)?)(?:下さい|ください|くれ|ほしい(?:です)?|欲しい(?:です)?|いただけますと幸いです|ちょうだい|頂戴)?"
    r"(?:よ|ね|さい)?[。！!～…\s]{0,3}$"
)
_KO = re.compile(
    r"(?:기억해|기억해\s?줘|기억해\s?(?:주세요|두세요|둬)|기억하세요|기억하십시오|잊지\s?(?:마|마세요|말아\s?(?:줘|주세요)|마십시오)|"
    r"메모해\s?(?:줘|주세요|둬))요?[.!。~\s]{0,3}$"
)
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")

# A text without any of these holds no request, and is not cut into sentences.
_HINT = re.compile(
    r"rememb|memori|memory| mind|forget|note|down|save|pin |pin$|помн|забу|забы|виду|голове|уме|учти|запиши|замет|"
    r"фиксир|заметку|пам.ята|уваги|увазі|врахуй|собі|фіксу|recu|recué|acuérd|olvid|cuenta|presente|memor|merk|verg[ei]ss|"
    r"denk|behalt|notier|souv|rappel|oubli|ret[ei]n|garde|mémor|note|lembr|esque[cç]|mente|anote|ricord|dimentic|"
    r"tieni|tenga|pamięta|zapom|uwadze|[记記忘]|[覚憶忘録]|おぼえ|メモ|기억|잊지|메모"
)

_NOTHING = re.compile(
    r"^[\s,.:;!。！：，]*(?:(?:this|that|it|them|these|those|please|for me|for later|fact|info|always|forever|"
    r"это|этот факт|их|пожалуйста|навсегда|це|їх|будь ласка|назавжди|esto|eso|das|es|bitte|ça|cela|bien|isso|questo|"
    r"to|这一?点|這一?點|这个|這個|这件事|哦|吧|啊|了|来|來|一下|and)[\s,.:;!。！：，]*){0,4}$"
)


def pinned_sentences(text: str) -> list[str]:
    """Return the sentences of a text that ask to remember something, as written.

    One that only points at what stands beside it takes that in: "My badge is 4471. Remember that." is both sentences,
    "Remember the following:" goes with the lines up to the next empty one, up to `LONGEST` characters.
    """
    found: list[str] = []
    if not _HINT.search(text.casefold()):
        return found
    for paragraph in _paragraphs(text):
        parts = sentences(paragraph)
        place = 0
        while place < len(parts):
            asks = _request(parts[place])
            if asks is None:
                place += 1
                continue
            first, last = _reach(parts, place, rest=asks)
            found.append(_joined(parts[first : last + 1], lines=last > place))
            place = last + 1
    return found


def _joined(parts: list[str], *, lines: bool) -> str:
    dense = parts[0].endswith(("。", "！", "？"))
    return ("\n" if lines else "" if dense else " ").join(parts)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n[ \t]*\n", _FENCED.sub("\n\n", text)):
        yield "\n".join(line for line in paragraph.split("\n") if not line.lstrip().startswith(">"))


def _reach(parts: list[str], place: int, *, rest: str) -> tuple[int, int]:
    """Return the first and the last sentence that a request is about."""
    last = place
    if parts[place].rstrip().endswith((":", "：")):
        size = len(parts[place])
        while last + 1 < len(parts) and size + len(parts[last + 1]) <= LONGEST:
            last += 1
            size += len(parts[last])
    bare = _NOTHING.match(rest) is not None
    before = place and len(parts[place - 1]) <= LONGEST and not _QUESTION.search(parts[place - 1])
    return (place - 1 if bare and before and last == place else place), last


def _request(sentence: str) -> str | None:
    """Return what follows the request in a sentence that is one; None for every other sentence."""
    if len(sentence) > LONGEST or _QUESTION.search(sentence.rstrip()):
        return None
    plain = _BULLET.sub("", sentence).translate(_APOSTROPHES).casefold().lstrip("\"'«“„(*_ ")
    if _CJK.search(plain):
        return _dense_request(plain)
    for language, starting in _STARTING.items():
        match = starting.match(plain)
        if match and _stands(match["asks"], match["before"]) and not _REPORT.search(match["before"]):
            return plain[match.end() :]
        match = _ENDING[language].search(plain)
        if match and not _REPORT.search(plain[: match.start()]) and not _quoted(plain, match.start()):
            return plain
    return None


def _dense_request(plain: str) -> str | None:
    match = _ZH.match(plain)
    if match:
        return plain[match.end() :]
    ending = _JA.search(plain) or _KO.search(plain)
    if ending is None and not _ZH_REPORT.search(plain):
        ending = _ZH_END.search(plain)
    return plain[: ending.start()] if ending else None


def _stands(asks: str, before: str) -> bool:
    return not _DEPENDENT.match(asks) or _WISH.search(before) is not None


def _quoted(plain: str, place: int) -> bool:
    return plain.count('"', 0, place) % 2 == 1 or plain.rfind("«", 0, place) > plain.rfind("»", 0, place)
