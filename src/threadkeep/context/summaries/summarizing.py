"""Summaries as a dialogue without I/O: a generator asks for model calls and ends with a summary or a reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from threadkeep.context.facts import facts, language, pins
from threadkeep.context.facts.facts import EMPTY, Block, Fact, restate
from threadkeep.context.facts.pins import Pin
from threadkeep.context.facts.quotes import requests_of
from threadkeep.context.facts.sentences import cut
from threadkeep.context.summaries.chunks import chunked
from threadkeep.context.summaries.fences import MARK, SUMMARY, enclose
from threadkeep.context.summaries.prompts import instruction
from threadkeep.context.summaries.rendering import render_all
from threadkeep.context.summaries.useless import cleaned, is_echo, is_refusal, is_repetition
from threadkeep.context.summaries.wording import Wording, fill, wording_of

LIMIT = 1_000
"""Tokens of a summary's text where no other limit is given."""

FENCES = 32
"""Tokens of the tags around the transcript and the summary so far, about."""

CARRIED_FACTS, CARRIED_PINS = 400, 200
"""How many facts and pins a summary hands on to the next; those least important by `facts.ranked` leave first."""

Reason = Literal["error", "blank", "longer", "refusal", "echo", "repetition", "window", "unreadable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """Ask the driver for one model call; send the answer's text, or throw the exception.

    Args:
        messages: What to send.
        max_tokens: Tokens that the answer may have.
        purpose: What the call is for, as the ledger names it.
    """

    messages: tuple[BaseMessage, ...]
    max_tokens: int
    purpose: Literal["summary", "extraction"] = "summary"


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """Say why there is no summary; nothing has changed.

    Args:
        reason: A code: `error`, `blank`, `longer` (than what it stands for), `refusal`, `echo`, `repetition`,
            `window` (the summarizer's window has no room for a message), `unreadable` (no JSON where it was asked for).
        text: The same as a sentence.
        error: The exception of the model call, where that was the reason.
    """

    reason: Reason
    text: str
    error: BaseException | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryText:
    """Hold a summary and what is restated beside it.

    Args:
        text: What the summarizer wrote; for an extract the user's own requests. May be empty in an extract.
        language: The conversation's language as an ISO 639-1 code, None where it could not be told.
        covered: How many messages it stands for, those of earlier summaries included.
        block: The pins and the facts that the text lost, restated.
        pins: All pins of the covered messages, oldest first, for the next summary.
        facts: The facts of the covered messages, for the next summary; bounded.
        extract: True where no model was asked.
    """

    text: str
    language: str | None = None
    covered: int = 0
    block: Block = EMPTY
    pins: tuple[Pin, ...] = ()
    facts: tuple[Fact, ...] = ()
    extract: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the summary as JSON types, for storage."""
        return {
            "text": self.text,
            "language": self.language,
            "covered": self.covered,
            "block": [self.block.text, self.block.omitted_pins, self.block.omitted_facts],
            "pins": [[pin.text, pin.source, pin.chosen] for pin in self.pins],
            "facts": [[f.kind, f.value, f.text, f.context, f.source, f.times] for f in self.facts],
            "extract": self.extract,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SummaryText:
        """Return the summary that `to_json` wrote."""
        text, omitted_pins, omitted_facts = data["block"]
        return cls(
            text=data["text"],
            language=data["language"],
            covered=data["covered"],
            block=Block(text=text, omitted_pins=omitted_pins, omitted_facts=omitted_facts),
            pins=tuple(Pin(text=pin[0], source=pin[1], chosen=pin[2]) for pin in data["pins"]),
            facts=tuple(
                Fact(kind=f[0], value=f[1], text=f[2], context=f[3], source=f[4], times=f[5])
                for f in data["facts"]
            ),
            extract=data["extract"],
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """Hold how summaries are made.

    Args:
        limit: Tokens of the summary's text; a longer one is cut at the end of a sentence.
        window: Tokens that the summarizer takes and gives in one call; more messages are summarised in chunks.
        prompt: Instructions instead of the built-in ones. Only `{messages}` has a meaning: it is replaced by the
            transcript, which otherwise follows the instructions. All other braces are left as they are.
        language: The language to write in (ISO 639-1); by default the conversation's.
        pins_limit: Tokens for restated pins.
        facts_limit: Tokens for restated facts.
        wording: The sentences around the summary; by default in its language.
    """

    limit: int = LIMIT
    window: int = 8_192
    prompt: str | None = None
    language: str | None = None
    pins_limit: int = facts.PINS_LIMIT
    facts_limit: int = facts.FACTS_LIMIT
    wording: Wording | None = None


DEFAULTS = Options()


def summarize(
    messages: Sequence[BaseMessage],
    *,
    count: Callable[[str], int],
    previous: SummaryText | None = None,
    options: Options = DEFAULTS,
    pinned: Collection[str] = (),
    reference: str | None = None,
) -> Generator[Ask, str, SummaryText | Failed]:
    """Summarise what leaves the view, yielding each model call to make.

    Everything goes through the summarizer: in as many calls as its window needs, each of which is given the summary
    so far (the previous one at first). Nothing is raised: an exception that is thrown in, or an answer that is no
    summary, ends in `Failed`, and what was there before still holds.

    Args:
        messages: What the new summary covers beyond the previous one, in order.
        count: Counts the tokens of a text.
        previous: The summary of everything before, if there is one.
        options: Length, window, prompt, language, budgets, wording.
        pinned: Ids of messages pinned by `pin(message_id)`.
        reference: How the covered messages can be read, such as a call of a recall tool.

    Returns:
        The summary with its restated pins and facts, or the reason why there is none.
    """
    tongue = options.language or language.of(messages) or (previous.language if previous else None)
    entries = render_all(messages)
    text = previous.text if previous else ""
    if entries:
        written = yield from _written(entries, text, tongue, count, options)
        if isinstance(written, Failed):
            return written
        text = written
    return _finished(text, messages, previous, tongue, count, options, pinned, reference)


def extract(
    messages: Sequence[BaseMessage],
    *,
    count: Callable[[str], int],
    previous: SummaryText | None = None,
    options: Options = DEFAULTS,
    pinned: Collection[str] = (),
    reference: str | None = None,
) -> SummaryText:
    """Summarise without a model: the user's own requests, newest kept first, with pins and must-keep facts.

    Args:
        messages: As for `summarize`, and so are all others. `options.limit` bounds the requests in tokens.
    """
    tongue = options.language or language.of(messages) or (previous.language if previous else None)
    text = requests_of(messages, count=count, limit=options.limit, previous=previous.text if previous else "")
    return _finished(text, messages, previous, tongue, count, options, pinned, reference, extracted=True)


def summary_message(summary: SummaryText, *, wording: Wording | None = None) -> HumanMessage:
    """Return the one message that stands in the view for what a summary covers.

    It has the human role, stands in a fence that its text cannot close, says that it is background and neither a
    request nor an answer, and has the same id and content whenever it is made of the same summary.

    Args:
        summary: A summary or an extract.
        wording: The sentences around it; by default in the summary's language.
    """
    words = wording or wording_of(summary.language)
    heading = words.requests if summary.extract and summary.text else ""
    body = "\n".join(part for part in (heading, summary.text) if part)
    parts = (fill(words.opening, count=summary.covered), body, summary.block.text)
    content = enclose("background", "\n\n".join(part for part in parts if part))
    digest = blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return HumanMessage(content, id=f"threadkeep-summary-{digest}", additional_kwargs={MARK: SUMMARY})


def _written(
    entries: Sequence[str], before: str, tongue: str | None, count: Callable[[str], int], options: Options
) -> Generator[Ask, str, str | Failed]:
    limit = max(1, min(options.limit, options.window // 4))
    asked = instruction(options.prompt, tongue, limit)
    summary = cut(before, max(limit, options.window // 3), count)
    room = options.window - limit - max(limit, count(summary)) - count(asked) - FENCES
    original = sum(count(entry) for entry in entries) + count(before)
    for chunk in chunked(entries, room, count):
        if chunk is None:
            return _failed("window", f"the summarizer's window of {options.window} tokens has no room")
        try:
            answer = yield Ask(messages=_call(asked, summary, chunk), max_tokens=limit)
        except Exception as error:
            return Failed(reason="error", text=f"the summarizer raised {type(error).__name__}", error=error)
        summary = cleaned(answer)
        useless = _useless(summary, asked, original, count)
        if useless:
            return useless
        summary = cut(summary, limit, count)
    return summary


def _call(asked: str, summary: str, chunk: str) -> tuple[BaseMessage, ...]:
    transcript = enclose("conversation", chunk)
    if summary:
        transcript = f"{enclose('earlier_summary', summary)}\n\n{transcript}"
    if "{messages}" in asked:
        return (HumanMessage(asked.replace("{messages}", transcript)),)
    return (SystemMessage(asked), HumanMessage(transcript))


def _useless(summary: str, asked: str, original: int, count: Callable[[str], int]) -> Failed | None:
    if not summary:
        return _failed("blank", "the summarizer answered nothing")
    if is_refusal(summary):
        return _failed("refusal", "the summarizer declined")
    if is_echo(summary, asked):
        return _failed("echo", "the summarizer repeated its instructions")
    if is_repetition(summary):
        return _failed("repetition", "the summarizer said the same over and over")
    tokens = count(summary)
    if tokens > original:
        return _failed("longer", f"the summary has {tokens} tokens, what it stands for {original}")
    return None


def _failed(reason: Reason, text: str) -> Failed:
    return Failed(reason=reason, text=text)


def _finished(
    text: str,
    messages: Sequence[BaseMessage],
    previous: SummaryText | None,
    tongue: str | None,
    count: Callable[[str], int],
    options: Options,
    pinned: Collection[str],
    reference: str | None,
    *,
    extracted: bool = False,
) -> SummaryText:
    """Add the pins and the facts that the text lost."""
    kept = pins.gather(messages, known=previous.pins if previous else (), chosen=pinned)
    known = facts.gather(messages, known=previous.facts if previous else ())
    block = restate(
        kept,
        facts.lost(known, text),
        count=count,
        pins_limit=options.pins_limit,
        facts_limit=options.facts_limit,
        reference=reference,
        wording=options.wording or wording_of(tongue),
    )
    return SummaryText(
        text=text,
        language=tongue,
        covered=len(messages) + (previous.covered if previous else 0),
        block=block,
        pins=tuple(kept[-CARRIED_PINS:]),
        facts=_carried(known),
        extract=extracted,
    )


def _carried(known: list[Fact]) -> tuple[Fact, ...]:
    if len(known) <= CARRIED_FACTS:
        return tuple(known)
    kept = {(fact.kind, fact.value) for fact in facts.ranked(known)[:CARRIED_FACTS]}
    return tuple(fact for fact in known if (fact.kind, fact.value) in kept)
