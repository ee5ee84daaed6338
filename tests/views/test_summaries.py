"""Summaries of a study, as records."""

import pytest

import shoestring as ss
from shoestring.views.summaries import accounts, failure_groups, leaders, turning_points
from shoestring.views.trace import trace_of
from tests.plots.studies import played, told


def test_the_account_adds_up_in_every_unit():
    study = played(budget="120 steps, 10000 cost")
    found = {account.unit: account for account in accounts(trace_of(study))}
    assert set(found) == {"steps", "evaluations", "cost"}
    for unit, account in found.items():
        assert sum(account.spent_on.values()) == pytest.approx(account.spent) == pytest.approx(study.spent[unit])
    assert found["steps"].left == study.remaining.steps
    assert found["evaluations"].limit is None
    assert {"paused", "finished", "failed"} == set(found["steps"].spent_on)


def test_what_running_trials_may_use_is_committed():
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 steps", max_resource=3, method="random")
    study.tell(study.ask(), {1: 1.0})
    (steps, _) = accounts(trace_of(study))
    assert (steps.spent, steps.committed, steps.left) == (1, 2, 6)


def test_failures_are_grouped_by_message_but_for_numbers():
    study = told(ValueError("loss 3.5 at step 7"), ValueError("other"), ValueError("loss -1e9 at step 12"), 1.0)
    first, second = failure_groups(trace_of(study))
    assert first.trials == (0, 2)
    assert "loss 3.5 at step 7" in first.message
    assert second.trials == (1,)


def test_turning_points_are_the_grants_that_led_to_a_new_best():
    study = told(5.0, 4.0, 4.5, 1.0, 2.0)
    found = turning_points(trace_of(study))
    assert [point.trial for point in found] == [0, 1, 3, 4]
    assert [point.outcome for point in found] == ["new best: 5", "new best: 4", "new best: 1", "finished"]
    assert found[0].reason == study.history.grants[0].reason
    assert [point.trial for point in turning_points(trace_of(study), most=1)] == [0, 3, 4]
    assert turning_points(trace_of(told())) == []


def test_leaders_are_the_best_trials_first():
    assert [trial.index for trial in leaders(trace_of(told(5.0, ValueError("no"), 1.0, 2.0)), 2)] == [2, 3]
    assert [trial.index for trial in leaders(trace_of(told(5.0, 1.0, 7.0, mode="max")))] == [2, 0, 1]
