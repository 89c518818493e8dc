"""Sizes: when a policy acts, how much it keeps, and what the model can take."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from threadkeep.errors import ConfigurationError, UnknownContextWindowWarning

Unit = Literal["tokens", "messages", "turns", "fraction"]
Size: TypeAlias = tuple[Unit, int | float]
"""An amount: `("tokens", 4000)`, `("messages", 20)`, `("turns", 5)` or `("fraction", 0.8)` of the context window."""

Clause: TypeAlias = Mapping[Unit, int | float]
Trigger: TypeAlias = Size | Clause | Sequence[Size | Clause]
"""When to act: a size that is reached, a mapping of which all are reached, or a list of which any is."""

FALLBACK_WINDOW: Final = 32_768
"""Tokens that a model is taken to have room for where nothing says how many: less than models sold today have."""

CACHE_MINIMUM: Final[Mapping[str, int]] = {
    "openai": 1_024,
    "openai-responses": 1_024,
    "anthropic": 4_096,
    "google": 2_048,
}
"""Tokens a prompt needs before a provider caches its prefix, by the providers' documentation. For Anthropic
and Google, where it is 1,024 to 4,096 by model, what suffices for most. A model that runs locally has none."""

_UNITS: Final = ("tokens", "messages", "turns", "fraction")


@dataclass(frozen=True, kw_only=True, slots=True)
class Anchor:
    """What the provider reported for the last call, which stands for an estimate of the same messages.

    Args:
        tokens: Input tokens as reported, all of them.
        messages: How many messages the history had when that call was made.
    """

    tokens: int
    messages: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What the model of this call can take, and what of it is spoken for.

    Args:
        window: Tokens of the model's context window, None where unknown.
        overhead: Tokens of the system prompt, the tools and the response schema.
        reserve: Tokens kept free for the answer.
        anchor: The last call's reported usage, if it had the same model, tools and generation.
        too_large: Tokens of a view that the provider refused as too long, by the same estimate.
    """

    window: int | None = None
    overhead: int = 0
    reserve: int = 1_024
    anchor: Anchor | None = None
    too_large: int | None = None

    @property
    def room(self) -> int | None:
        """Tokens that messages may take at most, None where unknown."""
        room = None if self.window is None else max(1, self.window - self.overhead - self.reserve)
        if self.too_large is not None:
            below = max(1, int(self.too_large * 0.8) - self.overhead)
            room = below if room is None else min(room, below)
        return room

    def tokens_of(self, fraction: float, context_window: int | None) -> int:
        """Return the tokens that messages have in a fraction of the context window.

        Args:
            fraction: Of the whole window, in which the system prompt and the tools count.
            context_window: What the user said the window is; it wins over what is known of the model.
        """
        window = context_window or self.window
        if window is None:
            warnings.warn(
                f"The context window of the model is not known, so that fraction {fraction} is taken of "
                f"{FALLBACK_WINDOW} tokens; give the policy context_window=, or use ('tokens', n).",
                UnknownContextWindowWarning,
                stacklevel=2,
            )
            window = FALLBACK_WINDOW
        return max(1, int(fraction * window) - self.overhead)


@dataclass(frozen=True, slots=True)
class Measured:
    """How large a view is, in the units that sizes have."""

    tokens: int = 0
    messages: int = 0
    turns: int = 0


def check_size(size: object, name: str, *, zero: bool = False) -> Size:
    """Return a size whose form and value are right.

    Args:
        size: What the user gave.
        name: The option, for the message.
        zero: Whether 0 is possible.

    Raises:
        ConfigurationError: It is no pair of a unit and a positive number (of a fraction: above 0, at most 1).
    """
    if not isinstance(size, tuple | list) or len(size) != 2:
        raise _refused(name, size, "a pair such as ('tokens', 4000)")
    unit, amount = size
    if unit not in _UNITS:
        raise _refused(name, size, f"one of the units {', '.join(_UNITS)}")
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        raise _refused(name, size, "a number after the unit")
    if unit == "fraction":
        if not 0 < amount <= 1:
            raise _refused(name, size, "a fraction above 0 and at most 1")
    elif not isinstance(amount, int) or amount < (0 if zero else 1):
        raise _refused(name, size, f"a whole number of {unit} of at least {0 if zero else 1}")
    return (unit, amount)


def check_trigger(trigger: object, name: str = "trigger") -> tuple[tuple[Size, ...], ...]:
    """Return a trigger as alternatives, each a tuple of sizes that must all be reached.

    Raises:
        ConfigurationError: It has another form than `Trigger`, or is empty.
    """
    if isinstance(trigger, tuple) and trigger and isinstance(trigger[0], str):
        return ((check_size(trigger, name),),)
    alternatives = trigger if isinstance(trigger, list | tuple) else [trigger]
    if not alternatives:
        raise _refused(name, trigger, "at least one size")
    return tuple(_clause(one, name) for one in alternatives)


def _clause(clause: object, name: str) -> tuple[Size, ...]:
    if isinstance(clause, Mapping):
        if not clause:
            raise _refused(name, clause, "at least one size")
        return tuple(check_size((unit, amount), name) for unit, amount in clause.items())
    return (check_size(clause, name),)


def check_count(value: object, name: str, *, least: int = 0) -> int:
    """Return a whole number that is large enough.

    Raises:
        ConfigurationError: It is no whole number, or is smaller than `least`.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _refused(name, value, f"a whole number of at least {least}")
    return value


def _refused(name: str, value: object, expected: str) -> ConfigurationError:
    return ConfigurationError(f"{name}={value!r} cannot be used; give {expected}.", option=name, value=value)
