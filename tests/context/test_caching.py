"""Between reductions the prompt's prefix stays the same: the share of it that a provider's cache can serve."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import pytest
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from threadkeep.context import Buffer, Policy, SummaryBuffer, ToolResults, View, Window
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.planning.caching import Share, cached_share, shared_prefix

OPENINGS = (
    "The driver of the second truck says that", "According to the morning report", "As far as I can see",
    "Please note that", "We were told yesterday that", "It turned out that", "The customer called to ask whether",
    "I have checked the schedule, and", "For the next delivery", "Since the scanner at the gate is broken",
)  # fmt: skip
SUBJECTS = (
    "the shipment from the northern warehouse", "one of the pallets near the loading dock", "the invoice for last week",
    "the new colleague on the evening shift", "every order with more than a dozen items", "the label printer",
    "the stock of winter jackets", "the return of the damaged lamps", "the forklift with the yellow roof",
)  # fmt: skip
ENDINGS = (
    "has to be counted again before anybody signs for it.", "will not arrive until the middle of the afternoon.",
    "should be moved to the shelf next to the entrance.", "was already confirmed by the office this morning.",
    "needs another look, because the numbers do not match.", "can wait until the other truck has left the gate.",
    "is missing two boxes, which nobody seems to remember.", "looks fine, so there is nothing left to do about it.",
)  # fmt: skip


class Summarizer:
    """Writes a summary of about 90 tokens."""

    calls = 0

    def invoke(self, messages: Sequence[BaseMessage]) -> AIMessage:
        self.calls += 1
        return AIMessage(written(self.calls))


def written(number: int) -> str:
    rng = random.Random(number)
    return f"Part {number}. {text(rng, 5)}"


def sentence(rng: random.Random) -> str:
    return f"{rng.choice(OPENINGS)} {rng.choice(SUBJECTS)} {rng.choice(ENDINGS)}"


def text(rng: random.Random, number: int) -> str:
    return " ".join(sentence(rng) for _ in range(number))


@lru_cache
def chat(seed: int, turns: int = 60) -> list[BaseMessage]:
    """Return turns of about 110 tokens."""
    rng = random.Random(seed)
    found: list[BaseMessage] = []
    for turn in range(turns):
        found.append(HumanMessage(text(rng, rng.randint(1, 2)), id=f"h{turn}"))
        found.append(AIMessage(text(rng, rng.randint(2, 4)), id=f"a{turn}"))
    return found


@lru_cache
def rounds(seed: int, number: int = 60) -> list[BaseMessage]:
    """Return one turn of many tool rounds, each result of about 150 tokens."""
    rng = random.Random(seed)
    found: list[BaseMessage] = [HumanMessage("Go through the whole list of shelves and count.", id="h")]
    for one in range(number):
        call = {"name": "count", "args": {"shelf": f"S{one}"}, "id": f"c{one}", "type": "tool_call"}
        found.append(AIMessage("", tool_calls=[call], id=f"a{one}"))
        result = text(rng, rng.randint(5, 9))
        found.append(ToolMessage(result, tool_call_id=f"c{one}", name="count", id=f"t{one}"))
    return found


def calls(messages: Sequence[BaseMessage]) -> Iterable[Sequence[BaseMessage]]:
    """Yield what the conversation was at each model call."""
    return (
        messages[:n] for n in range(1, len(messages) + 1) if n == len(messages) or messages[n].type == "ai"
    )


class Provider:
    """Counts tokens as a provider does that has o200k."""

    quality = "exact"

    def __init__(self) -> None:
        self._encode = pytest.importorskip("bpe_openai").get_encoding("o200k_base").encode

    @lru_cache(maxsize=4_096)  # noqa: B019 - one provider per test
    def text(self, text: str) -> int:
        return len(self._encode(text))

    def message(self, message: BaseMessage) -> int:
        called = [self.text(str(call["args"])) + 8 for call in getattr(message, "tool_calls", [])]
        return 4 + self.text(str(message.text)) + sum(called)


def measured(
    policy: Policy, messages: Sequence[BaseMessage], *, remembering: bool = True, reports: bool = False
) -> Share:
    """Return the share over a conversation; `reports`: each answer says how many tokens its input had."""
    provider = Provider()
    views: list[Sequence[BaseMessage]] = []
    previous: View | None = None
    said: list[BaseMessage] = []
    for so_far in calls(messages):
        said.extend(so_far[len(said) :])
        view = policy.view(said, previous=previous if remembering else None)
        views.append(view.messages)
        previous = view
        if reports and len(said) < len(messages):
            used = sum(map(provider.message, view.messages))
            usage = {"input_tokens": used, "output_tokens": 1, "total_tokens": used + 1}
            said.append(messages[len(said)].model_copy(update={"usage_metadata": usage}))
    return cached_share(views, provider)


def peer(trigger: tuple[str, int], keep: tuple[str, int], messages: Sequence[BaseMessage]) -> Share:
    """Return the share with LangChain's SummarizationMiddleware, whose summaries are as long as ours."""
    middleware = SummarizationMiddleware(
        FakeListChatModel(responses=[written(n) for n in range(100)]),
        trigger=trigger,  # type: ignore[arg-type]
        keep=keep,  # type: ignore[arg-type]
    )
    state: list[BaseMessage] = []
    views: list[Sequence[BaseMessage]] = []
    done = 0
    for so_far in calls(messages):
        state.extend(message.model_copy() for message in so_far[done:])
        done = len(so_far)
        update = middleware.before_model({"messages": list(state)}, None)  # type: ignore[arg-type,typeddict-item]
        if update:
            state = [message for message in update["messages"] if not isinstance(message, RemoveMessage)]
        views.append(list(state))
    return cached_share(views, Provider())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "make",
    [
        lambda: Window(tokens=2_000),
        lambda: SummaryBuffer(trigger=("tokens", 2_000), model=Summarizer()),
    ],
    ids=["window", "summary-buffer"],
)
def test_steps_at_2_000_tokens_keep_most_of_the_prompt_cached(make: Callable[[], Policy], seed: int) -> None:
    messages = chat(seed)
    share = measured(make(), messages, reports=True)
    assert share.share >= 0.88
    assert share.peak < 2_350
    assert measured(make(), messages).share >= 0.86  # by the upper estimate the same window holds less


@pytest.mark.parametrize("seed", range(3))
def test_a_view_that_remembers_nothing_moves_in_the_same_steps(seed: int) -> None:
    policy = Window(tokens=2_000)
    assert measured(policy, chat(seed), remembering=False) == measured(policy, chat(seed))


@pytest.mark.parametrize(("trigger", "keep"), [(2_000, 20), (2_000, 10), (3_000, 20), (1_500, 12)])
@pytest.mark.parametrize("seed", range(2))
def test_no_less_is_cached_than_by_langchain_at_the_same_trigger_and_keep(
    trigger: int, keep: int, seed: int
) -> None:
    messages = chat(seed)
    ours = measured(SummaryBuffer(trigger=("tokens", trigger), keep=keep, model=Summarizer()), messages)
    theirs = peer(("tokens", trigger), ("messages", keep), messages)
    assert ours.share >= theirs.share


@pytest.mark.parametrize("seed", range(2))
def test_no_reduction_at_every_turn_where_the_kept_part_exceeds_the_trigger(seed: int) -> None:
    messages = chat(seed)
    summarizer = Summarizer()
    ours = measured(SummaryBuffer(trigger=("tokens", 2_000), keep=44, model=summarizer), messages)
    assert ours.share >= 0.85
    assert summarizer.calls <= 8
    assert peer(("tokens", 2_000), ("messages", 44), messages).share < ours.share


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "policy", [ToolResults(keep=3), ToolResults(keep=3, trigger=("tokens", 2_000))], ids=["steps", "trigger"]
)
def test_clearing_tool_results_over_60_rounds_goes_in_steps(policy: Policy, seed: int) -> None:
    share = measured(policy, rounds(seed))
    assert share.share >= 0.85
    assert share.prompt < 0.6 * measured(Buffer(), rounds(seed)).prompt


def test_a_shared_prefix_ends_inside_the_first_message_that_differs() -> None:
    counter = Counter()
    first = [SystemMessage("Be brief."), HumanMessage("Count the pallets at gate 7.")]
    second = [SystemMessage("Be brief."), HumanMessage("Count the pallets at gate 9.")]
    whole = counter.message(first[0])
    assert shared_prefix(first, first, counter) == whole + counter.message(first[1])
    assert shared_prefix(first, second, counter) == whole + counter.text("Count the pallets at gate ")
    assert shared_prefix(first, [HumanMessage("Be brief.")], counter) == 0
