"""Estimate how many tokens a model's input has, erring high.

A *cold* estimate comes from a table per family of models (`families`), a *calibrated* one from factors that reported
calls taught (`calibration`). *Exact* is only what a provider reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from threadkeep.context.counting.calibration import Calibration
from threadkeep.context.counting.families import CALL, MESSAGE, family_of
from threadkeep.context.counting.media_tokens import media_tokens
from threadkeep.context.counting.schemas import schema_text
from threadkeep.context.counting.scripts import FEATURES, FIXED, SCRIPTS, measure
from threadkeep.context.providers import model_name, provider_of

Quality = Literal["exact", "calibrated", "cold"]
"""Where a number of tokens comes from; see the module."""

_PLACES: Final = {script: place for place, script in enumerate(SCRIPTS)}
_GROUPS: Final = tuple(_PLACES[script] for _, script in FEATURES)
_FIXED: Final = _PLACES[FIXED]
_CALLS: Final = frozenset(
    {"tool_use", "tool_call", "invalid_tool_call", "function_call", "custom_tool_call", "tool_call_chunk"}
)
"""Blocks that say again what stands in `tool_calls`."""
_MEDIA: Final = frozenset(
    {
        "image", "image_url", "input_image", "audio", "input_audio", "file", "input_file", "document", "video", "media",
    }
)  # fmt: skip
_TEXTS: Final = ("text", "reasoning", "thinking", "refusal")
_UNSENT: Final = frozenset(
    {"type", "id", "index", "extras", "cache_control", "signature", "thought_signature", "status"}
)
"""Keys of a block that are no text for the model."""
_OPAQUE: Final = frozenset({"encrypted_content", "data"})
"""Keys whose value stands for reasoning that was encrypted: about four bytes a token, in base64."""
_CONFIDENT: Final = 0.85
"""Share of an estimate whose scripts are calibrated, from which on the whole is called so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """A number of input tokens. What is not `exact` is an upper estimate.

    `weights` is the cold estimate by script, which `Calibration.learn` takes together with what was reported.
    """

    tokens: int
    quality: Quality = "cold"
    weights: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def reported(cls, tokens: int) -> Count:
        """Return the count that a provider reported."""
        return cls(tokens=tokens, quality="exact")


class Counter:
    """Count tokens for one model, cold or by a calibration. `model` is its name, a chat model object, or None."""

    def __init__(self, model: Any = None, calibration: Calibration | None = None) -> None:
        self.model = model
        self.calibration = calibration
        self._name = model_name(model)
        self._family = family_of(self._name)
        self._media = _media_rule(model, self._family.media)
        factors = calibration.factors(model) if calibration is not None else {}
        self._known = calibration.known(model) if calibration is not None else frozenset()
        self._factors = tuple(factors.get(script, 1.0) for script in SCRIPTS)

    @property
    def quality(self) -> Quality:
        """`calibrated` when reported calls of this model taught at least one script, else `cold`."""
        return "calibrated" if self._known else "cold"

    def text(self, text: str) -> int:
        """Return the upper estimate of a text in tokens."""
        found = [0.0] * len(SCRIPTS)
        self._add_text(found, text)
        return self._total(found)

    def message(self, message: BaseMessage) -> int:
        """Return the upper estimate of one message with its wrapper in tokens."""
        found = [0.0] * len(SCRIPTS)
        self._add_message(found, message)
        return self._total(found)

    def tools(self, tools: Sequence[Any] = (), response_format: Any = None) -> int:
        """Return the upper estimate of tool schemas and a response schema in tokens."""
        found = [0.0] * len(SCRIPTS)
        self._add_tools(found, tools, response_format)
        return self._total(found)

    def weights(self, message: BaseMessage) -> dict[str, float]:
        """Return a message's cold estimate in tokens by script."""
        found = [0.0] * len(SCRIPTS)
        self._add_message(found, message)
        return _named(found)

    def count(
        self,
        messages: Iterable[BaseMessage],
        *,
        tools: Sequence[Any] = (),
        system: str | BaseMessage | None = None,
        response_format: Any = None,
    ) -> Count:
        """Estimate the input tokens of a call with these messages, tools and schemas, erring high."""
        found = [0.0] * len(SCRIPTS)
        if system is not None:
            self._add_message(found, SystemMessage(system) if isinstance(system, str) else system)
        for message in messages:
            self._add_message(found, message)
        self._add_tools(found, tools, response_format)
        weights = _named(found)
        known = sum(weight for script, weight in weights.items() if script in self._known)
        confident = bool(self._known) and known >= _CONFIDENT * sum(weights.values())
        return Count(
            tokens=self._total(found), quality="calibrated" if confident else "cold", weights=weights
        )

    def _total(self, found: Sequence[float]) -> int:
        return round(sum(weight * factor for weight, factor in zip(found, self._factors, strict=True)))

    def _add_text(self, found: list[float], text: str) -> None:
        if text:
            for group, amount, rate in zip(_GROUPS, measure(text), self._family.rates, strict=True):
                if amount:
                    found[group] += amount * rate

    def _add_message(self, found: list[float], message: BaseMessage) -> None:
        found[_FIXED] += MESSAGE
        if isinstance(message.content, str):
            self._add_text(found, message.content)
        else:
            self._add_blocks(found, message.content)
        if message.name:
            self._add_text(found, message.name)
        if isinstance(message, AIMessage):
            for call in (*message.tool_calls, *message.invalid_tool_calls):
                found[_FIXED] += CALL
                self._add_text(found, f"{call.get('name')} {_json(call.get('args'))}")

    def _add_blocks(self, found: list[float], blocks: Iterable[Any]) -> None:
        for block in blocks:
            if isinstance(block, str):
                self._add_text(found, block)
            elif isinstance(block, Mapping):
                self._add_block(found, block)

    def _add_block(self, found: list[float], block: Mapping[str, Any]) -> None:
        kind = block.get("type")
        if kind in _CALLS:
            return
        text = next((block[key] for key in _TEXTS if isinstance(block.get(key), str)), None)
        if text is not None:
            self._add_text(found, text)
        elif kind in _MEDIA:
            found[_FIXED] += media_tokens(block, self._media, self._name)
        elif isinstance(block.get("content"), list):
            self._add_blocks(found, block["content"])
        else:
            self._add_fields(found, block)

    def _add_fields(self, found: list[float], block: Mapping[str, Any]) -> None:
        sent = {}
        for key, value in block.items():
            if key in _OPAQUE and isinstance(value, str):
                found[_FIXED] += len(value) * 3 / 16
            elif key not in _UNSENT and value:
                sent[key] = value
        if sent:
            self._add_text(found, _json(sent))

    def _add_tools(self, found: list[float], tools: Sequence[Any], response_format: Any) -> None:
        schemas = [*tools, *([response_format] if response_format is not None else [])]
        if tools:
            found[_FIXED] += self._family.tools
        for schema in schemas:
            found[_FIXED] += CALL
            self._add_text(found, schema_text(schema))


def count_tokens(
    messages: Iterable[BaseMessage],
    *,
    model: Any = None,
    tools: Sequence[Any] = (),
    system: str | BaseMessage | None = None,
    response_format: Any = None,
    calibration: Calibration | None = None,
) -> Count:
    """Estimate the input tokens of a call with these messages, tools and schemas, erring high.

    `model` is a name or a chat model; for an unknown one the estimate holds for o200k, the tokenizer of OpenAI's
    models. `tools` and `response_format` are what LangChain takes. What a provider reported earlier with a message
    (`usage_metadata`) is not content, and does not count. Use a `Counter` to count often for one model.
    """
    counter = Counter(model, calibration)
    return counter.count(messages, tools=tools, system=system, response_format=response_format)


def _named(found: Sequence[float]) -> dict[str, float]:
    return {script: weight for script, weight in zip(SCRIPTS, found, strict=True) if weight}


def _media_rule(model: Any, by_family: str) -> str:
    provider = provider_of(model) if model is not None else "generic"
    return provider if provider in ("anthropic", "google") else by_family


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
