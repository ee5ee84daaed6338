"""From a decision to a grant: cut to what the budget can pay, and refused if it cannot be carried out."""

import numpy as np
import pytest

from shoestring import Budget, Study
from shoestring.core.decisions import Continue, Done, Replicate, Start, Wait
from shoestring.core.events import Granted
from shoestring.core.grants import next_grant
from shoestring.errors import BudgetError, MethodError


class Decides:
    """Answers with what it was given, and counts how often it was asked."""

    def __init__(self, *decisions):
        self.decisions, self.asked = list(decisions), 0

    def decide(self, history, rng):
        self.asked += 1
        return self.decisions[min(len(history.grants), len(self.decisions) - 1)]


FIRST = Start(2, "first", {"x": 0.5})


def study_of(*decisions, budget="10 steps"):
    return Study({"x": (0.0, 1.0)}, budget=budget, method=Decides(*decisions), max_resource=9)


def after_first(*decisions, budget="10 steps"):
    """Return the next decision after the first grant was reported."""
    study = study_of(FIRST, *decisions, budget=budget)
    study.tell(study.ask(), [1.0, 0.5])
    return next_grant(Decides(FIRST, *decisions), study.history, "w", study.history.now)


def test_a_grant_is_cut_to_the_budget_and_keeps_its_goal():
    grant = after_first(Continue(0, 9, "on"), budget="5 steps")
    assert (grant.start, grant.until, grant.goal) == (2, 5, 9)
    assert grant.reason == "on (cut to step 5, where the budget ends)"


def test_a_grant_never_goes_beyond_the_last_step():
    grant = after_first(Continue(0, 1000, "on"), budget="500 steps")
    assert (grant.until, grant.goal) == (9, None)


def test_replicates_are_counted_and_have_seeds_of_their_own():
    grant = after_first(Replicate(0, 1, "again"))
    assert (grant.trial, grant.arm, grant.replicate, grant.config) == (1, 0, 1, None)
    assert grant.seed != after_first(Continue(0, 3, "on")).seed


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (Continue(7, 9, "no such trial"), "there are 1 trials"),
        (Replicate(-1, 9, "no such arm"), "there are 1 trials"),
        ("go on", "must be a Start, Continue"),
        (Wait("for a sign"), "waits although nothing is running: for a sign"),
        (Start(1, "outside", {"x": 2.0}), "outside of the space"),
        (Start(1, "no configuration"), "has no configuration"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(decision, words):
    with pytest.raises(MethodError, match=words):
        after_first(decision)


def test_the_end_is_a_wait_while_something_runs():
    study = study_of(FIRST, Done("enough"))
    grant = study.ask()
    assert study.ask() is None
    assert (study.state, study.reason) == ("waiting", "enough")
    study.tell(grant, [1.0, 0.5])
    assert (study.state, study.reason) == ("finished", "enough")


def test_what_is_spent_is_not_asked_about():
    method = Decides(FIRST)
    study = Study({"x": (0.0, 1.0)}, budget="2 steps", method=method, max_resource=9)
    study.tell(study.ask(), [1.0, 0.5])
    asked = method.asked
    assert study.reason == "the budget of 2 steps is spent"
    assert method.asked == asked


def test_asking_again_at_the_same_position_does_not_decide_again():
    method = Decides(FIRST)
    study = Study({"x": (0.0, 1.0)}, budget="20 steps", method=method, max_resource=9)
    for _ in range(3):
        assert study.state == "open"
    study.ask()
    assert method.asked <= 2, "once when it was opened, once here"


def test_values_of_numpy_become_plain():
    grant = after_first(Start(1, "numpy", {"x": np.float64(0.25)}))
    assert isinstance(grant, Granted)
    assert type(grant.config["x"]) is float


def test_a_budget_that_cannot_pay_for_the_first_trial_is_refused():
    with pytest.raises(BudgetError, match="the first needs 2 steps"):
        study_of(FIRST, budget=Budget(steps=1))
