"""Pair tool calls with their results, in histories where ids are missing, repeated, or answered late.

A result belongs to the newest message before it that has an unanswered call of its id; within a message the first such
call is answered first. What has no such call is an orphan.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from threadkeep.context.validity.calls import block_call_id, call_blocks

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
UNKNOWN_TOOL = "unknown_tool"


@dataclass(kw_only=True, slots=True)
class Slot:
    """One call of an AI message: the entry as it is, whether its arguments parsed, and what it is sent as."""

    call: dict[str, Any]
    valid: bool
    id: str
    name: str
    answered: bool = False


@dataclass(slots=True)
class Group:
    """A message and, where it calls tools, its calls, and their results in the order in which they came."""

    message: BaseMessage
    slots: list[Slot] = field(default_factory=list)
    results: list[tuple[ToolMessage, Slot]] = field(default_factory=list)


def paired(
    messages: Sequence[BaseMessage], longest: int | None = None, taken: Set[str] = frozenset()
) -> list[Group]:
    """Return the messages that are no results, each with its calls and their results; orphans are left out.

    Ids and names of the slots are those to be sent: there, unique, of at most `longest` characters, and names as
    providers take them. A call that only the content holds counts if a result names it. Calls before these messages
    have the ids that are `taken`.
    """
    answers = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    groups: list[Group] = []
    waiting: defaultdict[str, list[tuple[Group, list[Slot]]]] = defaultdict(list)
    naming = _Naming(longest, taken)
    for message in messages:
        if isinstance(message, ToolMessage):
            _answer(message, waiting.get(message.tool_call_id))
            continue
        group = Group(message)
        groups.append(group)
        if isinstance(message, AIMessage):
            group.slots = _slots(message, answers, naming)
        for slot in group.slots:
            same_id = waiting[slot.call.get("id") or ""]
            if not same_id or same_id[-1][0] is not group:
                same_id.append((group, []))
            same_id[-1][1].append(slot)
    return groups


def _answer(message: ToolMessage, waiting: list[tuple[Group, list[Slot]]] | None) -> None:
    if not waiting:
        return
    group, slots = waiting[-1]
    slot = slots.pop(0)
    if not slots:
        waiting.pop()
    slot.answered = True
    group.results.append((message, slot))


def _slots(message: AIMessage, answers: set[str], naming: _Naming) -> list[Slot]:
    calls: list[tuple[dict[str, Any], bool]] = [(dict(call), True) for call in message.tool_calls]
    calls.extend((dict(call), False) for call in message.invalid_tool_calls)
    if not calls and isinstance(message.content, str):
        return []
    known = {call.get("id") for call, _ in calls}
    for block in call_blocks(message):
        found = block_call_id(block)
        if found and found not in known and found in answers:
            known.add(found)
            calls.append(_call_of(block, found))
    return [naming.slot(message, call, valid, place) for place, (call, valid) in enumerate(calls)]


def _call_of(block: dict[str, Any], call_id: str) -> tuple[dict[str, Any], bool]:
    """Return a block of a call as an entry of `tool_calls`, or of `invalid_tool_calls`."""
    args = block_args(block)
    call = {"name": block.get("name") or UNKNOWN_TOOL, "id": call_id}
    if isinstance(args, dict):
        return {**call, "args": args, "type": "tool_call"}, True
    return {**call, "args": str(args), "error": None, "type": "invalid_tool_call"}, False


def block_args(block: dict[str, Any]) -> Any:
    """Return the arguments in a block of a call: a mapping, or the text that is none."""
    if block["type"] == "custom_tool_call":
        return {"__arg1": block.get("input")}
    if block["type"] == "computer_call":
        return block.get("action") or {}
    key = {"tool_use": "input", "function_call": "arguments"}.get(block["type"], "args")
    args = block.get(key)
    if not args and block["type"] == "tool_use" and block.get("partial_json"):
        args = block["partial_json"]
    if not isinstance(args, str):
        return {} if args is None else args
    try:
        parsed = json.loads(args or "{}")
    except ValueError:
        return args
    return parsed if isinstance(parsed, dict) else args


def agrees(block: dict[str, Any], args: dict[str, Any]) -> bool:
    """Say whether a block of a call has these arguments."""
    if block["type"] == "custom_tool_call":
        return bool(block.get("input") == custom_input(args))
    return bool(block_args(block) == args)


def custom_input(args: dict[str, Any]) -> str:
    """Return the text that a custom tool is called with: the one argument, or all of them where it was edited."""
    found = args.get("__arg1") if set(args) == {"__arg1"} else None
    return found if isinstance(found, str) else json.dumps(args, ensure_ascii=False)


class _Naming:
    """Gives calls the ids under which they are sent: the same ones whenever the same messages come."""

    def __init__(self, longest: int | None, taken: Set[str]) -> None:
        self._longest = longest
        self._given = set(taken)
        self._times: defaultdict[str, int] = defaultdict(int)

    def slot(self, message: BaseMessage, call: dict[str, Any], valid: bool, place: int) -> Slot:
        name = tool_name(call.get("name"))
        return Slot(call=call, valid=valid, id=self._id(message, call, place), name=name)

    def _id(self, message: BaseMessage, call: dict[str, Any], place: int) -> str:
        wanted = call.get("id") or ""
        if not wanted:
            wanted = _made(f"{message.id}\n{place}\n{call.get('name')}\n{call.get('args')!r}")
        elif self._longest is not None and len(wanted) > self._longest:
            wanted = _made(wanted)
        found = wanted
        while found in self._given:
            self._times[wanted] += 1
            found = _made(f"{wanted}\n{self._times[wanted]}")
        self._given.add(found)
        return found


def _made(seed: str) -> str:
    return f"call_{hashlib.sha256(seed.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def tool_name(name: str | None) -> str:
    """Return a tool's name as every provider takes it: unchanged where it is one."""
    if name and TOOL_NAME.fullmatch(name):
        return name
    return re.sub(r"[^A-Za-z0-9_-]", "_", name or "", flags=re.ASCII)[:64] or UNKNOWN_TOOL
