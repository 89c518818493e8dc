"""What is no summary: refusals, echoes of the instructions, repetition."""

from __future__ import annotations

import re

from threadkeep.context.facts.sentences import sentences

REFUSAL_LENGTH = 500
"""Characters: a longer text that begins like a refusal may be a summary of one, and is kept."""

_REFUSALS = (
    r"(?:i'm |i am |we're |we are )?(?:very |so |really )?(?:sorry|afraid),?(?: but)?(?: that)? (?:i|we)"
    r"(?: can't| cannot| can not| won't| will not| don't| do not|(?: am|'m| are|'re) (?:unable|not able|not))",
    r"(?:i|we)(?: can't| cannot| can not| won't| will not|(?: am|'m| are|'re) (?:unable|not able) to) (?:help|assist"
    r"|comply|provide|summari[sz]e|fulfil|continue|process|answer|discuss|create|generate|write|do that|engage)",
    r"as an? (?:ai|language model|large language model|artificial)"
    r"[^.!?\n]{0,80}(?:can't|cannot|unable|not able|don't|do not)",
    r"(?:i )?apologi[sz]e,? but i",
    r"my apologies,? but i",
    r"unfortunately,? i(?: am|'m)? (?:can't|cannot|unable|not able)",
    r"(?:к сожалению|извините|простите|прошу прощения)[,.]?(?: но)? я не (?:могу|в состоянии|имею)",
    r"я не могу (?:помочь|выполнить|ответить|обсуждать|предоставить|составить)",
    r"как (?:ии|искусственный интеллект|языковая модель)[^.!?\n]{0,80} не ",
    r"(?:на жаль|вибачте|перепрошую|пробачте)[,.]?(?: але)? я не (?:можу|в змозі|маю)",
    r"я не можу (?:допомогти|виконати|відповісти|обговорювати|надати|скласти)",
    r"(?:很?抱歉|对不起|對不起|不好意思)[,，。!！]?(?:但是?)?我?(?:不能|无法|無法|不可以|没有办法|沒有辦法)",
    r"(?:作为|作為|身为)(?:一个|一個|一名)?(?:ai|人工智能|人工智慧|语言模型|大型语言模型)[^。\n]{0,40}(?:不能|无法|無法|不可以)",
    r"我(?:不能|无法|無法)(?:协助|協助|帮助|幫助|提供|回答|完成|处理)",
    r"(?:申し訳|すみません|ごめんなさい)[^\n]{0,80}(?:できません|できかねます|いたしかねます|出来ません)",
    r"(?:lo siento|lo lamento|disculpa|disculpe)[,.]?(?: pero)? no puedo",
    r"no puedo (?:ayudar|cumplir|responder|proporcionar|completar)",
    r"(?:es tut mir leid|leider|entschuldigung)[,.]?(?: aber)? (?:ich )?(?:kann|darf)(?: ich)?[^.!?\n]{0,60}"
    r" (?:nicht|kein)",
    r"(?:je suis )?désolée?[,.]?(?: mais)? je ne (?:peux|suis)",
    r"je ne peux pas (?:aider|vous aider|t'aider|répondre|fournir|traiter)",
    r"(?:desculpe|lamento|sinto muito)[,.]?(?: mas)? (?:eu )?não posso",
    r"(?:mi dispiace|spiacente)[,.]?(?: ma)? non posso",
    r"(?:przykro mi|przepraszam|niestety)[,.]?(?: ale)? nie mogę",
)
_REFUSAL = re.compile("|".join(_REFUSALS), re.IGNORECASE)
_WORDS = re.compile(r"[^\W_]+")
_THOUGHTS = re.compile(r"^\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)

_SHINGLE, _SHINGLES_LEAST, _DIFFERENT_LEAST = 4, 60, 0.34
_ECHO_LEAST = 40


def cleaned(text: str) -> str:
    """Return what a model wrote without the thoughts some models put before it, and without outer space."""
    return _THOUGHTS.sub("", text).strip()


def is_refusal(text: str) -> bool:
    """Say whether a model declined instead of answering: a short text that begins with a known phrase."""
    start = text.strip(" \t\r\n\"'*_#>“”«»").replace("’", "'")
    return len(start) <= REFUSAL_LENGTH and _REFUSAL.match(start) is not None


def is_echo(text: str, instruction: str) -> bool:
    """Say whether a text repeats a sentence of the instruction that asked for it, or the fence of the transcript."""
    written = _plain(text)
    lines = [_plain(sentence) for sentence in sentences(instruction)]
    return "<conversation>" in written or any(len(line) >= _ECHO_LEAST and line in written for line in lines)


def is_repetition(text: str) -> bool:
    """Say whether a text says the same few words over and over, as a small model that lost its way does."""
    words = _WORDS.findall(text.casefold())
    shingles = [tuple(words[place : place + _SHINGLE]) for place in range(len(words) - _SHINGLE + 1)]
    return len(shingles) >= _SHINGLES_LEAST and len(set(shingles)) < _DIFFERENT_LEAST * len(shingles)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
