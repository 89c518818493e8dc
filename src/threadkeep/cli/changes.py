"""What differs between two states, channel by channel and message by message."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import BaseMessage

from threadkeep.cli import documents

Kind = Literal["added", "removed", "changed"]
Placed = tuple[int, BaseMessage]


@dataclass(frozen=True, slots=True)
class Change:
    """A channel that came, went, or holds another value."""

    kind: Kind
    before: Any = None
    after: Any = None


@dataclass(slots=True)
class MessageChange:
    """A channel of messages that differ; messages stand with their positions, 1 the first."""

    kind: Kind
    added: list[Placed] = field(default_factory=list)
    removed: list[Placed] = field(default_factory=list)
    changed: list[tuple[int, BaseMessage, BaseMessage]] = field(default_factory=list)
    reordered: bool = False


def changes(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Change], dict[str, MessageChange]]:
    """Return the channels that differ, and of those that hold messages, which messages do."""
    values: dict[str, Change] = {}
    messages: dict[str, MessageChange] = {}
    for name in dict.fromkeys([*before, *after]):
        kind: Kind = "added" if name not in before else "removed" if name not in after else "changed"
        old, new = before.get(name), after.get(name)
        if kind == "changed" and same(old, new):
            continue
        sides = [values_of[name] for values_of in (before, after) if name in values_of]
        if any(sides) and all(map(_are_messages, sides)):
            messages[name] = _compare(kind, old or [], new or [])
        else:
            values[name] = Change(kind, old, new)
    return values, messages


def same(left: Any, right: Any) -> bool:
    """Tell whether two values are equal in type and content; NaN equals itself."""
    if type(left) is not type(right):
        return False
    if isinstance(left, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and math.isnan(left):
        return math.isnan(right)
    if hasattr(left, "tobytes"):
        # Arrays answer == with an array.
        return _array(left) == _array(right)
    return bool(left == right)


def _array(value: Any) -> tuple[Any, ...]:
    return getattr(value, "dtype", None), getattr(value, "shape", None), value.tobytes()


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, BaseMessage) for item in value)


def _compare(kind: Kind, before: list[BaseMessage], after: list[BaseMessage]) -> MessageChange:
    old, new = _keyed(before), _keyed(after)
    found = MessageChange(kind)
    found.added = [placed for key, placed in new.items() if key not in old]
    found.removed = [placed for key, placed in old.items() if key not in new]
    for key, (position, message) in new.items():
        if key in old and not same(old[key][1], message):
            found.changed.append((position, old[key][1], message))
    found.reordered = [key for key in old if key in new] != [key for key in new if key in old]
    return found


def _keyed(messages: list[BaseMessage]) -> dict[tuple[str, int], Placed]:
    """Return messages by what makes them the same in both states: their id, or else all they hold."""
    seen: Counter[str] = Counter()
    found = {}
    for position, message in enumerate(messages, 1):
        name = message.id or json.dumps(documents.message(message))
        seen[name] += 1
        found[name, seen[name]] = position, message
    return found
