"""The storage contract: what every backend of Threadkeep promises, as tests to subclass.

    class TestSQLite(StorageContract):
        def open(self, place, **options):
            return threadkeep.open(f"sqlite:///{place}/threads.db", **options)

A backend that cannot do everything says so in `capabilities`. `CrashingDriver` stops any operation
before any of its statements. Needs pytest and hypothesis.
"""

from __future__ import annotations

from threadkeep.errors import MissingExtra

try:
    import hypothesis  # noqa: F401 - the contract's property tests need it
    import pytest
except ImportError as error:
    raise MissingExtra(
        "threadkeep.testing needs pytest and hypothesis: pip install pytest hypothesis"
    ) from error

# Before they are imported, so that a failed assertion shows its values.
pytest.register_assert_rewrite(
    "threadkeep.testing.contract", "threadkeep.testing.harness", "threadkeep.testing.values"
)

from threadkeep.testing.checkpoints import Line, checkpoint, config  # noqa: E402
from threadkeep.testing.contract import StorageContract  # noqa: E402
from threadkeep.testing.drive import Drive  # noqa: E402
from threadkeep.testing.faults import Crash, CrashingDriver  # noqa: E402
from threadkeep.testing.harness import Capabilities, Harness, Store, needs  # noqa: E402
from threadkeep.testing.values import assert_same, difference  # noqa: E402

__all__ = [
    "Capabilities",
    "Crash",
    "CrashingDriver",
    "Drive",
    "Harness",
    "Line",
    "StorageContract",
    "Store",
    "assert_same",
    "checkpoint",
    "config",
    "difference",
    "needs",
]
