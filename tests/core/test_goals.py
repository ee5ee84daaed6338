"""Objectives and constraints: what readings they need, which readings fulfil them, and that a log keeps them."""

import math

import numpy as np
import pytest

import shoestring as ss
from shoestring.core.events import Opened, from_json, to_json
from shoestring.core.goals import constraint_on, goals
from shoestring.core.history import History
from shoestring.core.readings import check_reading
from shoestring.core.recommendation import recommend
from shoestring.core.trial_record import TrialRecord
from shoestring.errors import CorruptLog, EverythingFailed, MethodError, ReadingError, StudyMismatch

SPACE = {"x": (0.0, 1.0)}
TWO = {"error": "min", "speed": "max"}


def study_of(values=(), **options):
    """A study with these readings, one for each configuration."""
    study = ss.Study(SPACE, **{"budget": "50 evaluations", "method": "random", **options})
    for number, value in enumerate(values):
        study.add({"x": number / 100}, value)
    return study


@pytest.mark.parametrize(
    ("text", "value", "missed"),
    [
        ("<= 8", 8, 0), ("<= 8", 9.5, 1.5), (">=0.9", 0.7, 0.2), (">= 0.9", 1, 0), ("> -1e-3", 0, 0),
        ("< 8", 7.9, 0), ("< 8", 10, 2), ("<= 8 always", 9, 1),
    ],
)  # fmt: skip
def test_a_violation_is_by_how_much_a_bound_is_missed(text, value, missed):
    assert constraint_on("memory", text).violation(value) == pytest.approx(missed)


def test_a_strict_bound_is_violated_by_its_own_value():
    assert 0 < constraint_on("memory", "< 8").violation(8.0) < 1e-12


@pytest.mark.parametrize("text", ["8", "== 8", "<= eight", "<= nan", "< inf", "<= 8 sometimes", "", None, 8])
def test_a_constraint_that_cannot_be_read_is_refused(text):
    with pytest.raises(MethodError, match="the constraint on 'memory' is"):
        constraint_on("memory", text)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objectives": {}}, "must name them with their mode"),
        ({"objectives": ["error"]}, "must name them with their mode"),
        ({"objectives": {"error": "down"}}, "'error' has the mode 'down'"),
        ({"objectives": {"low": "min"}}, "'low' cannot be the name"),
        ({"objectives": TWO, "mode": "max"}, "say it there"),
        ({"objectives": TWO, "recommend": "last"}, "study.front"),
        ({"constraints": {"memory": 8}}, "write a comparison and a number"),
        ({"constraints": ["memory"]}, "must give bounds by name"),
    ],
)
def test_goals_that_cannot_be_are_refused(options, words):
    with pytest.raises(MethodError, match=words):
        study_of(**options)


def test_a_method_that_cannot_weigh_objectives_names_those_that_can():
    with pytest.raises(MethodError, match="CMAES cannot handle 2 objectives; these methods can: random, grid"):
        study_of(objectives=TWO, method="cmaes")
    with pytest.raises(MethodError, match="BOSS cannot handle constraints"):
        study_of(constraints={"memory": "< 8"}, method="boss", max_resource=9)


@pytest.mark.parametrize("given", [ss.Reading(error=0.1, speed=3), {"error": 0.1, "speed": 3}])
def test_a_reading_has_its_objectives_by_name_and_the_first_is_its_value(given):
    reading = check_reading(given, goals(TWO))
    assert (reading.value, reading.metrics["speed"]) == (0.1, 3.0)
    assert goals(TWO).losses(reading) == (0.1, -3.0)
    assert goals(TWO).values(reading) == {"error": 0.1, "speed": 3.0}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (0.1, "the objective 'error' is missing from the reading"),
        (ss.Reading(error=0.1), r"'speed' is missing from the reading: give ss.Reading\(error=\.\.\., speed=\.\.\."),
        ({"error": math.nan, "speed": 1}, "the objective 'error' is nan; only finite"),
        (ss.Reading(error=0.1, speed="fast"), "the objective 'speed' is 'fast', not a number"),
        ({"error": 0.1, "speed": math.inf}, "the objective 'speed' is inf"),
    ],
)
def test_a_missing_or_infinite_objective_fails_the_trial_by_name(given, words):
    with pytest.raises(ReadingError, match=words):
        check_reading(given, goals(TWO))
    study = ss.Study(SPACE, budget="3 evaluations", method="random", objectives=TWO)
    study.tell(study.ask(), given)
    assert study.trials[0].state == "failed"
    assert "the objective" in study.trials[0].message


def test_a_constraint_needs_its_number():
    for given, words in ((0.1, "'memory', which has the constraint '< 8', is missing"),
                         (ss.Reading(0.1, memory="much"), "not a number")):  # fmt: skip
        with pytest.raises(ReadingError, match=words):
            check_reading(given, goals(None, {"memory": "< 8"}))


def test_one_named_objective_takes_a_bare_number():
    reading = check_reading(0.5, goals({"accuracy": "max"}))
    assert (reading.value, reading.metrics) == (0.5, {"accuracy": 0.5})
    study = study_of([0.5, 0.7], objectives={"accuracy": "max"})
    assert study.best.value == 0.7


def test_an_objective_may_be_the_cost_of_a_reading():
    study = study_of([ss.Reading(0.1, cost=3), ss.Reading(0.2, cost=1)], objectives={"value": "min", "cost": "min"})
    assert [member.values for member in study.front] == [{"value": 0.1, "cost": 3}, {"value": 0.2, "cost": 1}]


def test_the_best_is_the_best_that_fulfils_the_constraints():
    readings = [ss.Reading(0.1, memory=9), ss.Reading(0.3, memory=8), ss.Reading(0.2, memory=7)]
    assert study_of(readings, constraints={"memory": "<= 8"}).best.value == 0.2
    assert study_of(readings, constraints={"memory": "<= 8"}, mode="max").best.value == 0.3


def test_without_a_feasible_reading_the_error_says_by_how_much_the_nearest_misses():
    readings = [ss.Reading(0.1, memory=90, latency=2.5), ss.Reading(0.3, memory=10, latency=3)]
    study = study_of(readings, constraints={"memory": "<= 8", "latency": "< 2"})
    words = "trial 1 at step 1 comes closest, and misses memory <= 8 by 2 and latency < 2 by 1"
    with pytest.raises(EverythingFailed, match=words):
        _ = study.best
    study = study_of([ss.Reading(error=1, speed=1)], objectives=TWO, constraints={"speed": ">= 5"})
    with pytest.raises(EverythingFailed, match="misses speed >= 5 by 4"):
        _ = study.front


@pytest.mark.parametrize(("text", "step"), [("<= 8", 3), ("<= 8 always", 1)])
def test_a_violation_is_temporary_unless_it_counts_always(text, step):
    study = study_of(constraints={"memory": text}, max_resource=3)
    study.add({"x": 0.5}, [ss.Reading(0.5, memory=5), ss.Reading(0.3, memory=9), ss.Reading(0.2, memory=6)])
    assert (study.best.step, study.trials[0].recommended.step) == (step, step)


@pytest.mark.parametrize("rule", ["best", "median", "last"])
def test_every_rule_judges_the_feasible_readings(rule):
    study = study_of(constraints={"memory": "<= 8"}, max_resource=4, recommend=rule)
    values = [(0.5, 5), (0.3, 6), (0.4, 7), (0.1, 9)]
    study.add({"x": 0.5}, [ss.Reading(value, memory=memory) for value, memory in values])
    assert study.best.value == {"best": 0.3, "median": 0.4, "last": 0.4}[rule]
    assert study.history.best("last").value == 0.4


def test_a_stored_study_with_other_goals_is_refused_with_what_differs(tmp_path):
    def opened(**options):
        return study_of(storage=tmp_path / "s.db", **options)

    opened(objectives=TWO, constraints={"memory": "< 8"})
    opened(objectives=dict(reversed(TWO.items())), constraints={"memory": "< 8"})  # the order is that of the log
    with pytest.raises(StudyMismatch, match=r"objectives was .*'speed': 'max'.* and is now None"):
        opened()
    with pytest.raises(StudyMismatch, match=r"constraints was .*'< 8'.* and is now .*'< 9'"):
        opened(objectives=TWO, constraints={"memory": "< 9"})
    stored = ss.Study.load(tmp_path / "s.db")
    assert stored.history.goals.names == ("error", "speed")


def test_a_log_without_objectives_opens_as_before():
    event = Opened(0.0, {}, {}, {"steps": 3}, "max", None, 0)
    assert "objectives" not in to_json(event)
    again = from_json("opened", 0.0, to_json(event), 0)
    assert goals(again.objectives, again.constraints, again.mode).signs == (-1.0,)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Opened(0.0, {}, {}, {"steps": 3}, "min", None, 0, objectives={"a": "max"}), "its mode differs"),
        (Opened(0.0, {}, {}, {"steps": 3}, "min", None, 0, constraints={"a": "8"}), "the constraint on 'a'"),
    ],
)
def test_goals_in_a_log_are_checked(event, words):
    with pytest.raises(CorruptLog, match=words):
        History().apply(event)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"objectives": {"error": "min", "value": "max"}}, "not the first one"),
        ({"objectives": {"self": "min", "error": "min"}}, "low, high or self"),
        ({"constraints": {"low": ">= 0"}}, "a bound of the value"),
    ],
)
def test_names_that_readings_cannot_tell_apart_are_refused(given, words):
    with pytest.raises(MethodError, match=words):
        goals(**given)


@pytest.mark.parametrize("rule", ["best", "median", "last"])
def test_a_recommendation_that_follows_the_readings_is_that_of_all_of_them(rule):
    rng = np.random.default_rng(0)
    for _ in range(20):
        study = study_of(constraints={"memory": "<= 8"}, max_resource=30, recommend=rule)
        kept = {}
        grant = study.ask()
        for step in range(1, grant.until + 1):
            value, memory = float(rng.integers(5)), int(rng.integers(5, 12))
            study.tell(grant, {step: ss.Reading(value, memory=memory)})
            kept[step] = value, memory
            feasible = {step: value for step, (value, memory) in kept.items() if memory <= 8}
            everything = {step: value for step, (value, _) in kept.items()}
            assert study.trials[0].recommended == recommend(rule, feasible or everything)


def test_a_reading_is_not_compared_with_all_before_it(monkeypatch):
    """A constraint costs a few lookups for each reading, however many steps a trial has."""
    asked = []
    is_feasible = TrialRecord.is_feasible
    monkeypatch.setattr(TrialRecord, "is_feasible", lambda trial, step: asked.append(step) or is_feasible(trial, step))
    study = study_of(constraints={"memory": "<= 8"}, max_resource=200)
    study.add({"x": 0.5}, [ss.Reading(1 / step, memory=7 + step % 3) for step in range(1, 201)])
    assert len(asked) < 6 * 200
