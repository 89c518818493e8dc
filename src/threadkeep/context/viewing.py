"""A view without a graph: plan, meet what the plan needs, and plan again."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import BaseMessage

from threadkeep.context.history import History
from threadkeep.context.limits import FALLBACK_WINDOW, Limits
from threadkeep.context.marks import State
from threadkeep.context.plan import Answer, Need, Request, View
from threadkeep.context.policy import Policy
from threadkeep.context.tokens import Counter, count_tokens

if TYPE_CHECKING:
    from threadkeep.context.summarizing import Ask

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
        before = previous.plan.request if previous is not None else None
        counter = Counter(model, calibration)
        if before is not None and model is None and calibration is None:
            counter = before.history.counter  # type: ignore[assignment]
        overhead = count_tokens((), model=model, tools=tools, system=system, response_format=response_format)
        self._policy = policy
        self._answers: dict[tuple[str, str], Answer] = dict(before.answers) if before is not None else {}
        self._request = Request(
            history=History.of(messages, counter, before.history if before is not None else None),
            limits=Limits(window=window_of(model), overhead=overhead.tokens),
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
    profile = getattr(model, "profile", None)
    if isinstance(profile, Mapping) and isinstance(profile.get("max_input_tokens"), int):
        return int(profile["max_input_tokens"])
    return None


def provider_name(model: Any) -> str:
    """Return whose rules requests to a model must obey."""
    return "generic"
