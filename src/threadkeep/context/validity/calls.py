"""Tool calls and their results: what a message asks for, and what a message answers.

A call can stand in three places of an AI message, in one or in several of them at once: `tool_calls`,
`invalid_tool_calls` (the arguments did not parse), and blocks of the content that the provider packages leave there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

# Block types of calls that the caller answers, with the key of the call's id. A `function_call` of OpenAI's Responses
# has both: `id` names the item, `call_id` the call. Calls that the provider answers itself are not here:
# `server_tool_use`, `server_tool_call`, `mcp_tool_use`, `web_search_call` and the like.
CALL_BLOCKS: dict[str, str] = {
    "tool_use": "id",
    "tool_call": "id",
    "invalid_tool_call": "id",
    "function_call": "call_id",
    "custom_tool_call": "call_id",
    "computer_call": "call_id",
}


def is_human(message: BaseMessage) -> TypeGuard[HumanMessage]:
    """Say whether a message is the user's, or stands in the user's role."""
    return isinstance(message, HumanMessage)


def is_ai(message: BaseMessage) -> TypeGuard[AIMessage]:
    """Say whether a message is a model's answer."""
    return isinstance(message, AIMessage)


def is_tool(message: BaseMessage) -> TypeGuard[ToolMessage | FunctionMessage]:
    """Say whether a message is a tool's result."""
    return isinstance(message, ToolMessage | FunctionMessage)


def is_system(message: BaseMessage) -> TypeGuard[SystemMessage]:
    """Say whether a message holds instructions of the application."""
    return isinstance(message, SystemMessage)


def call_ids(message: BaseMessage) -> tuple[str, ...]:
    """Return the id of every tool call a message makes, each once, in the order in which they are made.

    Empty for anything but an AI message. A call without an id is left out: `repair` gives it one.
    """
    if not isinstance(message, AIMessage):
        return ()
    if not message.tool_calls and not message.invalid_tool_calls and isinstance(message.content, str):
        return ()
    ids = [call.get("id") for call in (*message.tool_calls, *message.invalid_tool_calls)]
    ids.extend(block_call_id(block) for block in call_blocks(message))
    return tuple(dict.fromkeys(one for one in ids if one))


def result_id(message: BaseMessage) -> str | None:
    """Return the id of the call that a message answers; None for anything but a tool's result."""
    if isinstance(message, ToolMessage):
        return message.tool_call_id
    return None


def makes_calls(message: BaseMessage) -> bool:
    """Say whether a message calls a tool, with an id or without."""
    if not isinstance(message, AIMessage):
        return False
    if message.tool_calls or message.invalid_tool_calls:
        return True
    return any(True for _ in call_blocks(message))


def call_blocks(message: BaseMessage) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a message's content that are tool calls."""
    if isinstance(message.content, list):
        for block in message.content:
            if isinstance(block, dict) and block.get("type") in CALL_BLOCKS:
                yield block


def block_call_id(block: dict[str, Any]) -> str | None:
    """Return the call's id that a block of a call carries."""
    found = block.get(CALL_BLOCKS[block["type"]])
    return found if isinstance(found, str) and found else None
