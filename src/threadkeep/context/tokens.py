"""Estimate how many tokens a model's input has, erring high."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from threadkeep.context import scripts

Quality = Literal["exact", "calibrated", "cold"]

_RATES: Final[Mapping[str, float]] = {
    scripts.LATIN: 0.26, scripts.CYRILLIC: 0.34, scripts.HAN: 0.75, scripts.KANA: 0.75, scripts.HANGUL: 0.8,
    scripts.THAI: 0.5, scripts.ARABIC: 0.45, scripts.INDIC: 0.5, scripts.OTHER: 1.5, scripts.DIGITS: 0.45,
    scripts.SYMBOLS: 0.7, scripts.SPACE: 0.06,
}  # fmt: skip
_MESSAGE, _CALL = 4, 8
_MEDIA: Final = 1600


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """A number of input tokens: what is not `exact` is an upper estimate."""

    tokens: int
    quality: Quality = "cold"
    weights: Mapping[str, float] = field(default_factory=dict)


class Counter:
    """Count tokens for one model; `model` is its name or a chat model object."""

    def __init__(self, model: Any = None, calibration: Any = None) -> None:
        self.model = model
        self.quality: Quality = "cold"

    def text(self, text: str) -> int:
        """Return the upper estimate of a text in tokens."""
        return round(_total(_weigh(text)))

    def message(self, message: BaseMessage) -> int:
        """Return the upper estimate of one message with its wrapper in tokens."""
        return round(_total(self.weights(message)))

    def weights(self, message: BaseMessage) -> dict[str, float]:
        """Return a message's cold estimate in tokens, by script."""
        weights: dict[str, float] = {scripts.FIXED: float(_MESSAGE)}
        content = [message.content] if isinstance(message.content, str) else message.content
        for part in content:
            _add(weights, _part(part))
        if isinstance(message, AIMessage):
            for call in (*message.tool_calls, *message.invalid_tool_calls):
                _add(weights, _weigh(f"{call['name']}{_json(call['args'])}"), _CALL)
        elif isinstance(message, ToolMessage) and message.name:
            _add(weights, _weigh(message.name))
        return weights

    def tools(self, tools: Sequence[Any] = (), response_format: Any = None) -> int:
        """Return the upper estimate of tool schemas and a response schema in tokens."""
        weights: dict[str, float] = {}
        for tool in (*tools, *([response_format] if response_format is not None else [])):
            _add(
                weights,
                _weigh(_json(tool if isinstance(tool, Mapping) else convert_to_openai_tool(tool))),
                _CALL,
            )
        return round(_total(weights))


def count_tokens(
    messages: Iterable[BaseMessage],
    *,
    model: Any = None,
    tools: Sequence[Any] = (),
    system: Any = None,
    response_format: Any = None,
    calibration: Any = None,
) -> Count:
    """Estimate the input tokens of a call with these messages, tools and schemas, erring high."""
    counter = Counter(model, calibration)
    weights: dict[str, float] = {}
    for message in messages:
        _add(weights, counter.weights(message))
    total = _total(weights) + counter.tools(tools, response_format)
    if system is not None:
        total += counter.text(system) + _MESSAGE if isinstance(system, str) else counter.message(system)
    return Count(tokens=round(total), quality=counter.quality, weights=weights)


def _part(part: Any) -> dict[str, float]:
    if isinstance(part, str):
        return _weigh(part)
    for key in ("text", "reasoning", "thinking"):
        if isinstance(part.get(key), str):
            return _weigh(part[key])
    if part.get("type") in ("tool_use", "function_call", "tool_call", "tool_call_chunk"):
        return {}
    return {scripts.FIXED: float(_MEDIA)}


def _weigh(text: str) -> dict[str, float]:
    return {script: count * _RATES[script] for script, count in scripts.measure(text).items()}


def _add(weights: dict[str, float], more: Mapping[str, float], fixed: float = 0) -> None:
    for script, weight in more.items():
        weights[script] = weights.get(script, 0.0) + weight
    if fixed:
        weights[scripts.FIXED] = weights.get(scripts.FIXED, 0.0) + fixed


def _total(weights: Mapping[str, float]) -> float:
    return sum(weights.values())


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
