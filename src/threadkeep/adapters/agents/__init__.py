"""What Threadkeep adds to LangChain agents."""

from __future__ import annotations
