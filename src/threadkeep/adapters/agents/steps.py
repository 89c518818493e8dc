"""I/O written once: a flow yields steps, and a driver carries them out, blocking or awaiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """Something to wait for, in both ways in which one can wait for it."""

    plain: Callable[[], Any]
    awaited: Callable[[], Awaitable[Any]]

    @classmethod
    def of(cls, holder: Any, method: str, *args: Any, **kwargs: Any) -> Step:
        """Return the step that calls a method, whose async twin has an `a` before its name."""
        plain, awaited = getattr(holder, method), getattr(holder, f"a{method}")
        return cls(lambda: plain(*args, **kwargs), lambda: awaited(*args, **kwargs))

    @classmethod
    def work(cls, function: Callable[..., Any], *args: Any) -> Step:
        """Return the step that computes something: in a thread where an event loop must not wait for it."""
        return cls(lambda: function(*args), lambda: asyncio.to_thread(function, *args))


Flow: TypeAlias = Generator[Step, Any, T]
"""What yields steps, is sent what they return or thrown what they raise, and returns a result."""


def run(flow: Flow[T]) -> T:
    """Carry a flow out, blocking."""
    try:
        step = next(flow)
        while True:
            try:
                value = step.plain()
            except BaseException as error:
                step = flow.throw(error)
            else:
                step = flow.send(value)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


async def arun(flow: Flow[T]) -> T:
    """Carry a flow out, awaiting; a cancellation is thrown into the flow."""
    try:
        step = next(flow)
        while True:
            try:
                value = await step.awaited()
            except BaseException as error:
                step = flow.throw(error)
            else:
                step = flow.send(value)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
