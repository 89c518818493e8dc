"""A database for each test of a command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.kit import make_database


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("commands") / "threads.db"
    make_database(f"sqlite:///{path}")
    return path


@pytest.fixture
def path(template: Path, tmp_path: Path) -> Path:
    """A database file that the test may change."""
    return Path(shutil.copy(template, tmp_path / "threads.db"))


@pytest.fixture
def db(path: Path) -> str:
    """Its URL."""
    return f"sqlite:///{path}"
