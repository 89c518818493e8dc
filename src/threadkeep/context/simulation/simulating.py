"""Replay a conversation under policies: what each would have sent, and what that would have taken."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from langchain_core.messages import BaseMessage

from threadkeep.context.files.imports import load_messages
from threadkeep.context.planning.history import History
from threadkeep.context.planning.limits import Anchor, Limits
from threadkeep.context.planning.marks import State
from threadkeep.context.planning.plan import Answer, Request, View
from threadkeep.context.planning.viewing import PASSES, REMEMBERED
from threadkeep.context.policies.parsing import parse_policy, policy_text
from threadkeep.context.policies.policy import Policy
from threadkeep.context.prices import Tokens, price, price_data_version
from threadkeep.context.simulation.filler import Made
from threadkeep.context.simulation.prefixes import Prefixes
from threadkeep.context.simulation.premises import Premises, premises_of
from threadkeep.context.simulation.reaching import facts_reach, messages_reach
from threadkeep.context.simulation.recording import Recording, Step, of_messages
from threadkeep.context.simulation.scaling import Scale
from threadkeep.context.simulation.simulation import (
    HELD,
    Recorded,
    SimulatedCall,
    SimulatedPolicy,
    Simulation,
    per_turn,
)
from threadkeep.context.summaries.summarizing import Failed
from threadkeep.errors import ConfigurationError

DEFAULT_POLICIES: Final = (
    "buffer",
    "window:messages=20",
    "window:tokens=4000",
    "summary-buffer:tokens=4000",
    "head-tail:head=2,tail=10",
    "offload:tokens=4000",
)
"""What is compared where nobody says what to."""

Progress = Callable[[int, int], None]
"""Called with how many calls are done, and how many there are, over all policies."""


def simulate(
    conversation: Any,
    policies: Iterable[Policy | str] | Mapping[str, Policy | str] = DEFAULT_POLICIES,
    *,
    model: Any = None,
    provider: str | None = None,
    overhead: int | None = None,
    summarizer: Any = None,
    progress: Progress | None = None,
) -> Simulation:
    """Compute what each policy would have sent at every model call of a conversation, without calling the model.

    Policies carry their state from call to call as they do in use. Answers are held fixed. Where it was recorded
    what a call was sent and what its provider reported, estimates are scaled so that the same messages give the
    reported tokens. Summaries are those stored with the thread, else filler of their configured size.

    Args:
        conversation: A `Thread` (its current branch), a list of messages, or the path of a JSON file of messages in
            the form of OpenAI, Anthropic or LangChain.
        policies: Policies or texts of them; a mapping gives them names.
        model: The model, or its name, for counting, prices and the context window; by default the recorded one.
        provider: The provider whose rules, cache and prices are meant; by default the recorded one.
        overhead: Tokens of the system prompt and the tools of each call, where they were not recorded.
        summarizer: A chat model, or its name, that writes real summaries; None calls no model.
        progress: Called as the simulation goes on.

    Raises:
        ConfigurationError: A policy cannot be read, there is none, or the conversation has no answer.
        InvalidMessages: A file is in no known form; OSError where it cannot be read.
        ThreadNotFound: The thread is not there.
    """
    recording = _recording(conversation)
    if not recording.steps:
        raise ConfigurationError(
            f"{recording.name!r} has no answer of a model, so there is no call to simulate; give a conversation with "
            "at least one"
        )
    named = _named(policies)
    premises = premises_of(recording, model, provider, overhead, summarizer)
    done = _Done(progress, len(recording.steps) * len(named))
    runners = [_Runner(premises, policy) for policy in named.values()]
    history: History | None = None
    for place, step in enumerate(recording.steps):
        history = History.of(recording.messages[: step.end], premises.planning.counter, history)
        for runner in runners:
            runner.step(place, step, history)
            done.one()
        premises.planning.learn(step)
    found = tuple(runner.result(name) for name, runner in zip(named, runners, strict=True))
    return _simulation(recording, premises, found)


class _Done:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._count = 0

    def one(self) -> None:
        self._count += 1
        if self._progress is not None:
            self._progress(self._count, self._total)


class _Runner:
    """One policy on its way through the conversation."""

    def __init__(self, premises: Premises, policy: Policy) -> None:
        self._premises = premises
        self._policy = policy
        self._state = State()
        self._answers: dict[tuple[str, str], Answer] = {}
        self._prefixes = Prefixes(premises.counter)
        self._calls: list[SimulatedCall] = []
        self._anchor: tuple[Anchor, int] | None = None
        self._view: View | None = None
        self._history: History | None = None

    def step(self, place: int, step: Step, history: History) -> None:
        """Plan one call and note what it takes."""
        premises = self._premises
        recalls, planning = self._policy.recalls, premises.planning.counter
        limits = Limits(
            window=premises.window,
            overhead=premises.overheads.of(place, planning, recalls=recalls),
        )
        limits = replace(limits, anchor=self._anchored(limits.overhead))
        request = Request(
            history=history, state=self._state, limits=limits, provider=premises.rules, answers=self._answers,
            pins=premises.recording.pins,
        )  # fmt: skip
        view, made = self._viewed(request)
        overhead = premises.overheads.of(place, premises.counter, recalls=recalls)
        estimate = self._prefixes.total(view.messages) + overhead
        tokens = premises.scale.tokens(place, estimate)
        self._calls.append(self._call(place, step, view, made, tokens, overhead))
        self._state, self._view, self._history = self._remembered(view), view, history
        self._anchor = Anchor(tokens=tokens, messages=len(history)), limits.overhead
        self._answers = dict(
            [one for one in self._answers.items() if not isinstance(one[1], Failed)][-REMEMBERED:]
        )

    def _remembered(self, view: View) -> State:
        """Return what is remembered of a view: ContextMiddleware keeps nothing as long as nothing was reduced."""
        recording, state = self._premises.recording, view.state
        plain = recording.recorded and not recording.learned
        return state if plain or any(mark.to_json() for mark in state.marks) else State()

    def _anchored(self, overhead: int) -> Anchor | None:
        """Return what the call before took, unless system prompt or tools are counted differently now."""
        return self._anchor[0] if self._anchor is not None and self._anchor[1] == overhead else None

    def _viewed(self, request: Request) -> tuple[View, list[Made]]:
        made: list[Made] = []
        plan = self._policy.plan(request)
        for _ in range(PASSES):
            needs = [need for need in plan.needs if (need.fingerprint, need.key) not in self._answers]
            if not needs:
                break
            for need in needs:
                answer, calls = self._premises.summarizer.meet(need, request.history.counter)
                self._answers[need.fingerprint, need.key] = answer
                made += calls
            plan = self._policy.plan(request)
        return plan.view(), made

    def _call(
        self, place: int, step: Step, view: View, made: list[Made], tokens: int, overhead: int
    ) -> SimulatedCall:
        premises, scale = self._premises, self._premises.scale
        shared, complete = self._prefixes.shared(view.messages)
        fixed = scale.tokens(place, overhead)
        same = min(tokens, scale.tokens(place, overhead + shared))
        cached = premises.cache.cached(same, fixed, complete, self._idle(place)) if self._calls else 0
        answer = premises.recording.messages[step.end]
        output = step.reported.output if step.reported and step.reported.output is not None else None
        call = SimulatedCall(
            turn=step.turn,
            input_tokens=tokens,
            output_tokens=output
            if output is not None
            else scaled(scale, place, premises.counter.message(answer)),
            cached_tokens=min(cached, tokens),
            written_tokens=premises.cache.written(tokens, min(cached, tokens)),
            messages=len(view.messages) + len(step.system),
            reduced=view.plan.advanced,
            summaries=len(made),
            summary_input_tokens=scaled(scale, place, sum(one.input for one in made)),
            summary_output_tokens=scaled(scale, place, sum(one.output for one in made)),
            reported=step.reported.input if step.reported else None,
        )
        return replace(call, price=self._price(call, step))

    def _idle(self, place: int) -> float | None:
        """Return the seconds since the call before."""
        steps = self._premises.recording.steps
        now, before = steps[place].at, steps[place - 1].at
        return (now - before).total_seconds() if now is not None and before is not None else None

    def _price(self, call: SimulatedCall, step: Step) -> Decimal | None:
        """Return what a call costs with the summaries before it, by the price list of its time."""
        asked = [
            Tokens(
                input=call.input_tokens, output=call.output_tokens,
                cache_read=call.cached_tokens or None, cache_write=call.written_tokens or None,
            )
        ]  # fmt: skip
        if call.summaries:
            asked.append(Tokens(input=call.summary_input_tokens, output=call.summary_output_tokens))
        total = Decimal(0)
        for tokens in asked:
            found = price(self._premises.name, self._premises.provider, tokens, step.at) or price(
                self._premises.name, None, tokens, step.at
            )
            if found is None:
                return None
            total += found.amount
        return total

    def result(self, name: str) -> SimulatedPolicy:
        """Return what the policy took and keeps."""
        assert self._view is not None and self._history is not None
        return SimulatedPolicy(
            policy=name,
            calls=tuple(self._calls),
            messages=messages_reach(self._view, self._policy.recalls),
            facts=facts_reach(self._view, self._policy.recalls),
        )


def scaled(scale: Scale, place: int, estimate: int) -> int:
    """Return the tokens of a text or of another prompt, without the constant of this conversation's prompts."""
    return round(estimate * scale.of(place))


def _recording(conversation: Any) -> Recording:
    if isinstance(conversation, Recording):
        return conversation
    if isinstance(conversation, str | os.PathLike):
        return of_messages(load_messages(conversation), os.path.basename(os.fspath(conversation)))
    if isinstance(conversation, Sequence):
        if all(isinstance(message, BaseMessage) for message in conversation):
            return of_messages(conversation)
        return of_messages(load_messages(list(conversation)))
    from threadkeep.adapters.agents.recorded import recorded

    return recorded(conversation)


def _named(policies: Iterable[Policy | str] | Mapping[str, Policy | str]) -> dict[str, Policy]:
    given: list[tuple[str | None, Policy | str]] = (
        list(policies.items())
        if isinstance(policies, Mapping)
        else [(None, one) for one in ([policies] if isinstance(policies, str | Policy) else policies)]
    )
    if not given:
        raise ConfigurationError(
            "no policy is given; give at least one, such as 'summary-buffer:tokens=4000'"
        )
    found: dict[str, Policy] = {}
    for name, one in given:
        policy = parse_policy(one) if isinstance(one, str) else one
        if not isinstance(policy, Policy):
            raise ConfigurationError(f"{one!r} is no policy; give one, or its text")
        found.setdefault(name or (one if isinstance(one, str) else policy_text(policy)), policy)
    return found


def _simulation(
    recording: Recording, premises: Premises, policies: tuple[SimulatedPolicy, ...]
) -> Simulation:
    priced = any(policy.price is not None for policy in policies)
    remarks = [HELD]
    if recording.others:
        remarks.append(
            f"{recording.others} recorded calls are not simulated: summaries, calls that failed or were tried again, "
            "and calls of other branches."
        )
    return Simulation(
        conversation=recording.name,
        model=premises.name,
        provider=premises.provider,
        turns=len({step.turn for step in recording.steps}),
        calls=len(recording.steps),
        policies=policies,
        recorded=_reported(recording),
        cache=premises.cache,
        inferred=premises.inferred,
        remarks=tuple(remarks),
        price_version=price_data_version() if priced else None,
    )


def _reported(recording: Recording) -> Recorded | None:
    """Return the sums of what was really reported."""
    steps = [(step, step.reported) for step in recording.steps if step.reported and step.reported.input]
    if not steps:
        return None
    prices = [step.price for step, _ in steps]
    inputs = [tokens.input or 0 for _, tokens in steps]
    return Recorded(
        calls=len(steps),
        input_tokens=sum(inputs),
        output_tokens=sum(tokens.output or 0 for _, tokens in steps),
        cached_tokens=sum(tokens.cache_read or 0 for _, tokens in steps),
        peak=max(inputs),
        input_per_turn=per_turn((step.turn, tokens.input or 0) for step, tokens in steps),
        price=None if None in prices else sum((one for one in prices if one is not None), Decimal(0)),
        policies=recording.policies,
    )
