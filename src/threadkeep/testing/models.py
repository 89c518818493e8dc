"""A chat model that needs no network, and reports usage as a provider's would."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

USAGE: Mapping[str, Any] = {
    "input_tokens": 100,
    "output_tokens": 20,
    "total_tokens": 120,
    "input_token_details": {"cache_read": 40},
}


class Reporting(BaseChatModel):
    """Answers "answer n", n counting its calls, after raising in the first `fails` of them.

    `usage` is what each answer reports, None for nothing; `delay` is how long a call takes, in seconds.
    """

    name: str | None = "gpt-5-mini"
    provider: str | None = None
    usage: Mapping[str, Any] | None = USAGE
    fails: int = 0
    delay: float = 0.0
    _calls: int = PrivateAttr(0)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def _llm_type(self) -> str:
        return "reporting"

    @property
    def calls(self) -> int:
        """How many calls were made, failed ones included."""
        return self._calls

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Bind tools, which are sent and not used."""
        return self.bind(tools=tools, **kwargs)

    def _get_ls_params(self, stop: Any = None, **kwargs: Any) -> Any:
        found: dict[str, Any] = {"ls_model_type": "chat", "ls_model_name": self.name}
        return {**found, **({"ls_provider": self.provider} if self.provider else {})}

    def _answer(self) -> AIMessage:
        with self._lock:
            self._calls += 1
            number = self._calls
        if number <= self.fails:
            raise RuntimeError(f"call {number} fails")
        usage: Any = None if self.usage is None else dict(self.usage)
        return AIMessage(
            f"answer {number}", usage_metadata=usage, response_metadata={"model_name": self.name}
        )

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        time.sleep(self.delay)
        return ChatResult(generations=[ChatGeneration(message=self._answer())])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        await asyncio.sleep(self.delay)
        return ChatResult(generations=[ChatGeneration(message=self._answer())])

    def _chunks(self) -> Iterator[ChatGenerationChunk]:
        answer = self._answer()
        for word in answer.text.split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))
        last: Any = AIMessageChunk(
            content="",
            usage_metadata=answer.usage_metadata,
            response_metadata=answer.response_metadata,
            chunk_position="last",
        )
        yield ChatGenerationChunk(message=last)

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self._chunks():
            time.sleep(self.delay)
            yield chunk

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks():
            await asyncio.sleep(self.delay)
            yield chunk
