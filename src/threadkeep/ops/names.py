"""The dictionary of names: channels, nodes and task paths take one or two bytes in a row."""

from __future__ import annotations

import re

from threadkeep.backends.base import Op, Statement
from threadkeep.ids import decode_text, encode_text
from threadkeep.ops.packing import Name

_LONGEST = 96
_MOST = 4096
# Names with an id in them would fill the dictionary with what is never said again.
_UNIQUE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}|[0-9a-f]{16}")


class Names:
    """Names known by number; a name that is new is written out once and gets its number then."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._numbers: dict[str, int] = {}

    def encode(self, text: str, new: list[bytes]) -> Name:
        """Return a name's number, or the name itself, which is then added to `new` if it may recur."""
        number = self._numbers.get(text)
        if number is not None:
            return number
        data = encode_text(text)
        if (
            len(data) <= _LONGEST
            and len(self._texts) < _MOST
            and not _UNIQUE.search(text)
            and data not in new
        ):
            new.append(data)
        return data

    def decode(self, name: Name) -> str:
        """Return the text of a name. Raises KeyError when the number is not known yet."""
        return self._texts[name] if isinstance(name, int) else decode_text(name)

    def refresh(self) -> Op[None]:
        """Read the dictionary again."""
        rows = yield Statement("names")
        self._texts = {number: decode_text(data) for number, data in rows}
        self._numbers = {text: number for number, text in self._texts.items()}
