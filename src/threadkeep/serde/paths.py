"""Where in a state a value is, and the error that says so."""

from __future__ import annotations

import re
from typing import Any, Final

from threadkeep.errors import SerializationError

_SHOWN: Final = 12
_NAME: Final = re.compile(r"[^\W\d]\w*(\[\d+\]\.\w+)?").fullmatch


class Refused(Exception):
    """A value that cannot be stored; each level on the way up adds its step to `steps`."""

    def __init__(self, reason: str, kind: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind
        self.steps: list[Any] = []


def refusal(path: str, refused: Refused) -> SerializationError:
    """Return the public error for a refused value below `path`."""
    where = path + render(refused.steps[::-1])
    return SerializationError(f"cannot store {where}: {refused.reason}", path=where, type_name=refused.kind)


def render(steps: list[Any]) -> str:
    """Return steps as they would be written in Python: `.cart.items[3]['odd key']`."""
    text = "".join(map(_step, steps[:_SHOWN]))
    return text + " ..." if len(steps) > _SHOWN else text


def _step(step: Any) -> str:
    if type(step) is str and _NAME(step):
        return f".{step}"
    if isinstance(step, Element):
        return "{...}"
    try:
        text = repr(step)
    except Exception:  # a key's own __repr__ may be broken; the path must still be shown
        text = f"<{type(step).__name__}>"
    return f"[{text if len(text) <= 60 else text[:57] + '...'}]"


class Element:
    """The step into a set, whose elements have no index."""


def name_of(kind: type) -> str:
    """Return the stable name of a type, `module:qualname`."""
    return f"{kind.__module__}:{kind.__qualname__}"
