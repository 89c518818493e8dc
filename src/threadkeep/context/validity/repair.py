"""Make a list of messages a request that a provider takes.

Works on the view, never on what is stored. The same messages always give the same view, and messages added at the end
leave what stands before them as it was, so that the provider's cache holds: only calls that were still open change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence, Set
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from threadkeep.context.validity.calls import makes_calls
from threadkeep.context.validity.contents import cleaned
from threadkeep.context.validity.items import Items
from threadkeep.context.validity.ordering import ordered
from threadkeep.context.validity.pairing import Group, Slot, paired
from threadkeep.context.validity.plain import Plain, plain_beginning
from threadkeep.context.validity.settling import settled

__all__ = ["UNFINISHED", "UNREADABLE", "repair"]

UNFINISHED = "[No result: the call did not finish.]"
"""What is said to the model for a call that has no result."""

UNREADABLE = "[No result: the arguments of the call could not be read.]"
"""What is said to the model for a call whose arguments did not parse, and that nothing answered."""

OPENAI_ID_LENGTH = 40
"""The longest call id that OpenAI takes, in characters."""

_ROLES: dict[str, type[BaseMessage]] = {
    "user": HumanMessage,
    "human": HumanMessage,
    "assistant": AIMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "developer": SystemMessage,
}
_NOTHING: Mapping[str, ToolMessage] = {}


def repair(
    messages: Sequence[BaseMessage],
    *,
    provider: str = "generic",
    results: Mapping[str, ToolMessage] = _NOTHING,
    paused: Set[str] = frozenset(),
    reduced: bool = False,
    store: bool | None = None,
    prefill: bool = True,
) -> list[BaseMessage]:
    """Return the messages as a request that keeps every rule in `RULES` of the provider.

    Nothing given is changed: what stays as it is are the same objects, what does not are copies. A call without a
    result is answered right after its message, by `results` where the call's result is known, else by a fixed text.
    Results stand directly after their call; those without a call, removals and answers that say nothing are left out.
    Call ids are made up where they miss and made unique where they repeat. System messages after the first ones
    become notes in the user's role where the provider takes none there. Repairing twice is repairing once.

    Args:
        messages: The conversation, or what a policy has left of it.
        provider: Whose rules: `generic`, `openai`, `openai-responses`, `anthropic` or `google`. `generic` keeps what
            all of them have in common.
        results: Results that did finish but did not reach the messages, by call id.
        paused: Ids of calls that wait for a human. They stay open while nothing comes after them.
        reduced: Whether messages were left out before, so that the provider's stored response is not this view's
            beginning; its ids then leave the copies. Set by itself where the repair changes something.
        store: For `openai-responses`, the request's `store`: with False, items that only the server knows leave.
        prefill: Whether the last message may be an answer for the model to go on with.
    """
    plain = plain_beginning(messages, longest_id(provider))
    return repair_after(
        plain,
        messages,
        provider=provider,
        results=results,
        paused=paused,
        reduced=reduced,
        store=store,
        prefill=prefill,
    )


def longest_id(provider: str) -> int | None:
    """Return how many characters a call's id may have, None for any number."""
    return OPENAI_ID_LENGTH if provider in ("openai", "openai-responses") else None


def repair_after(
    plain: Plain,
    messages: Sequence[BaseMessage],
    *,
    provider: str,
    results: Mapping[str, ToolMessage] = _NOTHING,
    paused: Set[str] = frozenset(),
    reduced: bool = False,
    store: bool | None = None,
    prefill: bool = True,
) -> list[BaseMessage]:
    """Return what `repair` does, for messages whose plain beginning is known."""
    groups = paired(_normal(messages[plain.end :], plain.callers), longest_id(provider), plain.call_ids)
    head = groups[-1] if groups else None
    found: list[BaseMessage] = []
    items = Items(store=store) if provider == "openai-responses" else None
    for group in groups:
        message = group.message
        if isinstance(message, AIMessage):
            message = settled(message, group.slots, promote=provider == "google")
        kept = cleaned(message, provider, calls=bool(group.slots))
        if kept is None:
            continue
        found.append(items.kept(kept) if items is not None else kept)
        found.extend(_results(group, provider, results, paused if group is head else frozenset()))
    before = list(messages[: plain.end])
    found = ordered(found, provider, prefill=prefill, before=before)
    if provider in ("generic", "openai-responses") and (reduced or not _same(found, messages)):
        return [_without_response_id(message) for message in found]
    return found


def _normal(messages: Sequence[BaseMessage], callers: Mapping[str, BaseMessage]) -> list[BaseMessage]:
    """Return the messages in the classes that every package knows, each once.

    `callers` are those before them that call tools, by id.
    """
    found: list[BaseMessage] = []
    by_id = dict(callers)
    for message in messages:
        if isinstance(message, RemoveMessage | FunctionMessage):
            continue
        if message.id is not None and makes_calls(message):
            # Written twice, its calls would be made twice, and only one of them has the result.
            if message.id in by_id and _equal(by_id[message.id], message):
                continue
            by_id[message.id] = message
        if isinstance(message, ChatMessage):
            message = _of_role(message)
        if isinstance(message, HumanMessage) and isinstance(message.content, list):
            found.extend(_split(message, message.content))
        else:
            found.append(message)
    return found


def _equal(one: BaseMessage, other: BaseMessage) -> bool:
    return (
        type(one) is type(other)
        and one.content == other.content
        and getattr(one, "tool_calls", None) == getattr(other, "tool_calls", None)
        and getattr(one, "invalid_tool_calls", None) == getattr(other, "invalid_tool_calls", None)
    )


def _of_role(message: ChatMessage) -> BaseMessage:
    kind = _ROLES.get(message.role, HumanMessage)
    name = message.name
    if message.role not in _ROLES and name is None:
        name = message.role
    return kind(
        content=message.content, id=message.id, name=name, additional_kwargs=message.additional_kwargs
    )


def _split(message: HumanMessage, content: list[Any]) -> list[BaseMessage]:
    """Return the results that stand in a human message, the way Anthropic's own form has them, as messages."""
    results = [block for block in content if isinstance(block, dict) and block.get("type") == "tool_result"]
    if not results:
        return [message]
    found: list[BaseMessage] = [
        ToolMessage(
            block.get("content") or "",
            tool_call_id=str(block.get("tool_use_id") or ""),
            status="error" if block.get("is_error") else "success",
            id=f"{message.id}:{place}" if message.id else None,
        )
        for place, block in enumerate(results)
    ]
    rest = [block for block in content if not any(block is one for one in results)]
    if rest:
        found.append(message.model_copy(update={"content": rest}))
    return found


def _results(
    group: Group, provider: str, finished: Mapping[str, ToolMessage], paused: Set[str]
) -> list[BaseMessage]:
    found = [_result(message, slot, provider) for message, slot in group.results]
    for slot in group.slots:
        known = slot.call.get("id") or ""
        if slot.answered or known in paused:
            continue
        answer = finished.get(known) if known else None
        found.append(_result(answer, slot, provider) if answer is not None else _closing(slot))
    return found


def _result(message: ToolMessage, slot: Slot, provider: str) -> BaseMessage:
    update: dict[str, Any] = {}
    if message.tool_call_id != slot.id:
        update["tool_call_id"] = slot.id
    # Gemini finds the call by its name.
    renamed = slot.name != slot.call.get("name") or provider == "google"
    if renamed and message.name is not None and message.name != slot.name:
        update["name"] = slot.name
    if update and isinstance(message.content, list):
        update["content"] = [_result_block(block, slot.id) for block in message.content]
    return cleaned(message.model_copy(update=update) if update else message, provider) or message


def _result_block(block: Any, call_id: str) -> Any:
    if isinstance(block, dict) and "tool_use_id" in block:
        return {**block, "tool_use_id": call_id}
    return block


def _closing(slot: Slot) -> ToolMessage:
    digest = hashlib.sha256(slot.id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return ToolMessage(
        UNFINISHED if slot.valid else UNREADABLE,
        tool_call_id=slot.id,
        name=slot.name,
        status="error",
        id=f"closed-{digest}",
        additional_kwargs={"threadkeep": "repair"},
    )


def _same(found: Sequence[BaseMessage], messages: Sequence[BaseMessage]) -> bool:
    return len(found) == len(messages) and all(
        one is other for one, other in zip(found, messages, strict=True)
    )


def _without_response_id(message: BaseMessage) -> BaseMessage:
    found = message.response_metadata.get("id") if isinstance(message, AIMessage) else None
    if not isinstance(found, str) or not found.startswith("resp_"):
        return message
    metadata = {key: value for key, value in message.response_metadata.items() if key != "id"}
    return message.model_copy(update={"response_metadata": metadata})
