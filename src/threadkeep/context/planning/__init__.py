"""Annotated histories, plans and views: what policies work on."""

from __future__ import annotations
