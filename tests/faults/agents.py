"""An agent whose every message is known beforehand, so that a thread can be checked word by word."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

ran: list[str] = []
"""The tools that were run in this process, in order."""


def prose(key: str, words: int = 40) -> str:
    """Text of a key that no other key has and that does not compress to nothing."""
    digest = hashlib.shake_128(key.encode()).hexdigest(words * 3)
    return f"{key}: " + " ".join(digest[n : n + 6] for n in range(0, len(digest), 6))


def question(thread: str, turn: int) -> str:
    return prose(f"{thread}/{turn} question")


def turn_of(message: BaseMessage) -> str:
    return message.text.split(" ")[0]


@tool
def quick(key: str) -> str:
    """Answer at once."""
    ran.append("quick")
    return prose(f"{key} quick")


@tool
def slow(key: str) -> str:
    """Answer a little later, so that the other tool's answer is a pending write for a while."""
    ran.append("slow")
    time.sleep(0.006)
    return prose(f"{key} slow")


class Model(BaseChatModel):
    """Calls both tools on a human message, and answers when they have."""

    @property
    def _llm_type(self) -> str:
        return "known"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Model:  # type: ignore[override]
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        last = messages[-1]
        key = turn_of(next(m for m in reversed(messages) if isinstance(m, HumanMessage)))
        usage = {"input_tokens": len(messages), "output_tokens": 3, "total_tokens": len(messages) + 3}
        if isinstance(last, ToolMessage):
            answer = AIMessage(prose(f"{key} answer"), usage_metadata=usage)
        else:
            calls = [
                {"name": name, "args": {"key": key}, "id": f"{key} {name}"} for name in ("quick", "slow")
            ]
            answer = AIMessage("", tool_calls=calls, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=answer)])


agent: Any = create_agent(Model(), [quick, slow])


def expected(thread: str, turns: int) -> list[tuple[str, str]]:
    """Return kind and text of every message of a thread's first turns."""
    lines = []
    for turn in range(1, turns + 1):
        key = f"{thread}/{turn}"
        lines += [
            ("human", question(thread, turn)),
            ("ai", ""),
            ("tool", prose(f"{key} quick")),
            ("tool", prose(f"{key} slow")),
            ("ai", prose(f"{key} answer")),
        ]
    return lines


def lines(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    return [(m.type, m.text) for m in messages]


def turns_in(messages: Sequence[BaseMessage]) -> int:
    """Return how many turns were begun."""
    return sum(m.type == "human" for m in messages)


def address(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}
