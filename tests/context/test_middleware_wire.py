"""What providers' packages make of an agent's views: the requests, as they would be sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from threadkeep.context import ContextMiddleware, SummaryBuffer

openai = pytest.importorskip("langchain_openai")
anthropic = pytest.importorskip("langchain_anthropic")


def recording(kind: Any, **options: Any) -> Any:
    """A chat model of a provider's class that keeps its requests and answers by itself."""
    payloads: list[Any] = []

    class Kept(kind):  # type: ignore[misc, valid-type]
        answer: Callable[[int], AIMessage]

        def _generate(
            self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kw: Any
        ) -> Any:
            payloads.append(self._get_request_payload(messages, stop=stop, **kw))
            return ChatResult(generations=[ChatGeneration(message=self.answer(len(payloads)))])

    return Kept(**options), payloads


def talk(model: Any, around: Any = ()) -> None:
    middleware = [ContextMiddleware(SummaryBuffer(trigger=("messages", 6), keep=2)), *around]
    agent = create_agent(
        model, [], middleware=middleware, checkpointer=InMemorySaver(), system_prompt="Be brief."
    )
    for n in range(6):
        asked = HumanMessage(f"Where is box {n}?")
        agent.invoke({"messages": [asked]}, {"configurable": {"thread_id": "t"}})


def test_openai_goes_on_from_no_response_that_saw_more() -> None:
    """With `use_previous_response_id` the package sends the last message alone, and OpenAI remembers the rest."""
    model, payloads = recording(
        openai.ChatOpenAI,
        model="gpt-5-mini",
        api_key="x",
        use_responses_api=True,
        use_previous_response_id=True,
        answer=lambda n: AIMessage(f"On shelf {n}.", response_metadata={"id": f"resp_{n}"}),
    )
    talk(model)
    assert payloads[1]["previous_response_id"] == "resp_1" and len(payloads[1]["input"]) == 1
    reduced = [one for one in payloads if "Background" in str(one["input"])]
    assert reduced
    for one in reduced:
        assert "previous_response_id" not in one
        assert str(one["input"]).count("Where is box") >= 1
        assert len(one["input"]) >= 3


def test_anthropics_prompt_caching_marks_the_view() -> None:
    model, payloads = recording(
        anthropic.ChatAnthropic,
        model="claude-sonnet-4-5",
        api_key="x",
        answer=lambda n: AIMessage(f"On shelf {n}."),
    )
    from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware

    talk(model, [AnthropicPromptCachingMiddleware()])
    last = payloads[-1]
    assert "Background" in str(last["messages"]) and last["messages"][0]["role"] == "user"
    assert "cache_control" in str(last)
    assert [one["role"] for one in last["messages"]] == ["user", "assistant", "user"] or len(
        last["messages"]
    ) <= 5
