"""What of a conversation a view still gives a model: what it sees, what it can read, what is gone."""

from __future__ import annotations

import json
from collections.abc import Iterable

from langchain_core.messages import AIMessage, BaseMessage

from threadkeep.context.facts.facts import Fact, facts_of, lost
from threadkeep.context.planning.plan import Reason, View
from threadkeep.context.simulation.simulation import Reach


def messages_reach(view: View, recalls: bool) -> Reach:
    """Return where the messages of the conversation are.

    Args:
        view: The view of the last call.
        recalls: Whether the model has the recall tools.
    """
    return _counted(_where(reason, recalls) for reason in view.reasons)


def facts_reach(view: View, recalls: bool) -> Reach:
    """Return where the facts in a conversation's human messages and answers are."""
    places: dict[tuple[str, str], tuple[Fact, list[int]]] = {}
    for index, message in enumerate(view.plan.request.history.messages):
        for fact in facts_of(message):
            places.setdefault((fact.kind, fact.value), (fact, []))[1].append(index)
    reasons = view.reasons
    missing = {(f.kind, f.value) for f in lost([fact for fact, _ in places.values()], _shown(view.messages))}
    return _counted(
        "visible" if key not in missing else _best(_where(reasons[index], recalls) for index in found)
        for key, (_, found) in places.items()
    )


def _where(reason: Reason, recalls: bool) -> str:
    if reason.what == "kept":
        return "visible"
    if recalls:
        return "reachable"
    return "summarised" if reason.what == "summarised" else "lost"


def _best(found: Iterable[str]) -> str:
    """Return the best place; a message that is there while its fact was not found counts as gone."""
    places = set(found)
    return next((place for place in ("reachable", "summarised") if place in places), "lost")


def _counted(places: Iterable[str]) -> Reach:
    counts = {"visible": 0, "reachable": 0, "summarised": 0, "lost": 0}
    for place in places:
        counts[place] += 1
    return Reach(total=sum(counts.values()), **counts)


def _shown(messages: Iterable[BaseMessage]) -> str:
    return "\n".join(_text(message) for message in messages)


def _text(message: BaseMessage) -> str:
    text = str(message.text)
    if isinstance(message, AIMessage) and message.tool_calls:
        return f"{text}\n{json.dumps([call['args'] for call in message.tool_calls], ensure_ascii=False, default=str)}"
    return text
