"""What a chat tells of its policy: the view of the next call, and whether the last one was reduced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from langchain_core.messages import BaseMessage, HumanMessage
from rich.console import Console
from rich.text import Text

from threadkeep.adapters.agents.looking import Foreseen
from threadkeep.cli.text import counted, one_line
from threadkeep.cli.transcript import body, heading, print_indented
from threadkeep.context.planning.marks import State
from threadkeep.context.planning.plan import Need, Reason
from threadkeep.context.policies.parsing import policy_text
from threadkeep.context.policies.policy import Policy
from threadkeep.context.summaries.fences import mark_of
from threadkeep.models import MessageReason

STAND_IN: Final = "(your next message)"

_MADE: Final = {"summary": "the summary of what was taken out", "index": "the list of what was taken out"}


def next_message(text: str) -> HumanMessage:
    """Return what stands for the message that will be typed next."""
    return HumanMessage(text or STAND_IN, id="threadkeep-next")


def print_view(console: Console, foreseen: Foreseen, policy: Policy) -> None:
    """Print what the next call will be sent, the reason and the tokens of each message, and what it will not be."""
    view = foreseen.view
    request = view.plan.request
    places = {
        message.id: reason for message, reason in zip(request.history.messages, view.reasons, strict=True)
    }
    head = (
        f"The next call is sent {counted(len(view.messages), 'message')}, about {view.tokens.tokens:,} tokens"
    )
    overhead = (
        f" with {request.limits.overhead:,} for the system prompt and tools"
        if request.limits.overhead
        else ""
    )
    console.print(
        Text(
            f"{head}{overhead} ({view.tokens.quality} estimate). Policy: {policy_text(policy)}.", style="bold"
        ),
        soft_wrap=True,
    )
    for message in view.messages:
        reason = places.get(message.id)
        line = heading(message, reason.index + 1) if reason is not None else _block_heading(message)
        line.append(f"  {_why(message, reason)}", style="yellow")
        line.append(f", {request.history.counter.message(message):,} tokens", style="dim")
        console.print(line, soft_wrap=True)
        for part in body(message):
            print_indented(console, part)
    for text in (*_absent(view.reasons), *map(_unmade, foreseen.unmade)):
        console.print(Text(text, style="yellow"), soft_wrap=True)


def _block_heading(message: BaseMessage) -> Text:
    return Text.assemble(("  + ", "dim"), (one_line(message.type), "bold green"))


def _why(message: BaseMessage, reason: Reason | None) -> str:
    if reason is not None:
        return str(reason)
    mark = mark_of(message)
    return _MADE.get(mark or "", "a note of the policy's" if mark else "put in to make the request valid")


def _absent(reasons: Sequence[Reason]) -> Iterator[str]:
    """Yield a line for each run of messages that are not sent, with the reason."""
    gone = [one for one in reasons if one.what in ("summarised", "offloaded", "left out", "repaired")]
    for text, run in groupby(gone, key=lambda one: str(one)):
        places = [one.index + 1 for one in run]
        span = str(places[0]) if len(places) == 1 else f"{places[0]} to {places[-1]}"
        yield f"not sent: {span} ({counted(len(places), 'message')}), {text}"


def _unmade(need: Need) -> str:
    return (
        f"Before the call, {need.policy} asks a model for the {need.kind} of "
        f"{counted(need.end - need.start, 'message')}; an extract stands for it here."
    )


@dataclass(slots=True)
class Progress:
    """How far a policy had come before a turn and after it, by the state's private channel."""

    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    seen: bool = False

    def take(self, reference: Mapping[str, Any] | None) -> None:
        """Note what the channel holds now."""
        if not self.seen:
            self.before, self.seen = reference, True
        self.after = reference

    def reduced(self, policy: Policy) -> list[str]:
        """Return the names of the policies that reduced the view during the turn."""
        stages = policy.stages
        marks = [
            State.from_json(one).of(policy.fingerprint, len(stages)) for one in (self.before, self.after)
        ]
        return [
            stage.name
            for stage, old, new in zip(stages, *marks, strict=True)
            if new is not None and new.generation > (old.generation if old is not None else 0)
        ]


def reduction(names: Sequence[str], reasons: Sequence[MessageReason]) -> str:
    """Return the words for a reduction: who did it, and what became of the messages."""
    counts = Counter(one.text.split(" by ")[0].split(",")[0].split(" [")[0] for one in reasons)
    parts = [f"{number:,} {what}" for what, number in counts.items()]
    return f"{' and '.join(names)} reduced the view" + (f": {', '.join(parts)}" if parts else "")
