"""Conversations from files, in the forms of three providers."""

from __future__ import annotations
