"""The storage contract, one file for each of its subjects."""

from __future__ import annotations

from threadkeep.testing.contract.fidelity import FidelityContract


class StorageContract(FidelityContract):
    """Everything that a backend promises. Subclass it as `Test...`, and override `open`."""


__all__ = ["StorageContract"]
