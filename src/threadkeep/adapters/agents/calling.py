"""One model call of an agent: plan the view, meet its needs, send it, and note what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.types import Command

from threadkeep.adapters.agents.counting import Counters
from threadkeep.adapters.agents.needs import Maker, keep_lasting
from threadkeep.adapters.agents.overflow import overflows
from threadkeep.adapters.agents.place import Place
from threadkeep.adapters.agents.record import DELETED, Lost, deleted, valid, whole
from threadkeep.adapters.agents.recorder import recording
from threadkeep.adapters.agents.results import finished
from threadkeep.adapters.agents.sessions import Report, Session
from threadkeep.adapters.agents.spending import Spending, answer_limit
from threadkeep.adapters.agents.steps import Flow, Step
from threadkeep.context import prices
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.planning.history import History
from threadkeep.context.planning.limits import Limits
from threadkeep.context.planning.marks import State
from threadkeep.context.planning.plan import Plan, Request, View
from threadkeep.context.policies.policy import Policy
from threadkeep.context.providers import context_window, model_name, own_tokens, provider_of
from threadkeep.errors import ContextTooLarge

PASSES: Final = 8
"""How often a plan is made for one view at most; each pass meets what the former one needed."""

ANSWER: Final = 1_024
"""Tokens kept free for an answer where neither the model nor the budget says."""

PLAUSIBLE: Final = (0.3, 4.0)
"""Bounds of a report beside its estimate: outside them it is no count of this input, and anchors nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What the middleware was given, as far as one call is concerned."""

    policy: Policy
    channel: str
    rewrite: bool
    model: Any
    spending: Spending
    context_window: int | None
    provider: str | None


class Calling:
    """One model call. Made for each anew; what is to be kept is in the session."""

    def __init__(
        self,
        settings: Settings,
        request: ModelRequest[Any],
        handler: Callable[[Any], Any],
        place: Place,
        session: Session,
        counters: Counters,
    ) -> None:
        self._settings = settings
        self._request = request
        self._handler = handler
        self._place = place
        self._session = session
        self._counters = counters
        self._model = model_name(request.model)
        self._deleted = 0
        self._state: Mapping[str, Any] = request.state
        self._known: dict[str, Any] = {
            "tools": request.tools,
            "system": request.system_message,
            "response_format": request.response_format,
        }

    def call(self) -> Flow[Any]:
        """Send the view, a smaller one where it is refused as too long, and return the answer with the new reference.

        Raises ContextTooLarge where that one is refused, too, or where there is none.
        """
        planned = yield from self._planning()
        try:
            view = yield from self._planned(planned)
        except Lost:
            planned = yield from self._planning(anew=True)
            view = yield from self._planned(planned, anew=True)
        try:
            response = yield from self._sent(view)
        except Exception as error:
            if not overflows(error):
                raise
            refused, view = view, (yield from self._smaller(planned, view, error))
            response = yield from self._resent(refused, view)
        yield from self._noted(view, response)
        return (yield from self._answer(view, response))

    # planning

    def _planning(self, *, anew: bool = False) -> Flow[Request]:
        """Return what the first plan is made from; `anew` reads what has left the state again."""
        request, settings = self._request, self._settings
        counter: Counter = yield from self._counters.of(request.model, self._place)
        history, state = yield from self._conversation(counter, anew)
        pins: frozenset[str] = frozenset()
        if self._place.notes is not None:
            pins = yield Step.of(self._place.notes, "pinned")
        results = yield from finished(history, self._place, self._session)
        return Request(
            history=history,
            state=state,
            limits=self._limits(history, counter.count((), **self._known).tokens + own_tokens(request.model)),
            provider=settings.provider or provider_of(request.model, request.tools),
            pins=pins,
            results=results,
        )

    def _conversation(self, counter: Counter, anew: bool) -> Flow[tuple[History, State]]:
        """Return the messages to choose from, and how far the policy is with them."""
        reference = self._state.get(self._settings.channel)
        before = self._session.history
        history = History.of(self._request.messages, counter, before)
        state = self._session.state(reference)
        record = self._place.record
        if self._settings.rewrite and record is not None:
            self._deleted = len((yield from deleted(record)))
            if anew or not valid(reference, self._settings.policy.fingerprint, history, self._deleted):
                everything = yield from whole(record, self._request.messages)
                if len(everything) > len(history):
                    history, state = History.of(everything, counter, before), State()
        self._session.history = history
        return history, state

    def _limits(self, history: History, overhead: int) -> Limits:
        window = self._settings.context_window or context_window(self._request.model)
        room, report = self._room(), self._session.report
        return Limits(
            window=window,
            overhead=overhead,
            # Some models allow answers as long as their window; half of it is the conversation's in any case.
            reserve=room if window is None else min(room, window // 2),
            anchor=report.anchor(history, self._model, overhead) if report is not None else None,
            too_large=self._session.too_large.get(self._model),
        )

    def _planned(self, request: Request, *, anew: bool = False) -> Flow[View]:
        """Plan until nothing is needed, or cannot be had. Raises Lost unless everything was read `anew`."""
        maker = Maker(
            place=self._place,
            session=self._session,
            counter=(yield from self._counters.of(self._request.model, self._place)),
            size=len(request.history),
            model=self._settings.model,
            fallback=self._request.model,
            spending=self._settings.spending,
            strict=self._settings.rewrite and not anew,
        )
        request = replace(request, answers=maker.answers)
        plan = self._settings.policy.plan(request)
        for _ in range(PASSES):
            needs = [need for need in plan.needs if (need.fingerprint, need.key) not in maker.answers]
            if not needs:
                break
            for need in needs:
                yield from maker.meet(need)
            plan = self._settings.policy.plan(request)
        return plan.view()

    def _room(self) -> int:
        said = answer_limit(self._request.model, self._request.model_settings)
        budget = self._settings.spending.budget
        return said if said is not None else budget.reserve if budget is not None else ANSWER

    # sending

    def _sent(self, view: View) -> Flow[Any]:
        reserved = yield from self._settings.spending.reserve(
            self._place, self._request.model, view.tokens.tokens, self._room()
        )
        self._session.pending = self._state.get(self._settings.channel), view.state
        request = self._request.override(messages=cast(Any, view.messages))
        handler, thread = self._handler, self._place.thread
        told: dict[str, Any] = {}
        if thread is not None:
            told = {
                "run_id": self._place.run_id,
                "source": view.plan.request.history.messages,
                "spans": view.spans,
                "policy": self._settings.policy.name,
                "reservation": reserved,
            }

        def plain() -> Any:
            if thread is None:
                return handler(request)
            with recording(thread, **told):
                return handler(request)

        async def awaited() -> Any:
            if thread is None:
                return await handler(request)
            async with recording(thread, **told):
                return await handler(request)

        return (yield Step(plain, awaited))

    def _smaller(self, planned: Request, view: View, error: Exception) -> Flow[View]:
        """Return a view below the size that was refused."""
        limits = replace(planned.limits, too_large=view.tokens.tokens, anchor=None)
        smaller = yield from self._planned(replace(planned, limits=limits), anew=True)
        if smaller.tokens.tokens >= view.tokens.tokens:
            raise self._too_large(view, None) from error
        return smaller

    def _resent(self, refused: View, view: View) -> Flow[Any]:
        try:
            response = yield from self._sent(view)
        except Exception as again:
            if not overflows(again):
                raise
            raise self._too_large(refused, view) from again
        self._session.too_large[self._model] = refused.tokens.tokens
        return response

    def _too_large(self, view: View, smaller: View | None) -> ContextTooLarge:
        first = view.tokens.tokens
        second = smaller.tokens.tokens if smaller is not None else None
        then = (
            f"and refused {second:,} tokens after the policy {self._settings.policy.name!r} reduced them"
            if second is not None
            else f"and the policy {self._settings.policy.name!r} has nothing more to leave out (still {first:,} tokens)"
        )
        place = f" of thread {self._place.thread_id!r}" if self._place.thread_id is not None else ""
        return ContextTooLarge(
            f"model {self._model!r} refused an input{place} of about {first:,} tokens as too long, {then}. Give the "
            "policy a lower trigger or keep, shorten the system prompt or the tools, or take a model with a larger "
            "window",
            thread_id=self._place.thread_id,
            model=self._model,
            tokens=first,
            reduced_tokens=second if second is not None else first,
        )

    # afterwards

    def _noted(self, view: View, response: Any) -> Flow[None]:
        """Learn from what the provider reported."""
        self._session.pending = self._session.report = None
        answer = next((one for one in _messages(response) if isinstance(one, AIMessage)), None)
        usage = prices.usage_of(answer) if answer is not None else None
        if usage is None or not usage.input or usage.from_cache:
            return
        history, estimate = view.plan.request.history, view.tokens.tokens
        if PLAUSIBLE[0] * estimate <= usage.input <= PLAUSIBLE[1] * estimate:
            self._session.report = Report(
                tokens=usage.input,
                messages=len(history),
                digest=history.prefix_digest(len(history)),
                model=self._model,
                overhead=view.plan.request.limits.overhead,
            )
        yield from self._counters.learn(
            self._request.model, self._place, estimate, usage.input, view.messages, **self._known
        )

    def _answer(self, view: View, response: Any) -> Flow[Any]:
        """Return the answer, with what is to be stored together with it."""
        update: dict[str, Any] = {}
        reference = _reference(view.state, 0)
        if self._settings.rewrite:
            reference, removed = yield from self._rewritten(view.plan, response)
            if removed:
                update["messages"] = [RemoveMessage(id=one) for one in removed]
                self._session.report = None
        if reference != self._state.get(self._settings.channel):
            update[self._settings.channel] = reference
        if not update:
            return response
        if isinstance(response, AIMessage):
            response = ModelResponse(result=[response])
        return ExtendedModelResponse(model_response=response, command=Command(update=update))

    def _rewritten(self, plan: Plan, response: Any) -> Flow[tuple[Any, list[str]]]:
        """Return the reference for a state without what the view has no place for, and the ids of that.

        An id that the answer has, or that the state does not know, is none of them.
        """
        answered = [one.id for one in _messages(response) if one.id]
        leaving = plan.removable(answered)
        here = {message.id for message in self._state.get("messages", ())}
        outside = {one.id for one in plan.request.history.messages if one.id and one.id not in here}
        if not outside <= set(leaving):
            # The view shows more than the state has: the record is read until all of that is covered.
            return None, []
        if leaving:
            yield from keep_lasting(self._place, self._session, plan.lasting)
        state = plan.rewritten(leaving) if leaving else plan.state
        return _reference(state, self._deleted), [one for one in leaving if one in here]


def _reference(state: State, gone: int) -> Mapping[str, Any] | None:
    """Return what the private channel holds; nothing as long as nothing was reduced."""
    if not any(mark.to_json() for mark in state.marks):
        return None
    return {**state.to_json(), DELETED: gone} if gone else state.to_json()


def _messages(response: Any) -> list[Any]:
    return [response] if isinstance(response, AIMessage) else list(response.result)
