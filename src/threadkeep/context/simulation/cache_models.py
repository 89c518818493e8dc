"""How the providers cache prompts: from which size, for how long, at which price; with where each number is from.

Looked up in November 2026:
OpenAI https://platform.openai.com/docs/guides/prompt-caching (1,024 tokens, 5 to 10 minutes without use by default),
Anthropic https://platform.claude.com/docs/en/build-with-claude/prompt-caching (512 to 4,096 tokens by model, 5 minutes
from the last use, writing costs 1.25 times the input price),
Google https://ai.google.dev/gemini-api/docs/caching (2,048 tokens for Gemini 2.5, 4,096 for later ones; how long is not
said), DeepSeek https://api-docs.deepseek.com/guides/kv_cache (units of 64 tokens, kept for hours).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

EFFECTIVE: Final = 0.1
"""What a cached token counts as in effective tokens: the share of the input price that most providers take for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheModel:
    """How one provider caches the beginning of prompts.

    Args:
        provider: Whose cache it is.
        minimum: Tokens below which a prefix is not cached.
        unit: Tokens by which a cached prefix grows.
        lifetime: Seconds without use after which it is gone; None: it stays.
        whole: Whether only a whole former prompt (or its system prompt and tools) is found again, not any part of it.
        writes: Whether what is written to the cache has a price of its own.
        assumed: What of this the provider does not say.
    """

    provider: str
    minimum: int = 0
    unit: int = 1
    lifetime: float | None = None
    whole: bool = False
    writes: bool = False
    assumed: str = ""

    def cached(self, shared: int, fixed: int, complete: bool, idle: float | None) -> int:
        """Return how many tokens of a prompt the cache serves.

        Args:
            shared: Tokens at the beginning that are the same as in the call before.
            fixed: Those of them that are the system prompt and the tools.
            complete: Whether the call before is a prefix of this one as a whole.
            idle: Seconds since the call before; None where nobody knows, which counts as soon enough.
        """
        if self.lifetime is not None and idle is not None and idle > self.lifetime:
            return 0
        found = shared if complete or not self.whole else fixed
        return found // self.unit * self.unit if found >= max(1, self.minimum) else 0

    def written(self, tokens: int, cached: int) -> int:
        """Return how many tokens of a prompt are written to the cache at a price of their own."""
        return tokens - cached if self.writes and tokens >= self.minimum else 0


_CLAUDE: Final[tuple[tuple[str, int], ...]] = (
    ("opus-4-8", 1_024), ("opus-4-7", 2_048), ("opus-4-6", 4_096), ("opus-4-5", 4_096), ("haiku-4-5", 4_096),
    ("opus-5", 512), ("haiku-3", 2_048), ("3-5-haiku", 2_048), ("3-haiku", 2_048), ("opus", 1_024), ("sonnet", 1_024),
)  # fmt: skip


def cache_model(provider: str, model: str | None = None) -> CacheModel:
    """Return how a provider caches; one that nobody knows is taken for a server that keeps the last prompt.

    Args:
        provider: The provider's name, as LangChain or `provider_of` says it.
        model: The model's name; the minimum depends on it.
    """
    said, name = provider.lower(), (model or "").lower()
    if "claude" in name or "anthropic" in said:
        least = next((size for part, size in _CLAUDE if part in name.replace(".", "-")), 4_096)
        return CacheModel(
            provider="anthropic", minimum=least, lifetime=300, whole=True, writes=True,
            assumed="prompt caching is switched on, for system prompt, tools and the newest message",
        )  # fmt: skip
    if "gemini" in name or said.startswith(("google", "vertex")):
        least = 2_048 if "2.5" in name else 4_096
        return CacheModel(
            provider="google", minimum=least, lifetime=300, assumed="cached prompts live for 5 minutes"
        )
    if "deepseek" in name or said == "deepseek":
        return CacheModel(provider="deepseek", minimum=64, unit=64, lifetime=3_600)
    if said.startswith(("openai", "azure")):
        return CacheModel(provider="openai", minimum=1_024, unit=128, lifetime=300)
    return CacheModel(
        provider="any", assumed="the last prompt stays in the cache, as in a server of one's own"
    )


def to_json(found: CacheModel) -> dict[str, Any]:
    """Return a cache model as JSON types."""
    return {
        "provider": found.provider,
        "minimum": found.minimum,
        "unit": found.unit,
        "lifetime": found.lifetime,
        "whole": found.whole,
        "writes": found.writes,
        "assumed": found.assumed,
    }
