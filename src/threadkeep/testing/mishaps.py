"""What happens to conversations: runs that were killed, lists that were edited, ids that came twice.

Each function changes a list of messages in place, the way one cause does; `happen` lets some of them happen.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolCallChunk,
    ToolMessage,
)

from threadkeep.testing.utterances import identifier, medium, paragraph, sentence

Mishap = Callable[[random.Random, list[BaseMessage]], None]


def happen(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Let none to five kinds of mishaps happen to a conversation, each once or for every eighth message."""
    for mishap in rng.sample(MISHAPS, rng.choice((0, 1, 1, 2, 2, 3, 5))):
        for _ in range(1 if rng.random() < 0.5 else 1 + len(messages) // 8):
            mishap(rng, messages)


def lose_result(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Lose one result: a run was killed while a tool worked."""
    _drop(rng, messages, ToolMessage)


def lose_call(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Lose an AI message, not what answered it: somebody trimmed the list."""
    _drop(rng, messages, AIMessage)


def lose_start(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Lose the start of the conversation, wherever that cuts."""
    del messages[: rng.randint(0, max(0, len(messages) - 1)) // 2]


def stop(rng: random.Random, messages: list[BaseMessage]) -> None:
    """End the conversation in its middle: at a call, between results, at a question."""
    del messages[rng.randint(len(messages) // 2, len(messages)) :]


def pause(rng: random.Random, messages: list[BaseMessage]) -> None:
    """End with calls that wait for a human, one of them perhaps done."""
    at = _where(messages, lambda message: isinstance(message, AIMessage) and bool(message.tool_calls))
    if at:
        del messages[rng.choice(at) + 1 + (rng.random() < 0.3) :]


def delay_result(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Move a result behind messages that came while its tool worked."""
    at = _where(messages, lambda message: isinstance(message, ToolMessage))
    if at:
        index = rng.choice(at)
        message = messages.pop(index)
        messages.insert(min(len(messages), index + rng.randint(1, 5)), message)


def repeat_result(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Give one call a second result: a retry answered after all."""
    at = _where(messages, lambda message: isinstance(message, ToolMessage))
    if at:
        index = rng.choice(at)
        again = messages[index].model_copy(
            update={"id": f"again-{identifier(rng, 6)}", "content": "done twice"}
        )
        messages.insert(min(len(messages), index + rng.choice((1, 1, 4))), again)


def repeat_message(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Write one message twice, with its id and without."""
    if messages:
        message = rng.choice(messages)
        again = message.model_copy(update={"id": rng.choice((message.id, None))})
        messages.insert(rng.randint(0, len(messages)), again)


def share_call_id(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Give two calls of one message the same id."""
    at = _where(messages, lambda message: isinstance(message, AIMessage) and len(message.tool_calls) > 1)
    if at:
        index = rng.choice(at)
        calls = [dict(call) for call in messages[index].tool_calls]  # type: ignore[attr-defined]
        calls[1]["id"] = calls[0]["id"]
        messages[index] = messages[index].model_copy(update={"tool_calls": calls})


def forget_call_id(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Take the id from a call: local models give none."""
    at = _where(messages, lambda message: isinstance(message, AIMessage) and bool(message.tool_calls))
    if at:
        index = rng.choice(at)
        calls = [{**call, "id": rng.choice((None, ""))} for call in messages[index].tool_calls]  # type: ignore[attr-defined]
        messages[index] = messages[index].model_copy(update={"tool_calls": calls})


def forget_id(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Take the id from a message."""
    _replace(rng, messages, lambda message: {"id": None})


def share_id(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Give a message the id of another."""
    if messages:
        other = rng.choice(messages).id
        _replace(rng, messages, lambda message: {"id": other})


def empty(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Empty a content, or leave only white space in it."""
    contents: tuple[Any, ...] = (
        "",
        "   \n",
        [],
        [{"type": "text", "text": ""}],
        [{"type": "text", "text": " "}],
        [""],
    )
    content = rng.choice(contents)
    _replace(rng, messages, lambda message: {"content": content})


def trail(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Leave white space at the end of a text, in most cases of the last."""
    if messages and isinstance(messages[-1].content, str) and rng.random() < 0.7:
        messages[-1] = messages[-1].model_copy(update={"content": messages[-1].content + " \n"})


def prefill(rng: random.Random, messages: list[BaseMessage]) -> None:
    """End with the beginning of an answer."""
    messages.append(AIMessage(sentence(rng, "en") + rng.choice(("", " ", "\n")), id="prefill"))


def remove(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Leave a request for a removal in the list."""
    known = rng.choice(messages).id if messages else None
    messages.insert(rng.randint(0, len(messages)), RemoveMessage(id=known or "unknown"))


def instruct(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Put a system message anywhere, also between a call and its result."""
    content: Any = (
        paragraph(rng, "en") if rng.random() < 0.7 else [{"type": "text", "text": sentence(rng, "en")}]
    )
    messages.insert(rng.randint(0, len(messages)), SystemMessage(content, id=f"s-{identifier(rng, 6)}"))


def instruct_only(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Keep nothing but system messages, in few conversations."""
    if rng.random() < 0.2:
        messages[:] = [message for message in messages if isinstance(message, SystemMessage)]


def interrupt(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Let the user speak anywhere, also between a call and its result."""
    messages.insert(
        rng.randint(0, len(messages)), HumanMessage(sentence(rng, "en"), id=f"h-{identifier(rng, 6)}")
    )


def attach(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Send a picture, a recording or a file and say nothing."""
    messages.insert(rng.randint(0, len(messages)), HumanMessage([medium(rng)], id=f"a-{identifier(rng, 6)}"))


def garble(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Make a call whose arguments do not parse, answered or not, with an id or without."""
    call_id = rng.choice((f"call_{identifier(rng, 10)}", f"call_{identifier(rng, 10)}", None))
    name = rng.choice(("search", "search", None))
    bad = {
        "type": "invalid_tool_call",
        "name": name,
        "args": '{"query": "Lee',
        "id": call_id,
        "error": "bad JSON",
    }
    at = rng.randint(0, len(messages))
    messages.insert(at, AIMessage("", invalid_tool_calls=[bad], id=f"g-{identifier(rng, 6)}"))
    if call_id and rng.random() < 0.5:
        messages.insert(at + 1, ToolMessage("Error: bad JSON", tool_call_id=call_id, status="error"))


def rename_tool(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Call a tool by a name that no provider takes."""
    name = rng.choice(("my tool!", "поиск", "x" * 70, "a.b/c", ""))
    at = _where(messages, lambda message: isinstance(message, AIMessage) and bool(message.tool_calls))
    if at:
        index = rng.choice(at)
        calls = [{**call, "name": name} for call in messages[index].tool_calls]  # type: ignore[attr-defined]
        messages[index] = messages[index].model_copy(update={"tool_calls": calls})


def edit_calls(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Take a call out of `tool_calls` but not out of the content, or change its arguments there only."""
    at = _where(messages, lambda message: isinstance(message, AIMessage) and bool(message.tool_calls))
    if at:
        index = rng.choice(at)
        calls = [dict(call) for call in messages[index].tool_calls]  # type: ignore[attr-defined]
        if rng.random() < 0.5:
            calls.pop()
        else:
            calls[0]["args"] = {"approved": True}
        messages[index] = messages[index].model_copy(update={"tool_calls": calls})


def strip_blocks(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Keep only the text of an AI message's content, and its calls."""
    at = _where(
        messages, lambda message: isinstance(message, AIMessage) and isinstance(message.content, list)
    )
    if at:
        index = rng.choice(at)
        messages[index] = messages[index].model_copy(update={"content": messages[index].text})


def strip_reasoning(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Take the reasoning out of an AI message, and leave what depends on it."""
    at = _where(
        messages, lambda message: isinstance(message, AIMessage) and isinstance(message.content, list)
    )
    if at:
        index = rng.choice(at)
        kinds = ("reasoning", "thinking", "redacted_thinking")
        kept = [
            block
            for block in messages[index].content
            if not (isinstance(block, dict) and block.get("type") in kinds)
        ]
        messages[index] = messages[index].model_copy(update={"content": kept})


def mark_cache(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Mark up to eight texts as the end of a cached prefix."""
    for _ in range(rng.randint(3, 8)):
        at = _where(
            messages, lambda message: isinstance(message.content, str) and bool(message.content.strip())
        )
        if at:
            index = rng.choice(at)
            block = {"type": "text", "text": messages[index].content, "cache_control": {"type": "ephemeral"}}
            messages[index] = messages[index].model_copy(update={"content": [block]})


def speak_as(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Add a message of a freely named role."""
    role = rng.choice(("user", "assistant", "system", "critic"))
    messages.insert(
        rng.randint(0, len(messages)), ChatMessage(content=sentence(rng, "en"), role=role, id=f"c-{role}")
    )


def leave_chunk(rng: random.Random, messages: list[BaseMessage]) -> None:
    """Leave what had been streamed when the run was cancelled: part of an answer, part of a call."""
    call: ToolCallChunk = {
        "type": "tool_call_chunk",
        "name": "search",
        "args": '{"que',
        "id": f"call_{identifier(rng, 8)}",
        "index": 0,
    }
    chunk = AIMessageChunk(
        content="Let me ", tool_call_chunks=[call] if rng.random() < 0.6 else [], id="lc_run--cut"
    )
    messages.insert(rng.randint(0, len(messages)), chunk)


MISHAPS: tuple[Mishap, ...] = (
    lose_result,
    lose_call,
    lose_start,
    stop,
    pause,
    delay_result,
    repeat_result,
    repeat_message,
    share_call_id,
    forget_call_id,
    forget_id,
    share_id,
    empty,
    trail,
    prefill,
    remove,
    instruct,
    instruct_only,
    interrupt,
    attach,
    garble,
    rename_tool,
    edit_calls,
    strip_blocks,
    strip_reasoning,
    mark_cache,
    speak_as,
    leave_chunk,
)
"""Every kind of mishap."""


def _where(messages: list[BaseMessage], holds: Callable[[BaseMessage], bool]) -> list[int]:
    return [index for index, message in enumerate(messages) if holds(message)]


def _drop(rng: random.Random, messages: list[BaseMessage], kind: type[BaseMessage]) -> None:
    at = _where(messages, lambda message: isinstance(message, kind))
    if at:
        del messages[rng.choice(at)]


def _replace(
    rng: random.Random, messages: list[BaseMessage], change: Callable[[BaseMessage], dict[str, Any]]
) -> None:
    at = _where(messages, lambda message: not isinstance(message, RemoveMessage))
    if at:
        index = rng.choice(at)
        messages[index] = messages[index].model_copy(update=change(messages[index]))
