"""A view without a graph: plan, meet what the plan needs, and plan again."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage

from threadkeep.context.counting.tokens import Counter, count_tokens
from threadkeep.context.planning.history import Counting, History
from threadkeep.context.planning.limits import FALLBACK_WINDOW, Anchor, Limits
from threadkeep.context.planning.marks import State
from threadkeep.context.planning.plan import Answer, Need, Request, View
from threadkeep.context.policies.policy import RECENT, Policy
from threadkeep.context.providers import context_window, provider_of
from threadkeep.context.summaries.summarizing import Ask, Failed

REMEMBERED: Final = 64
"""How many summaries a policy's `view` remembers."""

PASSES: Final = 8
"""How often a plan is made for one view at most; each pass meets what the former one needed."""


class Viewing:
    """One call of `Policy.view`: what to plan with, and the driver that asks models for summaries."""

    def __init__(
        self,
        policy: Policy,
        messages: Sequence[BaseMessage],
        model: Any,
        system: Any,
        tools: Sequence[Any],
        response_format: Any,
        provider: str | None,
        pins: Sequence[str],
        calibration: Any,
        previous: View | None,
    ) -> None:
        # What was counted, digested and summarised is a matter of contents alone, so it may come from any call.
        recent: Request | None = getattr(policy, RECENT, None)
        before = previous.plan.request if previous is not None else recent
        counter: Counting = Counter(model, calibration)
        if before is not None and _counts_alike(before.history.counter, model, calibration):
            counter = before.history.counter
        overhead = count_tokens((), model=model, tools=tools, system=system, response_format=response_format)
        self._policy = policy
        self._answers: dict[tuple[str, str], Answer] = _made(recent, before)
        self._request = Request(
            history=History.of(messages, counter, before.history if before is not None else None),
            limits=Limits(
                window=window_of(model),
                overhead=overhead.tokens,
                anchor=_reported(previous, messages, overhead.tokens) if previous is not None else None,
            ),
            provider=provider or provider_name(model),
            answers=self._answers,
            pins=frozenset(pins),
            state=previous.state if previous is not None else State(),
        )

    def run(self) -> View:
        """Return the view, calling summarizers as needed."""
        steps = self._steps()
        answer: Any = None
        while True:
            try:
                need, ask = steps.send(answer)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            try:
                answer = text_of(model_of(need.model).invoke(list(ask.messages)))
            except Exception as error:  # handed to the summarizer, which answers with a failure
                answer = error

    async def arun(self) -> View:
        """Return the view, awaiting summarizers as needed."""
        steps = self._steps()
        answer: Any = None
        while True:
            try:
                need, ask = steps.send(answer)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            try:
                answer = text_of(await model_of(need.model).ainvoke(list(ask.messages)))
            except Exception as error:  # handed to the summarizer, which answers with a failure
                answer = error

    def _steps(self) -> Generator[tuple[Need, Ask], Any, View]:
        """Yield the model calls to make; an exception that was raised is sent back like an answer."""
        plan = self._policy.plan(self._request)
        for _ in range(PASSES):
            open_needs = [need for need in plan.needs if (need.fingerprint, need.key) not in self._answers]
            if not open_needs:
                break
            for need in open_needs:
                self._answers[need.fingerprint, need.key] = yield from self._met(need)
            plan = self._policy.plan(self._request)
        object.__setattr__(self._policy, RECENT, self._request)
        return plan.view()

    def _met(self, need: Need) -> Generator[tuple[Need, Ask], Any, Answer]:
        count = self._request.history.counter.text
        if need.model is None and need.local is not None:
            return need.local(count)
        work = need.work(count, window_of(need.model) or FALLBACK_WINDOW)
        try:
            ask = next(work)
            while True:
                answer = yield need, ask
                ask = work.throw(answer) if isinstance(answer, Exception) else work.send(answer)
        except StopIteration as done:
            return done.value


def _counts_alike(counter: Any, model: Any, calibration: Any) -> bool:
    return calibration is None and isinstance(counter, Counter) and counter.model is model


def _reported(previous: View, messages: Sequence[BaseMessage], overhead: int) -> Anchor | None:
    """Return what the provider reported for the former view, if the answer to it says so."""
    before = previous.plan.request
    n = len(before.history)
    if n >= len(messages) or before.limits.overhead != overhead:
        return None
    usage = getattr(messages[n], "usage_metadata", None)
    tokens = usage.get("input_tokens") if isinstance(usage, Mapping) else None
    return Anchor(tokens=tokens, messages=n) if isinstance(tokens, int) and tokens > 0 else None


def _made(*requests: Request | None) -> dict[tuple[str, str], Answer]:
    """Return the newest answers of former calls; what failed is tried again by the plan's own rules."""
    made: dict[tuple[str, str], Answer] = {}
    for request in requests:
        made.update(request.answers if request is not None else ())
    kept = [(key, answer) for key, answer in made.items() if not isinstance(answer, Failed)]
    return dict(kept[-REMEMBERED:])


def model_of(model: Any) -> Any:
    """Return a chat model object; a name is resolved by LangChain when it is first needed."""
    if isinstance(model, str):
        from threadkeep.adapters.models import chat_model

        return chat_model(model)
    return model


def text_of(answer: Any) -> str:
    """Return the text of what a model answered."""
    text = getattr(answer, "text", answer)
    return text if isinstance(text, str) else str(text)


def window_of(model: Any) -> int | None:
    """Return the context window of a model in tokens, None where it is not known."""
    return None if model is None else context_window(model)


def provider_name(model: Any) -> str:
    """Return whose rules requests to a model must obey."""
    return "generic" if model is None else provider_of(model)
