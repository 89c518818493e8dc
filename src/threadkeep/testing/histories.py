"""Random conversations, for property tests of policies and of whatever else reads messages.

    for seed in range(500):
        view = policy.view(random_history(seed))

`valid_history` is a conversation as an agent leaves it when nothing went wrong; `random_history` is one to which things
have happened (`threadkeep.testing.mishaps`). The same seed gives equal messages in every process and Python version.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.testing import mishaps
from threadkeep.testing.utterances import (
    SENTENCES,
    TOOLS,
    arguments,
    blob,
    identifier,
    medium,
    paragraph,
    png,
    result,
    sentence,
)

__all__ = ["FLAVOURS", "random_history", "valid_history"]

FLAVOURS = ("plain", "openai", "responses", "responses-v1", "anthropic", "google")
"""Whose form the AI messages of a history have; "plain" is text and `tool_calls` alone."""


def random_history(seed: int, *, size: int | None = None) -> list[BaseMessage]:
    """Return a conversation to which things have happened, the same for the same seed.

    `size` is about how many messages it has; without it mostly 1 to 60, and for one seed in twelve several hundred. It
    holds parallel calls, turns of many rounds, runs that were interrupted, pauses for a human, reasoning of three
    providers, media, system messages in the middle, empty contents, missing and repeated ids, calls whose arguments did
    not parse, odd names, and several languages.
    """
    rng = random.Random(seed)
    messages = _Writer(
        rng, _size(rng, size), ids=rng.choice(("normal", "normal", "odd", "long", "few"))
    ).write()
    mishaps.happen(rng, messages)
    return messages


def valid_history(seed: int, *, size: int | None = None) -> list[BaseMessage]:
    """Return a conversation in which nothing went wrong, the same for the same seed.

    `size` is about how many messages it has. It may start with a system message, then a human turn; every call has its
    result, every message an id of its own; it ends with an answer, a result or a human message.
    """
    rng = random.Random(seed)
    return _Writer(rng, _size(rng, size), ids="normal").write()


def _size(rng: random.Random, size: int | None) -> int:
    if size is not None:
        return size
    drawn = rng.random()
    if drawn < 0.08:
        return rng.randint(150, 400)
    return rng.randint(1, 12) if drawn < 0.3 else rng.randint(8, 60)


@dataclass(kw_only=True, slots=True)
class _Call:
    id: str
    name: str
    args: dict[str, Any]


@dataclass(slots=True)
class _Writer:
    rng: random.Random
    size: int
    ids: str = field(kw_only=True)
    messages: list[BaseMessage] = field(default_factory=list)
    language: str = "en"
    flavour: str = "plain"
    mixed: bool = False
    thinks: bool = False
    media: float = 0.0
    rounds: int = 3

    def write(self) -> list[BaseMessage]:
        rng = self.rng
        self.language = rng.choice(sorted(SENTENCES)) if rng.random() < 0.6 else "en"
        self.flavour, self.mixed = rng.choice(FLAVOURS), rng.random() < 0.2
        self.thinks = rng.random() < 0.6
        self.media = rng.choice((0.0, 0.0, 0.05, 0.3))
        self.rounds = rng.choice((0, 1, 1, 3, 12, 60))
        if rng.random() < 0.7:
            self.add(SystemMessage("You are a careful assistant. " + paragraph(rng, "en")))
        while len(self.messages) < self.size:
            self.turn()
        return self.messages

    def turn(self) -> None:
        rng = self.rng
        if self.mixed:
            self.flavour = rng.choice(FLAVOURS)
        self.add(HumanMessage(self.human_content(), name=rng.choice((None, None, None, "olivia"))))
        for _ in range(rng.randint(0, self.rounds)):
            self.round()
            if len(self.messages) >= self.size:
                break
        if len(self.messages) < self.size or rng.random() < 0.6:
            self.add(self.answer([]))

    def round(self) -> None:
        rng = self.rng
        calls = [self.call() for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5)))]
        self.add(self.answer(calls))
        order = list(calls)
        if rng.random() < 0.3:
            rng.shuffle(order)
        for call in order:
            self.add(self.result(call))

    def add(self, message: BaseMessage) -> None:
        message.id = f"m{len(self.messages)}-{identifier(self.rng, 6)}"
        self.messages.append(message)

    def call(self) -> _Call:
        return _Call(id=self.call_id(), name=self.rng.choice(TOOLS), args=arguments(self.rng, self.language))

    def call_id(self) -> str:
        rng = self.rng
        if self.ids == "few":
            return f"call_{rng.randint(1, 6)}"
        if self.ids == "long":
            return f"call_{identifier(rng, rng.randint(30, 90))}"
        if self.ids == "odd":
            return f"functions.{rng.choice(TOOLS)}:{rng.randint(0, 10**6)}"
        prefix = {"anthropic": "toolu_", "google": ""}.get(self.flavour, "call_")
        return prefix + identifier(rng, 24)

    def human_content(self) -> str | list[str | dict[str, Any]]:
        rng = self.rng
        text = paragraph(rng, self.language)
        if rng.random() >= self.media:
            return text if rng.random() < 0.9 else [{"type": "text", "text": text}]
        blocks: list[str | dict[str, Any]] = [medium(rng) for _ in range(rng.randint(1, 2))]
        if rng.random() < 0.8:
            blocks.insert(rng.randint(0, len(blocks)), {"type": "text", "text": text})
        return blocks

    def result(self, call: _Call) -> ToolMessage:
        rng = self.rng
        content: str | list[str | dict[str, Any]] = result(rng, self.language)
        if rng.random() < self.media / 3:
            picture = {"type": "image", "base64": png(rng), "mime_type": "image/png"}
            content = [{"type": "text", "text": str(content)}, picture]
        status = "error" if rng.random() < 0.08 else "success"
        return ToolMessage(content, tool_call_id=call.id, name=call.name, status=status)

    def answer(self, calls: Sequence[_Call]) -> AIMessage:
        rng = self.rng
        says = not calls or rng.random() < 0.4
        text = paragraph(rng, self.language) if says else ""
        thinks = self.thinks and rng.random() < 0.8
        message = _FORMS[self.flavour](rng, text, calls, thinks)
        message.usage_metadata = {"input_tokens": rng.randint(1, 9000), "output_tokens": 7, "total_tokens": 0}
        message.usage_metadata["total_tokens"] = message.usage_metadata["input_tokens"] + 7
        return message


def _tool_calls(calls: Sequence[_Call]) -> list[dict[str, Any]]:
    return [{"name": call.name, "args": call.args, "id": call.id, "type": "tool_call"} for call in calls]


def _plain(rng: random.Random, text: str, calls: Sequence[_Call], thinks: bool) -> AIMessage:
    return AIMessage(text, tool_calls=_tool_calls(calls))


def _openai(rng: random.Random, text: str, calls: Sequence[_Call], thinks: bool) -> AIMessage:
    extra: dict[str, Any] = {"refusal": None}
    if thinks and rng.random() < 0.3:
        extra["reasoning_content"] = sentence(rng, "en")
    metadata = {"model_provider": "openai", "model_name": "gpt-5", "id": f"chatcmpl-{identifier(rng, 12)}"}
    return AIMessage(text, tool_calls=_tool_calls(calls), additional_kwargs=extra, response_metadata=metadata)


def _responses(rng: random.Random, text: str, calls: Sequence[_Call], thinks: bool) -> AIMessage:
    blocks: list[str | dict[str, Any]] = []
    if thinks:
        blocks.append(_reasoning_item(rng))
    if text:
        blocks.append({"type": "text", "text": text, "annotations": [], "id": f"msg_{identifier(rng, 24)}"})
    blocks.extend(
        {
            "type": "function_call",
            "id": f"fc_{identifier(rng, 24)}",
            "call_id": call.id,
            "name": call.name,
            "arguments": json.dumps(call.args),
            "status": "completed",
        }
        for call in calls
    )
    return AIMessage(blocks, tool_calls=_tool_calls(calls), response_metadata=_response(rng))


def _reasoning_item(rng: random.Random) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "reasoning", "id": f"rs_{identifier(rng, 24)}", "summary": []}
    if rng.random() < 0.5:
        item["summary"] = [{"type": "summary_text", "text": sentence(rng, "en")}]
    if rng.random() < 0.5:
        item["encrypted_content"] = blob(rng, 60)
    return item


def _response(rng: random.Random) -> dict[str, Any]:
    return {"model_provider": "openai", "model_name": "gpt-5", "id": f"resp_{identifier(rng, 24)}"}


def _responses_v1(rng: random.Random, text: str, calls: Sequence[_Call], thinks: bool) -> AIMessage:
    blocks: list[str | dict[str, Any]] = []
    if thinks:
        blocks.append(
            {"type": "reasoning", "id": f"rs_{identifier(rng, 24)}", "reasoning": sentence(rng, "en")}
        )
    if text:
        blocks.append({"type": "text", "text": text, "annotations": [], "id": f"msg_{identifier(rng, 24)}"})
    blocks.extend(
        {**block, "extras": {"item_id": f"fc_{identifier(rng, 24)}", "arguments": json.dumps(block["args"])}}
        for block in _tool_calls(calls)
    )
    metadata = {**_response(rng), "output_version": "v1"}
    return AIMessage(blocks, tool_calls=_tool_calls(calls), response_metadata=metadata)


def _anthropic(rng: random.Random, text: str, calls: Sequence[_Call], thinks: bool) -> AIMessage:
    metadata = {
        "model_provider": "anthropic",
        "model_name": "claude-sonnet-4-5",
        "id": f"msg_{identifier(rng, 24)}",
    }
    if not thinks and not calls:
        return AIMessage(text, response_metadata=metadata)
    blocks: list[str | dict[str, Any]] = []
    if thinks and rng.random() < 0.15:
        blocks.append({"type": "redacted_thinking", "data": blob(rng, 60)})
    elif thinks:
        blocks.append({"type": "thinking", "thinking": sentence(rng, "en"), "signature": blob(rng, 60)})
    if text:
        blocks.append({"type": "text", "text": text})
    blocks.extend(
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.args} for call in calls
    )
    return AIMessage(blocks, tool_calls=_tool_calls(calls), response_metadata=metadata)


def _google(rng: random.Random, text: str, calls: Sequence[_Call], thinks: bool) -> AIMessage:
    metadata = {"model_provider": "google_genai", "model_name": "gemini-3-pro-preview"}
    extra: dict[str, Any] = {}
    if calls:
        last = calls[-1]
        extra["function_call"] = {"name": last.name, "arguments": json.dumps(last.args)}
    if not thinks:
        return AIMessage(
            text, tool_calls=_tool_calls(calls), additional_kwargs=extra, response_metadata=metadata
        )
    blocks: list[str | dict[str, Any]] = [{"type": "thinking", "thinking": sentence(rng, "en")}]
    if rng.random() < 0.5:
        blocks[0] = {"type": "thinking", "thinking": sentence(rng, "en"), "signature": blob(rng, 40)}
    if text:
        blocks.append({"type": "text", "text": text, "extras": {"signature": blob(rng, 40)}})
    if calls:
        extra["__gemini_function_call_thought_signatures__"] = {calls[0].id: blob(rng, 40)}
    return AIMessage(
        blocks, tool_calls=_tool_calls(calls), additional_kwargs=extra, response_metadata=metadata
    )


_FORMS = {
    "plain": _plain,
    "openai": _openai,
    "responses": _responses,
    "responses-v1": _responses_v1,
    "anthropic": _anthropic,
    "google": _google,
}
