"""Results that finished in a run that was interrupted, and so never reached the messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from langchain_core.messages import ToolMessage

from threadkeep.adapters.agents.place import Place
from threadkeep.adapters.agents.sessions import Session
from threadkeep.adapters.agents.steps import Flow, Step
from threadkeep.context.planning.history import History
from threadkeep.context.validity.calls import call_ids, result_id

STEPS: Final = 32
"""Checkpoints that are looked through at most for each call that asks; open calls are rare, and found close by."""

MESSAGES: Final = "messages"


def open_calls(history: History) -> list[str]:
    """Return the ids of the calls that have no result, in order; repeated ids count by number."""
    results: dict[str | None, int] = {}
    for index in history.results:
        name = result_id(history.messages[index])
        results[name] = results.get(name, 0) + 1
    found = []
    for index in history.callers:
        for call_id in call_ids(history.messages[index]):
            if results.get(call_id, 0):
                results[call_id] -= 1
            else:
                found.append(call_id)
    return found


def finished(history: History, place: Place, session: Session) -> Flow[dict[str, ToolMessage]]:
    """Return the results of open calls that the thread's pending writes hold, by call id.

    A run that a human's next message overtook leaves the results of the tools that were done in the writes of its last
    checkpoint. Its ancestors are looked through as long as they have the call.
    """
    wanted = [one for one in open_calls(history) if one not in session.results]
    if wanted and place.saver is not None and place.thread_id is not None:
        found = yield from _looked_up(frozenset(wanted), place)
        session.results.update({one: found.get(one) for one in wanted})
    return {one: result for one, result in session.results.items() if result is not None}


def _looked_up(wanted: frozenset[str], place: Place) -> Flow[dict[str, ToolMessage]]:
    found: dict[str, ToolMessage] = {}
    configurable = {"thread_id": place.thread_id, "checkpoint_ns": place.namespace}
    config: Any = {"configurable": {**configurable, "checkpoint_id": place.checkpoint_id}}
    for _ in range(STEPS):
        held = yield Step.of(place.saver, "get_tuple", config)
        if held is None:
            break
        for _, channel, value in held.pending_writes or ():
            if channel == MESSAGES:
                found.update(_results(value, wanted))
        messages = held.checkpoint["channel_values"].get(MESSAGES)  # none where only the graph can tell
        before = messages is not None and not wanted & _called(messages)
        if wanted <= found.keys() or before or held.parent_config is None:
            break
        config = held.parent_config
    return found


def _results(value: Any, wanted: frozenset[str]) -> dict[str, ToolMessage]:
    items = value if isinstance(value, list) else [value]
    return {
        one.tool_call_id: one for one in items if isinstance(one, ToolMessage) and one.tool_call_id in wanted
    }


def _called(messages: Iterable[Any]) -> frozenset[str]:
    return frozenset(call_id for message in messages for call_id in call_ids(message))
