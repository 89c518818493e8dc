"""What LangChain and deepagents make of a conversation for the next call, in their default use, without a model.

Each function takes the messages that lie in the state and returns the messages that would be sent. Summarizers are
scripted. The triggers are those our own policies are measured with.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, SystemMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately

Peer = Callable[[list[BaseMessage]], list[BaseMessage]]

TOKENS = 2000
KEEP = 20


def scripted() -> GenericFakeChatModel:
    """Return a model that answers every request with one sentence."""

    def answers() -> Any:
        while True:
            yield AIMessage("The user asked for orders, shifts and files, and was answered.")

    return GenericFakeChatModel(messages=answers())


def nothing(messages: list[BaseMessage]) -> list[BaseMessage]:
    """The state as it is: `create_agent` without middleware."""
    return messages


def trim(messages: list[BaseMessage]) -> list[BaseMessage]:
    """`trim_messages` as its documentation shows it for chat models with tools."""
    return trim_messages(
        messages,
        max_tokens=TOKENS,
        token_counter=count_tokens_approximately,
        strategy="last",
        start_on="human",
        end_on=("human", "tool"),
        include_system=True,
        allow_partial=False,
    )


def summarization(messages: list[BaseMessage]) -> list[BaseMessage]:
    """`SummarizationMiddleware` at the trigger, keeping 20 messages; the system prompt stays apart, as agents do it."""
    from langchain.agents.middleware import SummarizationMiddleware

    system, rest = _apart(messages)
    middleware = SummarizationMiddleware(scripted(), trigger=("tokens", TOKENS), keep=("messages", KEEP))
    update = middleware.before_model({"messages": rest}, None)  # type: ignore[arg-type]
    return [*system, *_written(rest, update)]


def deepagents(messages: list[BaseMessage]) -> list[BaseMessage]:
    """What a deep agent does by default: patch dangling calls, then summarize with the history put into a file."""
    from deepagents.backends import FilesystemBackend
    from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware
    from deepagents.middleware.summarization import SummarizationMiddleware
    from langchain.agents.middleware.types import ModelRequest, ModelResponse

    system, rest = _apart(messages)
    rest = _written(rest, PatchToolCallsMiddleware().before_agent({"messages": rest}, None))  # type: ignore[arg-type]
    sent: list[BaseMessage] = []

    def model(request: Any) -> Any:
        sent[:] = request.messages
        return ModelResponse(result=[AIMessage("ok")])

    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        middleware: Any = SummarizationMiddleware(
            scripted(),
            backend=FilesystemBackend(root_dir=place, virtual_mode=True),
            trigger=("tokens", TOKENS),
            keep=("messages", KEEP),
        )
        state: Any = {"messages": rest}
        middleware.wrap_model_call(ModelRequest(model=scripted(), messages=list(rest), state=state), model)
    return [*system, *sent]


PEERS: dict[str, Peer] = {
    "everything": nothing,
    "trim_messages": trim,
    "SummarizationMiddleware": summarization,
    "deepagents": deepagents,
}


def _apart(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Return the system prompt, which agents hold apart from the state, and the rest."""
    first = list(messages[:1]) if messages and isinstance(messages[0], SystemMessage) else []
    return first, list(messages[len(first) :])


def _written(messages: list[BaseMessage], update: dict[str, Any] | None) -> list[BaseMessage]:
    """Return the state's messages after a middleware's update, which replaces them all."""
    if update is None:
        return messages
    return [message for message in update["messages"] if not isinstance(message, RemoveMessage)]
