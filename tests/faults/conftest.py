"""Where the fault tests work, and how they tell how far they are."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.faults)


@pytest.fixture
def place() -> Iterator[Path]:
    """A new folder on a real disk that other users may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def quick_place() -> Iterator[Path]:
    """A new folder in memory where there is one: what a killed process wrote stays, and no disk is waited for."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="faults-", dir=memory if os.access(memory, os.W_OK) else None
    ) as folder:
        yield Path(folder)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a line at once, past pytest's capture: these tests take minutes when asked to."""

    def line(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {text}", end="", flush=True)

    return line


@pytest.fixture
def seed() -> int:
    """The seed of what is random; FAULTS_SEED repeats a run."""
    given = os.environ.get("FAULTS_SEED")
    return int(given) if given else random.SystemRandom().randrange(1 << 32)
