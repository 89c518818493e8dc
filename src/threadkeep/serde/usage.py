"""Token counts of a message as a flat list of integers, when they have the usual shape."""

from __future__ import annotations

from itertools import chain, permutations, product
from typing import Any, Final

from threadkeep.serde import wire

_TOTALS: Final = ("input_tokens", "output_tokens", "total_tokens")
_INPUT, _OUTPUT = "input_token_details", "output_token_details"

Keys = tuple[str, ...]
Shape = tuple[Keys, Keys, Keys]


def _orders(*names: str) -> list[Keys]:
    """Return every order of every selection of names."""
    return list(chain.from_iterable(permutations(names, size) for size in range(len(names) + 1)))


def _shapes() -> list[Shape]:
    """Return every usual shape: the keys, those of the input details and those of the output's."""
    inputs, outputs = _orders("audio", "cache_creation", "cache_read"), _orders("audio", "reasoning")
    shapes: list[Shape] = [(_TOTALS, (), ())]
    shapes += [((*_TOTALS, _INPUT), keys, ()) for keys in inputs]
    shapes += [((*_TOTALS, _OUTPUT), (), keys) for keys in outputs]
    shapes += [((*_TOTALS, _INPUT, _OUTPUT), *keys) for keys in product(inputs, outputs)]
    return shapes


_SHAPES: Final = _shapes()
_NUMBERS: Final = {shape: number for number, shape in enumerate(_SHAPES)}
_NONE: Final[dict[str, Any]] = {}


def flatten(usage: Any) -> list[Any] | None:
    """Return usage metadata as a flat list, or None when it has another shape.

    The number of its shape, the totals, the input details, the output details.
    """
    if type(usage) is not dict:
        return None
    inputs, outputs = usage.get(_INPUT, _NONE), usage.get(_OUTPUT, _NONE)
    if type(inputs) is not dict or type(outputs) is not dict:
        return None
    shape = _NUMBERS.get((tuple(usage), tuple(inputs), tuple(outputs)))
    if shape is None:
        return None
    totals = usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]
    return [shape, *totals, *inputs.values(), *outputs.values()]


def unflatten(flat: Any) -> dict[str, Any]:
    """Return what `flatten` was given; ValueError, TypeError or LookupError for anything else."""
    keys, inputs, outputs = _SHAPES[flat[0]]
    if len(flat) != 4 + len(inputs) + len(outputs):
        raise wire.Damaged("too many or too few token counts")
    usage: dict[str, Any] = {"input_tokens": flat[1], "output_tokens": flat[2], "total_tokens": flat[3]}
    at = 4 + len(inputs)
    if _INPUT in keys:
        usage[_INPUT] = dict(zip(inputs, flat[4:at]))  # noqa: B905 - the length was checked
    if _OUTPUT in keys:
        usage[_OUTPUT] = dict(zip(outputs, flat[at:]))  # noqa: B905 - the length was checked
    return usage
