"""Summary and SummaryBuffer: the older part of a conversation becomes a running summary."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final

from threadkeep.context.facts.facts import FACTS_LIMIT, PINS_LIMIT
from threadkeep.context.planning.cooling import cooling, failed
from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.history import SYSTEM
from threadkeep.context.planning.limits import Limits, Size, Trigger, check_count, check_size, check_trigger
from threadkeep.context.planning.marks import Mark
from threadkeep.context.planning.plan import Need
from threadkeep.context.planning.recalling import reference_of
from threadkeep.context.policies.policy import Policy, fingerprint
from threadkeep.context.policies.reducing import Amount, Cut, Reducer, Rule, amounts, staying_before
from threadkeep.context.policies.window import low_water
from threadkeep.context.summaries.summarizing import (
    LIMIT,
    Ask,
    Failed,
    Options,
    SummaryText,
    extract,
    summarize,
    summary_message,
)  # fmt: skip
from threadkeep.context.summaries.wording import Wording
from threadkeep.errors import ConfigurationError

DEFAULT_TRIGGER: Final[Size] = ("tokens", 8_000)
"""When a policy reduces that was given no trigger: a prompt of this size costs about a cent with models of 2026."""

WRAPPER: Final = 80
"""Tokens of the sentences around a summary, about."""

SHARE: Final = 0.15
"""Part of the trigger that a summary takes at most, where no `limit` is given."""


@dataclass(frozen=True, kw_only=True)
class Summarising(Policy):
    """What the policies with a summary have in common.

    Args:
        model: The chat model that writes summaries, or its name (`"openai:gpt-4.1-mini"`). None: the model of the
            middleware, if it was given one, else an extract of pins, facts and the user's own requests.
        trigger: When to reduce: `("tokens", n)`, `("messages", n)`, `("turns", n)`, `("fraction", x)`; a dict means
            all of them, a list any. It is compared with what is in the view: messages and summary, for a fraction
            the system prompt and the tools, too.
        limit: Tokens of the summary's text; by default 15 % of the trigger, at most 1,000.
        pins: Tokens for restated pins.
        facts: Tokens for restated facts.
        prompt: Instructions for the summarizer instead of the built-in ones; braces are harmless.
        language: Language to write in (ISO 639-1); by default the conversation's.
        wording: The sentences around the summary; by default in its language.
        recall: Whether to give the model the recall tools, and to name the reference of what was summarised.
        context_window: Tokens of the model's context window, for fractions, where the model does not say.

    Raises:
        ConfigurationError: A value cannot be used.
    """

    model: Any = None
    trigger: Trigger = DEFAULT_TRIGGER
    limit: int | None = None
    pins: Size = ("tokens", PINS_LIMIT)
    facts: Size = ("tokens", FACTS_LIMIT)
    prompt: str | None = None
    language: str | None = None
    wording: Wording | None = None
    recall: bool = False
    context_window: int | None = None

    def __post_init__(self) -> None:
        check_trigger(self.trigger)
        if self.limit is not None:
            check_count(self.limit, "limit", least=16)
        if self.context_window is not None:
            check_count(self.context_window, "context_window", least=1)
        for name in ("pins", "facts"):
            if check_size(getattr(self, name), name, zero=True)[0] != "tokens":
                raise ConfigurationError(
                    f"{name}={getattr(self, name)!r} cannot be used; give ('tokens', n)."
                )

    @property
    def recalls(self) -> bool:
        """Whether the model is to be given the recall tools."""
        return self.recall

    @cached_property
    def text_fingerprint(self) -> str:
        """Stands for the settings that decide what a summary is; the trigger and the model do not."""
        settings = (self.limit, self.pins, self.facts, self.prompt, self.language, self.wording)
        return fingerprint("summary", *map(repr, settings))

    def rule(self, draft: Draft, mark: Mark | None) -> Rule:
        """Return when and how far to cut."""
        raise NotImplementedError

    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Replace the older part by its summary, or say that one is needed."""
        return _Stage(self, draft, mark).apply()

    def triggers(self, limits: Limits) -> tuple[tuple[Amount, ...], ...]:
        """Return the trigger with fractions turned into tokens."""
        return tuple(amounts(one, limits, self.context_window) for one in check_trigger(self.trigger))

    def text_limit(self, limits: Limits) -> int:
        """Return how many tokens the summary's text may have."""
        if self.limit is not None:
            return self.limit
        tokens = [amount for clause in self.triggers(limits) for unit, amount in clause if unit == "tokens"]
        return min(LIMIT, max(64, int(min(tokens, default=LIMIT / SHARE) * SHARE)))

    def block(self, limits: Limits) -> int:
        """Return how many tokens a summary's message has that is not known yet: pins are rare, facts are not."""
        return self.text_limit(limits) + int(self.facts[1]) + WRAPPER

    def options(self, limits: Limits, window: int) -> Options:
        """Return how the summary is to be made, for a summarizer with this context window in tokens."""
        return Options(
            limit=self.text_limit(limits),
            window=window,
            prompt=self.prompt,
            language=self.language,
            pins_limit=int(self.pins[1]),
            facts_limit=int(self.facts[1]),
            wording=self.wording,
        )


@dataclass(frozen=True, kw_only=True)
class SummaryBuffer(Summarising):
    """Keep the newest messages word for word and a running summary of everything older. The recommended default.

    Takes what `Summarising` takes, and:

    Args:
        keep: What stays word for word after a reduction: at least so many messages or turns, at most so many
            tokens, always whole rounds; a number means messages. By default as much as leaves the view at about
            half its trigger.
    """

    name: ClassVar[str] = "summary-buffer"

    keep: Size | int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep is not None:
            object.__setattr__(self, "keep", keep_size(self.keep, "keep"))

    def rule(self, draft: Draft, mark: Mark | None) -> Rule:
        """Return when and how far to cut."""
        limits = draft.request.limits
        block = self.block(limits)
        triggers = self.triggers(limits)
        if self.keep is not None:
            keep = amounts((keep_size(self.keep, "keep"),), limits, self.context_window)
        else:
            keep = (half_of(triggers[0], block, limits, draft.request.provider),)
        return Rule(trigger=triggers, keep=keep, leads=False, block=block)


@dataclass(frozen=True, kw_only=True)
class Summary(SummaryBuffer):
    """Replace everything before the newest messages by a running summary; as `SummaryBuffer` with `keep=0`.

    The open turn's human message and its last round stay word for word in any case.
    """

    name: ClassVar[str] = "summary"

    keep: Size | int | None = ("messages", 0)


def keep_size(value: object, name: str) -> Size:
    """Return a size of what is kept; a plain number means messages."""
    if isinstance(value, int) and not isinstance(value, bool):
        return ("messages", check_count(value, name))
    return check_size(value, name, zero=True)


def half_of(clause: tuple[Amount, ...], block: int, limits: Limits, provider: str) -> Amount:
    """Return what is kept so that the view, with a block of so many tokens, comes down to about half its trigger."""
    by_unit = dict(clause)
    if "tokens" in by_unit:
        amount = by_unit["tokens"]
        return ("tokens", max(low_water(("tokens", amount), None, limits, provider)[1] - block, amount // 8))
    unit, amount = clause[0]
    return (unit, max(1, amount // 2 - (unit == "messages")))


class _Stage:
    """One application of a summarising policy to a draft."""

    def __init__(self, policy: Summarising, draft: Draft, mark: Mark | None) -> None:
        self._policy = policy
        self._draft = draft
        self._history = draft.history
        self._print = policy.text_fingerprint
        self._mark = mark
        self._rule = policy.rule(draft, mark)
        covers = mark is not None and (mark.boundary > self._rule.start or mark.key)
        self._old = mark if covers else None
        self._text: SummaryText | None = None

    def apply(self) -> Mark:
        """Reduce the draft and return the new mark."""
        if self._old is not None:
            answer = self._answer(self._old.covered(self._history))
            if not isinstance(answer, SummaryText):
                return self._unreadable(self._old, answer)
            self._text = answer
            tokens = self._history.counter.message(summary_message(answer, wording=self._policy.wording))
            self._rule = replace(self._rule, block=tokens, covered=True)
        cut = Reducer(self._draft, self._rule, self._mark).cut()
        if self._old is None and cut.boundary <= self._rule.start:
            return Mark(start=self._rule.start)
        if self._old is not None and cut.boundary == self._old.boundary:
            self._place(cut, self._text)
            return replace(self._old, wait=0, failures=0)
        return self._further(cut)

    def _further(self, cut: Cut) -> Mark:
        base = self._old or Mark(start=self._rule.start)
        key = base.digest_up_to(self._history, cut.boundary)
        answer = self._answer(key)
        if isinstance(answer, SummaryText):
            self._place(cut, answer)
            self._draft.advanced = self._draft.advanced or cut.advanced
            mark = Mark(
                generation=cut.generation, start=self._rule.start, boundary=cut.boundary, at=cut.at,
                key=key if base.key else b"",
            )  # fmt: skip
            return mark
        mark = self._mark or Mark(start=self._rule.start)
        if answer is None and not cooling(mark, len(self._history)):
            self._draft.needs.append(self._need(base, cut.boundary, key))
        self._fall_back()
        return failed(mark, len(self._history)) if isinstance(answer, Failed) else mark

    def _unreadable(self, mark: Mark, answer: Any) -> Mark:
        """Plan without the text that the mark stands for: it is looked up, or made again."""
        if answer is None and not cooling(mark, len(self._history)):
            base = Mark(start=mark.start, key=b"")
            self._draft.needs.append(self._need(base, mark.boundary, mark.covered(self._history)))
        self._old = None
        self._fall_back()
        return failed(mark, len(self._history)) if isinstance(answer, Failed) else mark

    def _answer(self, key: bytes) -> Any:
        return self._draft.request.answers.get((self._print, key.hex()))

    def _need(self, base: Mark, boundary: int, key: bytes) -> Need:
        history, policy = self._history, self._policy
        start, previous = max(base.boundary, self._rule.start), self._text
        if previous is None:
            start, previous = self._earlier(base, start, boundary)
        staying = frozenset(self._draft.survivors(start, boundary))
        messages = [m for i, m in enumerate(history.messages[start:boundary], start) if i not in staying]
        limits = self._draft.request.limits
        pinned = frozenset(self._draft.request.pins)
        reference = reference_of(history, self._rule.start, boundary) if self._draft.recall else None

        def work(count: Callable[[str], int], window: int) -> Generator[Ask, str, SummaryText | Failed]:
            return summarize(
                messages, count=count, previous=previous, options=policy.options(limits, window),
                pinned=pinned, reference=reference,
            )  # fmt: skip

        def local(count: Callable[[str], int]) -> SummaryText:
            return extract(
                messages, count=count, previous=previous, options=policy.options(limits, 1 << 30),
                pinned=pinned, reference=reference,
            )  # fmt: skip

        return Need(
            kind="summary", policy=policy.name, fingerprint=self._print, key=key.hex(), start=start, end=boundary,
            covered=(previous.covered if previous else 0) + len(messages),
            earlier=lambda: tuple(k for _, k in self._shorter(base, boundary)),
            model=policy.model, work=work, local=local,
        )  # fmt: skip

    def _earlier(self, base: Mark, start: int, boundary: int) -> tuple[int, SummaryText | None]:
        """Return the longest shorter coverage whose summary is at hand."""
        if any(one == self._print for one, _ in self._draft.request.answers):
            for border, key in self._shorter(base, boundary):
                found = self._answer(bytes.fromhex(key))
                if isinstance(found, SummaryText):
                    return border, found
        return start, None

    def _shorter(self, base: Mark, boundary: int) -> Iterator[tuple[int, str]]:
        borders = self._history.borders
        for border in range(boundary - 1, max(base.boundary, self._rule.start), -1):
            if borders[border]:
                yield border, base.digest_up_to(self._history, border).hex()

    def _place(self, cut: Cut, text: SummaryText | None) -> None:
        """Take the covered messages out and put the summary in."""
        draft, start, boundary = self._draft, self._rule.start, cut.boundary
        if text is None:
            return
        reference = None
        if draft.recall:
            reference = reference_of(self._history, start, boundary)
            draft.references[reference] = (start, boundary)
        draft.hide(
            start, boundary, staying_before(draft, self._rule, boundary), "summarised", self._policy.name,
            cut.generation, reference,
        )  # fmt: skip
        draft.insert(_front(draft, start, boundary), summary_message(text, wording=self._policy.wording))
        draft.strip(start, cut.at)

    def _fall_back(self) -> None:
        """Make do without the summary: everything as long as it fits, else the newest."""
        draft, rule, old, n = self._draft, self._rule, self._old, len(self._history)
        start = rule.start
        if old is not None:
            start = old.boundary
            self._place(Cut(boundary=start, at=min(old.at, n), generation=old.generation), self._text)
        cap = self._cap()
        half = tuple((unit, max(1, amount // 2)) for unit, amount in cap)
        further = replace(
            rule, trigger=tuple((one,) for one in cap), keep=half, start=start,
            limit=True, whole_view=True, block=0, leads=True,
            covered=False,
        )  # fmt: skip
        cut = Reducer(draft, further, None).cut()
        if cut.boundary > start:
            draft.hide(
                start,
                cut.boundary,
                staying_before(draft, further, cut.boundary),
                "left out",
                self._policy.name,
                0,
                passing=True,
            )
            draft.strip(start, cut.at)

    def _cap(self) -> tuple[Amount, ...]:
        room = self._draft.request.limits.room
        if room is not None:
            return (("tokens", room),)
        largest: dict[str, int] = {}
        for unit, amount in (one for clause in self._rule.trigger for one in clause):
            largest[unit] = max(largest.get(unit, 0), 2 * amount)
        return tuple(largest.items())


def _front(draft: Draft, start: int, boundary: int) -> int:
    """Return the place of a summary: after the head, or after the system messages at the beginning."""
    kinds: list[str] = draft.history.kinds
    while start < boundary and kinds[start] == SYSTEM:
        start += 1
    return start
