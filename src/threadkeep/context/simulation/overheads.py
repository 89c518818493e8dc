"""What the system prompt and the tools of recorded calls take, by any counter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from threadkeep.context.counting.tokens import Counter
from threadkeep.context.simulation.recording import Step, schema_of
from threadkeep.context.summaries.fences import RECALL_TOOLS

RECALL_TOKENS: Final = 200
"""Tokens of the recall tools' schemas, for a policy that gives them to a model that did not have them."""


class Overheads:
    """Estimates system prompt, tools and response schema of each call; a call that tells nothing is like the last."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._kinds: dict[Any, tuple[Step, list[Any]]] = {}
        self._keys: list[Any] = []
        latest = next((self._key(step) for step in steps if step.sent is not None), None)
        for step in steps:
            latest = self._key(step) if step.sent is not None else latest
            self._keys.append(latest)
        self._known: dict[tuple[Any, bool], tuple[Counter, int]] = {}

    def of(self, place: int, counter: Counter, *, recalls: bool) -> int:
        """Return the tokens of a call's overhead.

        Args:
            place: Which call.
            counter: Counts tokens.
            recalls: Whether the policy gives the model the recall tools.
        """
        key = self._keys[place]
        if key is None:
            return RECALL_TOKENS if recalls else 0
        known = self._known.get((key, recalls))
        if known is None or known[0] is not counter:
            known = self._known[key, recalls] = counter, self._counted(key, counter, recalls)
        return known[1]

    def _key(self, step: Step) -> Any:
        schemas = tuple(map(schema_of, step.tools))
        key = (tuple(repr(message.content) for message in step.system), schemas, repr(step.response_format))
        if key not in self._kinds:
            own = [any(f'"{name}"' in schema for name in RECALL_TOOLS) for schema in schemas]
            self._kinds[key] = (
                step,
                [tool for tool, recall in zip(step.tools, own, strict=True) if not recall],
            )
        return key

    def _counted(self, key: Any, counter: Counter, recalls: bool) -> int:
        step, plain = self._kinds[key]
        tools = step.tools if recalls else plain
        tokens = counter.count(step.system, tools=tools, response_format=step.response_format).tokens
        return tokens + (RECALL_TOKENS if recalls and len(plain) == len(step.tools) else 0)
