"""Constraints in forecast: which configurations will be feasible at their end, and what follows from it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import shoestring as ss
from shoestring.core.goals import goals
from shoestring.executors import Simulated
from shoestring.methods import Forecast
from shoestring.methods.forecast.copies import Duplicates, Neighbours
from shoestring.methods.forecast.feasible import ConstraintReadings, _fulfilled
from shoestring.methods.forecast.rungs import Rungs
from shoestring.methods.registry import describe, rebuild
from shoestring.testing.laws import check_cached_equals_fresh

LAST = 9
SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0), "kind": ["s", "t"]}


def reading(config, step):
    """The best configuration is infeasible; the latency is the same at all steps, the accuracy grows."""
    x, y = config["x"], config["y"] + (config["kind"] == "t") * 0.05
    error = (x - 0.9) ** 2 + (y - 0.9) ** 2 + 0.5 / step
    return ss.Reading(error, latency=x * y, accuracy=0.5 + 0.4 * x * (1 - 1 / (1 + step)), peak=min(step, 5) * x)


def study_of(method="forecast", steps=180, workers=1, seed=0, **options):
    def train(trial):
        for step in range(trial.start + 1, LAST + 1):
            yield reading(trial.config, step)

    study = ss.Study(SPACE, budget=f"{steps} steps", method=method, max_resource=LAST, seed=seed, **options)
    study.run(train, executor=Simulated(workers), progress=False)
    return study


def ends_of(levels, bound="<= 0.5"):
    """The probability that each curve of levels fulfils a bound at step 9, by arm; steps are 1, 2, 3, 5 and 8."""
    constraints = goals(constraints={"memory": bound}).constraints
    readings = ConstraintReadings(constraints)
    for arm, curve in enumerate(levels):
        trial = SimpleNamespace(arm=arm, readings={}, is_feasible=lambda step: True)
        for step, value in zip((1, 2, 3, 5, 8), curve, strict=False):
            trial.readings[step] = ss.Reading(0.1, memory=value)
            readings.add(trial, step, 0.1, True)
    _, ends, deviations = readings.persisting(LAST)
    return _fulfilled(np.array([one.strict for one in constraints]), ends, deviations)


def test_of_what_does_not_change_one_reading_tells_all():
    known = [[value] * 5 for value in (0.1, 0.4, 0.5, 0.6, 0.9)]
    assert ends_of([*known, [0.5], [0.51]]).tolist() == [1, 1, 1, 0, 0, 1, 0]
    assert ends_of([*known, [0.5], [0.49]], "< 0.5").tolist() == [1, 1, 0, 0, 0, 0, 1]


def test_without_changes_seen_nothing_is_certain():
    probabilities = ends_of([[0.1], [0.4], [0.6], [0.9]])
    assert ((probabilities > 0) & (probabilities < 1)).all()
    assert (np.diff(probabilities) < 0).all()


def test_of_what_improves_a_violation_may_be_temporary():
    rising = [[base + 0.15 * math.log(step) for step in (1, 2, 3, 5, 8)] for base in (0.1, 0.15, 0.2, 0.25)]
    near, far = ends_of([*rising, [0.32], [0.02]], ">= 0.5")[-2:]
    assert near > 0.8
    assert far < 0.5


@pytest.mark.parametrize(("bound", "share"), [("latency <= 0.4", 0.7), ("accuracy >= 0.75", 0.5)])
def test_the_best_within_a_constraint_is_found(bound, share):
    """Without the model a violation is only a worse loss."""

    def found(method):
        name, _, text = bound.partition(" ")
        return [study_of(method, 120, seed=seed, constraints={name: text}) for seed in range(3)]

    modelled, blind = found(Forecast()), found(Forecast(feasibility="worse loss"))
    finished = [trial for study in modelled for trial in study.trials if trial.step == LAST]
    assert np.mean([trial.is_feasible(LAST) for trial in finished]) >= share
    best = [np.mean([study.best.value for study in studies]) for studies in (modelled, blind)]
    assert best[0] <= best[1] + 0.005


def test_a_reason_says_what_is_multiplied_and_the_forecast_is_in_the_users_units():
    study = study_of(constraints={"latency": "<= 0.4"})
    reasons = [grant.reason for grant in study.history.grants]
    assert any("expected improvement times the probability of latency <= 0.4 per step" in reason for reason in reasons)


def test_while_nothing_is_feasible_the_probability_alone_decides():
    study = ss.Study(SPACE, budget="60 steps", method="forecast", max_resource=LAST, constraints={"latency": "<= -1"})
    while grant := study.ask():
        study.tell(grant, {grant.until: reading(grant.config, grant.until)})
    reasons = [grant.reason for grant in study.history.grants]
    assert any("has the largest probability of latency <= -1 per step" in reason for reason in reasons)
    assert not any("or better" in reason for reason in reasons)
    assert study.history.best() is None


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"constraints": {"latency": "<= 0.4"}},
        {"constraints": {"peak": "<= 2 always", "accuracy": ">= 0.6"}},
        {"objectives": {"value": "min", "latency": "min"}, "constraints": {"accuracy": "> 0.7"}},
    ],
    ids=["one", "two", "with two objectives"],
)
def test_cached_equals_fresh(options, workers):
    study = study_of(steps=130, workers=workers, **options)
    assert len(study.trials) > 12
    check_cached_equals_fresh(Forecast(), study.events())


def test_a_failed_configuration_is_not_what_has_to_be_improved_on():
    def train(trial):
        for step in range(trial.start + 1, LAST + 1):
            if step > 2 and trial.config["kind"] == "t":
                raise ValueError("no")
            yield reading(trial.config, step)

    study = ss.Study(SPACE, budget="150 steps", method="forecast", max_resource=LAST, constraints={"latency": "<= 0.4"})
    study.run(train, executor=Simulated(2), progress=False)
    check_cached_equals_fresh(Forecast(), study.events())
    finished = [trial for trial in study.trials if trial.state == "finished"]
    assert finished
    assert any(trial.state == "failed" for trial in study.trials)


def test_a_study_of_before_sees_a_violation_as_a_worse_loss():
    stored = describe(Forecast())
    del stored["feasibility"]
    assert rebuild(stored).feasibility == "worse loss"
    assert not rebuild(stored).models_constraints
    reasons = [grant.reason for grant in study_of(rebuild(stored), constraints={"latency": "<= 0.4"}).history.grants]
    assert not any("probability" in reason for reason in reasons)


def test_without_constraints_the_option_changes_nothing():
    grants = [study_of(Forecast(feasibility=option)).history.grants for option in ("modelled", "worse loss")]
    assert grants[0] == grants[1]


def test_a_neighbour_that_is_feasible_is_not_behind_a_parent_that_is_not():
    curves = {0: {1: 0.1, 2: 0.1}, 1: {1: 0.3, 2: 0.3}}
    neighbours = Neighbours(curves, lambda arm, step: arm == 0 and step == 2)
    neighbours.parent[1] = 0
    assert not neighbours.behind(1)
    assert Neighbours(curves, lambda arm, step: False).behind(1) is False  # it has no parent there
    neighbours = Neighbours(curves, lambda arm, step: arm == 1)
    neighbours.parent[1] = 0
    assert neighbours.behind(1)


def test_configurations_with_other_violations_are_no_copies():
    duplicates = Duplicates()
    for step, loss in ((1, 0.3), (2, 0.2), (3, 0.1)):
        duplicates.take_in(0, step, loss, (0.0,))
        duplicates.take_in(1, step, loss, (0.5,))
        duplicates.take_in(2, step, loss, (0.0,))
    assert not duplicates.is_duplicate(1)
    assert duplicates.is_duplicate(2)


def test_promotions_take_what_is_feasible_first():
    rungs = Rungs(LAST, 1)
    for arm in range(6):
        rungs.add(arm, 1, arm / 10)
    missed = {0: 0.9, 1: 0.7, 2: 0.0, 3: 0.0, 4: 0.6, 5: 0.8}
    promoted = rungs.promotion(3, lambda arm: True, lambda arm, step: arm != 2, lambda arm, step: missed[arm])
    assert (promoted.arm, promoted.place, promoted.among) == (3, 2, 6)
