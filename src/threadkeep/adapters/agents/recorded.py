"""A thread with its recorded calls, as `simulate` replays it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage

from threadkeep.adapters.agents.notes import Notes
from threadkeep.context.planning.history import content_digest
from threadkeep.context.prices import Tokens
from threadkeep.context.simulation.recording import Recording, Step, steps_of
from threadkeep.context.summaries.summarizing import SummaryText
from threadkeep.context.validity.calls import is_system
from threadkeep.engine import replay
from threadkeep.errors import ConfigurationError
from threadkeep.models import Call, CallRecord
from threadkeep.thread import Thread


def recorded(thread: Any) -> Recording:
    """Read a thread's current branch with the calls that were answered in it.

    Raises ThreadNotFound, and ConfigurationError for what is no thread.
    """
    if not isinstance(thread, Thread):
        raise ConfigurationError(
            f"{type(thread).__name__} is no conversation; give a Thread, a list of messages, or a file's path"
        )
    messages = tuple(thread.messages())
    records = thread._engine.run(replay.replayed(thread._engine, thread._ref))
    answered = {
        one.call.message_id: one
        for one in records
        if one.call.message_id is not None and (one.call.purpose, one.call.status) == ("answer", "finished")
    }
    own = {content_digest(message) for message in messages if is_system(message)}
    steps = [
        _joined(step, answered.get(messages[step.end].id or ""), messages, own) for step in steps_of(messages)
    ]
    used = {
        one.call.number for step in steps if (one := answered.get(messages[step.end].id or "")) is not None
    }
    notes = Notes(thread)
    policies = tuple(dict.fromkeys(one.policy for one in answered.values() if one.policy))

    def summary(fingerprint: str, key: str) -> SummaryText | None:
        digest = bytes.fromhex(key)
        note = notes.summaries(fingerprint, [digest]).get(digest)
        return None if note is None else _summary(note.value)

    return Recording(
        name=thread.thread_id,
        messages=messages,
        steps=tuple(steps),
        pins=frozenset(thread.pins()),
        others=sum(one.call.number not in used for one in records if one.call.purpose != "cached"),
        summaries=summary,
        policies=policies,
        learned=bool(policies) and _learned(notes, steps),
        summarised=any(one.call.purpose == "summary" for one in records),
    )


def _learned(notes: Notes, steps: Sequence[Step]) -> bool:
    """Tell whether a middleware learned how the models count; a plain loop leaves nothing behind."""
    names = {step.model for step in steps}
    return any(name is None or notes.calibration(name) is not None for name in names)


def _joined(step: Step, found: CallRecord | None, messages: Sequence[BaseMessage], own: set[bytes]) -> Step:
    """Add to a step what the ledger knows of its call."""
    if found is None:
        return step
    call = found.call
    return replace(
        step,
        at=call.at,
        model=call.model or step.model,
        provider=call.provider or step.provider,
        reported=_tokens(call) or step.reported,
        price=call.price,
        sent=found.messages,
        system=() if found.messages is None else tuple(_prompt(found.messages, own)),
        tools=found.tools,
        response_format=found.options.get("response_format"),
    )


def _prompt(sent: Iterable[BaseMessage], own: set[bytes]) -> Iterable[BaseMessage]:
    """Yield the system messages at the beginning that are not the conversation's own."""
    for message in sent:
        if not is_system(message) or content_digest(message) in own:
            return
        yield message


def _tokens(call: Call) -> Tokens | None:
    if not call.input_tokens:
        return None
    return Tokens(
        input=call.input_tokens,
        output=call.output_tokens,
        cache_read=call.cache_read_tokens,
        cache_write=call.cache_write_tokens,
        reasoning=call.reasoning_tokens,
    )


def _summary(value: Mapping[str, Any]) -> SummaryText | None:
    try:
        return SummaryText.from_json(dict(value))
    except (KeyError, TypeError, ValueError):
        return None
