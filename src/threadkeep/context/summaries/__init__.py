"""Summaries and entities, made by generators that do no I/O."""

from __future__ import annotations
