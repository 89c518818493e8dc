"""The official `langgraph-checkpoint-conformance` suite: all eight capabilities, none skipped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

import threadkeep

CAPABILITIES = sorted(capability.value for capability in Capability)


def test_the_suite_knows_eight_capabilities() -> None:
    assert len(CAPABILITIES) == 8


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("backend", ["memory", "sqlite"])
async def test_capability(backend: str, capability: str, tmp_path: Path) -> None:
    url = "memory://" if backend == "memory" else f"sqlite:///{tmp_path / 'conformance.db'}"

    @checkpointer_test(name=f"threadkeep-{backend}-{capability}")
    async def checkpointer() -> AsyncIterator[Any]:
        async with threadkeep.open(url) as memory:
            yield memory.checkpointer
            assert await memory.adoctor() == ()

    ran: list[str] = []
    report = await validate(checkpointer, capabilities={capability}, progress=Counter(ran))
    result = report.results[capability]
    assert result.detected
    assert result.failures == []
    assert result.passed is True
    assert result.tests_skipped == 0
    assert result.tests_passed == len(ran) > 0


class Counter:
    """Notes each test that the suite ran."""

    on_capability_start = None
    on_capability_end = None

    def __init__(self, ran: list[str]) -> None:
        self.ran = ran

    def on_test_result(self, capability: str, name: str, passed: bool, error: str | None) -> None:
        self.ran.append(name)
