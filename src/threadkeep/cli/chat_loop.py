"""The loop of `threadkeep chat`: read a line, stream the answer, say what the thread has become."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from rich.console import Console
from rich.text import Text

from threadkeep.adapters.agents import looking, steps
from threadkeep.adapters.agents.middleware import ContextMiddleware
from threadkeep.cli import chat_commands, chat_context, chat_input
from threadkeep.cli.app import print_error
from threadkeep.cli.output import busy
from threadkeep.cli.text import block, counted, one_line, shown_id, size
from threadkeep.context.policies.buffer import Buffer
from threadkeep.context.policies.policy import Policy
from threadkeep.errors import ThreadkeepError
from threadkeep.memory import Memory

_UNANSWERED = 1
"""Exit status when the last message got no answer."""


class Chat:
    """A conversation on one thread: prints to a console and keeps everything in a memory.

    Answers are computed on an event loop of its own, because only there a call can be stopped at once,
    whoever's model it is. Use it as a context manager, on the main thread when Ctrl-C shall stop an answer.
    """

    def __init__(
        self,
        memory: Memory,
        thread: str,
        model: BaseChatModel,
        console: Console,
        *,
        system: str | None = None,
        policy: Policy | None = None,
        summarizer: BaseChatModel | None = None,
        context_window: int | None = None,
    ) -> None:
        """Make a chat.

        Args:
            memory: Where the conversation is kept.
            thread: Its name.
            model: Who answers.
            console: Where to print.
            system: A system prompt.
            policy: What of the conversation is sent; everything by default.
            summarizer: Who writes the policy's summaries; extracts stand for them by default.
            context_window: Tokens of the model's context window, where the model does not say.
        """
        self.memory = memory
        self.thread = memory.threads.get(thread)
        self.console = console
        self.policy = policy or Buffer()
        self._context = ContextMiddleware(
            self.policy, memory=memory, model=summarizer, context_window=context_window
        )
        self._asked = looking.Asked(
            model=model, system=system, tools=self._context.tools, summarizer=summarizer
        )
        self._agent: Any = create_agent(
            model,
            tools=[],
            system_prompt=system,
            middleware=[self._context],
            checkpointer=memory.checkpointer,
        )
        self._config = {"configurable": {"thread_id": self.thread.thread_id}}
        self._runner = asyncio.Runner()
        self._unanswered: str | None = None
        self._progress = chat_context.Progress()

    def __enter__(self) -> Chat:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.close()

    def greet(self, notice: str, suggestion: str | None = None) -> None:
        """Say which model and which thread this is, whether it goes on or begins, and what to try then."""
        messages = self.transcript()
        begun = f"continuing: {counted(len(messages), 'message')}" if messages else "a new thread"
        where = f"Thread {shown_id(self.thread.thread_id)} in {one_line(self.memory.url)}, {begun}."
        self._print(notice, "dim")
        self._print(f"{where} /help lists commands, Ctrl-D leaves.", "dim")
        if messages and messages[-1].type == "human":
            self._unanswered = messages[-1].text
            self._print("The last message has no answer yet: /retry asks for one.", "yellow")
        if suggestion is not None and not messages:
            self._print(suggestion, "dim")

    def run(self, read: chat_input.ReadLine | None = None) -> int:
        """Answer lines until there are no more. Returns the exit status."""
        if read is None:
            said = [message.text for message in self.transcript() if message.type == "human"]
            read = chat_input.reader(said, chat_commands.names())
        while (line := read()) is not None:
            text = line.strip()
            if not text:
                continue
            try:
                if not chat_commands.run(self, text):
                    self.say(text)
            except chat_commands.Leave:
                break
            except ThreadkeepError as error:
                print_error(str(error))
        return 0 if self._unanswered is None else _UNANSWERED

    def say(self, text: str) -> None:
        """Send a message, stream its answer and print the line about the thread.

        A failing call prints one line and leaves the message in the thread without an answer, as Ctrl-C does.
        The same text again, or `retry`, asks for the answer without adding the message a second time.
        """
        repeated = text == self._unanswered
        self._unanswered = text
        try:
            answer = self._runner.run(self._answer(text, repeated))
        except KeyboardInterrupt:
            self._print("\n(stopped; /retry asks for an answer again)", "yellow")
        except ThreadkeepError as error:
            print_error(f"{error}; /retry tries again")
        except Exception as error:
            # Whatever a provider's package raises: the conversation outlives it.
            reason = one_line(str(error)) or "no reason given"
            print_error(f"no answer came ({type(error).__name__}: {reason}); /retry asks again")
        else:
            self._unanswered = None
            self._print(self._status(answer), "dim")

    def retry(self) -> bool:
        """Ask again for the answer that is missing. Returns False when none is."""
        if self._unanswered is None:
            return False
        self.say(self._unanswered)
        return True

    def forget_unanswered(self) -> None:
        """Take the thread as it is: what had no answer is no longer on this branch."""
        self._unanswered = None

    def transcript(self) -> list[BaseMessage]:
        """Return the thread's messages; none when it has not begun."""
        return list(self.thread.messages()) if self.thread.exists() else []

    def foresee(self, text: str) -> looking.Foreseen:
        """Return the view of the next call, with this text as the next message; it asks no model."""
        values = self.thread.state().values if self.thread.exists() else {}
        messages = list(values.get("messages") or ())
        if text or not messages or messages[-1].type != "human":
            messages.append(chat_context.next_message(text))
        reference = values.get(self._context.channel)
        return steps.run(looking.next_view(self._context, self.thread, messages, reference, self._asked))

    async def _answer(self, text: str, repeated: bool) -> AIMessage | None:
        """Run the agent on a message and return the answer, its text printed as it comes."""
        answer: AIMessage | None = None
        printed = False
        self._progress = chat_context.Progress()
        with busy(self.console, "") as waiting:
            async for kind, data in self._events(await self._input(text, repeated)):
                if kind == "values":
                    last = data["messages"][-1] if data.get("messages") else None
                    answer = last if isinstance(last, AIMessage) else None
                    self._progress.take(data.get(self._context.channel))
                elif isinstance(data[0], AIMessage | AIMessageChunk) and data[0].text:
                    waiting()
                    self._write(block(data[0].text))
                    printed = True
        if printed:
            self._write("\n")
        return answer

    def _events(self, given: Any) -> AsyncIterator[tuple[str, Any]]:
        events: AsyncIterator[tuple[str, Any]] = self._agent.astream(
            given, self._config, stream_mode=["messages", "values"], durability="sync"
        )
        return events

    async def _input(self, text: str, repeated: bool) -> dict[str, Any] | None:
        """Return what to give the agent: the message, or nothing new when the thread waits for its answer."""
        if repeated:
            state = await self._agent.aget_state(self._config)
            messages = state.values.get("messages") or []
            if messages and messages[-1].type == "human" and messages[-1].text == text:
                return None if state.next else {"messages": []}
        return {"messages": [HumanMessage(text)]}

    def _status(self, answer: AIMessage | None) -> str:
        messages = self.transcript()
        branch = next((branch.branch for branch in self.thread.branches() if branch.current), 0)
        return " · ".join(
            [
                f"turn {sum(message.type == 'human' for message in messages):,}",
                counted(len(messages), "message") + (f" on branch {branch}" if branch else ""),
                counted(self.thread.info().checkpoints, "checkpoint"),
                *_tokens(answer),
                *self._reduction(),
                size(self.memory.size()) if self.memory.size() else "in memory only",
            ]
        )

    def _reduction(self) -> list[str]:
        names = self._progress.reduced(self.policy)
        last = self.thread.usage().last if names else None
        return [] if last is None else [chat_context.reduction(names, self.thread.call(last.number).reasons)]

    def _write(self, text: str) -> None:
        self.console.file.write(text)
        self.console.file.flush()

    def _print(self, text: str, style: str) -> None:
        self.console.print(Text(text, style=style), soft_wrap=not self.console.is_terminal)


def _tokens(answer: AIMessage | None) -> list[str]:
    """Return the tokens of the call that made an answer, as its provider reported them."""
    usage = answer.usage_metadata if answer is not None else None
    if not usage:
        return []
    cached = (usage.get("input_token_details") or {}).get("cache_read")
    return [
        f"{usage['input_tokens']:,} tokens in{f' ({cached:,} cached)' if cached is not None else ''}, "
        f"{usage['output_tokens']:,} out"
    ]
