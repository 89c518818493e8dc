"""Random histories: the same for a seed, and holding what they say they hold."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from threadkeep.context.validity.calls import call_ids, result_id
from threadkeep.testing.histories import random_history, valid_history

DIGEST = (
    "import hashlib; from threadkeep.testing.histories import random_history as h;"
    "print(hashlib.sha256(repr([h(s) for s in range(20)]).encode()).hexdigest())"
)


def test_a_seed_gives_the_same_history_in_another_process() -> None:
    here = hashlib.sha256(repr([random_history(seed) for seed in range(20)]).encode()).hexdigest()
    there = subprocess.run(
        [sys.executable, "-c", DIGEST],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "77"},
    )
    assert there.stdout.strip() == here


def test_a_size_is_about_the_number_of_messages() -> None:
    for seed in range(10):
        assert 500 <= len(valid_history(seed, size=500)) <= 506


def test_every_call_of_a_valid_history_has_its_result_right_after_it() -> None:
    for seed in range(100):
        waiting: list[str] = []
        messages = valid_history(seed)
        assert messages
        assert len({message.id for message in messages}) == len(messages)
        for message in messages:
            if isinstance(message, ToolMessage):
                waiting.remove(message.tool_call_id)
            else:
                assert not waiting
                waiting = list(call_ids(message))
        assert not waiting


def test_random_histories_hold_what_they_promise() -> None:
    seen: Counter[str] = Counter()
    for seed in range(300):
        messages = random_history(seed)
        seen["several hundred messages"] += len(messages) > 200
        for index, message in enumerate(messages):
            seen.update(_features(message))
            seen["system message in the middle"] += index > 0 and isinstance(message, SystemMessage)
        calls = [one for message in messages for one in call_ids(message)]
        results = [result_id(message) for message in messages if result_id(message)]
        ids = [message.id for message in messages if message.id and not isinstance(message, RemoveMessage)]
        seen["call without result"] += bool(set(calls) - set(results))
        seen["result without call"] += bool(set(results) - set(calls))
        seen["repeated call id"] += len(set(calls)) < len(calls)
        seen["repeated message id"] += len(set(ids)) < len(ids)
        seen["ends with calls that wait"] += bool(messages and call_ids(messages[-1]))
    rare = {what: count for what, count in seen.items() if count < 3}
    assert not rare
    assert len(seen) == 25, sorted(seen)


def _features(message: BaseMessage) -> list[str]:
    found = []
    if message.id is None:
        found.append("message without id")
    if isinstance(message, RemoveMessage):
        return ["removal"]
    if not message.text.strip() and isinstance(message, HumanMessage) and not _media(message):
        found.append("empty human message")
    found.extend(sorted({f"medium {kind}" for kind in _media(message)}))
    if isinstance(message, AIMessage):
        found.extend(_of_answer(message))
    return found


def _of_answer(message: AIMessage) -> list[str]:
    found = []
    if len(message.tool_calls) > 1:
        found.append("parallel calls")
    if message.invalid_tool_calls:
        found.append("invalid call")
    if any(not call["id"] for call in message.tool_calls):
        found.append("call without id")
    if any(len(call["id"] or "") > 40 for call in message.tool_calls):
        found.append("long call id")
    if not message.content and not message.tool_calls:
        found.append("empty answer")
    kinds = {block.get("type") for block in message.content if isinstance(block, dict)}
    found.extend(sorted(kinds & {"reasoning", "thinking", "redacted_thinking", "function_call", "tool_use"}))
    if "__gemini_function_call_thought_signatures__" in message.additional_kwargs:
        found.append("signature of a call")
    return found


def _media(message: BaseMessage) -> list[str]:
    kinds = ("image", "image_url", "audio", "file")
    return [
        block["type"] for block in message.content if isinstance(block, dict) and block.get("type") in kinds
    ]
