"""The tools by which a model reads and searches what has left its view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, StructuredTool

from threadkeep.adapters.agents.place import Place
from threadkeep.adapters.agents.record import whole
from threadkeep.adapters.agents.steps import Flow, arun, run
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.planning import recalling
from threadkeep.context.planning.history import History
from threadkeep.context.planning.recalling import Passage
from threadkeep.context.summaries.fences import enclose

SEARCH = """Search the earlier parts of this conversation, those that are not shown any more included, for words.

Returns the messages that match best, one a line, each with its reference; read_history returns one in full."""

READ = """Read an earlier part of this conversation word for word, by a reference such as 1a2b3c4d.

References stand in the outline of what is not shown, and in what search_history returns."""


class Recall:
    """Makes the tools.

    Args:
        limit: Tokens of a result at most.
        whole: Whether to read the thread's record, for agents whose state has lost messages, and not the state.
        find: Returns the place of a tool's run.
    """

    def __init__(self, limit: int, whole: bool, find: Callable[[Any], Place]) -> None:
        self._limit = limit
        self._whole = whole
        self._find = find
        self._counter = Counter()

    def tools(self) -> list[BaseTool]:
        """Return `search_history` and `read_history`."""

        def search_history(query: str, runtime: ToolRuntime[Any, Any]) -> str:
            return run(self._search(query, runtime))

        async def asearch_history(query: str, runtime: ToolRuntime[Any, Any]) -> str:
            return await arun(self._search(query, runtime))

        def read_history(reference: str, runtime: ToolRuntime[Any, Any]) -> str:
            return run(self._read(reference, runtime))

        async def aread_history(reference: str, runtime: ToolRuntime[Any, Any]) -> str:
            return await arun(self._read(reference, runtime))

        return [
            StructuredTool.from_function(search_history, asearch_history, "search_history", SEARCH),
            StructuredTool.from_function(read_history, aread_history, "read_history", READ),
        ]

    def _search(self, query: str, runtime: Any) -> Flow[str]:
        history = yield from self._history(runtime)
        return _told(recalling.search(history, query, limit=self._limit, count=self._counter.text))

    def _read(self, reference: str, runtime: Any) -> Flow[str]:
        history = yield from self._history(runtime)
        return _told(recalling.read(history, reference, limit=self._limit, count=self._counter.text))

    def _history(self, runtime: Any) -> Flow[History]:
        messages: Sequence[BaseMessage] = runtime.state.get("messages", ())
        if self._whole:
            # The model's arguments have no part in whose record this is.
            thread = self._find(runtime).record
            if thread is not None:
                messages = yield from whole(thread, messages)
        return History.of(messages, self._counter)


def _told(passage: Passage) -> str:
    """Return a passage as a tool's result: words of the conversation stand in a fence, explanations do not."""
    return enclose("conversation", passage.text) if passage.found else passage.text
