"""Tokens: estimated by script and model family, corrected by what providers report."""

from __future__ import annotations
