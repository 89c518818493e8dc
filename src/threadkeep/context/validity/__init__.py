"""What providers refuse, and how a view is mended before they can."""

from __future__ import annotations
