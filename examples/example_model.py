"""Which model the examples talk to: `--model`, or THREADKEEP_MODEL, or a scripted stand-in.

    python examples/two_threads.py --model openai:gpt-5-mini
    THREADKEEP_MODEL=anthropic:claude-haiku-4-5 python examples/two_threads.py
    python examples/two_threads.py --model local

A model is named as `init_chat_model` names it, and its provider's package has to be installed. `local`
is the tiny demo model of the extra `local`, which calls no tools. Without a name the scripted stand-in of
each example answers: it needs no network, and it answers only from the messages it is sent, so what it
knows is what the thread remembered.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from threadkeep.adapters.local import LocalChat

Reply = Callable[[list[BaseMessage]], AIMessage]


def arguments(description: str, *, db: str = "memory://") -> argparse.ArgumentParser:
    """A parser with the options that every example has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", default=os.environ.get("THREADKEEP_MODEL", "scripted"))
    parser.add_argument("--db", default=db, help=f"where threads are kept ({db})")
    return parser


def chosen(name: str, reply: Reply) -> BaseChatModel:
    """The model called `name`; `scripted` is a stand-in that answers by calling `reply`."""
    if name == "scripted":
        print("(a scripted stand-in answers; say --model PROVIDER:NAME for a real model)")
        return Scripted(reply=reply)
    if name == "local":
        return LocalChat()
    return init_chat_model(name)


class Scripted(BaseChatModel):
    """Answers by a function of the messages, and reports words as tokens."""

    reply: Reply

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Scripted:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        answer = self.reply(messages)
        sent, said = sum(map(words, messages)), words(answer)
        answer.usage_metadata = {"input_tokens": sent, "output_tokens": said, "total_tokens": sent + said}
        return ChatResult(generations=[ChatGeneration(message=answer)])


def words(message: BaseMessage) -> int:
    """The length of a message in words; a tool call counts as five."""
    return len(message.text.split()) + 5 * len(getattr(message, "tool_calls", ()))


def said_before(messages: list[BaseMessage], phrase: str) -> str | None:
    """What a human said after `phrase`, if the model was sent it: the memory of a scripted model."""
    for message in messages:
        if message.type == "human" and phrase in message.text.lower():
            start = message.text.lower().index(phrase) + len(phrase)
            return message.text[start:].strip(" .!")
    return None


def tool_call(name: str, **args: Any) -> AIMessage:
    """An answer that calls a tool."""
    call = {"name": name, "args": args, "id": f"{name}-{os.urandom(4).hex()}"}
    return AIMessage("", tool_calls=[call])
