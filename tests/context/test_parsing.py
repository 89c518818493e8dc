from __future__ import annotations

import pytest

from threadkeep.context import (
    Buffer,
    Entities,
    HeadTail,
    Media,
    Offload,
    Policy,
    Summary,
    SummaryBuffer,
    ToolResults,
    Window,
)
from threadkeep.context.policies.parsing import parse_policy, policy_names, policy_text
from threadkeep.errors import ConfigurationError

WRITTEN: list[tuple[str, Policy]] = [
    ("buffer", Buffer()),
    ("window:messages=20", Window(messages=20)),
    ("window:tokens=4000,to=2000", Window(tokens=4000, to=2000)),
    ("window:fraction=0.5,to=0.25,context-window=8000", Window(fraction=0.5, to=0.25, context_window=8000)),
    ("summary", Summary()),
    ("summary:turns=6", Summary(trigger=("turns", 6))),
    ("summary-buffer", SummaryBuffer()),
    ("summary-buffer:tokens=2000,keep=10", SummaryBuffer(trigger=("tokens", 2000), keep=10)),
    ("summary-buffer:keep=500tokens,pins=200", SummaryBuffer(keep=("tokens", 500), pins=("tokens", 200))),
    ("summary-buffer:fraction=0.8,recall=yes", SummaryBuffer(trigger=("fraction", 0.8), recall=True)),
    ("summary-buffer:model=openai:gpt-4.1-mini", SummaryBuffer(model="openai:gpt-4.1-mini")),
    ("head-tail:head=2,tail=10", HeadTail(head=2, tail=10)),
    ("head-tail:head=1turn,tail=10,summarise=no", HeadTail(head=("turns", 1), tail=10, summarise=False)),
    ("offload:tokens=4000,keep=10,large=none", Offload(trigger=("tokens", 4000), keep=10, large=None)),
    ("entities:every=2", Entities(every=2)),
    ("tool-results:keep=3", ToolResults(keep=3)),
    ("tool-results:keep=1,exclude=search/read", ToolResults(keep=1, exclude=("search", "read"))),
    (
        "media:keep=1+tool_results:keep=2,shorten=50+window:turns=4",
        Media(keep=1) | ToolResults(keep=2, shorten=50) | Window(turns=4),
    ),
    (" Window : messages = 20 ", Window(messages=20)),
]


@pytest.mark.parametrize(("text", "expected"), WRITTEN, ids=[text for text, _ in WRITTEN])
def test_a_text_is_the_policy_it_names(text: str, expected: Policy) -> None:
    found = parse_policy(text)

    assert found == expected
    assert found.fingerprint == expected.fingerprint


@pytest.mark.parametrize(("text", "policy"), WRITTEN, ids=[text for text, _ in WRITTEN])
def test_what_is_written_reads_the_same(text: str, policy: Policy) -> None:
    if "large=none" not in text:
        assert parse_policy(policy_text(policy)) == policy


def test_a_text_says_only_what_is_not_the_default() -> None:
    assert (
        policy_text(SummaryBuffer(trigger=("tokens", 2000), keep=10)) == "summary-buffer:tokens=2000,keep=10"
    )
    assert policy_text(Media() | Window(messages=20)) == "media+window:messages=20"


@pytest.mark.parametrize("name", [name for name in policy_names() if name != "window"])
def test_every_name_alone_is_a_policy(name: str) -> None:
    assert parse_policy(name).name == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ["empty", "summary-buffer:tokens=2000,keep=10"]),
        ("windw:messages=20", ["'windw'", "did you mean 'window'", "summary-buffer", "offload"]),
        ("buffer+", ["part ''", "there is no policy ''"]),
        ("summary-buffer:tokns=5", ["has no setting 'tokns'", "did you mean 'tokens'", "keep"]),
        ("buffer:keep=5", ["buffer has no setting 'keep'"]),
        ("window:messages", ["'messages' is no setting", "name=value"]),
        ("window:messages=", ["'messages=' is no setting"]),
        ("window:messages=ten", ["messages is 'ten'", "a whole number"]),
        ("window:messages=0", ["cannot be used", "at least 1"]),
        ("window:tokens=10,messages=3", ["one size, not 2"]),
        ("window:messages=3,messages=4", ["messages is given twice"]),
        ("summary-buffer:tokens=10,messages=3", ["tokens and messages both say when to reduce"]),
        ("summary-buffer:keep=5bananas", ["keep is '5bananas'", "500tokens"]),
        ("head-tail:summarise=perhaps", ["summarise is 'perhaps'", "yes or no"]),
        ("buffer+head-tail:tail=-1", ["part 'head-tail:tail=-1'", "at least 0"]),
        ("summary-buffer:fraction=1.5", ["at most 1"]),
    ],
)
def test_what_cannot_be_read_is_named(text: str, said: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_policy(text)

    message = str(caught.value)
    assert [part for part in [repr(text), *said] if part not in message] == []
    assert "\n" not in message
