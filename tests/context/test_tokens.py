"""Counting: cold estimates beside real tokenizers, and what of a message counts."""

from __future__ import annotations

import base64
import random
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from bench.samples import EXTRA, KINDS
from bench.tokenizers import MODELS, tokenizer
from tests.context.images import gif, jpeg, png, webp, webp_lossless, webp_lossy
from threadkeep.context.counting.families import family_of
from threadkeep.context.counting.media_tokens import image_size, media_tokens
from threadkeep.context.counting.tokens import Count, Counter, count_tokens
from threadkeep.testing.histories import random_history

LOWEST, HIGHEST = -0.15, 0.80


def counted(name: str, text: str) -> int:
    try:
        return tokenizer(name)(text)
    except ImportError as missing:
        pytest.skip(f"the tokenizer is not installed: {missing}")


@pytest.mark.parametrize("kind", [*KINDS, *EXTRA])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "SmolLM2"])
def test_a_cold_estimate_is_at_most_15_percent_low_and_not_far_above(name: str, kind: str) -> None:
    counter = Counter(MODELS[name])
    for text in {**KINDS, **EXTRA}[kind]:
        true = counted(name, text)
        assert LOWEST <= counter.text(text) / true - 1 <= HIGHEST, (true, text)


@pytest.mark.model
@pytest.mark.parametrize("kind", [*KINDS, *EXTRA])
def test_a_cold_estimate_for_the_local_model(kind: str) -> None:
    counter = Counter(MODELS["SmolLM2"])
    for text in {**KINDS, **EXTRA}[kind]:
        assert LOWEST <= counter.text(text) / counted("SmolLM2", text) - 1 <= HIGHEST, text


@pytest.mark.parametrize("kind", [*KINDS, *EXTRA])
def test_an_unknown_model_counts_as_o200k_does(kind: str) -> None:
    for text in {**KINDS, **EXTRA}[kind]:
        true = counted("o200k", text)
        for model in (None, "house-model-7"):
            assert count_tokens([], model=model).tokens == 0
            assert Counter(model).text(text) >= 0.85 * true


@pytest.mark.parametrize("seed", range(8))
def test_mixtures_of_kinds_are_no_worse_than_their_parts(seed: int) -> None:
    chance = random.Random(seed)
    texts = [text for texts in KINDS.values() for text in texts]
    mixed = "\n\n".join(chance.sample(texts, 6))
    assert LOWEST <= Counter("gpt-4o").text(mixed) / counted("o200k", mixed) - 1 <= HIGHEST


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-mini", "o200k"), ("gpt-4.1", "o200k"), ("gpt-5", "o200k"), ("gpt-4-turbo", "cl100k"),
        ("gpt-3.5-turbo", "cl100k"), ("openai:gpt-4o", "o200k"), ("claude-sonnet-4-5", "claude"),
        ("us.anthropic.claude-3-haiku", "claude"), ("models/gemini-2.5-pro", "gemini"), ("Qwen/Qwen2.5-7B", "qwen"),
        ("qwen3-32b", "qwen"), ("qwen3.5-27b", "qwen3"), ("deepseek-chat", "deepseek"),
        ("SmolLM2-135M-Instruct", "small"), ("llama3:8b", "llama"), ("mistral-large", "mistral"), ("x", "unknown"),
    ],
)  # fmt: skip
def test_families_by_name(model: str, family: str) -> None:
    assert family_of(Counter(model)._name).name == family


def test_a_message_costs_more_than_its_text_and_all_its_parts_count() -> None:
    counter = Counter("gpt-4o")
    text = counter.text("hello there")
    plain = counter.message(HumanMessage("hello there"))
    assert text < plain <= text + 6
    assert counter.message(HumanMessage("hello there", name="bartholomew")) > plain
    call = {"name": "look_up", "args": {"query": "hello there " * 20}, "id": "1", "type": "tool_call"}
    assert counter.message(AIMessage("hello there", tool_calls=[call])) > plain + 40  # type: ignore[list-item]
    invalid = {"name": "f", "args": "{" + "oops " * 30, "id": "1", "error": None, "type": "invalid_tool_call"}
    assert counter.message(AIMessage("hello there", invalid_tool_calls=[invalid])) > plain + 25  # type: ignore[list-item]


def test_a_call_that_stands_in_the_content_too_counts_once() -> None:
    call = {"name": "f", "args": {"q": "word " * 50}, "id": "1", "type": "tool_call"}
    once = AIMessage([{"type": "text", "text": "x"}], tool_calls=[call])  # type: ignore[list-item]
    block = {"type": "tool_use", "id": "1", "name": "f", "input": call["args"]}
    twice = AIMessage([{"type": "text", "text": "x"}, block], tool_calls=[call])  # type: ignore[list-item]
    assert Counter().message(once) == Counter().message(twice)


def test_usage_and_metadata_and_artifacts_are_no_content() -> None:
    bare = AIMessage("hello")
    full = AIMessage(
        "hello",
        usage_metadata={"input_tokens": 90_000, "output_tokens": 5, "total_tokens": 90_005},
        response_metadata={"model_name": "m" * 500},
    )
    assert Counter().message(bare) == Counter().message(full)
    result = ToolMessage("ok", tool_call_id="1", artifact={"rows": ["x" * 9000]})
    assert Counter().message(result) == Counter().message(ToolMessage("ok", tool_call_id="1"))


def test_text_blocks_count_as_their_text_and_signatures_do_not() -> None:
    counter = Counter()
    blocks = [
        {"type": "text", "text": "one two three"},
        {"type": "thinking", "thinking": "hm " * 50, "signature": "s" * 900},
    ]
    as_text = counter.message(AIMessage("one two three" + "hm " * 50))
    assert abs(counter.message(AIMessage(blocks)) - as_text) <= 3
    nested = [
        {
            "type": "search_result",
            "content": [{"type": "text", "text": "word " * 100}],
            "source": "u",
            "title": "t",
        }
    ]
    assert counter.message(ToolMessage(nested, tool_call_id="1")) >= 90


@tool
def look_up(query: str, limit: int = 10) -> str:
    """Find articles that contain every word of the query, newest first."""
    return query * limit


class Answer(BaseModel):
    """An answer with where it was found."""

    text: str
    sources: list[str]


def test_tools_schemas_and_the_system_prompt_count() -> None:
    base = count_tokens([HumanMessage("hi")])
    with_tool = count_tokens([HumanMessage("hi")], tools=[look_up])
    with_both = count_tokens([HumanMessage("hi")], tools=[look_up], response_format=Answer)
    with_system = count_tokens([HumanMessage("hi")], system="Be brief and kind to everybody.")
    assert base.tokens + 30 < with_tool.tokens < with_both.tokens - 20
    assert (
        with_system.tokens
        == count_tokens([SystemMessage("Be brief and kind to everybody."), HumanMessage("hi")]).tokens
    )
    assert with_tool.tokens - base.tokens == Counter().tools([look_up])
    schema = {"type": "function", "function": {"name": "f", "description": "word " * 100, "parameters": {}}}
    assert Counter().tools([schema]) > 100
    assert Counter("claude-sonnet-4-5").tools([look_up]) > 346


def test_schemas_inside_langchains_strategies_count() -> None:
    from langchain.agents.structured_output import ProviderStrategy, ToolStrategy

    plain = Counter().tools([], Answer)
    assert plain > 30
    assert abs(Counter().tools([], ToolStrategy(Answer)) - plain) <= 5
    assert abs(Counter().tools([], ProviderStrategy(Answer)) - plain) <= 5


def test_a_counts_parts_add_up() -> None:
    messages = [HumanMessage(text) for texts in KINDS.values() for text in texts[:2]]
    counter = Counter("gpt-4o")
    whole = counter.count(messages)
    assert whole.quality == counter.quality == "cold"
    assert abs(whole.tokens - sum(counter.message(message) for message in messages)) <= len(messages)
    assert round(sum(whole.weights.values())) == whole.tokens
    assert Count.reported(7) == Count(tokens=7, quality="exact")


@pytest.mark.parametrize("seed", range(30))
def test_any_history_can_be_counted(seed: int) -> None:
    counter = Counter()
    for message in random_history(seed):
        assert counter.message(message) > 0


@pytest.mark.parametrize(
    "text",
    ["", "\ud800", "\x00" * 5, "a" * 10_000, "é" * 500, "\u0301" * 50, "🏳️‍🌈", "𝔘𝔫𝔦", "\r\n\r\n", "?" * 40],
)
def test_odd_texts_are_counted(text: str) -> None:
    counted = Counter().text(text)
    assert 0 <= counted <= len(text.encode("utf-8", "surrogatepass"))
    assert bool(counted) == bool(text)


def test_counting_is_linear() -> None:
    counter = Counter()
    for unit in ("word ", "aB", "{[", "é ", "語", "a" * 40 + " ", "\n ", "--=="):
        short, long = (unit * (size // len(unit)) for size in (20_000, 320_000))
        quick, slow = (min(_taken(counter, text) for _ in range(3)) for text in (short, long))
        assert slow < 16 * 6 * max(quick, 2e-4), unit


def _taken(counter: Counter, text: str) -> float:
    start = time.process_time()
    counter.text(text)
    return time.process_time() - start


SIZES = [(1, 1), (300, 200), (1024, 1024), (3000, 500), (5000, 4000)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", [png, jpeg, gif, webp, webp_lossless, webp_lossy])
def test_the_size_of_an_image_is_in_its_header(make: Any, size: tuple[int, int]) -> None:
    assert image_size(make(*size)) == size


@pytest.mark.parametrize("make", [png, jpeg, gif, webp, webp_lossless, webp_lossy])
def test_a_header_that_was_cut_says_nothing_and_harms_nothing(make: Any) -> None:
    whole = make(640, 480)
    for end in range(len(whole)):
        assert image_size(whole[:end]) in (None, (640, 480))


def plain(data: bytes) -> str:
    return base64.b64encode(data).decode()


def url(data: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{plain(data)}"


def test_images_by_each_providers_rule() -> None:
    image = {"type": "image_url", "image_url": {"url": url(png(1024, 1024))}}
    assert media_tokens(image, "openai", "gpt-4o") == 85 + 4 * 170
    assert media_tokens(image, "anthropic") == 1399
    assert media_tokens(image, "google") == 4 * 258
    assert media_tokens({"type": "image_url", "image_url": {"url": url(png(2048, 4096))}}) == 85 + 6 * 170
    low = {"type": "image_url", "image_url": {"url": url(png(2048, 4096)), "detail": "low"}}
    assert media_tokens(low) == 85
    assert (
        media_tokens({"type": "image", "base64": base64.b64encode(png(300, 300)).decode()}, "google") == 258
    )


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": url(png(300, 150))},
        {"type": "input_image", "image_url": url(png(300, 150))},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": plain(png(300, 150))}},
        {"type": "image", "base64": plain(png(300, 150)), "mime_type": "image/png"},
        {"type": "image", "source_type": "base64", "data": plain(png(300, 150))},
        {"type": "media", "mime_type": "image/png", "data": png(300, 150)},
    ],
)  # fmt: skip
def test_all_forms_of_an_inline_image_are_read(block: dict[str, Any]) -> None:
    assert media_tokens(block, "anthropic") == 60


def test_the_length_of_base64_does_not_count() -> None:
    small, large = (url(png(640, 480) + bytes(extra)) for extra in (0, 3_000_000))
    counts = {
        Counter().message(HumanMessage([{"type": "image_url", "image_url": {"url": one}}]))
        for one in (small, large)
    }
    assert len(counts) == 1
    assert counts.pop() < 1000


@pytest.mark.parametrize(("provider", "most"), [("openai", 1445), ("anthropic", 1600), ("google", 4128)])
def test_an_image_of_unknown_size_is_the_largest_there_is(provider: str, most: int) -> None:
    for block in (
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image", "file_id": "f1"},
        {"type": "image", "base64": "!!!not base64!!!"},
        {"type": "image", "base64": base64.b64encode(b"no image").decode(), "mime_type": "image/png"},
    ):
        assert media_tokens(block, provider) == most


def test_sound_by_its_length_and_files_by_their_pages() -> None:
    wav = b"RIFF" + bytes(4) + b"WAVEfmt " + bytes(12) + (32_000).to_bytes(4, "little") + bytes(32_000 * 10)
    sound = {"type": "input_audio", "input_audio": {"data": base64.b64encode(wav).decode(), "format": "wav"}}
    assert 320 <= media_tokens(sound, "google") <= 352
    pdf = b"%PDF-1.4 /Type /Pages " + b"/Type /Page\n" * 3
    document = {"type": "file", "base64": base64.b64encode(pdf).decode(), "mime_type": "application/pdf"}
    assert media_tokens(document, "anthropic") == 9000
    assert media_tokens(document, "google") == 3 * 258
