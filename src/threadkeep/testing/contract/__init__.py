"""The storage contract, one file for each of its subjects."""

from __future__ import annotations

from threadkeep.testing.contract.branching import BranchContract
from threadkeep.testing.contract.channels import ChannelContract
from threadkeep.testing.contract.concurrency import ConcurrencyContract
from threadkeep.testing.contract.copying import CopyContract
from threadkeep.testing.contract.crashes import CrashContract
from threadkeep.testing.contract.damage import DamageContract
from threadkeep.testing.contract.fidelity import FidelityContract
from threadkeep.testing.contract.history import HistoryContract
from threadkeep.testing.contract.identity import IdentityContract
from threadkeep.testing.contract.ledger import LedgerContract
from threadkeep.testing.contract.lifecycle import LifecycleContract
from threadkeep.testing.contract.notes import NoteContract
from threadkeep.testing.contract.properties import PropertyContract
from threadkeep.testing.contract.pruning import PruneContract
from threadkeep.testing.contract.puts import PutContract
from threadkeep.testing.contract.recording import RecordContract
from threadkeep.testing.contract.sharing import SharingContract
from threadkeep.testing.contract.threads import ThreadListContract
from threadkeep.testing.contract.writes import WriteContract


class StorageContract(
    FidelityContract,
    PutContract,
    WriteContract,
    ChannelContract,
    IdentityContract,
    ThreadListContract,
    HistoryContract,
    PruneContract,
    CopyContract,
    BranchContract,
    RecordContract,
    LedgerContract,
    NoteContract,
    SharingContract,
    LifecycleContract,
    ConcurrencyContract,
    CrashContract,
    DamageContract,
    PropertyContract,
):
    """Everything that a backend promises. Subclass it as `Test...`, and override `open`."""


__all__ = ["StorageContract"]
