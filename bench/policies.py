"""One conversation of 60 turns under every policy and two peers: `python -m bench.policies`.

What each call would have been sent is computed, and counted with o200k; no model is called but a scripted summarizer,
which writes 90 tokens that mention no fact: the worst case for whoever relies on it. Each turn tells one fact, and the
table says where the 60 facts are at the last call. `python -m bench.policies --seeds 3` takes several conversations.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from bpe_openai import get_encoding
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph.message import add_messages
from pydantic import Field
from rich.console import Console

from bench import report
from bench.results import Row, Section
from bench.text import prose
from threadkeep.context import (
    Buffer,
    HeadTail,
    History,
    Offload,
    Policy,
    Summary,
    SummaryBuffer,
    View,
    Window,
)
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.planning.caching import cached_share
from threadkeep.context.planning.recalling import read

TURNS, TOKENS, KEEP = 60, 2_000, 10
EMPTY = (
    "The user runs a depot and went through its gates one after the other with the assistant. For each of them a code "
    "was given, and both agreed on what should happen there next. Some of the lorries came later than planned, so a "
    "few pallets had to wait in the yard until somebody found the time to move them. The assistant answered what it "
    "was asked, warned of things that might go wrong, and offered to make a list. Nothing else was decided so far."
)


class O200k:
    """Counts tokens as a provider with o200k does, 4 more for each message."""

    quality = "exact"

    def __init__(self) -> None:
        self._encode = get_encoding("o200k_base").encode
        self._known: dict[str, int] = {}

    def text(self, text: str) -> int:
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = len(self._encode(text))
        return found

    def message(self, message: BaseMessage) -> int:
        return 4 + self.text(str(message.text))


class Summarizer(BaseChatModel):
    """Writes about 90 tokens that mention nothing in particular, and counts what it reads."""

    read: list[int] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        counter = O200k()
        self.read.append(sum(map(counter.message, messages)))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(EMPTY))])


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a policy took and kept."""

    views: list[list[BaseMessage]]
    summarizer: Summarizer
    reachable: str = ""


def conversation(seed: int, turns: int = TURNS) -> tuple[list[BaseMessage], list[str]]:
    """Return turns of about 110 tokens, each with a fact that nothing else mentions, and the facts."""
    chance = random.Random(seed)
    facts = [f"QX-{number}" for number in chance.sample(range(10_000, 99_999), turns)]
    messages: list[BaseMessage] = []
    for turn, fact in enumerate(facts):
        asked = f"{prose(chance, chance.randint(60, 160))} The code of gate {turn + 1} is {fact} now."
        messages.append(HumanMessage(asked, id=f"h{turn}"))
        messages.append(AIMessage(prose(chance, chance.randint(160, 340)), id=f"a{turn}"))
    return messages, facts


def ours(make: Callable[[Summarizer], Policy], messages: Sequence[BaseMessage]) -> Found:
    """Go through a conversation, call by call, under a policy."""
    summarizer, view = Summarizer(), None
    policy, views = make(summarizer), []
    for so_far in _calls(messages):
        view = policy.view(so_far, previous=view)
        views.append(view.messages)
    return Found(views=views, summarizer=summarizer, reachable=_reachable(cast("View", view), messages))


def _reachable(view: View, messages: Sequence[BaseMessage]) -> str:
    """Return what the references that stand in a view lead to."""
    shown = "\n".join(str(message.text) for message in view.messages)
    references = {name for name in view.plan.references if name in shown}
    counter = Counter()
    history = History.of(messages, counter)
    return "\n".join(read(history, name, limit=10**6, count=counter.text).text for name in references)


def summarization(messages: Sequence[BaseMessage]) -> Found:
    """Go through a conversation with LangChain's SummarizationMiddleware."""
    summarizer = Summarizer()
    middleware = SummarizationMiddleware(summarizer, trigger=("tokens", TOKENS), keep=("messages", KEEP))
    state: list[Any] = []
    views: list[list[BaseMessage]] = []
    done = 0
    for so_far in _calls(messages):
        state = cast("list[Any]", add_messages(state, [one.model_copy() for one in so_far[done:]]))
        done = len(so_far)
        update = middleware.before_model({"messages": state}, cast("Any", None))
        state = cast("list[Any]", add_messages(state, update["messages"])) if update else state
        views.append(list(state))
    return Found(views=views, summarizer=summarizer)


def trimming(messages: Sequence[BaseMessage]) -> Found:
    """Go through a conversation with trim_messages before each call."""
    counter = O200k()

    def count(some: list[BaseMessage]) -> int:
        return sum(map(counter.message, some))

    views = [
        trim_messages(list(so_far), max_tokens=TOKENS, token_counter=count, strategy="last", start_on="human")
        for so_far in _calls(messages)
    ]
    return Found(views=views, summarizer=Summarizer())


def _calls(messages: Sequence[BaseMessage]) -> Iterator[Sequence[BaseMessage]]:
    """Yield what the conversation was at each model call."""
    return (messages[:n] for n in range(1, len(messages) + 1, 2))


Go = Callable[[Sequence[BaseMessage]], Found]
TRIGGER = ("tokens", TOKENS)


def _under(make: Callable[[Summarizer], Policy]) -> Go:
    return lambda messages: ours(make, messages)


SUBJECTS: dict[str, Go] = {
    "Buffer()": _under(lambda model: Buffer()),
    f"Window(tokens={TOKENS})": _under(lambda model: Window(tokens=TOKENS)),
    f"Window(tokens={TOKENS}, to={TOKENS})": _under(lambda model: Window(tokens=TOKENS, to=TOKENS)),
    f"Summary(trigger={TRIGGER})": _under(lambda model: Summary(trigger=TRIGGER, model=model)),
    f"SummaryBuffer(trigger={TRIGGER})": _under(lambda model: SummaryBuffer(trigger=TRIGGER, model=model)),
    f"SummaryBuffer(…, keep={KEEP})": _under(
        lambda model: SummaryBuffer(trigger=TRIGGER, keep=KEEP, model=model)
    ),
    f"SummaryBuffer(…, keep={KEEP}, recall=True)": _under(
        lambda model: SummaryBuffer(trigger=TRIGGER, keep=KEEP, model=model, recall=True)
    ),
    f"HeadTail(head=4, tail={KEEP}, …)": _under(
        lambda model: HeadTail(head=4, tail=KEEP, trigger=TRIGGER, model=model)
    ),
    f"Offload(trigger={TRIGGER}, keep={KEEP})": _under(lambda model: Offload(trigger=TRIGGER, keep=KEEP)),
    f"LangChain SummarizationMiddleware, keep {KEEP}": summarization,
    "LangChain trim_messages": trimming,
}


def table(seeds: Sequence[int]) -> Section:
    """Measure every subject on every conversation; figures are means."""
    rows = []
    for name, go in SUBJECTS.items():
        found = [_figures(go, seed) for seed in seeds]
        cells = {column: statistics.fmean(one[column] for one in found) for column in found[0]}
        rows.append(
            Row(cells={"policy": name, **{column: _shown(column, value) for column, value in cells.items()}})
        )
    return Section(
        name="policies",
        title=f"{TURNS} turns of about 110 tokens, a fact in each ({len(seeds)} conversations, o200k)",
        rows=tuple(rows),
        notes=(
            "cached: tokens at the beginning of a call that are those of the call before; effective: not cached + 0.1 "
            "× cached, the summarizer's input included; facts at the last call: in the view, or behind a reference in "
            "it that the model can read by a tool.",
        ),
    )


def _figures(go: Go, seed: int) -> dict[str, float]:
    messages, facts = conversation(seed)
    found, counter = go(messages), O200k()
    share = cached_share(found.views, counter)
    shown = "\n".join(str(message.text) for message in found.views[-1])
    visible = {fact for fact in facts if fact in shown}
    written = sum(found.summarizer.read)
    return {
        "input": share.prompt,
        "peak": share.peak,
        "cached %": 100 * share.share,
        "summarizer calls": len(found.summarizer.read),
        "summarizer input": written,
        "effective": share.prompt - share.cached + 0.1 * share.cached + written,
        "facts in view": len(visible),
        "by reference": len({fact for fact in facts if fact in found.reachable} - visible),
    }


def _shown(column: str, value: float) -> str | float | int:
    return f"{value:.1f} %" if column.endswith("%") else f"{value:,.0f}"


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.policies", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="how many conversations (default: 3)")
    seeds = parser.parse_args(arguments).seeds
    console = Console(width=170)
    report.show(table(range(1, seeds + 1)), console)


if __name__ == "__main__":
    main()
