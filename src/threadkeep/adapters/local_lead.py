"""How a model of 135 million parameters is led to keep notes, and to say so when it was not told something.

Three things, none of which ever enters a thread:

- a short prompt with six example exchanges stands in front of every request;
- the statement that shares the most words with a question is repeated, with its answer, next to the question;
- an answer whose words nobody said is replaced by `NOT_TOLD`, a garbled repetition by `NOTED`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

Message = dict[str, str]
"""A message as the runtime takes it: `role` and `content`."""

NOT_TOLD = "You have not told me that."
NOTED = "Noted."

_PROMPT = (
    "You are a note-keeper. Answer only from what the user told you. "
    f"If the user has not told you, say: {NOT_TOLD}"
)
_EXCHANGES = (
    ("What is my shoe size?", NOT_TOLD),
    ("My badge number is 83.", "Your badge number is 83."),
    ("What is my badge number?", "Your badge number is 83."),
    ("My boat is moored in Vessby.", "Your boat is moored in Vessby."),
    ("Where is my boat moored?", "Your boat is moored in Vessby."),
    ("I sing in a choir called Larks.", "You sing in a choir called Larks."),
    ("Which choir do I sing in?", "You sing in a choir called Larks."),
)

_ASKING = re.compile(
    r"(?:(?:please|and|so|now|hey|hi|hello|ok|okay)\W+)*"
    r"(?:who|whom|whose|what|which|when|where|why|how|tell me|remind me|do you|can you|could you)\b",
    re.IGNORECASE,
)
_CLOSED = re.compile(r"(?:is|are|am|was|were|do|does|did|have|has|had|can|could|will|would)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w+(?:[-:.,'/]\w+)*")
# Words that say nothing by themselves, and those by which a note-keeper introduces what was said.
_EMPTY = frozenset(
    "a about an and any are as at be been being but by called can could did do does for from go goes had has have he "
    "her here him his how i if in into is it its just know me mine my name named not note noted of on or our ours out "
    "please remember remind said say she so some tell than that the their them then there these they this those to "
    "told too up us was we were what when where which who whom whose why will with would yes no you your yours am "
    "i'm it's don't you're we're i've i'd what's who's where's let let's hello hi hey ok okay thanks thank".split()
)
_STEM = 4
"""Letters that two words share when they count as the same: `live` and `lives`, `parked` and `parking`."""


def lead(system: str | None) -> list[Message]:
    """Return what stands in front of a thread; `system` is the caller's own prompt."""
    prompt = _PROMPT if system is None else f"{system}\n\n{_PROMPT}"
    return [{"role": "system", "content": prompt}, *_turns(_EXCHANGES)]


def recalled(messages: Sequence[Message]) -> list[Message]:
    """Return the exchange to repeat before the newest message: the statement closest to the question.

    Empty when the newest message asks nothing, or shares no word with any statement. A word counts the
    more the fewer statements have it; of equal statements the newest is taken.
    """
    question = messages[-1]["content"] if messages else ""
    if not asks(question):
        return []
    told = list(_told(messages[:-1]))
    frequency = Counter(stem for statement, _ in told for stem in _stems(statement))
    wanted = _stems(question)
    best: tuple[float, tuple[str, str]] = (0.0, ("", ""))
    for exchange in told:
        score = sum(1 / frequency[stem] for stem in wanted & _stems(exchange[0]))
        best = max(best, (score, exchange), key=lambda pair: pair[0]) if score < best[0] else (score, exchange)
    return list(_turns([best[1]])) if best[0] else []


def checked(answer: str, messages: Sequence[Message]) -> str:
    """Return the model's answer to the newest message, or what a note-keeper says in its place."""
    said = messages[-1]["content"]
    if NOT_TOLD.rstrip(".") in answer:
        return NOT_TOLD
    if not asks(said):
        return answer if _repeats(answer, said) else NOTED
    known = [text for message in messages if message["role"] == "user" for text in statements(message["content"])]
    return answer if _founded(answer, said, known) else NOT_TOLD


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


def _repeats(answer: str, said: str) -> bool:
    """Tell whether an answer to a statement holds its words, and hardly any other."""
    words = _content(answer)
    return bool(words) and len(words & _content(said)) * 2 > len(words)


def _founded(answer: str, question: str, known: Sequence[str]) -> bool:
    """Tell whether what an answer adds to its question was said: more than half of the words are."""
    told = {word for text in known for word in _content(text)}
    added = _content(answer) - _content(question)
    if not added and _CLOSED.match(question):
        return _content(answer) <= told
    return bool(added) and len(added & told) * 2 > len(added)


def _content(text: str) -> set[str]:
    words = (word.casefold().removesuffix("'s") for word in _WORD.findall(text.replace("’", "'")))
    return {word for word in words if word not in _EMPTY}


def _stems(text: str) -> set[str]:
    return {word[:_STEM] if word.isalpha() else word for word in _content(text)}


def _turns(exchanges: Sequence[tuple[str, str]]) -> Iterator[Message]:
    for said, answered in exchanges:
        yield {"role": "user", "content": said}
        yield {"role": "assistant", "content": answered}
