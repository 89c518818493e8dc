"""Which other middlewares stand within one: between it and the model."""

from __future__ import annotations

import inspect
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware

ALLOWED: Final = "PromptCaching"
"""Part of the class names of middlewares that belong within: they mark what the view has become."""


def within(handler: Any) -> list[AgentMiddleware[Any, Any, Any]]:
    """Return the middlewares that a handler leads to, outermost first; empty where that cannot be told.

    LangChain tells a middleware nothing of its siblings, but the handler that it gives to each is a closure over the
    next one's method.
    """
    inner = _variables(handler).get("inner")
    return _unfolded(inner) if inner is not None else []


def misplaced(handler: Any) -> list[AgentMiddleware[Any, Any, Any]]:
    """Return the middlewares within that should stand outside, before this one in the list."""
    return [one for one in within(handler) if ALLOWED not in type(one).__name__]


def _unfolded(function: Any) -> list[AgentMiddleware[Any, Any, Any]]:
    owner = getattr(inspect.unwrap(function) if callable(function) else function, "__self__", None)
    if isinstance(owner, AgentMiddleware):
        return [owner]
    parts = _variables(function)
    return [
        found
        for name in ("outer", "inner", "single_handler")
        if name in parts
        for found in _unfolded(parts[name])
    ]


def _variables(function: Any) -> dict[str, Any]:
    """Return what a closure closes over, by name."""
    cells = getattr(function, "__closure__", None)
    code = getattr(function, "__code__", None)
    if cells is None or code is None:
        return {}
    found = {}
    for name, cell in zip(code.co_freevars, cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return found
