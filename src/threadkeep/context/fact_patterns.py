"""Where the facts in a text are."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ID = re.compile(r"(?<![A-Za-z0-9])[A-Z]{1,6}-?[0-9]{1,12}(?![A-Za-z0-9])")


def find(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield each fact's kind, normal value, text as written, and text with a few words around it."""
    for match in _ID.finditer(text):
        yield "id", match[0].casefold(), match[0], match[0]
