"""The items of OpenAI's Responses in a view: none twice, none without what it belongs to."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from threadkeep.context.validity.calls import CALL_BLOCKS, block_call_id, call_blocks, call_ids
from threadkeep.context.validity.contents import is_blank, is_foreign
from threadkeep.context.validity.reasoning import is_reasoning

_CALL_IDS = "__openai_function_call_ids__"


class Items:
    """Goes through the messages of a view, and remembers the ids of the items that stood in it."""

    def __init__(self, *, store: bool | None) -> None:
        """`store` is the request's setting: with False the server knows no item by its id alone."""
        self._store = store
        self._seen: set[str] = set()

    def kept(self, message: BaseMessage) -> BaseMessage:
        """Return the message with the items that may stand in a request; the same object where those are all."""
        if not isinstance(message, AIMessage):
            return message
        update: dict[str, Any] = {}
        kwargs = self._kwargs(message.additional_kwargs)
        if kwargs is not None:
            update["additional_kwargs"] = kwargs
        if isinstance(message.content, list):
            content = self._content(message, message.content)
            if content is not None:
                update["content"] = content
        return message.model_copy(update=update) if update else message

    def _content(self, message: AIMessage, content: list[Any]) -> list[Any] | None:
        foreign = is_foreign(message, "openai")
        last = _last_item(message, content)
        own: set[str] = set()
        kept: list[Any] = []
        reasoned = changed = False
        for place, block in enumerate(content):
            sent = block
            if is_reasoning(block):
                sent = block if not foreign and place < last and self._takes(block) else None
                reasoned = reasoned or sent is not None
            elif isinstance(block, dict):
                sent = self._named(block, reasoned)
            changed = changed or sent is not block
            if sent is not None:
                kept.append(sent)
                own.update(item_ids(sent))
        self._seen |= own
        return kept if changed else None

    def _takes(self, block: dict[str, Any]) -> bool:
        if block.get("type") != "reasoning":
            return True  # the package takes it out by itself
        item = block.get("id")
        if not isinstance(item, str) or not item.startswith("rs_") or item in self._seen:
            return False
        extras = block.get("extras")
        sealed = block.get("encrypted_content") or (
            isinstance(extras, dict) and extras.get("encrypted_content")
        )
        return self._store is not False or bool(sealed)

    def _named(self, block: dict[str, Any], reasoned: bool) -> dict[str, Any]:
        """Return a block without an item id that the server could not place."""
        found = item_ids(block)
        is_call = block.get("type") in CALL_BLOCKS
        if not found or (not self._seen.intersection(found) and (reasoned or not is_call)):
            return block
        if block.get("id") in found:
            return {key: value for key, value in block.items() if key != "id"}
        extras = {key: value for key, value in block["extras"].items() if key != "item_id"}
        return {**block, "extras": extras}

    def _kwargs(self, kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """Return the additional arguments without what must not stand alone; None where all may stay."""
        left = set()
        reasoning = kwargs.get("reasoning")
        if isinstance(reasoning, dict):
            sealed = self._store is not False or reasoning.get("encrypted_content")
            if reasoning.get("id") in self._seen or not sealed:
                left.add("reasoning")
            elif reasoning.get("id"):
                self._seen.add(reasoning["id"])
        if kwargs.get(_CALL_IDS) and ("reasoning" in left or not reasoning):
            left.add(_CALL_IDS)
        return {key: value for key, value in kwargs.items() if key not in left} if left else None


def item_ids(block: Any) -> tuple[str, ...]:
    """Return the ids of items in a block, as OpenAI's server knows them: `rs_…`, `msg_…`, `fc_…`, and the like."""
    if not isinstance(block, dict):
        return ()
    extras = block.get("extras")
    if block.get("type") == "tool_call":
        found = extras.get("item_id") if isinstance(extras, dict) else None
    elif block.get("type") in ("tool_use", "invalid_tool_call"):
        found = None
    else:
        found = block.get("id")
    return (found,) if isinstance(found, str) and found else ()


def _last_item(message: AIMessage, content: list[Any]) -> int:
    """Return the place of the last block that reasoning can have led to; calls in `tool_calls` alone come after all."""
    in_content = {block_call_id(block) for block in call_blocks(message)}
    if set(call_ids(message)) - in_content:
        return len(content)
    places = [at for at, block in enumerate(content) if not is_reasoning(block) and not is_blank(block)]
    return max(places, default=-1)
