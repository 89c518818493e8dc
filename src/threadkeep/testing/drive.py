"""One test body for both worlds: call a method, or await its `a` twin."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any


class Drive:
    """Calls a method by its bare name; the async one calls the `a` twin on an event loop of its own.

    Iterators, sync or async, come back as lists.
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self._runner = asyncio.Runner() if mode == "async" else None

    def __call__(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return what the method, or its twin, returns."""
        if self._runner is None:
            result = method(*args, **options)
            return list(result) if isinstance(result, Iterator) else result
        owner: Any = method.__self__  # type: ignore[attr-defined]
        return self._runner.run(_settled(getattr(owner, f"a{method.__name__}"), args, options))

    def close(self) -> None:
        """Close the event loop."""
        if self._runner is not None:
            self._runner.close()


async def _settled(twin: Callable[..., Any], args: Any, options: Any) -> Any:
    result = twin(*args, **options)
    if isinstance(result, AsyncIterator):
        return [item async for item in result]
    return await result
