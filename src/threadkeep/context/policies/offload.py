"""Offload: the older part leaves the view, and the model can read it again through tools."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any, ClassVar

from langchain_core.messages import BaseMessage, HumanMessage

from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.history import SYSTEM, History
from threadkeep.context.planning.limits import Limits, Size, Trigger, check_count, check_trigger
from threadkeep.context.planning.marks import Mark
from threadkeep.context.planning.plan import Lasting, Need
from threadkeep.context.planning.recalling import reference_of
from threadkeep.context.policies.policy import Policy, fingerprint
from threadkeep.context.policies.reducing import Amount, Cut, Reducer, Rule, amounts, staying_before
from threadkeep.context.policies.summary import DEFAULT_TRIGGER, half_of, keep_size
from threadkeep.context.policies.tool_results import shortened
from threadkeep.context.summaries.fences import MARK, enclose, is_own
from threadkeep.context.summaries.summarizing import Ask

INDEX = "index"
"""What marks the message that lists what was offloaded."""

HEADING = (
    "Earlier parts of this conversation are not shown. Each line stands for one part and begins with its reference: "
    "read_history(reference) returns it word for word, search_history(query) finds words in all of them."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """The lines that stand for what was offloaded.

    Args:
        lines: References with how each part begins, oldest first.
        missing: How many older parts have no line any more.
    """

    lines: tuple[str, ...] = ()
    missing: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the lines as JSON types, for storage."""
        return {"lines": list(self.lines), "missing": self.missing}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Index:
        """Return the lines that `to_json` wrote."""
        return cls(lines=tuple(data["lines"]), missing=data["missing"])


@dataclass(frozen=True, kw_only=True)
class Offload(Policy):
    """Take the older part out of the view, and leave a line with a reference for each part of it.

    The model reads and searches what left by the tools `read_history` and `search_history`, which it is given with
    this policy. Results of tools that are very large are replaced from the beginning by a preview with a reference.

    Args:
        trigger: When to reduce, in the forms of `SummaryBuffer`.
        keep: What stays word for word after a reduction, as for `SummaryBuffer`.
        index: Tokens that the lines may take; where there are too many, older parts share one.
        large: Tokens from which a tool's result is replaced by a preview; None never does that.
        preview: Tokens of a preview.
        heading: The sentence above the lines.
        context_window: Tokens of the model's context window, for fractions, where the model does not say.

    Raises:
        ConfigurationError: A value cannot be used.
    """

    name: ClassVar[str] = "offload"

    trigger: Trigger = DEFAULT_TRIGGER
    keep: Size | int | None = None
    index: int = 600
    large: int | None = 4_000
    preview: int = 200
    heading: str = HEADING
    context_window: int | None = None

    def __post_init__(self) -> None:
        check_trigger(self.trigger)
        if self.keep is not None:
            object.__setattr__(self, "keep", keep_size(self.keep, "keep"))
        check_count(self.index, "index", least=100)
        check_count(self.preview, "preview", least=16)
        for name in ("large", "context_window"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name, least=1)

    @property
    def recalls(self) -> bool:
        """Whether the model is to be given the recall tools: always."""
        return True

    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Put previews in the place of large results, and lines in the place of the older part."""
        self._preview(draft)
        limits = draft.request.limits
        triggers = tuple(amounts(one, limits, self.context_window) for one in check_trigger(self.trigger))
        before = mark or Mark()
        rule = Rule(
            trigger=triggers, keep=self._keep(draft, triggers, limits), leads=False, block=self.index,
            covered=bool(before.key),
        )  # fmt: skip
        cut = Reducer(draft, rule, mark).cut()
        if cut.boundary == 0 and not before.key:
            return Mark()
        earlier = self._earlier(draft, before) if before.key else None
        key = before.digest_up_to(draft.history, cut.boundary)
        index = self._offload(draft, rule, cut, before, earlier, key)
        draft.lasting.append(
            Lasting(kind="index", fingerprint=self.text_fingerprint, key=key.hex(), value=index)
        )
        return Mark(
            generation=cut.generation, boundary=cut.boundary, at=cut.at, key=key if before.key else b""
        )

    @cached_property
    def text_fingerprint(self) -> str:
        """Stands for the settings that decide what the lines are."""
        return fingerprint("index", str(self.index))

    def _earlier(self, draft: Draft, mark: Mark) -> Index:
        """Return the lines for what has left the state; where they are lost, only their place remains."""
        key = mark.key.hex()
        answer = draft.request.answers.get((self.text_fingerprint, key))
        if answer is None:
            draft.needs.append(
                Need(
                    kind="index",
                    policy=self.name,
                    fingerprint=self.text_fingerprint,
                    key=key,
                    start=0,
                    end=0,
                    covered=0,
                    earlier=tuple,
                    model=None,
                    work=_no_work,
                    local=lambda count: Index(),
                )
            )
        return answer if isinstance(answer, Index) else Index()

    def _keep(
        self, draft: Draft, triggers: tuple[tuple[Amount, ...], ...], limits: Limits
    ) -> tuple[Amount, ...]:
        if self.keep is not None:
            return amounts((keep_size(self.keep, "keep"),), limits, self.context_window)
        return (half_of(triggers[0], self.index, limits, draft.request.provider),)

    def _offload(
        self, draft: Draft, rule: Rule, cut: Cut, before: Mark, earlier: Index | None, digest: bytes
    ) -> Index:
        """Take out what lies before the boundary, put the lines in, and return them."""
        history = draft.history
        start = before.boundary if earlier is not None else 0
        key = (INDEX, self.index, self.heading, start, cut.boundary, digest, earlier)
        message, parts, index = history.memo(key, lambda: self._block(history, start, cut.boundary, earlier))
        staying = staying_before(draft, rule, cut.boundary)
        draft.hide(0, start, staying, "offloaded", self.name, cut.generation)
        for first, end, reference in parts:
            draft.references[reference] = (first, end)
            inside = [i for i in staying if first <= i < end]
            draft.hide(first, end, inside, "offloaded", self.name, cut.generation, reference)
        place = 0
        while place < cut.boundary and history.kinds[place] == SYSTEM:
            place += 1
        draft.insert(place, message)
        draft.strip(0, cut.at)
        draft.advanced = draft.advanced or cut.advanced
        return index  # type: ignore[no-any-return]

    def _block(
        self, history: History, start: int, boundary: int, earlier: Index | None
    ) -> tuple[BaseMessage, list[tuple[int, int, str]], Index]:
        """Return the message with a line for each part, the new parts with their references, and all lines."""
        count = history.counter.text
        room = self.index - count(self.heading)
        parts = stretches(history, start, boundary)
        while True:
            named = [(first, end, reference_of(history, first, end)) for first, end in parts]
            new = [f"{reference}: {_opening(history, first, end)}" for first, end, reference in named]
            if len(parts) <= 4 or count("\n".join(new)) <= room:
                break
            parts = merged(parts)
        lines = (*(earlier.lines if earlier else ()), *new)
        shown, missing = list(lines), earlier.missing if earlier else 0
        while len(shown) > 4 and count("\n".join(shown)) > room:
            missing += len(shown) - len(shown) * 3 // 4
            shown = shown[-(len(shown) * 3 // 4) :]
        more = [f"({missing} earlier parts have no line; search_history finds them, too)"] if missing else []
        content = enclose("background", "\n".join([self.heading, "", *more, *shown]))
        digest = blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        message = HumanMessage(content, id=f"threadkeep-index-{digest}", additional_kwargs={MARK: INDEX})
        return message, named, Index(lines=tuple(shown), missing=missing)

    def _preview(self, draft: Draft) -> None:
        """Replace large results; whether one is large depends on its bytes alone, so that it stays what it is."""
        if self.large is None:
            return
        history = draft.history
        for index in history.results:
            message = history.messages[index]
            if not draft.present[index] or index in draft.copies or is_own(message):
                continue
            if len(message.content) > self.large and _bytes(str(message.text)) > 4 * self.large:
                reference = reference_of(history, index, index + 1)
                copy = history.variant(
                    index, ("preview", self.preview, reference), partial(self._previewed, reference)
                )
                draft.references[reference] = (index, index + 1)
                draft.replace(index, copy, "previewed", self.name, 0, reference)

    def _previewed(self, reference: str, message: BaseMessage) -> BaseMessage:
        return message.model_copy(update={"content": shortened(str(message.text), self.preview, reference)})


def _no_work(count: Callable[[str], int], window: int) -> Generator[Ask, str, Any]:
    """Make nothing: lines of what has left the state can be looked up, not made again."""
    return Index()
    yield


def stretches(history: History, begin: int, boundary: int) -> list[tuple[int, int]]:
    """Return a range of messages as parts: one for each turn, or for what of it lies inside."""
    if begin >= boundary:
        return []
    starts = [start for start in history.turn_starts if begin <= start < boundary]
    if not starts or starts[0] > begin:
        starts.insert(0, begin)
    return list(zip(starts, [*starts[1:], boundary], strict=True))


def merged(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return half as many parts, older ones joined first: the newest quarter stays as it is."""
    stay = max(2, len(parts) // 4)
    old, new = parts[:-stay], parts[-stay:]
    joined = [(old[i][0], old[min(i + 1, len(old) - 1)][1]) for i in range(0, len(old), 2)]
    return joined + new


def _opening(history: History, start: int, end: int) -> str:
    """Return how a part begins: the first thing that somebody said in it."""
    for index in range(start, end):
        text = " ".join(str(history.messages[index].text)[:400].split())
        if text and history.kinds[index] != SYSTEM and not is_own(history.messages[index]):
            short = text if len(text) <= 80 else f"{text[:79]}…"
            return short if end - start == 1 else f"{short} ({end - start} messages)"
    return f"({end - start} messages)"


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
