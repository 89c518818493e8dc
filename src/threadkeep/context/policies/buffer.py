"""Buffer: everything goes to the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.marks import Mark
from threadkeep.context.policies.policy import Policy


@dataclass(frozen=True, kw_only=True)
class Buffer(Policy):
    """Send everything, made valid. Costs grow with the conversation, until it no longer fits."""

    name: ClassVar[str] = "buffer"

    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Leave the draft as it is."""
        return Mark()
