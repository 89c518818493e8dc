"""Which language a conversation is in: by script first, then by each language's most frequent words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from langchain_core.messages import BaseMessage, HumanMessage

from threadkeep.context.summaries.fences import is_own

CAP = 20_000
"""Characters that are looked at, the newest ones of a conversation."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{0,200}`|https?://[^\s<>]{0,2048}", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:['’ʼ][^\W\d_]+)?")

# Runs of one script. A character of a script that is written without spaces counts as half a word.
_DENSE = {
    "han": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"),
    "kana": re.compile(r"[\u3041-\u309f\u30a1-\u30fa\u30fc]"),
    "thai": re.compile(r"[\u0e01-\u0e3a\u0e40-\u0e4e]"),
}
_SPACED = {
    "hangul": re.compile(r"[\uac00-\ud7a3]+"),
    "arabic": re.compile(r"[\u0620-\u06d3]+"),
    "hebrew": re.compile(r"[\u05d0-\u05ea]+"),
    "devanagari": re.compile(r"[\u0904-\u0963]+"),
    "greek": re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]+"),
    "cyrillic": re.compile(r"[\u0400-\u04ff]+"),
    "latin": re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+"),
}
_BY_SCRIPT = {"thai": "th", "hangul": "ko", "hebrew": "he", "devanagari": "hi", "greek": "el"}

_CYRILLIC: Mapping[str, frozenset[str]] = {
    "ru": frozenset(
        "и в не на я что с это а как но по к у из за от так мне меня же бы мы он она они для есть был была были или "
        "все его её если уже ещё только надо нужно где когда можно привет спасибо пожалуйста ты вы тебя вас мой моя "
        "что-то да нет".split()
    ),
    "uk": frozenset(
        "і в не на я що з це а як але по до у із за від так мені мене ж би ми він вона вони для є був була були або "
        "все його її якщо вже ще тільки треба потрібно де коли можна привіт дякую будь ласка ти ви тебе вас мій моя "
        "та й про чи ні".split()
    ),
    "bg": frozenset(
        "и в не на аз че с това а как но по към у от за така ми се да ще съм е са бил или всички ако вече само трябва "
        "къде кога може здравей благодаря моля ти вие мой моя който".split()
    ),
}
_LATIN: Mapping[str, frozenset[str]] = {
    "en": frozenset(
        "the of and to in is it you that for on with are this be have from or as at not we can my your what how when "
        "where please i me do does did will would was were has an by but if there they he she which about".split()
    ),
    "de": frozenset(
        "der die das und ist nicht ich du sie es ein eine einen mit auf für von zu den dem im wir ihr was wie wann wo "
        "bitte mir mich haben hat kann sind auch aber wenn oder nach bei aus noch nur mein meine".split()
    ),
    "fr": frozenset(
        "le la les de des et est pas je vous nous il elle un une dans pour que qui sur avec ce cette mon ma mes au aux "
        "du en ne se plus bonjour merci avez est-ce quand où comment suis être mais ou si par".split()
    ),
    "es": frozenset(
        "el la los las de y es no que en un una por para con se mi me te su lo como qué cuándo dónde está son pero si "
        "más del al yo usted gracias hola tiene puede favor este esta ya muy quiero".split()
    ),
    "pt": frozenset(
        "o a os as de e é não que em um uma por para com se meu minha me te seu como quando onde está são mas mais do "
        "da dos das no na ao você obrigado olá tem pode favor este esta já muito quero eu".split()
    ),
    "it": frozenset(
        "il lo la i gli le di e è non che in un una per con si mio mia mi ti suo come quando dove sono ma più del "
        "della al alla io lei grazie ciao ha può favore questo questa già molto voglio anche".split()
    ),
    "nl": frozenset(
        "de het een en is niet ik je u van in op voor met dat dit zijn wij wat hoe wanneer waar mijn me heb heeft kan "
        "maar als of naar bij uit nog ook te er".split()
    ),
    "pl": frozenset(
        "i w nie na się że jest to z do jak ale po za od tak mi mnie my on ona dla czy był była lub jeśli już jeszcze "
        "tylko gdzie kiedy można proszę dziękuję ty pan pani mój moja co".split()
    ),
    "cs": frozenset(
        "a v ne na se že je to s do jak ale po za od tak mi mě my on ona pro jestli byl byla nebo když už ještě jen "
        "kde kdy prosím děkuji ty vy můj moje co jsem jsou".split()
    ),
    "sv": frozenset(
        "och i att det som en på är av för med den till inte om ett jag du vi har kan hur när var min mitt tack hej "
        "men eller från så vad".split()
    ),
    "tr": frozenset(
        "ve bir bu için ne da de ile mi mı çok ben sen biz var yok değil gibi daha nasıl zaman nerede lütfen benim "
        "ama veya olarak kadar şu o teşekkürler merhaba".split()
    ),
    "vi": frozenset(
        "và là của có không cho tôi bạn được trong một các với này đã khi ở đến người như thế gì nào đâu xin "
        "cảm ơn".split()
    ),
}

# Letters that one language of a script has and its neighbours have not; a word with one counts twice.
_LETTERS: Mapping[str, re.Pattern[str]] = {
    "uk": re.compile(r"[іїєґ]"),
    "ru": re.compile(r"[ыэё]"),
    "bg": re.compile(r"ъ[^\W\d_]"),
    "de": re.compile(r"[ßü]"),
    "es": re.compile(r"ñ"),
    "pt": re.compile(r"[ãõ]"),
    "pl": re.compile(r"[łżźśćńąę]"),
    "cs": re.compile(r"[ěřů]"),
    "tr": re.compile(r"[ğış]"),
    "sv": re.compile(r"å"),
    "vi": re.compile(r"[ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]"),
    "fr": re.compile(r"[êœçùû]|[ldjnscm]['’]"),
}


def detect(text: str) -> str | None:
    """Return the language of a text as an ISO 639-1 code, or None when it cannot be told.

    Code and addresses are left out. Known are English, German, French, Spanish, Portuguese, Italian, Dutch, Polish,
    Czech, Swedish, Turkish, Vietnamese, Russian, Ukrainian, Bulgarian, Greek, Chinese, Japanese, Korean, Thai,
    Arabic, Persian, Hebrew and Hindi.
    """
    text = _CODE.sub(" ", text[:CAP])
    weights = {script: len(runs.findall(text)) / 2 for script, runs in _DENSE.items()}
    weights |= {script: float(len(runs.findall(text))) for script, runs in _SPACED.items()}
    if (
        weights["kana"] * 8 > weights["han"]
    ):  # Japanese writes a kana for every few Han characters, Chinese none
        weights["kana"] += weights["han"]
        weights["han"] = 0
    script = max(weights, key=weights.__getitem__)
    if not weights[script]:
        return None
    return _language(script, text)


def of(messages: Iterable[BaseMessage]) -> str | None:
    """Return the language that the people in a conversation write, or None when it cannot be told.

    The newest `CAP` characters of human messages decide; where people wrote nothing, those of answers.
    """
    said = [message for message in messages if not is_own(message) and message.type in ("human", "ai")]
    people = _newest(message.text for message in reversed(said) if isinstance(message, HumanMessage))
    return detect(people) or detect(
        _newest(m.text for m in reversed(said) if not isinstance(m, HumanMessage))
    )


def _newest(texts: Iterable[str]) -> str:
    kept: list[str] = []
    room = CAP
    for text in texts:
        kept.append(text[:room])
        room -= len(kept[-1]) + 1
        if room <= 0:
            break
    return "\n".join(kept)


def _language(script: str, text: str) -> str | None:
    if script == "han":
        return "zh"
    if script == "kana":
        return "ja"
    if script == "arabic":
        return "fa" if re.search(r"[پچژگک]", text) else "ar"
    if script == "cyrillic":
        return _by_words(text, _CYRILLIC, least=1)
    if script == "latin":
        return _by_words(text, _LATIN, least=2)
    return _BY_SCRIPT[script]


def _by_words(text: str, languages: Mapping[str, frozenset[str]], *, least: int) -> str | None:
    """Return the language with most frequent words in a text; None where fewer than `least` speak for it."""
    words = Counter(word.casefold() for word in _WORD.findall(text))
    votes: Counter[str] = Counter()
    for word, times in words.items():
        for language, frequent in languages.items():
            letters = _LETTERS.get(language)
            votes[language] += times * (
                (word in frequent) + 2 * bool(letters is not None and letters.search(word))
            )
    ranked = votes.most_common(2)
    if not ranked or ranked[0][1] < least or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return "ru" if languages is _CYRILLIC and words and not votes["uk"] else None
    return ranked[0][0]


_NAMES = {
    "en": "English",
    "ru": "Russian",
    "uk": "Ukrainian",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "es": "Spanish",
    "de": "German",
    "fr": "French",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "pl": "Polish",
    "tr": "Turkish",
    "ar": "Arabic",
    "fa": "Persian",
    "he": "Hebrew",
    "hi": "Hindi",
    "th": "Thai",
    "el": "Greek",
    "vi": "Vietnamese",
    "bg": "Bulgarian",
    "cs": "Czech",
    "sv": "Swedish",
}


def name_of(code: str) -> str:
    """Return the English name of a language, or the code where no name is known."""
    return _NAMES.get(code, code)
