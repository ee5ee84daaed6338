"""The comparison of the rules of study.best: readings are recommended by validation and judged by test values."""

import pytest
from threadpoolctl import threadpool_limits

from benchmarks.harness import common, kept
from benchmarks.suites.defaults import recommendation
from shoestring.core.recommendation import RULES

TASKS = {task.name: task for task in recommendation.trainings()}


@pytest.mark.parametrize(
    ("name", "sign"), [("wide logistic", 1), ("balanced pole", -1)], ids=["minimised", "maximised"]
)
@pytest.mark.parametrize(("rule", "test"), [("best", 2.0), ("median", 3.0), ("last", 4.0)])
def test_a_rule_is_judged_by_the_test_value_of_its_reading(name, sign, rule, test):
    losses = [[0.9, 0.2, 0.5, 0.6], [], [0.45, 0.45, 0.46, 0.8], [0.7, 0.4]]
    tests = [[1.0, 2.0, 1.0, 1.0], [], [1.0, 1.0, 3.0, 1.0], [1.0, 4.0]]
    if rule == "median":  # of two readings the worse one counts
        losses[3][0] = 0.9
    result = {"curves": [[sign * loss for loss in curve] for curve in losses], "tests": tests}
    assert recommendation._tested(TASKS[name], rule, result) == test


def test_the_unit_of_a_task_is_the_distance_from_the_best_reading_to_the_median_end():
    end = TASKS["wide logistic"].max_resource
    played = [{"tests": [[0.5] * (end - 1) + [0.7], [0.1]]}, {"tests": [[0.5] * end, [0.9] * end]}]
    assert recommendation.scale(TASKS["wide logistic"], played, played) == pytest.approx((0.1, 0.6))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(recommendation, "trainings", lambda: [TASKS["wide logistic"], TASKS["random features"]])
    monkeypatch.setattr(recommendation, "TRAININGS", 2)
    monkeypatch.setattr(recommendation, "METHODS", ("random",))
    monkeypatch.setattr(recommendation, "runs", kept.Kept)
    with threadpool_limits(1):
        yield common.Options(seeds=2, quick=False)


def test_tables(small):
    names = {line.name for line in recommendation.table(small)}
    assert {f"{rule}, {part}" for rule in RULES for part in ("choosing half", "confirming half", "all")} <= names
    assert {"random features: median − best", "last − best, all"} <= names
    assert "wide logistic: fresh seed" in {line.name for line in recommendation.retraining(small)}
