"""The rules that a request's messages must keep, as data: which provider has them, and how they were found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from threadkeep.context.providers import Provider

__all__ = ["PROVIDERS", "RULES", "Rule"]

PROVIDERS: tuple[Provider, ...] = ("generic", "openai", "openai-responses", "anthropic", "google")
"""The providers whose rules are known; "generic" stands for any other, and has the common rules alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One rule: its number, the providers that have it, its text, and its source.

    `source` is "tried" (a request or a package failed without it), "wire" (seen in the JSON that a provider's package
    builds) or "documentation" (said by the provider, not tried).
    """

    number: int
    providers: tuple[Provider, ...]
    text: str
    source: Literal["tried", "wire", "documentation"]


_ALL = PROVIDERS
_OPENAI: tuple[Provider, ...] = ("openai", "openai-responses")
_RESPONSES: tuple[Provider, ...] = ("openai-responses",)
_ANTHROPIC: tuple[Provider, ...] = ("anthropic",)
_GOOGLE: tuple[Provider, ...] = ("google",)


def _rules() -> tuple[Rule, ...]:
    rows: tuple[tuple[tuple[Provider, ...], str, Literal["tried", "wire", "documentation"]], ...] = (
        (
            _ALL,
            "every tool call has exactly one result before the next message that is not a result",
            "tried",
        ),
        (_ALL, "no result without a call before it", "tried"),
        (_ALL, "results stand directly after the message that called, parallel ones together", "tried"),
        (_ALL, "call ids are there, and unique among the messages sent", "tried"),
        (_ALL, "no RemoveMessage", "tried"),
        (_ALL, "at least one message that is not a system message", "tried"),
        (_ALL, "the calls in the content and in `tool_calls` agree", "tried"),
        (_ALL, "tool names match ^[A-Za-z0-9_-]{1,64}$", "documentation"),
        (_OPENAI, "a message has content, or an answer tool calls", "tried"),
        (_OPENAI, "call ids have at most 40 characters", "documentation"),
        (
            _RESPONSES,
            "a reasoning item and the item after it stay together; no item id stands twice",
            "documentation",
        ),
        (_RESPONSES, "with store=False a reasoning item holds encrypted_content", "wire"),
        (_RESPONSES, "no response id on the messages of a view that is not what the server holds", "wire"),
        (_ANTHROPIC, "system messages stand first only", "wire"),
        (_ANTHROPIC, "the first message is the user's", "documentation"),
        (_ANTHROPIC, "no text is empty or white space alone", "documentation"),
        (
            _ANTHROPIC,
            "a last message of the assistant does not end in white space, nor stand where prefill is not allowed",
            "documentation",
        ),
        (_ANTHROPIC, "tool results stand before text in a user message", "documentation"),
        (
            _ANTHROPIC,
            "thinking is Claude's own, first in its message, and there in an open tool loop when thinking is on",
            "documentation",
        ),
        (_ANTHROPIC, "at most four cache_control marks", "documentation"),
        (
            _GOOGLE,
            "the first content is the user's; a function call follows a user or a function response",
            "documentation",
        ),
        (_GOOGLE, "as many function responses as function calls, by the same names", "documentation"),
        (_GOOGLE, "no part is empty", "wire"),
        (_GOOGLE, "no call is answered from another turn: ids are not repeated", "wire"),
        (_GOOGLE, "thought signatures belong to calls of their message", "wire"),
    )
    return tuple(
        Rule(number=number, providers=providers, text=text, source=source)
        for number, (providers, text, source) in enumerate(rows, 1)
    )


RULES: tuple[Rule, ...] = _rules()
"""The 25 rules, by number from 1."""
