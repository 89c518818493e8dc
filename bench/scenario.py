"""The agent that is measured: one turn is a question, a tool call, its result and an answer, about 1 KB.

The model is scripted and costs next to nothing. Its messages carry token counts, model name and finish
reason, or with `shape="openai"` all that langchain-openai puts into them: 1.7 KB of JSON a turn.
"""

from __future__ import annotations

import json
import random
import string
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentState
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer

from bench.text import prose

TOOL = "search_orders"
MODEL_NAME = "gpt-4.1-mini-2025-04-14"
_ALPHABET = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Turn:
    """What is said in one turn, and the ids a provider gives."""

    human: str
    args: dict[str, Any]
    result: str
    answer: str
    call_id: str
    response_ids: tuple[str, str]


def _token(rng: random.Random, size: int) -> str:
    return "".join(rng.choices(_ALPHABET, k=size))


@lru_cache(maxsize=8192)
def turn(seed: str, number: int) -> Turn:
    """Return turn `number` of the conversation `seed`, always the same."""
    rng = random.Random(f"{seed}:{number}")
    return Turn(
        human=prose(rng, rng.randrange(110, 210)),
        args={
            "query": prose(rng, rng.randrange(35, 70)),
            "order": f"A{rng.randrange(10**5, 10**6)}",
            "limit": 5,
        },
        result=prose(rng, rng.randrange(280, 440)),
        answer=prose(rng, rng.randrange(300, 460)),
        call_id="call_" + _token(rng, 24),
        response_ids=("chatcmpl-" + _token(rng, 29), "chatcmpl-" + _token(rng, 29)),
    )


def turn_text(seed: str, turns: int) -> int:
    """Bytes of message text in the first `turns` turns of a conversation."""
    said = (turn(seed, number) for number in range(turns))
    return sum(len((t.human + t.result + t.answer + json.dumps(t.args)).encode()) for t in said)


def _plain(content: str, prompt: int, **extra: Any) -> AIMessage:
    """Return a message with the least that a provider reports."""
    completion = max(8, len(content) // 4)
    usage = UsageMetadata(input_tokens=prompt, output_tokens=completion, total_tokens=prompt + completion)
    finish = "tool_calls" if extra else "stop"
    return AIMessage(
        content=content,
        response_metadata={"model_name": MODEL_NAME, "finish_reason": finish},
        usage_metadata=usage,
        **extra,
    )


def _answer(shape: str, content: str, response_id: str, prompt: int, **extra: Any) -> AIMessage:
    """Return a message shaped like one of langchain-openai's, or a plain one."""
    if shape == "plain":
        return _plain(content, prompt, **extra)
    completion = max(8, len(content) // 4)
    cached = prompt // 128 * 128 if prompt >= 1024 else 0
    usage = {
        "completion_tokens": completion,
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens_details": {
            "accepted_prediction_tokens": 0,
            "audio_tokens": 0,
            "reasoning_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
        "prompt_tokens_details": {"audio_tokens": 0, "cached_tokens": cached},
    }
    return AIMessage(
        content=content,
        additional_kwargs={"refusal": None},
        response_metadata={
            "token_usage": usage,
            "model_provider": "openai",
            "model_name": MODEL_NAME,
            "system_fingerprint": "fp_95d112f245",
            "id": response_id,
            "service_tier": "default",
            "finish_reason": "tool_calls" if extra else "stop",
            "logprobs": None,
        },
        usage_metadata={
            "input_tokens": prompt,
            "output_tokens": completion,
            "total_tokens": prompt + completion,
            "input_token_details": {"audio": 0, "cache_read": cached},
            "output_token_details": {"audio": 0, "reasoning": 0},
        },
        **extra,
    )


def _calling(shape: str, said: Turn, prompt: int) -> AIMessage:
    call = {"name": TOOL, "args": said.args, "id": said.call_id, "type": "tool_call"}
    return _answer(shape, "", said.response_ids[0], prompt, tool_calls=[call])


class Script:
    """The turn that is being played; the driver selects it outside of what is timed."""

    def __init__(self, seed: str, shape: str = "plain") -> None:
        self.seed = seed
        self.shape = shape
        self.now = turn(seed, 0)

    def select(self, number: int) -> HumanMessage:
        """Make `number` the turn to play and return its question."""
        self.now = turn(self.seed, number)
        return HumanMessage(self.now.human)

    def messages(self, number: int) -> list[AnyMessage]:
        """Return the messages of a whole turn, with ids as a run leaves them."""
        said = turn(self.seed, number)
        prompt = 300 * number + 60
        asked = _calling(self.shape, said, prompt)
        answered = _answer(self.shape, said.answer, said.response_ids[1], prompt + 140)
        asked.id, answered.id = f"lc_run--{uuid.uuid4()}-0", f"lc_run--{uuid.uuid4()}-0"
        return [
            HumanMessage(said.human, id=str(uuid.uuid4())),
            asked,
            ToolMessage(said.result, tool_call_id=said.call_id, name=TOOL, id=str(uuid.uuid4())),
            answered,
        ]


class ScriptedModel(BaseChatModel):
    """Calls the tool when a human spoke last and answers when the tool did."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        said: Turn = self.script.now
        shape, prompt = self.script.shape, 75 * len(messages) + 60
        if isinstance(messages[-1], HumanMessage):
            message = _calling(shape, said, prompt)
        else:
            message = _answer(shape, said.answer, said.response_ids[1], prompt)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return self._generate(messages)


def _tool(script: Script) -> BaseTool:
    def search_orders(query: str, order: str, limit: int) -> str:
        return script.now.result

    async def asearch_orders(query: str, order: str, limit: int) -> str:
        return script.now.result

    return StructuredTool.from_function(
        search_orders, coroutine=asearch_orders, name=TOOL, description="Search the orders of a customer."
    )


class DeltaState(AgentState[Any]):
    """The agent's state with LangGraph's DeltaChannel for messages, a snapshot every 50 updates."""

    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=50)]


def agent(script: Script, saver: Any, *, delta: bool = False) -> Any:
    """Return the agent with one tool, on `saver`."""
    return create_agent(
        ScriptedModel(script=script),
        [_tool(script)],
        checkpointer=saver,
        state_schema=DeltaState if delta else None,
    )


def nested_agent(script: Script, saver: Any) -> Any:
    """Return the agent as a subgraph which shares `messages` with its parent."""
    graph = StateGraph(MessagesState)
    graph.add_node("agent", create_agent(ScriptedModel(script=script), [_tool(script)]))
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    return graph.compile(checkpointer=saver)


def repeating_graph(saver: Any, *, repeat: bool) -> Any:
    """Return a graph whose node gives back the whole list unchanged, or nothing at all."""

    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": list(state["messages"]) if repeat else []}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile(checkpointer=saver)
