"""The command line: thin commands over Memory. Importing a module registers its command, in this order."""

from __future__ import annotations

# isort: off
from threadkeep.cli.app import app, main
from threadkeep.cli import threads
from threadkeep.cli import show
from threadkeep.cli import history
from threadkeep.cli import usage
# isort: on

__all__ = ["app", "history", "main", "show", "threads", "usage"]
