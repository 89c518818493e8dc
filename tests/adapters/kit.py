"""What the adapter tests share: a scripted model, and one way to drive a graph sync or async."""

from __future__ import annotations

import asyncio
import itertools
import operator
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph.message import add_messages
from pydantic import Field


class Drive:
    """Call a method by its bare name; the async drive calls its `a` twin on a loop of its own.

    Iterators, sync or async, come back as lists, so that one test body serves both worlds.
    """

    def __init__(self, asynchronous: bool) -> None:
        self.asynchronous = asynchronous
        self._runner = asyncio.Runner() if asynchronous else None

    def __call__(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._runner is None:
            result = method(*args, **kwargs)
            return list(result) if isinstance(result, Iterator) else result
        twin = getattr(method.__self__, "a" + method.__name__)  # type: ignore[attr-defined]
        return self._runner.run(_settle(twin, args, kwargs))

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()


async def _settle(twin: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    result = twin(*args, **kwargs)
    if isinstance(result, AsyncIterator):
        return [item async for item in result]
    return await result


class Scripted(BaseChatModel):
    """A chat model that answers what `reply` makes of the messages it was sent."""

    reply: Callable[[list[BaseMessage]], AIMessage]
    seen: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Scripted:  # type: ignore[override]
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.seen.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.reply(messages))])


_numbers = itertools.count()


def says(text: str) -> AIMessage:
    return AIMessage(text, usage_metadata={"input_tokens": 10, "output_tokens": 3, "total_tokens": 13})


def calls(name: str, **args: Any) -> AIMessage:
    """An AI message with one tool call."""
    return calls_all((name, args))


def calls_all(*requests: tuple[str, dict[str, Any]]) -> AIMessage:
    """An AI message with several tool calls at once."""
    return AIMessage(
        "",
        tool_calls=[{"name": name, "args": args, "id": f"call_{next(_numbers)}"} for name, args in requests],
        usage_metadata={"input_tokens": 10, "output_tokens": 2, "total_tokens": 12},
    )


def script(*replies: Callable[[], AIMessage]) -> Scripted:
    """A model that plays `replies` in order and starts over after the last."""
    turn = itertools.cycle(replies)
    return Scripted(reply=lambda messages: next(turn)())


def tool_user(name: str, **args: Any) -> Scripted:
    """A model that calls one tool on each human message and then answers with its result."""

    def reply(messages: list[BaseMessage]) -> AIMessage:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            return says(f"the tool said: {last.text}")
        return calls(name, **args)

    return Scripted(reply=reply)


def echo() -> Scripted:
    """A model that repeats the newest message and counts those it was sent."""
    return Scripted(reply=lambda messages: says(f"{len(messages)}: {messages[-1].text}"))


def thread(thread_id: Any = "t", **configurable: Any) -> dict[str, Any]:
    """The config that addresses a thread."""
    return {"configurable": {"thread_id": thread_id, **configurable}}


def human(text: str, message_id: str | None = None) -> dict[str, list[AnyMessage]]:
    return {"messages": [HumanMessage(text, id=message_id)]}


def texts(messages: list[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def kinds(messages: list[BaseMessage]) -> list[str]:
    return [message.type for message in messages]


class Log(TypedDict, total=False):
    """A state that collects what nodes say, in the order their writes were applied."""

    log: Annotated[list[Any], operator.add]


class Chat(TypedDict, total=False):
    """A state of messages."""

    messages: Annotated[list[AnyMessage], add_messages]


class Counted:
    """A node that counts how often it ran, and can be told to fail."""

    def __init__(self, name: str, *, fail: int = 0, error: type[Exception] = ValueError) -> None:
        self.name, self.runs, self.fail, self.error = name, 0, fail, error

    def __call__(self, state: Any) -> dict[str, Any]:
        self.runs += 1
        if self.fail > 0:
            self.fail -= 1
            raise self.error(f"{self.name} failed")
        return {"log": [self.name]}
