"""The command line: thin commands over Memory. Importing a module registers its command, in this order."""

from __future__ import annotations

# isort: off
from threadkeep.cli.app import app, main
from threadkeep.cli import chat
from threadkeep.cli import threads
from threadkeep.cli import show
from threadkeep.cli import history
from threadkeep.cli import diff
from threadkeep.cli import usage
from threadkeep.cli import view
from threadkeep.cli import simulate
from threadkeep.cli import stats
from threadkeep.cli import copy
from threadkeep.cli import delete
from threadkeep.cli import prune
from threadkeep.cli import compact
from threadkeep.cli import doctor
from threadkeep.cli import schema
# isort: on

__all__ = [
    "app",
    "chat",
    "compact",
    "copy",
    "delete",
    "diff",
    "doctor",
    "history",
    "main",
    "prune",
    "schema",
    "show",
    "simulate",
    "stats",
    "threads",
    "usage",
    "view",
]
