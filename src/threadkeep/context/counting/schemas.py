"""The text of a tool's or a response's schema, as a provider is sent it."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PydanticSchemaGenerationError, TypeAdapter

_KEPT: Final = 256
_texts: OrderedDict[int, tuple[Any, str]] = OrderedDict()
"""Schemas that were written out, by the identity of what they came from, which is kept so that it stays unique."""


def schema_text(schema: Any) -> str:
    """Return the JSON of a tool or a response schema, as it is sent.

    `schema` is anything that `bind_tools` or `response_format` takes: a tool, a function, a class, a mapping, or one of
    LangChain's strategies around a schema. Making it takes a millisecond, so that of a tool object is kept.
    """
    if isinstance(schema, Mapping):
        return _json(schema)
    known = _texts.get(id(schema))
    if known is None or known[0] is not schema:
        known = _texts[id(schema)] = schema, _written(schema)
        while len(_texts) > _KEPT:
            _texts.popitem(last=False)
    return known[1]


def _written(schema: Any) -> str:
    inner = getattr(schema, "schema", None)
    if (
        not isinstance(schema, type | BaseTool)
        and inner is not None
        and not callable(getattr(inner, "__func__", None))
    ):
        return schema_text(inner)
    try:
        return _json(convert_to_openai_tool(schema))
    except (TypeError, ValueError, AttributeError):
        pass
    try:
        return _json(TypeAdapter(schema).json_schema())
    except (PydanticSchemaGenerationError, TypeError, ValueError):
        return str(schema)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
