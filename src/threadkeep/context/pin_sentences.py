"""Which sentences of a text ask to remember something."""

from __future__ import annotations

import re

_ASKS = re.compile(r"^(?:please )?(?:remember|keep in mind|don't forget)(?![a-z])", re.IGNORECASE)


def pinned_sentences(text: str) -> list[str]:
    """Return the sentences that ask to remember something, as written."""
    return [s for s in re.split(r"(?<=[.!?])\s+", text) if _ASKS.match(s) and not s.endswith("?")]
