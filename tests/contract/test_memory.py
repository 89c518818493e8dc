"""The storage contract in process."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import threadkeep
from threadkeep import Memory
from threadkeep.testing import Capabilities, StorageContract

from .sqlite import SQLiteTables


class TestMemory(SQLiteTables, StorageContract):
    capabilities: ClassVar[Capabilities] = Capabilities(shared=False, processes=False, forks=False)

    def open(self, place: Path, **options: Any) -> Memory:
        return threadkeep.open("memory://", **options)
