"""The policies: frozen values that decide what of a conversation goes to the model."""

from __future__ import annotations
