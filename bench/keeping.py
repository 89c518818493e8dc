"""What a summarizer that drops everything leaves of the facts: `python -m bench.keeping`.

60 numbered facts in 120 messages, of which 20 stay word for word; then 40 requests to remember over many reductions.
The same conversations go through LangChain's SummarizationMiddleware with the same summarizer, trigger and keep.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph.message import add_messages
from rich.console import Console
from rich.table import Table

from threadkeep.context import History, SummaryBuffer, View
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.planning.recalling import read

KEEP, TRIGGER = 20, 40
COUNTER = Counter()
COLOURS = "red green blue white black brown".split()


class Dropping(BaseChatModel):
    """A summarizer that keeps nothing of what it reads."""

    @property
    def _llm_type(self) -> str:
        return "dropping"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = AIMessage("The user and the assistant went through some notes.")
        return ChatResult(generations=[ChatGeneration(message=message)])


@dataclass(frozen=True, kw_only=True)
class Kept:
    """How many facts stand in the view, and how many more a reference in the view leads to."""

    facts: int
    visible: int
    reachable: int

    @property
    def gone(self) -> int:
        return self.facts - self.visible - self.reachable


def notes(count: int, seed: int) -> tuple[list[BaseMessage], list[str]]:
    """Return a conversation that states numbered facts, one a turn, and the facts."""
    chance = random.Random(seed)
    facts = [f"QX-{chance.randrange(10_000, 99_999)}" for _ in range(count)]
    messages: list[BaseMessage] = []
    for number, fact in enumerate(facts, 1):
        colour = chance.choice(COLOURS)
        text = f"Note {number}: the {colour} locker number {number} in our hall is opened with {fact} these days."
        messages += [HumanMessage(text, id=f"h{number}"), AIMessage("Fine, go on.", id=f"a{number}")]
    return messages, facts


def requests(count: int, seed: int) -> tuple[list[BaseMessage], list[str]]:
    """Return a conversation with requests to remember among small talk, and what is to be remembered."""
    chance = random.Random(seed)
    messages: list[BaseMessage] = []
    sentences = []
    for number in range(count):
        code = "".join(chance.choices("aeioubdfklmnprst", k=9))
        sentences.append(f"Please remember that the password of room {number} is {code}.")
        said = [sentences[-1], *["And so we went on talking about nothing in particular for a while."] * 5]
        for place, text in enumerate(said):
            messages += [
                HumanMessage(text, id=f"h{number}-{place}"),
                AIMessage("Fine, go on.", id=f"a{number}-{place}"),
            ]
    return messages, sentences


def ours(messages: Sequence[BaseMessage], facts: Sequence[str]) -> Kept:
    """Go through a conversation turn by turn with a SummaryBuffer, and look at the last view."""
    policy = SummaryBuffer(trigger=("messages", TRIGGER), keep=KEEP, model=Dropping(), recall=True)
    view: View | None = None
    for end in range(1, len(messages) + 1, 2):
        view = policy.view(messages[:end], previous=view)
    assert view is not None
    shown = "\n".join(message.text for message in view.messages)
    references = {
        reason.reference for reason in view.reasons if reason.reference and reason.reference in shown
    }
    history = History.of(messages, COUNTER)
    found = "\n".join(read(history, name, limit=10**6, count=COUNTER.text).text for name in references)
    visible = {fact for fact in facts if fact in shown}
    reachable = {fact for fact in facts if fact in found} - visible
    return Kept(facts=len(facts), visible=len(visible), reachable=len(reachable))


def peers(messages: Sequence[BaseMessage], facts: Sequence[str]) -> Kept:
    """Go through the same conversation with LangChain's middleware."""
    middleware = SummarizationMiddleware(
        model=Dropping(), trigger=("messages", TRIGGER), keep=("messages", KEEP)
    )
    state: list[Any] = []
    for place, message in enumerate(messages):
        state = cast("list[Any]", add_messages(state, [message]))
        if place % 2 == 0:
            update = middleware.before_model({"messages": cast("list[AnyMessage]", state)}, cast("Any", None))
            state = cast("list[Any]", add_messages(state, update["messages"])) if update else state
    shown = "\n".join(message.text for message in state)
    return Kept(facts=len(facts), visible=sum(fact in shown for fact in facts), reachable=0)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.keeping", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the conversations (default: 1)")
    seed = parser.parse_args(arguments).seed
    table = Table(
        title=f"facts after a summarizer that drops everything (trigger {TRIGGER} messages, keep {KEEP})"
    )
    for column in ("conversation", "policy", "facts", "in the view", "by reference", "gone"):
        table.add_column(column)
    for name, (messages, facts) in {
        "60 numbered facts": notes(60, seed),
        "40 requests to remember": requests(40, seed),
    }.items():
        for policy, kept in (
            ("SummaryBuffer", ours(messages, facts)),
            ("SummarizationMiddleware", peers(messages, facts)),
        ):
            row = (kept.facts, kept.visible, kept.reachable, kept.gone)
            table.add_row(name, policy, *map(str, row))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
