"""Compose: several policies, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.marks import Mark
from threadkeep.context.policies.policy import Policy
from threadkeep.errors import ConfigurationError


@dataclass(frozen=True)
class Compose(Policy):
    """Apply policies in order, each on what the former left: `Media() | ToolResults(keep=3) | SummaryBuffer()`.

    Args:
        policies: At least one; those that are composed themselves are taken apart.

    Raises:
        ConfigurationError: There is no policy, or something else among them.
    """

    name: ClassVar[str] = "compose"

    policies: Sequence[Policy]

    def __post_init__(self) -> None:
        for policy in self.policies:
            if not isinstance(policy, Policy):
                raise ConfigurationError(
                    f"Compose was given {policy!r}; give policies, such as Window(messages=20)."
                )
        if not self.policies:
            raise ConfigurationError("Compose was given no policy; give at least one, such as Buffer().")
        flat = tuple(stage for policy in self.policies for stage in policy.stages)
        object.__setattr__(self, "policies", flat)

    @property
    def stages(self) -> tuple[Policy, ...]:
        """The policies, in order."""
        return tuple(self.policies)

    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Not used: the stages are applied one by one."""
        raise NotImplementedError("a composed policy is applied by its stages")
