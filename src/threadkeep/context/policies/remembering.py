"""Entities: facts about people, places, projects and organisations, put back into the view."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar

from langchain_core.messages import HumanMessage

from threadkeep.context.planning.cooling import cooling, failed
from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.limits import check_count
from threadkeep.context.planning.marks import Mark
from threadkeep.context.planning.plan import Need
from threadkeep.context.policies.policy import Policy, fingerprint
from threadkeep.context.summaries.entities import (
    NOTE_LIMIT,
    NOTHING,
    entities_note,
    extract_entities,
    named_entities,
)
from threadkeep.context.summaries.entities import Entities as Known
from threadkeep.context.summaries.fences import MARK, NOTE
from threadkeep.context.summaries.summarizing import Ask, Failed
from threadkeep.context.summaries.wording import Wording


@dataclass(frozen=True, kw_only=True)
class Entities(Policy):
    """Keep what was said about people, places, projects and organisations, and say it again next to the question.

    Takes nothing out: compose it with a policy that does, as in `Entities() | Window(messages=20)`. What is known is
    brought up to date every few turns, and stands in a note after the newest human message, so that the prompt's
    prefix stays the same. A fact goes with the messages it came from: where one of them was changed, it is gone.

    Args:
        model: The chat model that finds facts, or its name. None: the model of the middleware, if it was given one,
            else the sentences that mention a name.
        every: After how many turns that are over facts are looked for again.
        limit: Tokens of the note.
        prompt: Instructions for the model instead of the built-in ones; braces are harmless.
        language: Language of the facts (ISO 639-1); by default the conversation's.
        wording: The heading of the note; by default in its language.

    Raises:
        ConfigurationError: A value cannot be used.
    """

    name: ClassVar[str] = "entities"

    model: Any = None
    every: int = 4
    limit: int = NOTE_LIMIT
    prompt: str | None = None
    language: str | None = None
    wording: Wording | None = None

    def __post_init__(self) -> None:
        check_count(self.every, "every", least=1)
        check_count(self.limit, "limit", least=16)

    @cached_property
    def text_fingerprint(self) -> str:
        """Stands for the settings that decide what is found."""
        return fingerprint("entities", repr(self.prompt), repr(self.language))

    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Put a note of what is known at the end, and say what has to be looked for."""
        base = mark or Mark()
        history = draft.history
        boundary = self._boundary(draft, base.boundary)
        if boundary == 0 and not base.key:
            return base
        key = base.digest_up_to(history, boundary)
        answer = self._answer(draft, key)
        if isinstance(answer, Known):
            self._note(draft, answer)
            further = boundary > base.boundary
            made = Mark(
                generation=base.generation + further, boundary=boundary, at=len(history),
                key=key if base.key else b"",
            )  # fmt: skip
            return made if further else replace(base, wait=0, failures=0)
        older = self._answer(draft, base.covered(history)) if base.boundary or base.key else None
        if isinstance(older, Known):
            self._note(draft, older)
        if answer is None and not cooling(base, len(history)):
            draft.needs.append(self._need(draft, base, boundary, key, older))
        return failed(base, len(history)) if isinstance(answer, Failed) else base

    def _boundary(self, draft: Draft, boundary: int) -> int:
        """Return up to where facts are known or due: whole turns that are over, some at a time."""
        starts = draft.history.turn_starts
        first = bisect_right(starts, boundary) if boundary else 1
        due = max(0, len(starts) - first) // self.every * self.every
        return starts[first + due - 1] if due else boundary

    def _answer(self, draft: Draft, key: bytes) -> Any:
        return draft.request.answers.get((self.text_fingerprint, key.hex()))

    def _need(self, draft: Draft, base: Mark, boundary: int, key: bytes, older: Any) -> Need:
        history = draft.history
        start, known = (base.boundary, older) if isinstance(older, Known) else (0, NOTHING)
        earlier = tuple(
            base.digest_up_to(history, border).hex()
            for border in reversed(history.turn_starts)
            if base.boundary < border < boundary
        )
        if known is NOTHING:
            start, known = self._at_hand(draft, base, boundary)
        messages = history.messages[start:boundary]

        def work(count: Callable[[str], int], window: int) -> Generator[Ask, str, Known | Failed]:
            return extract_entities(
                messages, count=count, known=known, window=window, prompt=self.prompt, tongue=self.language
            )

        return Need(
            kind="entities", policy=self.name, fingerprint=self.text_fingerprint, key=key.hex(), start=start,
            end=boundary, covered=known.covered + len(messages), earlier=lambda: earlier, model=self.model, work=work,
            local=lambda count: named_entities(messages, known=known),
        )  # fmt: skip

    def _at_hand(self, draft: Draft, base: Mark, boundary: int) -> tuple[int, Known]:
        """Return the longest shorter coverage of which the facts are at hand."""
        if any(one == self.text_fingerprint for one, _ in draft.request.answers):
            for border in reversed(draft.history.turn_starts):
                if base.boundary < border < boundary:
                    found = self._answer(draft, base.digest_up_to(draft.history, border))
                    if isinstance(found, Known):
                        return border, found
        return 0, NOTHING

    def _note(self, draft: Draft, known: Known) -> None:
        starts = draft.history.turn_starts
        about = str(draft.history.messages[starts[-1]].text) if starts else ""
        text = entities_note(
            known, count=draft.history.counter.text, limit=self.limit, about=about, wording=self.wording
        )
        if text:
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            draft.notes.append(
                HumanMessage(text, id=f"threadkeep-note-{digest}", additional_kwargs={MARK: NOTE})
            )
