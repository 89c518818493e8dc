"""A view outside an agent's run: of a thread in a plain loop, and of the call that an agent would make next."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from langchain_core.messages import BaseMessage

from threadkeep.adapters.agents.calling import ANSWER, PASSES
from threadkeep.adapters.agents.counting import Counters
from threadkeep.adapters.agents.middleware import ContextMiddleware
from threadkeep.adapters.agents.needs import Maker
from threadkeep.adapters.agents.place import Place
from threadkeep.adapters.agents.results import finished
from threadkeep.adapters.agents.sessions import Session
from threadkeep.adapters.agents.spending import Spending, answer_limit
from threadkeep.adapters.agents.steps import Flow, Step
from threadkeep.adapters.langgraph import Checkpointer
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.planning.history import History
from threadkeep.context.planning.limits import Limits
from threadkeep.context.planning.marks import State
from threadkeep.context.planning.plan import Answer, Need, Request, View
from threadkeep.context.policies.policy import Policy
from threadkeep.context.providers import context_window, model_name, own_tokens, provider_of
from threadkeep.context.summaries.summarizing import Failed
from threadkeep.thread import Thread

STATES: Final = 256
"""How many messages back a state of the policy is looked for that still holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What the view is for: the call's model, and what goes with its messages."""

    model: Any = None
    system: Any = None
    tools: Sequence[Any] = ()
    response_format: Any = None
    provider: str | None = None
    context_window: int | None = None
    summarizer: Any = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Foreseen:
    """The view of a call that was not made.

    Attributes:
        view: The view.
        unmade: What the call would ask a model for first; extracts stand for it in the view.
    """

    view: View
    unmade: tuple[Need, ...]


def thread_view(thread: Thread, policy: Policy, asked: Asked) -> Flow[View]:
    """Return the view of a thread's state, and store how far the policy has come where that has changed."""
    state = yield Step.of(thread, "state")
    place, counters = place_of_thread(thread), Counters()
    request = yield from _request(place, asked, Session(), counters, state.values.get("messages") or ())
    kept = yield from _stored_state(place, policy, request.history)
    maker = Maker(**(yield from _maker(place, asked, Session(), counters, request)))
    view = yield from _planned(policy, replace(request, state=kept), maker)
    if view.state != kept and any(mark.to_json() for mark in view.state.marks):
        digest = request.history.prefix_digest(len(request.history))
        yield Step.of(place.notes, "keep_entities", _states(policy), digest, view.state.to_json())
    return view


def next_view(
    middleware: ContextMiddleware, thread: Thread, messages: Sequence[BaseMessage], state: Any, asked: Asked
) -> Flow[Foreseen]:
    """Return the view that an agent's next call would be given. No model is called and nothing is stored.

    Args:
        middleware: The agent's.
        thread: The agent's thread.
        messages: What the state's messages will be.
        state: What the middleware's private channel holds.
        asked: The agent's model, system prompt and tools.
    """
    place, settings = place_of_thread(thread), middleware._settings
    known = middleware._sessions.of(place.key)
    session = replace(known, answers=dict(known.answers), failures=dict(known.failures))
    counters = middleware._counters
    asked = replace(asked, provider=settings.provider, context_window=settings.context_window)
    request = yield from _request(place, asked, session, counters, messages)
    maker = _Foreseeing(**(yield from _maker(place, asked, session, counters, request)))
    view = yield from _planned(middleware.policy, replace(request, state=session.state(state)), maker)
    return Foreseen(view=view, unmade=tuple(maker.unmade))


def place_of_thread(thread: Thread) -> Place:
    """Return the place of an agent's calls on a thread, where the agent is no part of another graph."""
    return Place(
        key=(thread._engine, thread.owner, thread.thread_id, ""),
        thread=thread,
        run_id=uuid.uuid4().hex,
        saver=Checkpointer(thread._engine, thread.owner),
        namespace="",
        checkpoint_id=None,
        thread_id=thread.thread_id,
    )


@dataclass(kw_only=True)
class _Foreseeing(Maker):
    """Finds what there is, and puts extracts in the place of what a model would be asked for."""

    unmade: list[Need] = field(default_factory=list)

    def _made(self, need: Need) -> Flow[Answer]:
        if need.model is not None or self.model is not None or need.local is None:
            self.unmade.append(need)
        return (
            need.local(self.counter.text)
            if need.local is not None
            else Failed(reason="error", text="it is not made for a look")
        )
        yield

    def _stored(self, need: Need, answer: Answer) -> Flow[Answer]:
        return answer
        yield


def _request(
    place: Place, asked: Asked, session: Session, counters: Counters, messages: Sequence[BaseMessage]
) -> Flow[Request]:
    counter = yield from _counter(place, asked, counters)
    history = History.of(messages, counter, session.history)
    sent = {"tools": asked.tools, "system": asked.system, "response_format": asked.response_format}
    overhead = counter.count((), **sent).tokens + own_tokens(asked.model)
    pins = yield Step.of(place.notes, "pinned")
    name = model_name(asked.model)
    room = answer_limit(asked.model, {}) if asked.model is not None else None
    window = asked.context_window or (context_window(asked.model) if asked.model is not None else None)
    return Request(
        history=history,
        limits=Limits(
            window=window,
            overhead=overhead,
            reserve=room or ANSWER if window is None else min(room or ANSWER, window // 2),
            anchor=session.report.anchor(history, name, overhead) if session.report is not None else None,
            too_large=session.too_large.get(name),
        ),
        provider=asked.provider or (provider_of(asked.model, asked.tools) if asked.model else "generic"),
        pins=pins,
        results=(yield from finished(history, place, session)),
    )


def _counter(place: Place, asked: Asked, counters: Counters) -> Flow[Counter]:
    return Counter() if asked.model is None else (yield from counters.of(asked.model, place))


def _maker(
    place: Place, asked: Asked, session: Session, counters: Counters, request: Request
) -> Flow[dict[str, Any]]:
    return {
        "place": place,
        "session": session,
        "counter": (yield from _counter(place, asked, counters)),
        "size": len(request.history),
        "model": asked.summarizer,
        "fallback": asked.model,
        "spending": Spending(),
    }


def _planned(policy: Policy, request: Request, maker: Maker) -> Flow[View]:
    request = replace(request, answers=maker.answers)
    plan = policy.plan(request)
    for _ in range(PASSES):
        needs = [need for need in plan.needs if (need.fingerprint, need.key) not in maker.answers]
        if not needs:
            break
        for need in needs:
            yield from maker.meet(need)
        plan = policy.plan(request)
    return plan.view()


def _states(policy: Policy) -> str:
    return f"state {policy.fingerprint}"


def _stored_state(place: Place, policy: Policy, history: History) -> Flow[State]:
    """Return what the policy remembered of the longest beginning of this conversation."""
    ends = range(len(history), max(0, len(history) - STATES), -1)
    digests = [history.prefix_digest(end) for end in ends]
    notes = (yield Step.of(place.notes, "entities", _states(policy), digests)) if digests else {}
    return next((State.from_json(notes[one].value) for one in digests if one in notes), State())
