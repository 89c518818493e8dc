"""Token counts of a message as a flat list of integers, when they have the usual shape."""

from __future__ import annotations

from itertools import chain, permutations
from typing import Any, Final

from threadkeep.serde.wire import Damaged

_TOTALS: Final = ("input_tokens", "output_tokens", "total_tokens")
_INPUT, _OUTPUT = "input_token_details", "output_token_details"
_SHAPES: Final = {
    _TOTALS: 0,
    (*_TOTALS, _INPUT): 1,
    (*_TOTALS, _OUTPUT): 2,
    (*_TOTALS, _INPUT, _OUTPUT): 3,
}


def _orders(*names: str) -> dict[tuple[str, ...], int]:
    """Number every order of every selection of names; a dict keeps the order of its keys."""
    every = chain.from_iterable(permutations(names, size) for size in range(len(names) + 1))
    return {order: number for number, order in enumerate(every)}


_INPUT_ORDERS: Final = _orders("audio", "cache_creation", "cache_read")
_OUTPUT_ORDERS: Final = _orders("audio", "reasoning")
_DETAILS: Final = ((_INPUT, _INPUT_ORDERS, list(_INPUT_ORDERS)), (_OUTPUT, _OUTPUT_ORDERS, list(_OUTPUT_ORDERS)))
_INT: Final = {int}


def flatten(usage: Any) -> list[int] | None:
    """Return usage metadata as integers, or None when that would not be exact.

    The shape, the three totals, then for each of the details present: the number of the order of
    its keys and its values.
    """
    if type(usage) is not dict:
        return None
    shape = _SHAPES.get(tuple(usage))
    if shape is None:
        return None
    flat = [shape, usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]]
    if shape & 1 and not _add(flat, usage[_INPUT], _INPUT_ORDERS):
        return None
    if shape & 2 and not _add(flat, usage[_OUTPUT], _OUTPUT_ORDERS):
        return None
    return flat if set(map(type, flat)) == _INT else None


def _add(flat: list[int], details: Any, orders: dict[tuple[str, ...], int]) -> bool:
    order = orders.get(tuple(details)) if type(details) is dict else None
    if order is None:
        return False
    flat.append(order)
    flat.extend(details.values())
    return True


def unflatten(flat: list[int]) -> dict[str, Any]:
    """Return what `flatten` was given; raises Damaged for integers of another shape."""
    shape, given, taken, total, *rest = flat
    usage: dict[str, Any] = {"input_tokens": given, "output_tokens": taken, "total_tokens": total}
    for bit, (name, _, orders) in enumerate(_DETAILS):
        if shape >> bit & 1:
            if not rest or not 0 <= rest[0] < len(orders):
                raise Damaged("token details of an unknown shape")
            keys = orders[rest[0]]
            usage[name] = dict(zip(keys, rest[1 : 1 + len(keys)], strict=True))
            rest = rest[1 + len(keys) :]
    return usage
