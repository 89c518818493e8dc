"""One fixture for every saver: Threadkeep on each embedded backend, sync and async.

`CHECKPOINTERS=langgraph` runs the same tests on LangGraph's own InMemorySaver, which shows that a
test asks for LangGraph's behaviour and not for ours. Tests that ask for more are marked `stricter`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

import threadkeep

from .kit import Drive

BACKENDS = os.environ.get("CHECKPOINTERS", "memory,sqlite").split(",")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "stricter: asks for more than LangGraph's own savers do")
    crosswise = "crosswise: many cases, so each runs sync in memory and async on a file"
    config.addinivalue_line("markers", crosswise)
    config.addinivalue_line("markers", "on_file: about a file, which others can open too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the combinations of backend and drive that a test's marks exclude."""
    left_out = [item for item in items if _left_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not _left_out(item)]


def _left_out(item: pytest.Item) -> bool:
    chosen = getattr(item, "callspec", None)
    if chosen is None:
        return False
    backend, drive = chosen.params.get("backend"), chosen.params.get("drive")
    if item.get_closest_marker("on_file"):
        return backend != "sqlite"
    across = (backend, drive) in (("memory", "async"), ("sqlite", "sync"))
    return across and item.get_closest_marker("crosswise") is not None


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Iterator[Drive]:
    drive = Drive(request.param == "async")
    yield drive
    drive.close()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "langgraph" and request.node.get_closest_marker("stricter"):
        pytest.skip("LangGraph's saver does not promise this")
    return str(request.param)


@pytest.fixture
def url(backend: str, tmp_path: Path) -> str:
    return "memory://" if backend == "memory" else f"sqlite:///{tmp_path / 'threads.db'}"


@pytest.fixture
def memory(backend: str, url: str) -> Iterator[Any]:
    """An open memory; what a test leaves behind must satisfy every invariant."""
    if backend == "langgraph":
        pytest.skip("needs Threadkeep's own API")
    memory = threadkeep.open(url)
    yield memory
    if not memory.closed:
        problems = memory.doctor()
        memory.close()
        assert problems == ()


@pytest.fixture
def saver(request: pytest.FixtureRequest, backend: str) -> BaseCheckpointSaver[Any]:
    if backend == "langgraph":
        return InMemorySaver()
    return request.getfixturevalue("memory").checkpointer  # type: ignore[no-any-return]
