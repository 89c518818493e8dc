"""Options and settings that every suite shares."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

# A neighbour's load on the machine is no failure of an example; what else CI changes stays.
settings.register_profile("threadkeep", parent=settings(), deadline=None)
settings.load_profile("threadkeep")


def pytest_configure() -> None:
    # A shell starts what runs in the background with Ctrl-C ignored, and everything started from there
    # inherits that: the tests that press it would wait for nothing.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kills",
        type=int,
        default=60,
        help="how many times the fault tests kill a writer in each durability mode",
    )


@pytest.fixture(scope="session")
def kills(pytestconfig: pytest.Config) -> int:
    return int(pytestconfig.getoption("--kills"))
