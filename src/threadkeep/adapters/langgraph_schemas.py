"""The types that a compiled graph's schemas name, so that `Memory.allow(graph)` can declare them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import Enum
from typing import Any, get_args, get_type_hints

from langchain_core.messages import BaseMessage

from threadkeep.errors import ConfigurationError


def declared_types(item: Any) -> list[type]:
    """Return what `allow` was given: a type itself, or the types a compiled graph's schemas name.

    Raises ConfigurationError for anything else.
    """
    if isinstance(item, type):
        return [item]
    if not hasattr(item, "channels") or not hasattr(item, "nodes"):
        raise ConfigurationError(f"allow was given {item!r}; pass types, or a compiled graph")
    found: list[type] = []
    seen: set[int] = set()
    for graph in [item, *(graph for _, graph in item.get_subgraphs(recurse=True))]:
        for hint in _hints(graph):
            _collect(hint, found, seen)
    return found


def _hints(graph: Any) -> Iterator[Any]:
    yield from getattr(getattr(graph, "builder", None), "schemas", {})
    for channel in graph.channels.values():
        yield getattr(channel, "ValueType", None)
        yield getattr(channel, "UpdateType", None)
    for node in graph.nodes.values():
        yield from _response_schemas(getattr(node, "bound", None))


def _response_schemas(runnable: Any) -> Iterator[Any]:
    """Yield the schemas an agent's answers are parsed into; only its node functions hold them."""
    for function in (getattr(runnable, "func", None), getattr(runnable, "afunc", None)):
        for cell in getattr(function, "__closure__", None) or ():
            try:
                content = cell.cell_contents
            except ValueError:
                continue  # a name that is bound later
            for value in content.values() if isinstance(content, dict) else (content,):
                yield getattr(value, "schema", None)


def _collect(hint: Any, found: list[type], seen: set[int]) -> None:
    if hint is None or id(hint) in seen:
        return
    seen.add(id(hint))
    for argument in get_args(hint):
        _collect(argument, found, seen)
    if not isinstance(hint, type) or hint.__module__ == "builtins" or issubclass(hint, BaseMessage):
        return
    if (
        dataclasses.is_dataclass(hint)
        or _is_model(hint)
        or issubclass(hint, Enum)
        or hasattr(hint, "_fields")
    ):
        found.append(hint)
    try:
        inner = get_type_hints(hint, include_extras=True)
    except (NameError, TypeError):
        return  # names that only a type checker resolves
    for value in inner.values():
        _collect(value, found, seen)


def _is_model(hint: type) -> bool:
    return isinstance(getattr(hint, "__pydantic_fields__", None), dict)
