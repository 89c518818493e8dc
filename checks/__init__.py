"""The project's own checks, which `make check` runs after ruff and mypy.

A check is a function from the root of a checkout to the list of what is wrong there, one readable line each.
"""

from __future__ import annotations
