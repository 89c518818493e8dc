"""What the middleware's tests share: models that know only what they are given, and agents with a policy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from threadkeep.context import ContextMiddleware, Policy, SummaryBuffer

from .kit import Drive, Scripted, calls, human, says, thread

BADGE = "ZX-40917"
TOLD = f"Hello, my badge number is {BADGE}."
ASKED = "What is my badge number?"


def knowing(*, searches: bool = False) -> Scripted:
    """A model that tells the badge number if it stands in what it was sent, and may search for it if not."""

    def reply(messages: list[BaseMessage]) -> AIMessage:
        if not any(ASKED in one.text for one in messages[-2:]) and not isinstance(messages[-1], ToolMessage):
            return says(f"Noted, that was message {len(messages)}.")
        found = re.search(
            r"badge(?: number)?\W+(?:is\W+)?([A-Z]{2}-\d{5})", "\n".join(m.text for m in messages)
        )
        if found:
            return says(f"Your badge number is {found[1]}.")
        if searches and not isinstance(messages[-1], ToolMessage):
            return calls("search_history", query="badge number")
        return says("I do not know your badge number.")

    return Scripted(reply=reply)


def summarizer(text: str = "They greeted each other and counted boxes.", fails: int = 0) -> Scripted:
    """A summarizer that keeps no fact, after raising in its first `fails` calls."""
    left = [fails]

    def reply(messages: list[BaseMessage]) -> AIMessage:
        if left[0] > 0:
            left[0] -= 1
            raise RuntimeError("the summarizer is down")
        return says(text)

    return Scripted(reply=reply)


def small(**more: Any) -> SummaryBuffer:
    """A policy that summarises often."""
    return SummaryBuffer(**{"trigger": ("messages", 6), "keep": 2, **more})


def agent(
    llm: Any, policy: Policy, saver: Any = None, *, tools: Any = (), around: Any = (), **options: Any
) -> Any:
    """An agent whose calls a policy decides; `around` stands before it in the list."""
    middleware = [*around, ContextMiddleware(policy, **options)]
    return create_agent(llm, list(tools), middleware=middleware, checkpointer=saver)


def talk(drive: Drive, graph: Any, texts: list[str], name: str = "t", **options: Any) -> Any:
    """Say something in turn, and return the last output."""
    out: Any = None
    for text in texts:
        out = drive(graph.invoke, human(text), thread(name), **options)
    return out


def chatter(count: int, start: int = 0) -> list[str]:
    return [f"We moved box {n} to the other shelf." for n in range(start, start + count)]


def sent(model: Scripted, n: int = -1) -> list[BaseMessage]:
    """What a model was sent in its n-th call."""
    return model.seen[n]


def summaries_in(messages: list[BaseMessage]) -> list[str]:
    return [
        m.text
        for m in messages
        if isinstance(m, HumanMessage) and (m.id or "").startswith("threadkeep-summary")
    ]


@tool
def weigh(box: int) -> str:
    """Weigh a box."""
    return f"Box {box} weighs {box + 10} kilograms."


def rounds(count: int) -> Scripted:
    """A model that weighs so many boxes, one a call, and then is done."""
    done = [0]

    def reply(messages: list[BaseMessage]) -> AIMessage:
        done[0] += 1
        return calls("weigh", box=done[0]) if done[0] <= count else says("All boxes are weighed.")

    return Scripted(reply=reply)


Reply = Callable[[list[BaseMessage]], AIMessage]
