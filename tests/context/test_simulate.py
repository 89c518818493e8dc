"""`simulate`: the policy that ran comes out as it was reported, and others as they would have been."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, messages_to_dict

import threadkeep
from tests.context.simulation_kit import PROMPT, Counting, converse
from threadkeep.context import SummaryBuffer, Window, parse_policy, simulate
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.facts.facts import facts_in
from threadkeep.context.simulation.cache_models import cache_model
from threadkeep.context.simulation.filler import MARK, filler
from threadkeep.context.simulation.recording import Recording, Step, of_messages
from threadkeep.context.simulation.scaling import Pair, scale_of
from threadkeep.errors import ConfigurationError, InvalidMessages, ThreadNotFound

RAN = (
    "buffer",
    "window:messages=12",
    "window:tokens=1500",
    "summary-buffer:tokens=1500",
    "summary-buffer:messages=14,keep=4",
    "head-tail:tail=6",
    "offload:tokens=1500",
    "tool-results:keep=1,step=3+window:turns=8",
)


@pytest.fixture
def memory() -> Iterator[threadkeep.Memory]:
    with threadkeep.open("memory://") as opened:
        yield opened


def chat(turns: int, words: int = 40) -> list[BaseMessage]:
    """A conversation whose every message says something of its own, and nothing of who was asked."""
    found: list[BaseMessage] = []
    for n in range(turns):
        found += [
            HumanMessage(f"Order {n + 70_000}: " + "wheel " * words),
            AIMessage(f"Noted, {n}. " + "saddle " * words),
        ]
    return found


@pytest.mark.parametrize("text", RAN)
def test_the_policy_that_ran_comes_out_as_reported(memory: threadkeep.Memory, text: str) -> None:
    thread = memory.threads.get("t")
    converse(thread, parse_policy(text), turns=30)

    found = simulate(thread, [text, "buffer"])

    assert found.recorded is not None
    assert found.calls == found.recorded.calls > 30
    assert found[text].input_tokens == pytest.approx(found.recorded.input_tokens, rel=0.05)
    assert found[text].peak == pytest.approx(found.recorded.peak, rel=0.1)
    assert found["buffer"].input_tokens >= 0.99 * found[text].input_tokens
    assert "overhead" not in found.inferred


def test_another_policy_comes_out_as_if_it_had_run(memory: threadkeep.Memory) -> None:
    """Two threads with the same words, because the model's words do not depend on what it is sent."""
    for text in ("buffer", "window:messages=12"):
        converse(memory.threads.get(text), parse_policy(text), turns=30)

    guess = simulate(memory.threads.get("buffer"), ["window:messages=12"])["window:messages=12"]
    truth = simulate(memory.threads.get("window:messages=12"), ["buffer"])

    assert truth.recorded is not None
    assert guess.input_tokens == pytest.approx(truth.recorded.input_tokens, rel=0.06)
    back = truth["buffer"].input_tokens
    recorded = simulate(memory.threads.get("buffer"), ["buffer"]).recorded
    assert recorded is not None
    assert back == pytest.approx(recorded.input_tokens, rel=0.06)


def test_without_a_recorder_prompt_and_tools_are_inferred_from_the_reports(memory: threadkeep.Memory) -> None:
    thread = memory.threads.get("t")
    converse(thread, parse_policy("buffer"), turns=30, record=False)

    found = simulate(thread, ["buffer"])

    model = Counting()
    true = model.reported([PROMPT], [])
    assert "fitted to the usage" in found.inferred["overhead"]
    assert found.recorded is not None
    assert found["buffer"].input_tokens == pytest.approx(found.recorded.input_tokens, rel=0.05)
    assert int(found.inferred["overhead"].split()[0]) >= true / 2


def test_no_model_is_called_and_summaries_have_their_size() -> None:
    messages = chat(40)
    found = simulate(
        messages, ["summary-buffer:tokens=2000,limit=200", "summary-buffer:tokens=2000,limit=100"]
    )

    large, small = found.policies
    assert large.summaries > 2
    assert large.summary_output_tokens / large.summaries == pytest.approx(200, abs=10)
    assert small.summary_output_tokens / small.summaries == pytest.approx(100, abs=10)
    assert large.model_calls == 40 + large.summaries
    assert large.summary_input_tokens > large.summaries * 500
    assert large.peak < 2_600


def test_a_model_may_write_the_summaries() -> None:
    class Writer(Counting):
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            result = super()._generate(messages, stop, run_manager, **kwargs)
            result.generations[0].message.content = "They talked of wheels and saddles."
            return result

    found = simulate(
        chat(40), ["summary-buffer:tokens=2000,facts=0"], summarizer=Writer(tools_every=10**9)
    ).policies[0]

    assert found.summaries > 2
    assert found.messages.summarised > 0
    assert found.facts.visible < found.facts.total
    assert found.summary_output_tokens > 0


def test_a_summary_that_was_stored_is_used(memory: threadkeep.Memory) -> None:
    from threadkeep.adapters.agents.notes import Notes
    from threadkeep.context.planning.history import History
    from threadkeep.context.planning.plan import Request
    from threadkeep.context.summaries.summarizing import SummaryText

    thread = memory.threads.get("t")
    thread.append(chat(20))
    policy = SummaryBuffer(trigger=("messages", 30), keep=4, facts=("tokens", 0))
    history = History.of(thread.messages()[:31], Counter())
    (need,) = policy.plan(Request(history=history)).needs
    stored = SummaryText(text="Only this much.", covered=need.covered)
    before = simulate(thread, [policy]).policies[0]
    Notes(thread).keep_summary(need.fingerprint, bytes.fromhex(need.key), stored.to_json())

    after = simulate(thread, [policy]).policies[0]

    assert (before.summaries, after.summaries) == (1, 1)
    assert after.summary_output_tokens < 10 < before.summary_output_tokens
    assert after.calls[-1].input_tokens < before.calls[-1].input_tokens


def test_where_messages_and_facts_are() -> None:
    messages = chat(40)
    found = simulate(
        messages, ["buffer", "window:messages=10", "offload:tokens=1500", "summary-buffer:tokens=1500"]
    )

    for one in found.policies:
        for reach in (one.messages, one.facts):
            assert reach.total == reach.visible + reach.reachable + reach.summarised + reach.lost
        assert one.messages.total == 79  # the last answer was sent to nobody
        assert one.facts.total >= 40
    assert found["buffer"].messages.visible == 79
    assert found["window:messages=10"].messages.lost >= 69
    assert found["window:messages=10"].facts.lost > 0 == found["window:messages=10"].facts.reachable
    assert found["offload:tokens=1500"].messages.lost == found["offload:tokens=1500"].facts.lost == 0
    assert found["summary-buffer:tokens=1500"].messages.summarised > 0
    assert found["summary-buffer:tokens=1500"].facts.visible > found["window:messages=10"].facts.visible


def test_what_a_file_does_not_say_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text(
        json.dumps({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]})
    )

    found = simulate(path, ["buffer"], provider="openai")
    more = simulate(path, ["buffer"], overhead=5_000)

    assert found.conversation == "chat.json"
    assert set(found.inferred) == {"model", "overhead", "tokens", "times"}
    assert "200 tokens" in found.inferred["overhead"] and "assumed" in found.inferred["overhead"]
    assert more["buffer"].input_tokens == pytest.approx(5_000, abs=30)
    assert "as given" in more.inferred["overhead"]
    assert found.recorded is None and found["buffer"].price is None
    json.dumps(found.to_json())


def test_every_form_of_a_conversation_gives_the_same(tmp_path: Path) -> None:
    messages = chat(6)
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(messages_to_dict(messages)))
    texts = ["window:messages=5"]

    plain = simulate(messages, texts).to_json()["policies"]

    assert simulate(path, texts).to_json()["policies"] == plain
    assert simulate(str(path), texts).to_json()["policies"] == plain
    assert simulate(messages, {"mine": Window(messages=5)})["mine"].to_json()["calls"] == plain[0]["calls"]


def at(seconds: float) -> datetime:
    return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def spaced(messages: list[BaseMessage], gap: float) -> Recording:
    base = of_messages(messages)
    steps = tuple(
        Step(end=one.end, turn=one.turn, at=at(n * gap), model="gpt-5-mini", provider="openai")
        for n, one in enumerate(base.steps)
    )
    return Recording(name="spaced", messages=base.messages, steps=steps)


def test_the_cache_has_a_minimum_and_a_lifetime() -> None:
    messages = chat(30)
    soon, late = (simulate(spaced(messages, gap), ["buffer"])["buffer"] for gap in (20, 400))

    assert soon.cached_share > 0.8
    assert late.cached_tokens == 0
    assert late.price is not None and soon.price is not None and late.price > soon.price
    assert [call.cached_tokens for call in soon.calls if call.input_tokens < 1_024] == [0] * sum(
        call.input_tokens < 1_024 for call in soon.calls
    )
    assert all(call.cached_tokens % 128 == 0 for call in soon.calls)
    assert soon.effective_tokens == round(soon.input_tokens - 0.9 * soon.cached_tokens)
    steps, slides = (
        simulate(spaced(messages, 20), [text]).policies[0]
        for text in ("window:tokens=3000", "window:tokens=3000,to=3000")
    )
    assert steps.cached_share > slides.cached_share + 0.2


def test_claude_finds_whole_prompts_only() -> None:
    claude = cache_model("anthropic", "claude-sonnet-4-5")
    assert claude.cached(5_000, 2_000, True, 10) == 5_000
    assert claude.cached(5_000, 2_000, False, 10) == 2_000
    assert claude.cached(5_000, 900, False, 10) == 0
    assert claude.cached(5_000, 2_000, True, 301) == 0
    assert claude.written(6_000, 5_000) == 1_000
    found = simulate(chat(30), ["buffer"], model="anthropic:claude-sonnet-4-5").policies[0]
    assert any(call.written_tokens for call in found.calls)


@pytest.mark.parametrize(
    ("provider", "model", "minimum"),
    [
        ("openai", "gpt-5-mini", 1_024),
        ("azure_openai", None, 1_024),
        ("anthropic", "claude-opus-4-5", 4_096),
        ("anthropic", "claude-opus-5", 512),
        ("amazon_bedrock", "eu.anthropic.claude-sonnet-4-20250514-v1:0", 1_024),
        ("google_genai", "gemini-2.5-pro", 2_048),
        ("google", "gemini-3.1-pro", 4_096),
        ("deepseek", "deepseek-chat", 64),
        ("workshop", "anything", 0),
    ],
)
def test_each_provider_has_its_minimum(provider: str, model: str | None, minimum: int) -> None:
    assert cache_model(provider, model).minimum == minimum


def test_another_model_is_estimated_and_priced() -> None:
    dear, cheap = (
        simulate(chat(10), ["buffer"], model=name) for name in ("openai:gpt-5", "openai:gpt-5-nano")
    )

    assert dear.provider == "openai"
    assert dear["buffer"].price is not None and cheap["buffer"].price is not None
    assert dear["buffer"].price > 10 * cheap["buffer"].price
    assert dear.price_version is not None and dear.price_version.startswith("genai-prices")


def test_the_same_conversation_gives_the_same() -> None:
    texts = ["summary-buffer:tokens=1500", "head-tail:tail=6", "entities+window:turns=4"]
    assert simulate(chat(25), texts).to_json() == simulate(chat(25), texts).to_json()


def test_progress_counts_calls_of_all_policies() -> None:
    told: list[tuple[int, int]] = []
    simulate(
        chat(5), ["buffer", "window:messages=3"], progress=lambda done, total: told.append((done, total))
    )
    assert told == [(n, 10) for n in range(1, 11)]


def test_what_cannot_be_simulated_is_said(memory: threadkeep.Memory, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no answer of a model"):
        simulate([HumanMessage("hi")])
    with pytest.raises(ConfigurationError, match="no policy is given"):
        simulate(chat(1), [])
    with pytest.raises(ConfigurationError, match="there is no policy 'windo'"):
        simulate(chat(1), ["windo"])
    with pytest.raises(ConfigurationError, match="int is no conversation"):
        simulate(5)
    with pytest.raises(ThreadNotFound):
        simulate(memory.threads.get("nobody"))
    with pytest.raises(OSError):
        simulate(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text('[{"rolle": "user"}]')
    with pytest.raises(InvalidMessages):
        simulate(tmp_path / "bad.json")


def test_a_scale_gives_what_was_reported() -> None:
    exact = scale_of(
        {0: Pair(estimate=100, reported=90, exact=True), 2: Pair(estimate=200, reported=190, exact=True)}, 0
    )
    assert [exact.tokens(0, 100), exact.tokens(2, 200), exact.tokens(1, 200)] == [90, 190, 185]
    line = {n: Pair(estimate=100 * n, reported=500 + 80 * n, exact=False) for n in range(1, 9)}
    fitted = scale_of(line, 7)
    assert (fitted.constant, round(fitted.factor, 3)) == (500, 0.8)
    # From the first smaller report on, not everything was sent.
    assert scale_of({**line, 9: Pair(estimate=900, reported=300, exact=False)}, 7) == fitted
    assert scale_of({}, 7).tokens(3, 100) == 107
    assert scale_of(line, 7, fixed=600).constant == 600


@pytest.mark.parametrize("tokens", [8, 60, 300, 1_000])
def test_filler_has_its_size_and_says_nothing(tokens: int) -> None:
    text = filler(tokens, Counter().text)
    assert text.startswith(MARK)
    assert Counter().text(text) == pytest.approx(tokens, rel=0.1, abs=5)
    assert facts_in(text) == ()
    assert text == filler(tokens, Counter().text)


@pytest.mark.model
def test_the_local_models_own_reports(memory: threadkeep.Memory) -> None:
    from threadkeep.adapters.local import LocalChat

    model: Any = LocalChat(lead=False, window=4_096, max_tokens=24)
    thread = memory.threads.get("t")
    converse(thread, parse_policy("window:messages=4"), turns=5, model=model, tools=False)

    found = simulate(thread, ["window:messages=4"])

    assert found.recorded is not None and found.recorded.calls == found.calls == 5
    assert found.policies[0].input_tokens == pytest.approx(found.recorded.input_tokens, rel=0.05)
