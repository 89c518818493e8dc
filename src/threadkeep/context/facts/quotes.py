"""What the user asked for, in the user's own words: the summary that needs no model."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from langchain_core.messages import BaseMessage, HumanMessage

from threadkeep.context.facts.sentences import sentences
from threadkeep.context.summaries.fences import is_own

LONGEST = 240
"""Characters of one message that are quoted; the rest is left out."""


def requests_of(
    messages: Iterable[BaseMessage], *, count: Callable[[str], int], limit: int, previous: str = ""
) -> str:
    """Return one line per human message, oldest first; where the limit is reached the oldest leave.

    Args:
        messages: In order; only what people wrote is used.
        count: Counts the tokens of a text.
        limit: Tokens.
        previous: What this function returned for still earlier messages.
    """
    lines = previous.splitlines()
    lines += [_quoted(m.text) for m in messages if isinstance(m, HumanMessage) and not is_own(m)]
    kept: list[str] = []
    used = 0
    for line in reversed([line for line in lines if line.strip("- ")]):
        used += count(line + "\n")
        if used > limit:
            break
        kept.append(line)
    while kept and count("\n".join(reversed(kept))) > limit:
        kept.pop()
    return "\n".join(reversed(kept))


def _quoted(text: str) -> str:
    short = ""
    for sentence in sentences(text[: 8 * LONGEST]):
        if short and len(short) + len(sentence) > LONGEST:
            break
        short = f"{short} {sentence}".strip()
    return f"- {short[: LONGEST - 1]}…" if len(short) > LONGEST else f"- {short}"
