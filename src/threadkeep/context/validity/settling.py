"""Write the ids, names and arguments of an AI message's calls alike in all the places where calls stand.

`tool_calls` and `invalid_tool_calls` decide: a call that stands in the content alone has been edited away.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from langchain_core.messages import AIMessage

from threadkeep.context.validity.calls import CALL_BLOCKS, block_call_id
from threadkeep.context.validity.pairing import Slot, agrees, custom_input

_ID_MAPS = ("__gemini_function_call_thought_signatures__", "__openai_function_call_ids__")
# What the packages send where `tool_calls` is empty, so that calls edited away would come back.
_RAW_CALLS = ("tool_calls", "function_call")


def settled(message: AIMessage, slots: list[Slot], *, promote: bool = False) -> AIMessage:
    """Return the message with its calls as the slots say; the same object where nothing differs.

    With `promote`, calls whose arguments did not parse become calls without arguments, for packages that drop them.
    """
    update: dict[str, Any] = {}
    slots = [_promoted(slot) for slot in slots] if promote else slots
    valid = [_entry(slot) for slot in slots if slot.valid]
    invalid = [_entry(slot) for slot in slots if not slot.valid]
    if valid != message.tool_calls:
        update["tool_calls"] = valid
    if invalid != message.invalid_tool_calls:
        update["invalid_tool_calls"] = invalid
    if isinstance(message.content, list):
        content = _content(message.content, slots)
        if content is not None:
            update["content"] = content
    kwargs = _kwargs(message.additional_kwargs, slots)
    if kwargs is not None:
        update["additional_kwargs"] = kwargs
    return message.model_copy(update=update) if update else message


def _entry(slot: Slot) -> dict[str, Any]:
    entry = {**slot.call, "id": slot.id, "name": slot.name}
    if slot.valid:
        return entry
    return {**entry, "args": entry.get("args") or ""}


def _promoted(slot: Slot) -> Slot:
    if slot.valid:
        return slot
    call: dict[str, Any] = {
        "name": slot.call.get("name"),
        "args": {},
        "id": slot.call.get("id"),
        "type": "tool_call",
    }
    return Slot(call=call, valid=True, id=slot.id, name=slot.name)


def _content(content: list[Any], slots: list[Slot]) -> list[Any] | None:
    """Return the content with blocks of calls as the slots say; None where nothing differs."""
    free: defaultdict[str, list[Slot]] = defaultdict(list)
    for slot in slots:
        free[slot.call.get("id") or ""].append(slot)
    kept: list[Any] = []
    changed = False
    for block in content:
        if not isinstance(block, dict) or block.get("type") not in CALL_BLOCKS:
            kept.append(block)
            continue
        same_id = free[block_call_id(block) or ""]
        written = _block(block, same_id.pop(0)) if same_id else None
        changed = changed or written is not block
        if written is not None:
            kept.append(written)
    return kept if changed else None


def _block(block: dict[str, Any], slot: Slot) -> dict[str, Any]:
    """Return a block of a call as its slot says; the same object where nothing differs."""
    update: dict[str, Any] = {}
    if block.get(CALL_BLOCKS[block["type"]]) != slot.id:
        update[CALL_BLOCKS[block["type"]]] = slot.id
    if block["type"] != "computer_call" and block.get("name") != slot.name:
        update["name"] = slot.name
    if slot.valid and not agrees(block, slot.call["args"]):
        update.update(_args(block, slot.call["args"]))
    return {**block, **update} if update else block


def _args(block: dict[str, Any], args: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == "tool_use":
        return (
            {"input": args, "partial_json": json.dumps(args)} if "partial_json" in block else {"input": args}
        )
    if block["type"] == "function_call":
        return {"arguments": json.dumps(args, ensure_ascii=False)}
    if block["type"] == "custom_tool_call":
        return {"input": custom_input(args)}
    if block["type"] == "computer_call":
        return {"action": args}
    extras = block.get("extras")
    if isinstance(extras, dict) and "arguments" in extras:
        return {"args": args, "extras": {**extras, "arguments": json.dumps(args, ensure_ascii=False)}}
    return {"args": args}


def _kwargs(kwargs: dict[str, Any], slots: list[Slot]) -> dict[str, Any] | None:
    """Return the additional arguments with keys of calls as the slots say; None where nothing differs."""
    update: dict[str, Any] = {}
    for key in _ID_MAPS:
        found = kwargs.get(key)
        if isinstance(found, dict) and found:
            ids = {slot.call.get("id"): slot.id for slot in reversed(slots)}
            renamed = {ids[old]: value for old, value in found.items() if old in ids}
            if renamed != found:
                update[key] = renamed
    left = [] if slots else [key for key in _RAW_CALLS if kwargs.get(key)]
    if not update and not left:
        return None
    return {key: value for key, value in {**kwargs, **update}.items() if key not in left}
