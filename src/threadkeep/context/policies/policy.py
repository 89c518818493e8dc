"""What every policy is: a frozen value that turns a request into a plan, and a conversation into a view."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Final

from langchain_core.messages import BaseMessage

from threadkeep.context.planning.draft import Draft
from threadkeep.context.planning.marks import Mark
from threadkeep.context.planning.plan import Plan, Request, View
from threadkeep.errors import ConfigurationError

if TYPE_CHECKING:
    from threadkeep.context.policies.compose import Compose

Tools = Sequence[Any]
RECENT: Final = "_recent"
"""The attribute in which a policy's last call of `view` leaves what the next need not do again; no setting."""


@dataclass(frozen=True, kw_only=True)
class Policy(ABC):
    """Decide what of a conversation goes to the model. Subclasses are the policies; `|` composes them.

    Policies are frozen values: the same request gives the same plan. What a policy remembers between calls is
    `Plan.state`, and the caller keeps it.
    """

    name: ClassVar[str] = "policy"

    @property
    def stages(self) -> tuple[Policy, ...]:
        """The policies this one consists of, in the order in which they work."""
        return (self,)

    @property
    def recalls(self) -> bool:
        """Whether the model is to be given the recall tools, `search_history` and `read_history`."""
        return any(stage.recalls for stage in self.stages if stage is not self)

    @cached_property
    def fingerprint(self) -> str:
        """Eleven characters that stand for the policy and its settings; state of another is not used."""
        return fingerprint(*(part for stage in self.stages for part in stage.settings()))

    def settings(self) -> tuple[str, ...]:
        """Return the settings as text; a model counts by its name."""
        return (
            self.name,
            *(f"{one.name}={_plain(getattr(self, one.name))}" for one in fields(self) if one.compare),
        )

    @abstractmethod
    def apply(self, draft: Draft, mark: Mark | None) -> Mark:
        """Reduce a draft, and return what to remember.

        Args:
            draft: What the former stages left; changed in place.
            mark: What this stage remembers of the former call, None if nothing, or if it no longer holds.
        """

    def plan(self, request: Request) -> Plan:
        """Decide what goes to the model. Pure: no I/O, nothing is remembered.

        Args:
            request: The conversation, what was remembered, the limits, and what former passes were given.

        Returns:
            A plan. While `plan.needs` is not empty, answer them in `request.answers` and plan again.
        """
        stages = self.stages
        draft = Draft(request, recall=self.recalls)
        marks = request.state.of(self.fingerprint, len(stages))
        for stage, mark in zip(stages, marks, strict=True):
            holding = mark if mark is not None and mark.holds(request.history) else None
            draft.marks.append(stage.apply(draft, holding))
        return Plan(draft, self.fingerprint)

    def view(
        self,
        messages: Sequence[BaseMessage],
        *,
        model: Any = None,
        system: Any = None,
        tools: Tools = (),
        response_format: Any = None,
        provider: str | None = None,
        pins: Sequence[str] = (),
        calibration: Any = None,
        previous: View | None = None,
    ) -> View:
        """Return what of a conversation to send to the model.

        Args:
            messages: The whole conversation so far; it is not changed.
            model: The model that will be called, or its name: for its context window, its provider and counting.
            system: The system prompt, if it is not the first message; counted, not returned.
            tools: The tools of the call; counted.
            response_format: The response schema of the call; counted.
            provider: Whose rules the view obeys; by default the model's.
            pins: Ids of messages that stay.
            calibration: Corrects token estimates by what the provider reported.
            previous: The view of the former call, if there was one: reductions go on from there, texts are reused.

        Returns:
            The view; `view.messages` is what to send. Summaries are made by the model that the policy was given,
            without one by an extract of what the user asked for.
        """
        from threadkeep.context.planning.viewing import Viewing

        viewing = Viewing(
            self, messages, model, system, tools, response_format, provider, pins, calibration, previous
        )
        return viewing.run()

    async def aview(
        self,
        messages: Sequence[BaseMessage],
        *,
        model: Any = None,
        system: Any = None,
        tools: Tools = (),
        response_format: Any = None,
        provider: str | None = None,
        pins: Sequence[str] = (),
        calibration: Any = None,
        previous: View | None = None,
    ) -> View:
        """Return what `view` returns; a summarizer is awaited."""
        from threadkeep.context.planning.viewing import Viewing

        viewing = Viewing(
            self, messages, model, system, tools, response_format, provider, pins, calibration, previous
        )
        return await viewing.arun()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what `view` remembers between calls."""
        return {one.name: self.__dict__[one.name] for one in fields(self)}

    def __or__(self, other: Policy) -> Compose:
        """Return the policy that works as this one first, and then as the other on what it left."""
        from threadkeep.context.policies.compose import Compose

        if not isinstance(other, Policy):
            raise ConfigurationError(
                f"{other!r} is no policy; compose policies, as in Media() | Window(messages=20)."
            )
        return Compose([*self.stages, *other.stages])


def fingerprint(*parts: str) -> str:
    """Return eleven characters that stand for some texts."""
    from base64 import urlsafe_b64encode

    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return urlsafe_b64encode(blake2b(data, digest_size=8).digest()).rstrip(b"=").decode()


def _plain(value: Any) -> str:
    if value is None or isinstance(value, str | int | float | tuple | list | dict | frozenset):
        return repr(value)
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    for attribute in ("model_name", "model"):
        named = getattr(value, attribute, None)
        if isinstance(named, str):
            return named
    return type(value).__qualname__
