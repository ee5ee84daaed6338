"""Budgets: which texts are budgets, which are not, and the arithmetic of spending them."""

import math

import pytest

from shoestring import Budget, Study
from shoestring.core.budget import Ledger
from shoestring.errors import (
    BudgetError,
)

SPACE = {"x": (0.0, 1.0)}


def study_of(budget="30 steps", **options):
    return Study(SPACE, budget=budget, **{"method": "asha", "max_resource": 9, **options})


@pytest.mark.parametrize(
    "bad",
    [{}, {"steps": 0}, {"steps": -3}, {"steps": 2.5}, {"seconds": math.nan}, {"cost": "many"}, {"steps": True}],
)
def test_bad_budgets_are_refused(bad):
    with pytest.raises(BudgetError):
        Budget(**bad)


@pytest.mark.parametrize(
    "bad", ["", "many", "10", "10 bananas", "h2", "-3 steps", "5 steps steps", "5 steps, 3 steps", 300, None, [1]]
)
def test_unreadable_budgets_are_refused(bad):
    with pytest.raises(BudgetError):
        study_of(bad)


@pytest.mark.parametrize("text", ["5epochs", "5evaluations", "1e2 steps", "1.5e1cost", "5. h", ".5h"])
def test_budgets_that_can_be_read(text):
    assert Budget(text)


def test_texts_and_numbers_mean_the_same():
    assert Budget("1h 30m, 400 steps") == Budget(steps=400, seconds=5400.0)
    assert str(Budget(steps=3, cost=0.5)) == "3 steps, 0.5 cost"
    with pytest.raises(BudgetError, match="gives steps twice"):
        Budget("5 steps", steps=3)


def test_a_ledger_tells_what_is_free_and_what_is_overdrawn():
    ledger = Ledger(Budget(steps=10, cost=2.0), steps=4, committed_steps=5, cost=0.5, reserved=1.5)
    assert (ledger.free("steps"), ledger.free("cost"), ledger.free("seconds")) == (1, 0.0, math.inf)
    assert (ledger.exhausted_unit(), ledger.exceeded_unit()) == ("cost", None)
    ledger.steps += 2
    assert ledger.exceeded_unit() == "steps"
    assert ledger.spent() == {"steps": 6, "evaluations": 0, "seconds": 0.0, "cost": 0.5}
