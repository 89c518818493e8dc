"""Say which rules a list of messages breaks, without changing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)

from threadkeep.context.validity.calls import CALL_BLOCKS, block_call_id, call_blocks, is_system, makes_calls
from threadkeep.context.validity.contents import is_blank, is_foreign, owner
from threadkeep.context.validity.items import item_ids
from threadkeep.context.validity.ordering import CACHE_MARKS, cache_marks
from threadkeep.context.validity.pairing import TOOL_NAME, agrees
from threadkeep.context.validity.reasoning import is_reasoning
from threadkeep.context.validity.rules import RULES
from threadkeep.errors import ConfigurationError

__all__ = ["Violation", "validate"]

OPENAI_ID_LENGTH = 40
_KNOWN = {provider for rule in RULES for provider in rule.providers}
_THINKING = ("thinking", "redacted_thinking")
_SIGNATURES = "__gemini_function_call_thought_signatures__"
_ITEM_IDS = "__openai_function_call_ids__"


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """One break of a rule.

    Args:
        rule: The rule's number in `RULES`.
        index: The index of the message, or of the last message where it is the list as a whole.
        message_id: The message's id, if it has one.
        text: What is wrong, with the id or the name in question.
    """

    rule: int
    index: int
    message_id: str | None
    text: str


@dataclass(slots=True)
class _Case:
    """The messages, how they will be sent, and what several rules look at."""

    messages: Sequence[BaseMessage]
    provider: str
    paused: Set[str]
    reduced: bool
    store: bool | None
    thinking: bool
    prefill: bool
    calls: list[list[str]] = field(default_factory=list)

    def answers(self) -> Iterator[tuple[int, AIMessage]]:
        for index, message in enumerate(self.messages):
            if isinstance(message, AIMessage):
                yield index, message

    def blocks(self) -> Iterator[tuple[int, BaseMessage, Any]]:
        for index, message in enumerate(self.messages):
            if isinstance(message.content, list):
                for block in message.content:
                    yield index, message, block


_Found = Iterator[tuple[int, str]]
_Check = Callable[[_Case], _Found]


def validate(
    messages: Sequence[BaseMessage],
    provider: str = "generic",
    *,
    paused: Set[str] = frozenset(),
    reduced: bool = False,
    store: bool | None = None,
    thinking: bool = False,
    prefill: bool = True,
) -> tuple[Violation, ...]:
    """Return what in the messages breaks a rule of the provider, by message, then by rule; empty for a valid request.

    Args:
        messages: What would be sent. Nothing is changed.
        provider: Whose rules: `generic`, `openai`, `openai-responses`, `anthropic` or `google`.
        paused: Ids of calls that wait for a human: they may be open while nothing comes after them.
        reduced: Whether messages were left out, so that response ids lead to another conversation (rule 13).
        store: For `openai-responses`, the request's `store` (rule 12).
        thinking: For `anthropic`, whether extended thinking is on, so that an open tool loop needs it (rule 19).
        prefill: Whether the last message may be an answer for the model to go on with (rule 17).

    Raises:
        ConfigurationError: The provider is not one of them.
    """
    if provider not in _KNOWN:
        raise ConfigurationError(
            f"validate knows no rules of provider {provider!r}; use one of {', '.join(sorted(_KNOWN))}"
        )
    case = _Case(messages, provider, paused, reduced, store, thinking, prefill)
    case.calls = [_calls(message) for message in messages]
    found = [
        Violation(
            rule=rule.number, index=index, message_id=messages[index].id if messages else None, text=text
        )
        for rule in RULES
        if provider in rule.providers
        for index, text in _CHECKS[rule.number](case)
    ]
    return tuple(sorted(found, key=lambda one: (one.index, one.rule)))


def _calls(message: BaseMessage) -> list[str]:
    """Return the ids of all calls of a message; repeated where two calls share one, empty where one has none."""
    if not isinstance(message, AIMessage):
        return []
    ids = [call.get("id") or "" for call in (*message.tool_calls, *message.invalid_tool_calls)]
    listed = set(ids)
    for block in call_blocks(message):
        found = block_call_id(block) or ""
        if found not in listed:
            ids.append(found)
            listed.add(found)
    return ids


def _answered(case: _Case) -> _Found:
    last = max((i for i, m in enumerate(case.messages) if not isinstance(m, ToolMessage)), default=0)
    for index, calls in enumerate(case.calls):
        if not calls:
            continue
        results = Counter(_results_after(case.messages, index))
        for call in calls:
            count = results[call]
            if count != 1 and not (count == 0 and index == last and call in case.paused):
                yield index, f"call {call!r} has {count or 'no'} results"


def _results_after(messages: Sequence[BaseMessage], index: int) -> Iterator[str]:
    for message in messages[index + 1 :]:
        if not isinstance(message, ToolMessage):
            return
        yield message.tool_call_id


def _orphans(case: _Case) -> _Found:
    called: set[str] = set()
    for index, message in enumerate(case.messages):
        called.update(case.calls[index])
        if isinstance(message, ToolMessage) and message.tool_call_id not in called:
            yield index, f"result of {message.tool_call_id!r}, which nothing called"
        if isinstance(message, FunctionMessage):
            yield index, f"a FunctionMessage of {message.name!r} names no call"


def _adjacent(case: _Case) -> _Found:
    waiting: set[str] = set()
    called: set[str] = set()
    for index, message in enumerate(case.messages):
        called.update(case.calls[index])
        if not isinstance(message, ToolMessage):
            waiting = set(case.calls[index])
        elif message.tool_call_id in called and message.tool_call_id not in waiting:
            yield index, f"result of {message.tool_call_id!r} does not stand after its call"


def _unique_calls(case: _Case) -> _Found:
    seen: set[str] = set()
    for index, calls in enumerate(case.calls):
        for call in calls:
            if not call:
                yield index, "a call has no id"
            elif call in seen:
                yield index, f"call id {call!r} stands twice"
            seen.add(call)


def _removals(case: _Case) -> _Found:
    for index, message in enumerate(case.messages):
        if isinstance(message, RemoveMessage):
            yield index, f"a RemoveMessage of {message.id!r}"


def _some_message(case: _Case) -> _Found:
    if all(is_system(message) or isinstance(message, RemoveMessage) for message in case.messages):
        yield max(0, len(case.messages) - 1), "no message but system messages"


def _agreeing(case: _Case) -> _Found:
    for index, message in case.answers():
        calls = {call.get("id"): call for call in message.tool_calls}
        bad = {call.get("id") for call in message.invalid_tool_calls}
        for block in call_blocks(message):
            found = block_call_id(block)
            if found in calls:
                if not _says(block, calls[found]):
                    yield index, f"call {found!r} in the content differs from `tool_calls`"
            elif found not in bad:
                yield index, f"call {found!r} stands in the content, not in `tool_calls`"
        if not makes_calls(message):
            for key in ("tool_calls", "function_call"):
                if message.additional_kwargs.get(key):
                    yield index, f"a call stands in additional_kwargs[{key!r}], not in `tool_calls`"


def _says(block: dict[str, Any], call: Any) -> bool:
    same_name = block.get("name") == call["name"] or block["type"] == "computer_call"
    return same_name and agrees(block, call["args"])


def _names(case: _Case) -> _Found:
    for index, message in case.answers():
        for call in (*message.tool_calls, *message.invalid_tool_calls):
            if not TOOL_NAME.fullmatch(call.get("name") or ""):
                yield index, f"tool name {call.get('name')!r}"


def _some_content(case: _Case) -> _Found:
    for index, message in enumerate(case.messages):
        if isinstance(message, ToolMessage | RemoveMessage):
            continue
        content = message.content
        nothing = not _substance(message) if isinstance(message, AIMessage) else content == []
        if nothing and not makes_calls(message):
            yield index, "no content, and no tool call"


def _substance(message: AIMessage) -> bool:
    if message.additional_kwargs.get("audio"):
        return True
    if isinstance(message.content, str):
        return bool(message.content.strip())
    return any(not is_blank(block) and not is_reasoning(block) for block in message.content)


def _short_ids(case: _Case) -> _Found:
    for index, calls in enumerate(case.calls):
        for call in calls:
            if len(call) > OPENAI_ID_LENGTH:
                yield index, f"call id {call!r} has {len(call)} characters"


def _items(case: _Case) -> _Found:
    seen: set[str] = set()
    for index, message in case.answers():
        own: set[str] = set()
        reasoned = False
        content = message.content if isinstance(message.content, list) else []
        for place, block in enumerate(content):
            ids = item_ids(block)
            own.update(ids)
            for item in seen.intersection(ids):
                yield index, f"item {item!r} stands twice"
            if isinstance(block, dict) and block.get("type") == "reasoning":
                reasoned = True
                if not (ids and ids[0].startswith("rs_")) or is_foreign(message, "openai"):
                    yield index, f"reasoning {ids[0] if ids else None!r} is not an item of OpenAI's"
                if not _leads(message, content[place + 1 :]):
                    yield index, f"reasoning {ids[0] if ids else None!r} without the item it led to"
            elif ids and not reasoned and isinstance(block, dict) and block.get("type") in CALL_BLOCKS:
                yield index, f"call item {ids[0]!r} without its reasoning"
        seen |= own
        if message.additional_kwargs.get(_ITEM_IDS) and not message.additional_kwargs.get("reasoning"):
            yield index, "ids of call items without their reasoning"


def _leads(message: AIMessage, rest: Sequence[Any]) -> bool:
    if any(not is_reasoning(block) and not is_blank(block) for block in rest):
        return True
    in_content = {block_call_id(block) for block in call_blocks(message)}
    return any(
        call.get("id") not in in_content for call in (*message.tool_calls, *message.invalid_tool_calls)
    )


def _sealed(case: _Case) -> _Found:
    if case.store is not False:
        return
    for index, message, block in case.blocks():
        if isinstance(message, AIMessage) and isinstance(block, dict) and block.get("type") == "reasoning":
            extras = block.get("extras")
            inner = extras.get("encrypted_content") if isinstance(extras, dict) else None
            if not block.get("encrypted_content") and not inner:
                yield index, f"reasoning {block.get('id')!r} without encrypted_content"


def _no_response_ids(case: _Case) -> _Found:
    for index, message in case.answers():
        found = message.response_metadata.get("id")
        if case.reduced and isinstance(found, str) and found.startswith("resp_"):
            yield index, f"response id {found!r} in a reduced view"


def _system_first(case: _Case) -> _Found:
    begun = False
    for index, message in enumerate(case.messages):
        begun = begun or not is_system(message)
        if begun and is_system(message):
            yield index, "a system message after the first ones"


def _user_first(case: _Case) -> _Found:
    for index, message in enumerate(case.messages):
        if not is_system(message):
            if not isinstance(message, HumanMessage):
                yield index, f"the first message is of type {message.type!r}"
            return


def _no_blank_text(case: _Case) -> _Found:
    for index, message in enumerate(case.messages):
        if isinstance(message, RemoveMessage):
            continue
        if isinstance(message.content, list):
            if any(is_blank(block) for block in message.content):
                yield index, "an empty text"
        elif message.content.strip() or isinstance(message, ToolMessage):
            continue
        elif not makes_calls(message) or message.content:
            yield index, "an empty text"
        if message.content == [] and not makes_calls(message):
            yield index, "no content"


def _last_answer(case: _Case) -> _Found:
    last = case.messages[-1] if case.messages else None
    if not isinstance(last, AIMessage):
        return
    text = last.content if isinstance(last.content, str) else _ending(last.content)
    if isinstance(text, str) and text != text.rstrip():
        yield len(case.messages) - 1, "the last answer ends in white space"
    if not case.prefill and not makes_calls(last):
        yield len(case.messages) - 1, "an answer stands last, and the model does not go on with one"


def _ending(content: list[Any]) -> Any:
    block = content[-1] if content else None
    return block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None


def _results_before_text(case: _Case) -> _Found:
    for index, message in enumerate(case.messages):
        if isinstance(message, HumanMessage) and isinstance(message.content, list):
            kinds = [block.get("type") if isinstance(block, dict) else "text" for block in message.content]
            if "tool_result" in kinds:
                yield index, "a tool result in a human message"


def _thinking(case: _Case) -> _Found:
    for index, message in case.answers():
        if not isinstance(message.content, list):
            continue
        kinds = [block.get("type") if isinstance(block, dict) else "text" for block in message.content]
        if not any(kind in _THINKING for kind in kinds):
            continue
        if kinds[0] not in (*_THINKING, "reasoning"):
            yield index, "thinking does not stand first in its message"
        if not all(_is_claudes(block, message) for block in message.content):
            yield index, "thinking that is not Claude's own"
    if case.thinking:
        yield from _loop_without_thinking(case)


def _is_claudes(block: Any, message: AIMessage) -> bool:
    if not isinstance(block, dict) or block.get("type") not in _THINKING:
        return True
    if is_foreign(message, "anthropic"):
        return False
    return owner(message) == "anthropic" or bool(block.get("signature") or block.get("data"))


def _loop_without_thinking(case: _Case) -> _Found:
    for index in range(len(case.messages) - 1, -1, -1):
        message = case.messages[index]
        if isinstance(message, HumanMessage):
            return
        if case.calls[index]:
            content = message.content if isinstance(message.content, list) else []
            first = content[0] if content else None
            if not (isinstance(first, dict) and first.get("type") in _THINKING):
                yield index, "no thinking before a call of the open turn"
            return


def _few_marks(case: _Case) -> _Found:
    count = 0
    for index, message in enumerate(case.messages):
        count += cache_marks(message)
        if count > CACHE_MARKS:
            yield index, f"more than {CACHE_MARKS} cache_control marks"
            return


def _google_order(case: _Case) -> _Found:
    yield from _user_first(case)
    for index in range(1, len(case.messages)):
        if isinstance(case.messages[index - 1], AIMessage) and case.calls[index]:
            yield index, "a call directly after an answer"


def _as_many_results(case: _Case) -> _Found:
    for index, message in case.answers():
        for call in message.invalid_tool_calls:
            yield index, f"call {call.get('id')!r} is not sent, for its arguments did not parse"
        names = {call.get("id"): call["name"] for call in message.tool_calls}
        for place in range(index + 1, len(case.messages)):
            result = case.messages[place]
            if not isinstance(result, ToolMessage):
                break
            wanted = names.get(result.tool_call_id)
            if wanted is not None and result.name is not None and result.name != wanted:
                yield place, f"result of {result.name!r} for a call of {wanted!r}"


def _no_empty_part(case: _Case) -> _Found:
    for index, message in enumerate(case.messages):
        if isinstance(message, ToolMessage | RemoveMessage) or makes_calls(message):
            continue
        content = message.content
        if isinstance(content, str):
            empty = not content
        elif isinstance(message, AIMessage):
            empty = not _substance(message)
        else:
            empty = not content or any(_no_text(block) for block in content)
        if empty:
            yield index, "an empty part"


def _no_text(block: Any) -> bool:
    return block == "" or (isinstance(block, dict) and block.get("type") == "text" and not block.get("text"))


def _signatures(case: _Case) -> _Found:
    for index, message in case.answers():
        found = message.additional_kwargs.get(_SIGNATURES)
        if isinstance(found, dict):
            for call in sorted(str(key) for key in set(found) - set(case.calls[index])):
                yield index, f"a signature of {call!r}, which is no call of its message"


_CHECKS: dict[int, _Check] = {
    1: _answered,
    2: _orphans,
    3: _adjacent,
    4: _unique_calls,
    5: _removals,
    6: _some_message,
    7: _agreeing,
    8: _names,
    9: _some_content,
    10: _short_ids,
    11: _items,
    12: _sealed,
    13: _no_response_ids,
    14: _system_first,
    15: _user_first,
    16: _no_blank_text,
    17: _last_answer,
    18: _results_before_text,
    19: _thinking,
    20: _few_marks,
    21: _google_order,
    22: _as_many_results,
    23: _no_empty_part,
    24: _unique_calls,
    25: _signatures,
}
