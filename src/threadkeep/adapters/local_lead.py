"""How a model of 135 million parameters is led to keep notes, and to say so when it was not told something.

Three things, none of which ever enters a thread:

- a short prompt with six example exchanges stands in front of every request, and a seventh, a refusal, where
  nothing that was told has a word of the question;
- the statement that shares the most words with a question is repeated, with its answer, next to the question;
- an answer whose words nobody said is replaced by `NOT_TOLD`, a garbled repetition by the words themselves,
  put to "you".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

Message = dict[str, str]
"""A message as the runtime takes it: `role` and `content`."""

NOT_TOLD = "You have not told me that."
NOTED = "Noted."
HINT = "Tell me something to remember, or ask me about something you told me."

_PROMPT = (
    "You are a note-keeper. Answer only from what the user told you. "
    f"If the user has not told you, say: {NOT_TOLD}"
)
_EXCHANGES = (
    ("The bakery in Elm Street sells maps.", "The bakery in Elm Street sells maps."),
    ("Who sells maps?", "The bakery in Elm Street sells maps."),
    ("My boat is moored in Vessby.", "Your boat is moored in Vessby."),
    ("Do you know where my boat is moored?", "Your boat is moored in Vessby."),
    ("I sing in a choir called Larks.", "You sing in a choir called Larks."),
    ("Which choir do I sing in?", "You sing in a choir called Larks."),
)
_REFUSAL = ("What is my shoe size?", NOT_TOLD)
"""The last example where nothing that was told has to do with the question; elsewhere it would be copied."""

_ASKING = re.compile(
    r"(?:(?:please|and|so|now|hey|hi|hello|ok|okay)\W+)*"
    r"(?:who|whom|whose|what|which|when|where|why|how|tell me|remind me|do you|can you|could you)\b",
    re.IGNORECASE,
)
_CLOSED = re.compile(
    r"(?!do you (?:know|remember)|can you|could you)"
    r"(?:is|are|am|was|were|do|does|did|have|has|had|can|could|will|would)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\b[DMS][rst]\.)(?<!\bMrs\.)\s+|\n+")
_WORD = re.compile(r"\w+(?:[-:.,'/]\w+)*")
# Words that say nothing by themselves, and those by which a note-keeper introduces what was said.
_EMPTY = frozenset(
    "a about an and any are as at be been being but by called can could did do does for from go goes "
    "had has have he her here him his how i if in into is it its just know me mine my name named not "
    "note noted of on or our ours out please remember remind said say she so some tell than that the "
    "their them then there these they this those to told too up us was we were what when where which "
    "who whom whose why will with would yes no you your yours am i'm it's don't you're we're i've i'd "
    "what's who's where's let let's hello hi hey ok okay thanks thank".split()
)
_SECOND_PERSON = {
    "i am": "you are",
    "i'm": "you are",
    "i was": "you were",
    "i've": "you have",
    "i'd": "you would",
    "i'll": "you will",
    "i": "you",
    "me": "you",
    "my": "your",
    "mine": "yours",
    "myself": "yourself",
    "we": "you",
    "we're": "you are",
    "our": "your",
    "ours": "yours",
}
_PERSONS = re.compile(rf"\b(?:{'|'.join(sorted(_SECOND_PERSON, key=len, reverse=True))})\b", re.IGNORECASE)
_VOWELS = re.compile(r"[aeiou]")
_EXACT = re.compile(r"(?<=[\w,;] )[A-Z][\w'-]*|\w*\d(?:[-:.,'/]?\w)*")
"""Figures, and names: words with a capital letter inside a sentence."""
_PARAPHRASES = (
    ("(name)", re.compile(r"\b(?i:who am i|my name|am i called|call me|i go by)\b|\b(?i:i'm|i am) [A-Z]")),
    ("(work)", re.compile(r"\b(?:jobs?|work\w*|profession|for a living|employ\w*)\b", re.IGNORECASE)),
    ("(birth)", re.compile(r"\b(?:born|birth\w*|how old|years old|my age)\b", re.IGNORECASE)),
    ("(home)", re.compile(r"\b(?:i live|i'm from|i am from|my home|my address|do i live)\b", re.IGNORECASE)),
    (
        "(price)",
        re.compile(r"[$€£]|\b(?:costs?|prices?|how much|pa(?:y|id)|euros?|dollars?)\b", re.IGNORECASE),
    ),
)
_LONGEST_REPETITION = 200
"""Characters of a statement that is repeated as it was said."""
_STEM = 4
"""Letters that two words share when they count as the same: `live` and `lives`, `parked` and `parking`."""


def lead(system: str | None, messages: Sequence[Message] = ()) -> list[Message]:
    """Return what stands in front of a thread; `system` is the caller's own prompt."""
    prompt = _PROMPT if system is None else f"{system}\n\n{_PROMPT}"
    refusal = [_REFUSAL] if messages and asks(messages[-1]["content"]) and not _related(messages) else []
    return [{"role": "system", "content": prompt}, *_turns([*_EXCHANGES, *refusal])]


def recalled(messages: Sequence[Message]) -> list[Message]:
    """Return the exchange to repeat before the newest message: the statement closest to the question.

    Empty when the newest message asks nothing, shares no topic with any statement, or follows that statement
    already. A topic counts the more the fewer statements have it; of equal statements the newest is taken.
    """
    question = messages[-1]["content"] if messages else ""
    if not asks(question):
        return []
    told = list(_told(messages[:-1]))
    frequency = Counter(topic for statement, _ in told for topic in topics(statement))
    wanted = topics(_question(question))
    best, closest = 0.0, -1
    for place, (statement, _) in enumerate(told):
        score = sum(1 / frequency[topic] for topic in wanted & topics(statement))
        if score and score >= best:
            best, closest = score, place
    if closest < 0 or _follows(messages, told[closest]):
        return []
    return list(_turns([told[closest]]))


def checked(answer: str, messages: Sequence[Message]) -> str:
    """Return the model's answer to the newest message, or what a note-keeper says in its place."""
    said = messages[-1]["content"]
    if NOT_TOLD.rstrip(".") in answer:
        return NOT_TOLD
    if not asks(said):
        return answer if _repeats(answer, said) else repetition(said)
    return answer if _founded(answer, _question(said), _related(messages)) else NOT_TOLD


def view(messages: Sequence[Message]) -> list[Message]:
    """Return a thread without the questions that got no answer: each makes the next refusal likelier."""
    kept: list[Message] = []
    for message in messages:
        if message["content"] == NOT_TOLD and kept and kept[-1]["role"] == "user":
            kept.pop()
        else:
            kept.append(message)
    return kept


def asks(text: str) -> bool:
    """Tell whether a message asks something: its last sentence is a question, or begins like one."""
    sentences = _sentences(text)
    return bool(sentences) and _is_question(sentences[-1])


def statements(text: str) -> list[str]:
    """Return the sentences of a message that state something."""
    return [sentence for sentence in _sentences(text) if not _is_question(sentence)]


def _sentences(text: str) -> list[str]:
    return [part for part in (piece.strip() for piece in _SENTENCE.split(text)) if part]


def _is_question(sentence: str) -> bool:
    return sentence.endswith("?") or _ASKING.match(sentence) is not None


def _told(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yield each statement with the answer it got."""
    for place, message in enumerate(messages):
        text = " ".join(statements(message["content"])) if message["role"] == "user" else ""
        if text:
            after = messages[place + 1] if place + 1 < len(messages) else None
            answer = after["content"] if after is not None and after["role"] == "assistant" else NOTED
            yield text, NOTED if asks(message["content"]) else answer


def _related(messages: Sequence[Message]) -> list[str]:
    """Return what was told that has to do with the newest message: all of it when that has no topic."""
    wanted = topics(_question(messages[-1]["content"]))
    return [told for told, _ in _told(messages) if not wanted or wanted & topics(told)]


def _question(text: str) -> str:
    return " ".join(sentence for sentence in _sentences(text) if _is_question(sentence))


def _repeats(answer: str, said: str) -> bool:
    """Tell whether an answer to a statement has no other words, most of its words, and all its figures."""
    words, told = _stems(answer), _stems(said)
    figures = {stem for stem in told if not stem.isalpha()}
    return figures <= words <= told and len(words) * 2 > len(told)


def repetition(said: str) -> str:
    """Return a statement as a note-keeper repeats it, with "your" for "my"."""
    if not _content(said):
        return HINT
    if len(said) > _LONGEST_REPETITION or "\n" in said:
        return NOTED
    turned = _PERSONS.sub(lambda found: _SECOND_PERSON[found[0].casefold()], said.replace("’", "'"))
    return turned[0].upper() + turned[1:]


def _founded(answer: str, question: str, told: Sequence[str]) -> bool:
    """Tell whether what an answer adds to its question was told: all figures and names, half of the words."""
    known = {stem for text in told for stem in _stems(text)}
    added = _stems(answer) - _stems(question)
    if not added and _CLOSED.match(question):
        return _stems(answer) <= known
    exact = _stems(" ".join(_EXACT.findall(answer))) & added
    return bool(added & known) and exact <= known and len(added & known) * 2 >= len(added)


def _follows(messages: Sequence[Message], exchange: tuple[str, str]) -> bool:
    """Tell whether the newest message comes directly after an exchange."""
    return [message["content"] for message in messages[-3:-1]] == list(exchange)


def topics(text: str) -> set[str]:
    """Return what a text is about: stems without regard to vowels, and what people call by several names."""
    skeletons = {_VOWELS.sub("*", stem) if len(stem) == _STEM else stem for stem in _stems(text)}
    return skeletons | {topic for topic, pattern in _PARAPHRASES if pattern.search(text)}


def _content(text: str) -> set[str]:
    words = (word.casefold().removesuffix("'s") for word in _WORD.findall(text.replace("’", "'")))
    return {word for word in words if word not in _EMPTY}


def _stems(text: str) -> set[str]:
    return {word[:_STEM] if word.isalpha() else word for word in _content(text)}


def _turns(exchanges: Sequence[tuple[str, str]]) -> Iterator[Message]:
    for said, answered in exchanges:
        yield {"role": "user", "content": said}
        yield {"role": "assistant", "content": answered}
