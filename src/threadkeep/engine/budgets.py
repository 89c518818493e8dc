"""Set tokens and money aside for a model call, in one transaction with the look at what is left."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from threadkeep import ids
from threadkeep.backends.base import Op, Statement, Work
from threadkeep.context.budget import Budget
from threadkeep.engine.engine import Engine, Flow, Write
from threadkeep.errors import BudgetExceeded, UnknownPrice
from threadkeep.ops import calls
from threadkeep.ops.notes import thread_key
from threadkeep.ops.rows import ThreadRef, span

HOLD = 15 * 60 * 1_000_000
"""Microseconds after which what was set aside by a process that died is free again; longer than a model call takes."""


def reserve(
    engine: Engine,
    ref: ThreadRef,
    budget: Budget,
    tokens: int,
    money: Decimal | None,
    *,
    run_id: str | None = None,
    model: str | None = None,
) -> Flow[int]:
    """Set aside what a call may take; return the reservation, which `settle` or the call's row gives back.

    `tokens` are the upper estimate of its input and the room for its answer; `money` is what these cost, None when
    unknown. Raises BudgetExceeded when that is more than is left, and UnknownPrice when money is limited and there is
    no price.
    """
    cost = money if money is not None else budget.assumed(tokens)
    if budget.money is not None and cost is None:
        raise unknown_price(ref, model)
    run = ids.pack_id(run_id) if run_id is not None and budget.per == "run" else None

    def op() -> Op[int]:
        now = engine.clock()
        row = yield from thread_key(ref, now)
        yield Statement("drop_stale_reservations", (*span(row), now))
        spent, paid = yield from _spent(row, run, budget)
        held, due = yield from _reserved(row, run, now)
        over = budget.tokens is not None and spent + held + tokens > budget.tokens
        dear = budget.money is not None and cost is not None and paid + due + cost > budget.money
        if over or dear:
            raise _exceeded(ref, budget, (spent, held, tokens), (paid, due, cost))
        values = (run, tokens, None if cost is None else format(cost, "f"), now + HOLD)
        found = yield Statement("add_reservation", (*span(row), *values))
        return int(found[0][0])

    reservation: int = yield Write(op)
    return reservation


def _spent(thread: int, run: bytes | None, budget: Budget) -> Op[tuple[int, Decimal]]:
    """Return the tokens and the money that calls took; calls without a price count as the budget assumes."""
    tokens, money = 0, Decimal(0)
    for sent, answered, price, _, count in (yield Statement("spent", (*span(thread), calls.CACHED, run))):
        taken = (sent or 0) + (answered or 0)
        tokens += taken * count
        money += (Decimal(price) if price is not None else budget.assumed(taken) or Decimal(0)) * count
    return tokens, money


def _reserved(thread: int, run: bytes | None, now: int) -> Op[tuple[int, Decimal]]:
    rows = yield Statement("reserved", (*span(thread), now, run))
    return sum(row[0] for row in rows), sum(
        (Decimal(row[1]) for row in rows if row[1] is not None), Decimal(0)
    )


def unknown_price(ref: ThreadRef, model: str | None) -> UnknownPrice:
    """Return the error for a budget of money and a model without a listed price."""
    return UnknownPrice(
        f"the budget of thread {ref.thread_id!r} limits money, but the price of model {model!r} is unknown; pass "
        "Budget(unknown_price=<US dollars for a million tokens>), or limit tokens instead",
        thread_id=ref.thread_id,
        model=model,
    )


def _exceeded(
    ref: ThreadRef,
    budget: Budget,
    tokens: tuple[int, int, int],
    money: tuple[Decimal, Decimal, Decimal | None],
) -> BudgetExceeded:
    spent, held, more = tokens
    paid, due, cost = money
    parts = []
    if budget.tokens is not None:
        parts.append(
            f"{spent:,} tokens are spent and {held:,} set aside of {budget.tokens:,}, and it may take {more:,}"
        )
    if budget.money is not None and cost is not None:
        parts.append(
            f"${paid:f} are spent and ${due:f} set aside of ${budget.money:f}, and it may cost ${cost:f}"
        )
    return BudgetExceeded(
        f"the budget of {'this run of ' if budget.per == 'run' else ''}thread {ref.thread_id!r} does not allow the "
        f"next model call: {'; '.join(parts)}. Raise the budget, or have the policy send less",
        thread_id=ref.thread_id,
        per=budget.per,
        spent_tokens=spent,
        reserved_tokens=held,
        call_tokens=more,
        limit_tokens=budget.tokens,
        spent_money=paid,
        reserved_money=due,
        call_money=cost,
        limit_money=budget.money,
    )


def settle(engine: Engine, ref: ThreadRef, reservation: int, hold: bool) -> Flow[Work]:
    """Queue the end of a reservation: given back, or with `hold` kept for good as spent; return the work."""
    while True:
        cache = yield from engine.cache(ref)
        work = engine.queue(cache, lambda _: _ending(reservation, hold))
        if work is not None:
            engine.driver.flush_soon()
            return work


def _ending(reservation: int, hold: bool) -> Callable[[], Op[None]]:
    def op() -> Op[None]:
        yield Statement("hold_reservation" if hold else "drop_reservation", (reservation,))

    return op
