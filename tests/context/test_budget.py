"""Budgets: what can be a limit, and what a model without a price is taken to cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from threadkeep import ConfigurationError
from threadkeep.context.budget import Budget


def test_money_is_exact_as_it_is_written() -> None:
    for written in ("0.30", 0.3, Decimal("0.3")):
        assert Budget(money=written).money == Decimal("0.3")
    budget = Budget(tokens=10, unknown_price="1.5")
    assert (budget.money, budget.per, budget.reserve) == (None, "thread", 1024)
    assert budget.assumed(2_000_000) == 3
    assert Budget(tokens=10).assumed(1) is None
    assert Budget(money=0).money == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "limits nothing"),
        ({"tokens": 0}, "tokens=0"),
        ({"tokens": -5}, "tokens=-5"),
        ({"tokens": True}, "tokens=True"),
        ({"tokens": 1.5}, "tokens=1.5"),
        ({"tokens": 9, "reserve": -1}, "reserve=-1"),
        ({"tokens": 9, "per": "user"}, "per='user'"),
        ({"money": "much"}, "money='much'"),
        ({"money": "NaN"}, "money='NaN'"),
        ({"money": float("inf")}, "money=inf"),
        ({"money": -1}, "money=-1"),
        ({"money": 1, "unknown_price": "x"}, "unknown_price='x'"),
    ],
)
def test_what_is_no_budget(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Budget(**options)
    assert told in str(caught.value)
    assert "pass" in str(caught.value)
