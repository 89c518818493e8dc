"""Reasons as ranges: the same as one by one."""

from __future__ import annotations

import pytest

from threadkeep.adapters.agents.recorder import spans_of
from threadkeep.context import Buffer, HeadTail, Media, Offload, Policy, SummaryBuffer, ToolResults, Window
from threadkeep.testing.histories import random_history

POLICIES: list[Policy] = [
    Buffer(),
    Window(messages=6),
    SummaryBuffer(trigger=("messages", 8), keep=3),
    HeadTail(trigger=("messages", 8)),
    Offload(trigger=("messages", 8), keep=3, large=100),
    Media() | ToolResults(keep=1) | Window(turns=2),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_ranges_say_what_the_reasons_say(policy: Policy) -> None:
    longest = 0
    for seed in range(40):
        view = policy.view(random_history(seed))
        assert view.spans == spans_of(view.reasons)
        longest = max(longest, len(view.spans))
    assert longest > 1 or isinstance(policy, Buffer)
