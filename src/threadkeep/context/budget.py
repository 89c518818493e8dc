"""How much a thread, or one run of it, may spend on model calls."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from threadkeep.errors import ConfigurationError

__all__ = ["Budget"]


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on tokens, money, or both, that is checked before each model call.

    A call passes while what was spent, what is set aside for calls on their way, the upper estimate of its own input
    and the room for its answer together stay within the limit.

    Args:
        tokens: most tokens, input and output together.
        money: most US dollars; a text such as `"2.50"` or a Decimal is exact.
        per: `thread`, or `run` (one invoke).
        reserve: tokens set aside for an answer where the model names no `max_tokens` of its own.
        unknown_price: US dollars for a million tokens, taken for a model that has no listed price; without it such a
            model's first call raises UnknownPrice where `money` is limited.

    Raises ConfigurationError for a limit that cannot be one.
    """

    tokens: int | None = None
    money: Decimal | None = None
    per: Literal["run", "thread"] = "thread"
    reserve: int = 1024
    unknown_price: Decimal | None = None

    def __init__(
        self,
        tokens: int | None = None,
        money: Decimal | str | float | None = None,
        per: Literal["run", "thread"] = "thread",
        reserve: int = 1024,
        unknown_price: Decimal | str | float | None = None,
    ) -> None:
        if tokens is None and money is None:
            raise ConfigurationError("the budget limits nothing; pass tokens=, money=, or both")
        if per not in ("run", "thread"):
            raise ConfigurationError(f"the budget is per={per!r}; pass 'run' or 'thread'")
        for name, count, least in (("tokens", tokens, 1), ("reserve", reserve, 0)):
            if count is not None and (type(count) is not int or count < least):
                raise ConfigurationError(
                    f"the budget has {name}={count!r}; pass a whole number of at least {least}"
                )
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "money", _money("money", money))
        object.__setattr__(self, "per", per)
        object.__setattr__(self, "reserve", reserve)
        object.__setattr__(self, "unknown_price", _money("unknown_price", unknown_price))

    def assumed(self, tokens: int) -> Decimal | None:
        """Return what tokens of a model without a listed price are taken to cost, or None without `unknown_price`."""
        return None if self.unknown_price is None else self.unknown_price * tokens / 1_000_000


def _money(name: str, value: Decimal | str | float | None) -> Decimal | None:
    if value is None:
        return None
    try:
        # A float's shortest text is what its writer meant.
        amount = value if isinstance(value, Decimal) else Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if isinstance(value, bool) or not amount.is_finite() or amount < 0:
        raise ConfigurationError(
            f"the budget has {name}={value!r}; pass US dollars, 0 or more, such as '2.50'"
        )
    return amount
