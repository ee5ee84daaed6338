"""The plan of a study: turns, the check, many workers, kills, and what of it can be stored."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import shoestring as ss
from shoestring.core.events import LONGEST_PLAN, Granted, from_json, to_json
from shoestring.core.history import History
from shoestring.core.planned import FIRST, origin_of, own_position, plan_in_words, planned_so_far, verdict
from shoestring.errors import CorruptLog
from shoestring.executors import Simulated
from shoestring.logs.memory import MemoryLog
from shoestring.methods import named
from shoestring.methods.forecast.milestones import first_step_compared
from shoestring.testing.laws import check_budget_law, check_plan, check_survives_json

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
METHODS = ["forecast", "gp", "tpe", "asha", "bohb", "hyperband", "bhpt", "boes"]
PLAN = [{"x": 0.5 + i / 1000, "y": 0.5} for i in range(8)]


def planned(plan=PLAN, space=SPACE, **options):
    """A study whose opening event has a plan."""
    log = MemoryLog()
    given = {"budget": "200 steps", "max_resource": 27, "method": "asha", **options}
    opened = ss.Study(space, **given).events()[0]
    entries = tuple({"config": config, "origin": "0123456789abcdef", "sd": 0.0} for config in plan)
    log.create("study", replace(opened, plan=entries))
    return ss.Study(space, storage=log, **given)


def near_the_plan(trial):
    """The plan is the best there is."""
    yield from _curve(_distance(trial.config), trial)


def far_from_the_plan(trial):
    """The plan is the worst there is."""
    yield from _curve(2 - _distance(trial.config), trial)


def _curve(end, trial):
    for step in range(trial.start + 1, 28):
        yield end + 0.1 / step


def started(study):
    """The reasons of the grants that started a configuration."""
    return [event.reason for event in study.events() if isinstance(event, Granted) and event.config is not None]


def from_the_plan(study):
    return [bool(origin_of(study.history, arm.trials[0])) for arm in study.history.arms]


@pytest.mark.parametrize("method", METHODS)
def test_a_good_plan_takes_turns_and_is_tried(method):
    study = planned(method=method).run(near_the_plan, executor=Simulated(1), progress=False)
    assert from_the_plan(study)[:4] == [True, False, True, False]
    assert verdict(study.history) == "passed"
    assert sum(from_the_plan(study)) >= FIRST
    assert study.history.arms[0].config == PLAN[0]
    assert started(study)[0] == "planned (1 of 8), from the past study 0123456789abcdef"
    assert started(study)[1] == "drawn at random: to compare planned configurations with it"
    assert study.verify().ok


@pytest.mark.parametrize("method", METHODS)
def test_a_bad_plan_is_dropped_in_words(method):
    study = planned(method=method).run(far_from_the_plan, executor=Simulated(1), progress=False)
    assert verdict(study.history) == "lost"
    assert from_the_plan(study)[:6] == [True, False, True, False, False, False]
    assert sum(from_the_plan(study)) == 2
    why = "planned configurations lost to random ones; the rest of the plan is dropped"
    assert [why in reason for reason in started(study)[:6]] == [False] * 4 + [True] * 2
    assert study.verify().ok


@pytest.mark.parametrize("workers", [8, 32])
@pytest.mark.parametrize("method", ["forecast", "gp", "tpe", "asha", "bohb"])
def test_with_many_workers_the_rest_waits_for_the_check(method, workers):
    bad = planned(method=method, budget="1800 steps")
    bad.run(far_from_the_plan, executor=Simulated(workers), progress=False)
    assert sum(from_the_plan(bad)) == 2, "more of the plan was started before the check could speak"
    assert any("the rest of the plan is dropped" in reason for reason in started(bad))
    good = planned(method=method, budget="1800 steps")
    good.run(near_the_plan, executor=Simulated(workers), progress=False)
    assert sum(from_the_plan(good)) >= FIRST
    assert from_the_plan(good)[:workers].count(True) == 2


@pytest.mark.parametrize("method", ["forecast", "gp", "tpe", "asha", "bohb"])
@pytest.mark.parametrize("workers", [8, 32])
def test_the_laws_hold_with_many_workers(method, workers):
    check_plan(named(method), workers)


@pytest.mark.parametrize("method", ["forecast", "random"])
def test_a_dropped_plan_costs_its_own_steps_alone(method):
    """The configurations of `random`, and the first random ones of `forecast`, are those of a study without a plan."""
    study = planned(method=method).run(far_from_the_plan, executor=Simulated(1), progress=False)
    assert verdict(study.history) == "lost"
    alone = ss.Study(SPACE, budget="200 steps", max_resource=27, method=method)
    alone.run(far_from_the_plan, executor=Simulated(1), progress=False)
    own = [arm.config for arm, plans in zip(study.history.arms, from_the_plan(study), strict=True) if not plans]
    first = [arm.config for arm in alone.history.arms][:4]
    assert own[:4] == first


@pytest.mark.parametrize(("budget", "others"), [("40 steps", 10), ("39 steps", 5)])
def test_in_a_small_budget_a_plan_counts_among_the_first_configurations(budget, others):
    """Otherwise first readings alone would take the most of it, and nothing would be left to finish a training."""
    study = planned(PLAN[:5], method="forecast", max_resource=3, budget=budget)
    study.run(near_the_plan, executor=Simulated(1), progress=False)
    assert planned_so_far(study.history) == 5
    assert sum("drawn at random" in reason for reason in started(study)) == others


def dropped_in_a_small_space(method):
    """A study of twelve configurations, in which methods choose some of a plan that was dropped."""
    space, plan = {"x": (0, 2), "y": (0, 3)}, [{"x": x, "y": y} for x, y in [(1, 2), (1, 1), (1, 3), (0, 2), (2, 2)]]

    def best_far_from_the_plan(trial):
        for step in range(trial.start + 1, 10):
            yield 0.1 / step - abs(trial.config["x"] - 1) - abs(trial.config["y"] - 2)

    study = planned(plan, space, method=method, max_resource=9, budget="60 steps")
    return study.run(best_far_from_the_plan, executor=Simulated(1), progress=False), plan


@pytest.mark.parametrize("method", ["forecast", "gp", "tpe", "asha", "random"])
def test_what_a_method_chooses_by_itself_is_not_counted_as_planned(method):
    study, plan = dropped_in_a_small_space(method)
    assert verdict(study.history) == "lost"
    by_plan = [reason.startswith("planned (") for reason in started(study)]
    assert sum(by_plan) == 2 < sum(arm.config in plan for arm in study.history.arms)
    assert from_the_plan(study) == by_plan
    assert planned_so_far(study.history) == 2
    assert plan_in_words(study.history).startswith("2 of 5 configurations")
    check_survives_json(study.events())
    assert study.verify().ok


def test_every_decision_of_a_method_has_random_numbers_of_its_own():
    """A planned configuration that the method chose by itself is a decision of the method."""
    study, _ = dropped_in_a_small_space("forecast")
    history, positions = History(), []
    for event in study.events():
        if isinstance(event, Granted) and not event.reason.startswith("planned ("):
            positions.append(own_position(history))
        history.apply(event)
    assert positions == list(range(len(positions)))


def test_a_plan_that_is_half_bad_stays():
    """One planned configuration that beats both random ones is enough."""
    plan = [{"x": 0.999, "y": 0.999}, *PLAN]
    study = planned(plan).run(near_the_plan, executor=Simulated(1), progress=False)
    assert verdict(study.history) == "passed"


@pytest.mark.parametrize("method", ["asha", "forecast", "gp"])
def test_a_mediocre_plan_is_dropped_in_words(method):
    """The planned configurations are between the two random ones, so the best of the four is random."""
    trial = planned(method=method).run(near_the_plan, executor=Simulated(1), progress=False)
    distances = [_distance(trial.history.arms[i].config) for i in (1, 3)]
    between = 0.5 - sum(distances) / 4
    plan = [{"x": between + i / 1000, "y": between} for i in range(5)]
    assert min(distances) < _distance(plan[1]) < _distance(plan[0]) < max(distances)
    study = planned(plan, method=method).run(near_the_plan, executor=Simulated(1), progress=False)
    assert verdict(study.history) == "beaten"
    assert sum(from_the_plan(study)) == 2
    why = "a random configuration was better than the planned ones; the rest of the plan is dropped"
    assert [why in reason for reason in started(study)[:6]] == [False] * 4 + [True, False]
    assert "a random one was better" in plan_in_words(study.history)
    assert study.verify().ok


def _distance(config):
    return abs(config["x"] - 0.5) + abs(config["y"] - 0.5)


def test_what_fails_has_lost():
    def fails_near_the_plan(trial):
        if trial.config["y"] == 0.5:
            raise ValueError("out of memory")
        yield from near_the_plan(trial)

    study = planned().run(fails_near_the_plan, executor=Simulated(1), progress=False)
    assert verdict(study.history) == "lost"
    assert sum(from_the_plan(study)) == 2


def test_what_the_user_enqueues_comes_before_the_plan():
    study = planned()
    study.enqueue({"x": 0.1, "y": 0.1})
    study.run(near_the_plan, executor=Simulated(1), progress=False)
    assert "enqueued" in started(study)[0]
    assert from_the_plan(study)[:5] == [False, True, False, True, False]


def test_a_planned_configuration_that_the_user_gave_is_not_the_plans():
    study = planned()
    study.add(PLAN[0], 0.0)
    study.run(near_the_plan, executor=Simulated(1), progress=False)
    assert study.history.arms[1].config == PLAN[1]
    assert not origin_of(study.history, study.trials[0])


def test_further_winners_get_an_eighth_of_the_budget():
    many = [{"x": 0.5 + i / 1000, "y": 0.5} for i in range(LONGEST_PLAN)]
    study = planned(many, method="forecast", budget="270 steps")
    study.run(near_the_plan, executor=Simulated(1), progress=False)
    spent = [event for event in study.events() if isinstance(event, Granted)]
    own = [e for e in spent if e.config is not None and origin_of(study.history, study.trials[e.trial])]
    assert FIRST < len(own) < LONGEST_PLAN
    assert study.history.spent_before[spent.index(own[-1])][0] < 270 / 8


def test_planned_configurations_are_trained_far_enough_to_compare():
    study = planned(method="forecast", budget="1000 steps")
    first = first_step_compared(study.history, 27, 1)
    study.run(near_the_plan, executor=Simulated(1), progress=False)
    grants = [e for e in study.events() if isinstance(e, Granted) and e.config is not None]
    assert first == 3
    assert [e.until for e in grants[: FIRST + 2]] == [first] * (FIRST + 2)


def test_without_a_plan_nothing_is_stored():
    study = ss.Study(SPACE, budget="20 steps", max_resource=9)
    opened = study.events()[0]
    assert opened.plan == ()
    assert "plan" not in json.loads(to_json(opened))


@pytest.mark.parametrize(
    "plan",
    [
        [{"config": {"x": 0.5, "y": 0.5}, "origin": "guess"}],
        [{"config": {"x": 0.5, "y": 0.5}, "origin": "guess", "sd": "wide"}],
        [{"config": {"x": 0.5, "y": 0.5}, "origin": "guess", "sd": -1}],
        [{"config": [0.5], "origin": "guess", "sd": 0}],
        [{"config": {"x": 0.5, "y": 0.5}, "origin": "a" * 65, "sd": 0}],
        [{"config": {"x": 0.5, "y": 0.5}, "origin": "guess", "sd": 0}] * (LONGEST_PLAN + 1),
        {"config": {}},
    ],
)
def test_a_plan_of_a_strangers_log_is_checked(plan):
    opened = ss.Study(SPACE, budget="20 steps", max_resource=9).events()[0]
    body = {**json.loads(to_json(opened)), "plan": plan}
    with pytest.raises(CorruptLog, match="plan"):
        from_json("opened", 0.0, json.dumps(body), 0)


def test_a_planned_configuration_outside_of_the_space_is_refused():
    with pytest.raises(CorruptLog, match="outside of"):
        planned([{"x": 7.0, "y": 0.5}])


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="killing a process needs a Unix system")
def test_kill_9_and_the_past_is_gone(tmp_path):
    """A study that was killed again and again goes on with its plan, whatever became of its past."""
    program = Path(__file__).parents[1] / "programs" / "past.py"
    past, storage = tmp_path / "past.db", tmp_path / "own.db"
    for seed in range(2):
        ss.tune(near_the_plan, SPACE, budget="60 steps", max_resource=27, seed=seed, storage=past, name=f"past-{seed}")

    def run(file, kill_after):
        command = [sys.executable, str(program), str(file), str(past), str(kill_after)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert run(tmp_path / "whole.db", 0).returncode == 0
    assert run(storage, 5).returncode == -9
    past.unlink()
    for kill_after in (3, 20):
        assert run(storage, kill_after).returncode == -9
    assert run(storage, 0).returncode == 0
    study, whole = ss.Study.load(storage, "own"), ss.Study.load(tmp_path / "whole.db", "own")
    assert study.history.opened.plan == whole.history.opened.plan != ()
    assert [trial.config for trial in study.trials] == [trial.config for trial in whole.trials]
    assert started(study) == started(whole)
    check_budget_law(study.events())
    assert study.verify().ok
