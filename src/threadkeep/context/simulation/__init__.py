"""What a recorded conversation would have cost under other policies."""

from __future__ import annotations
