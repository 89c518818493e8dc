"""What the tests of the chat share: a scripted model that streams, and a chat on lists of lines."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field
from rich.console import Console

from threadkeep.cli.chat_loop import Chat
from threadkeep.context import Policy
from threadkeep.memory import Memory

Reply = Callable[[list[BaseMessage]], str]


class Streaming(BaseChatModel):
    """A chat model that streams, letter by letter, what `reply` makes of the messages it was sent."""

    reply: Reply
    cached: int | None = 4
    seen: list[list[str]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "streaming"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise AssertionError("the chat streams")

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.seen.append([f"{message.type}: {message.text}" for message in messages])
        text = self.reply(messages)
        for letter in text:
            yield ChatGenerationChunk(message=AIMessageChunk(content=letter))
        usage: dict[str, Any] = {"input_tokens": 10 * len(messages), "output_tokens": len(text)}
        usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
        if self.cached is not None:
            usage["input_token_details"] = {"cache_read": self.cached}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        raise AssertionError("the chat streams on its event loop")


class Plain(BaseChatModel):
    """A chat model that cannot stream and reports no tokens."""

    @property
    def _llm_type(self) -> str:
        return "plain"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("all at once"))])


def echo(messages: list[BaseMessage]) -> str:
    """Repeat the newest message."""
    return f"you said {messages[-1].text}"


class Failing:
    """A reply that raises on the calls whose numbers are given, from 1, and echoes on the others."""

    def __init__(self, *calls: int, error: BaseException | None = None) -> None:
        self._calls = calls
        self._error = error or ValueError("the line\nis down")
        self._count = 0

    def __call__(self, messages: list[BaseMessage]) -> str:
        self._count += 1
        if self._count in self._calls:
            raise self._error
        return echo(messages)


class Recorder(io.StringIO):
    """A text file that remembers each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return super().write(text)


class Held:
    """A chat's exit status and what it printed."""

    def __init__(self, status: int, output: Recorder) -> None:
        self.status = status
        self.writes = output.writes
        self.text = output.getvalue()
        self.lines = self.text.splitlines()

    def line(self, beginning: str) -> str:
        """Return the one line that begins so."""
        (found,) = [line for line in self.lines if line.startswith(beginning)]
        return found


def hold(
    memory: Memory,
    lines: Iterable[str],
    model: BaseChatModel | None = None,
    *,
    thread: str = "default",
    system: str | None = None,
    policy: Policy | None = None,
    summarizer: BaseChatModel | None = None,
) -> Held:
    """Hold a chat in which these lines are typed."""
    output = Recorder()
    console = Console(file=output, width=120, highlight=False, markup=False)
    given = iter(lines)
    talking = model or Streaming(reply=echo)
    with Chat(memory, thread, talking, console, system=system, policy=policy, summarizer=summarizer) as chat:
        chat.greet("A scripted model.")
        return Held(chat.run(lambda: next(given, None)), output)
