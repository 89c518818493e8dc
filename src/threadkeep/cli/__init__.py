"""The command line: thin commands over Memory."""

from __future__ import annotations

from threadkeep.cli.app import app, main

__all__ = ["app", "main"]
