"""The record of each plot."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import shoestring as ss
from shoestring import plots
from shoestring.augment.bandit import Bandit
from shoestring.augment.policies import Policy
from shoestring.errors import BudgetError, MethodError
from shoestring.online import TVGPUCB, UCB1, Always, OnlineTuner
from tests.plots.studies import played, told


@pytest.fixture(scope="module")
def hyperband():
    return played()


def test_history_has_every_reading_at_what_was_spent_by_then():
    record = plots.history.data(told(3.0, 1.0, 2.0))
    assert record.values == (3.0, 1.0, 2.0)
    assert record.best == (3.0, 1.0, 1.0)
    assert (record.unit, record.spent, record.limit) == ("evaluations", (1.0, 2.0, 3.0), 50)


def test_history_keeps_the_sign_of_the_user():
    assert plots.history.data(told(3.0, 1.0, 4.0, mode="max")).best == (3.0, 3.0, 4.0)


def test_history_in_another_unit():
    assert plots.history.data(told(3.0, 1.0), unit="steps").spent == (1.0, 2.0)
    with pytest.raises(BudgetError, match="unit is 'epochs'; it must be one of steps"):
        plots.history.data(told(3.0), unit="epochs")


def test_curves_have_the_state_of_their_trials(hyperband):
    record = plots.curves.data(hyperband)
    states = {trial.index: trial.state for trial in hyperband.trials}
    assert {curve.trial: curve.state for curve in record.curves} == states
    assert {curve.state for curve in record.curves} == {"paused", "finished", "failed"}
    assert record.best == hyperband.best.trial


def test_many_curves_are_thinned_out_and_the_best_stays():
    record = plots.curves.data(told(*range(10, 0, -1)), most=4)
    assert len(record.curves) < 10 == record.total
    assert record.best == 9 in [curve.trial for curve in record.curves]


def test_chosen_curves_are_drawn_one_by_one():
    study = told(3.0, ValueError("no"), 1.0)
    record = plots.curves.data(study, trials=[2, 0])
    assert [curve.trial for curve in record.curves] == [2, 0]
    assert [mark.label for mark in record.picture().legend()] == ["trial 2 (finished)", "trial 0 (finished)"]
    assert "no reading of this trial" in plots.curves.data(study, trials=[1]).note
    with pytest.raises(MethodError, match="there is no trial 3; the study has 3, counted from 0"):
        plots.curves.data(study, trials=[3])


def test_curves_by_parameter_and_best_so_far(hyperband):
    record = plots.curves.data(hyperband, color="kind", best_so_far=True)
    labels = [label for label, _ in record.parts]
    assert labels == ["kind a", "kind b", "without kind"]
    for curve in record.curves:
        assert labels[curve.part] == f"kind {hyperband.trials[curve.trial].config['kind']}"
        assert list(curve.values) == sorted(curve.values, reverse=True)
    assert len(plots.curves.data(hyperband, color="rate").parts) == 7
    with pytest.raises(MethodError, match="color is 'shape'; it must be one of kind, rate, x"):
        plots.curves.data(hyperband, color="shape")


def test_best_so_far_of_what_is_maximised_rises():
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 steps", max_resource=3, method="random", mode="max")
    study.tell(study.ask(), {1: 1.0, 2: 3.0, 3: 2.0})
    assert plots.curves.data(study, best_so_far=True).curves[0].values == (1.0, 3.0, 3.0)


def test_a_logarithmic_axis_can_be_asked_for():
    study = told(1.0, 2.0)
    assert not plots.history.data(study).picture().panels[0].y_log
    assert plots.history.data(study, log=True).picture().panels[0].y_log
    assert not plots.history.data(told(-1.0, 2.0), log=True).picture().panels[0].y_log


def test_history_names_the_trial_that_was_best_by_then():
    assert plots.history.data(told(3.0, 1.0, 2.0, 0.5)).bests == (0, 1, 1, 3)


def test_which_reading_of_a_configuration_counts(hyperband):
    best = plots.slices.data(hyperband).slices[0]
    assert len(best.values) > len(plots.slices.data(hyperband, step="final").slices[0].values)
    by_trial = {trial.index: trial for trial in hyperband.trials}
    assert all(by_trial[i].value == value for i, value in zip(best.trials, best.values, strict=True))
    assert plots.slices.data(hyperband, step="final").where.endswith("at step 9")
    assert plots.slices.data(hyperband, step=3).where.endswith("at step 3")
    with pytest.raises(MethodError, match="step is 'last'; it must be 'best', 'final', 'common' or"):
        plots.slices.data(hyperband, step="last")


def test_any_value_of_the_readings_against_any_other(hyperband):
    record = plots.metrics.data(hyperband)
    assert record.goals == ("step", "size")
    record = plots.metrics.data(hyperband, x="size", y="cost")
    for path in record.paths:
        x = hyperband.trials[path.trial].config["x"]
        assert set(path.x) == {x}
        assert set(path.y) == {1 + x}
    with pytest.raises(MethodError, match="no reading has 'loss'; there is step, value, cost, size"):
        plots.metrics.data(hyperband, x="loss")


def test_the_regret_of_studies_is_on_a_logarithmic_axis_with_bands():
    groups = {name: [played(name, seed=seed) for seed in range(3)] for name in ("random", "asha")}
    (panel,) = plots.regret.data(groups).picture().panels
    assert panel.y_log
    marks = [mark for mark in panel.marks if hasattr(mark, "low")]
    assert len(marks) == 2
    assert all(low > 0 for mark in marks for low in mark.low)
    (panel,) = plots.regret.data(groups, log=False).picture().panels
    assert not panel.y_log


def test_burn_down_ends_at_what_is_left(hyperband):
    record = plots.burn_down.data(hyperband)
    assert record.left["steps"][0] == 1
    assert record.left["steps"][-1] == pytest.approx(1 - hyperband.spent.steps / 120)
    assert list(record.seconds) == sorted(record.seconds)


def test_shares_add_up_to_what_was_spent(hyperband):
    record = plots.shares.data(hyperband)
    assert record.total == hyperband.spent.steps
    assert sum(part for _, part in record.configurations) == sum(part for _, part in record.rungs) == record.total
    assert {step for step, _ in record.rungs} == {1, 3, 9}
    assert record.best == hyperband.best.arm


def test_rungs_count_who_reached_and_passed_them(hyperband):
    record = plots.rungs.data(hyperband)
    first = record.rungs[0]
    assert (first.bracket, first.step) == (1, 1)
    assert 0 < first.promoted < first.reached <= first.granted
    assert first.granted == sum(grant.until == 1 for grant in hyperband.history.grants)
    assert sum(rung.steps for rung in record.rungs) == hyperband.spent.steps
    assert sum(rung.failed for rung in record.rungs) == sum(trial.state == "failed" for trial in hyperband.trials)


def test_workers_are_busy_or_idle_all_the_time(hyperband):
    record = plots.workers.data(hyperband)
    assert len(record.workers) == 3
    total = max(bar.end for bar in record.bars)
    assert all(use.busy + use.idle == pytest.approx(total) for use in record.uses)
    for lane in range(3):
        bars = sorted((bar.begin, bar.end) for bar in record.bars if bar.worker == lane)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(bars))


def test_parallel_coordinates_are_in_the_order_of_the_values():
    study = told(*np.linspace(2, 1, 12))
    record = plots.parallel.data(study)
    assert record.axes == ("x", "y", "value")
    assert list(record.values) == sorted(record.values)
    assert record.lines[0][:2] == pytest.approx(tuple(study.best.config.values()))
    assert [line[2] for line in record.lines] == pytest.approx(np.linspace(0, 1, 12))


def test_slices_have_places_in_the_unit_interval_and_round_ticks():
    record = plots.slices.data(played("random", "20 evaluations"))
    by_name = {one.parameter: one for one in record.slices}
    assert [label for _, label in by_name["rate"].ticks] == ["0.001", "0.01", "0.1", "1"]
    assert [label for _, label in by_name["kind"].ticks] == ["a", "b"]
    assert [place for place, _ in by_name["rate"].ticks] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert all(0 <= place <= 1 for one in record.slices for place in one.places)


def _told_by(function, count=60):
    study = ss.Study({"x": (0.0, 1.0), "y": (0.0, 1.0)}, budget="60 evaluations", method="random", name="told")
    for _ in range(count):
        grant = study.ask()
        study.tell(grant, function(**grant.config))
    return study


def test_the_contour_falls_where_the_function_does():
    record = plots.contour.data(_told_by(lambda x, y: 3 * x - y))
    assert record.parameters == ("x", "y")
    grid = np.array(record.grid)
    assert grid[:, 0].mean() < grid[:, -1].mean()
    assert grid[0].mean() > grid[-1].mean()


def test_the_contour_of_chosen_parameters():
    study = _told_by(lambda x, y: 3 * x - y)
    assert plots.contour.data(study, x="y").parameters == ("y", "x")
    with pytest.raises(MethodError, match="'z' is not a parameter that varies; there are x, y"):
        plots.contour.data(study, y="z")


@pytest.mark.parametrize("kind", ["fanova", "permutation"])
def test_importance_finds_the_parameter_that_matters(kind):
    record = plots.importance.data(_told_by(lambda x, y: x + 0.1 * y), kind=kind)
    assert record.parameters == ("x", "y")
    assert record.shares[0] > 5 * abs(record.shares[1])
    assert record.fit > 0.8
    assert all(deviation > 0 for deviation in record.deviations)


def test_importance_by_an_unknown_kind():
    with pytest.raises(MethodError, match="kind is 'shap'; it must be one of 'fanova', 'permutation'"):
        plots.importance.data(told(1.0), kind="shap")


def test_the_pareto_front_is_what_no_other_trial_beats():
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", name="front")
    for value, size in ((1.0, 5.0), (2.0, 1.0), (2.0, 6.0), (0.5, 9.0), (1.0, 7.0)):
        study.tell(study.ask(), ss.Reading(value, size=size))
    record = plots.pareto.data(study, x="size")
    assert [record.trials[i] for i in record.front] == [1, 0, 3]
    assert [(record.x[i], record.y[i]) for i in record.front] == [(1.0, 2.0), (5.0, 1.0), (9.0, 0.5)]
    larger = plots.pareto.data(study, x="size", smaller_x=False)
    assert [larger.trials[i] for i in larger.front] == [3]
    with pytest.raises(MethodError, match="no reading has 'memory'; there is value, cost, seconds, steps, size"):
        plots.pareto.data(study, x="memory")


def test_the_pareto_front_of_a_study_that_maximises():
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", mode="max", name="front")
    for value, size in ((1.0, 5.0), (2.0, 1.0), (3.0, 6.0)):
        study.tell(study.ask(), ss.Reading(value, size=size))
    record = plots.pareto.data(study, x="size")
    assert [record.trials[i] for i in record.front] == [1, 2]


def test_regret_is_averaged_over_the_studies_of_a_group():
    record = plots.regret.data({"a": [told(3.0, 1.0), told(5.0, 3.0)], "b": [told(2.0, 2.0)]}, optimum=1.0)
    first, second = record.curves
    assert (first.label, first.studies, first.mean[0], first.mean[-1]) == ("a", 2, 3.0, 1.0)
    assert first.error[-1] == pytest.approx(1.0)
    assert set(second.mean) == {1.0}
    assert set(second.error) == {0.0}


def test_regret_of_a_list_of_studies_and_without_an_optimum():
    record = plots.regret.data([told(3.0, 1.0, name="one"), told(2.0, 2.0, name="two")])
    assert [curve.label for curve in record.curves] == ["one", "two"]
    assert record.optimum == 1.0
    with pytest.raises(MethodError, match="all be minimised or all be maximised"):
        plots.regret.data([told(1.0), told(1.0, mode="max")])


def test_the_forecast_fan_knows_only_what_was_known_then():
    study = played("forecast", workers=1)
    record = plots.forecast.data(study, at=0.5)
    assert record.fans
    known = sum(len(trial.readings) for trial in study.trials)
    assert record.position < len(study.events())
    assert sum(len(fan.known) for fan in record.fans) < known
    for fan in record.fans:
        readings = study.trials[fan.trial].readings
        assert dict((*fan.known, *fan.later)) == {step: reading.value for step, reading in readings.items()}
        assert all(low <= mid <= high for low, mid, high in zip(fan.low, fan.median, fan.high, strict=True))
        assert fan.steps[-1] == 9
    with pytest.raises(MethodError, match="at is 2; it must be a share"):
        plots.forecast.data(study, at=2)


@pytest.mark.parametrize("method", ["bhpt", "freeze-thaw", "hyperband"])
def test_the_forecast_fan_is_that_of_the_method_or_says_that_it_is_not(method):
    study = played(method, workers=1)
    record = plots.forecast.data(study, at=0.5)
    assert record.fans
    assert record.source == ("by the process of forecast: hyperband has none" if method == "hyperband" else "")
    assert f"median {record.source}" in plots.forecast(study, at=0.5, backend="svg")


def test_the_forecast_fan_of_a_method_that_is_not_known_here():
    study = played("asha")
    opened, *others = study.events()
    foreign = replace(opened, method={"class": "elsewhere:Own"})
    assert "Own is unknown" in plots.forecast.data([foreign, *others]).source


def test_the_forecast_fan_of_a_black_box_says_that_there_are_no_curves():
    assert "no curves to forecast" in plots.forecast.data(told(1.0, 2.0)).note


def test_online_looks():
    tuner = OnlineTuner(["slow", "fast"], TVGPUCB(noise=0.01, forgetting=0.01), Always())
    for _ in range(6):
        tuner.tell({"slow": 0.1, "fast": 0.9}[tuner.ask().config])
    record = plots.online.data(tuner)
    assert record.arms == ("slow", "fast")
    assert record.looked == (True,) * 6
    assert len(record.mean) == len(record.half_width) == 2
    assert [record.arms[arm] for arm in record.played] == [tuner.config_of(r) for r in tuner.history]


def test_online_looks_without_a_posterior_and_of_a_continuous_space():
    tuner = OnlineTuner(["slow", "fast"], UCB1(), Always())
    tuner.ask()
    assert plots.online.data(tuner).mean == ()
    assert math.isnan(plots.online.data(tuner).values[0])
    continuous = OnlineTuner({"x": (0.0, 1.0)}, TVGPUCB(noise=0.01, forgetting=0.01), Always())
    continuous.ask()
    with pytest.raises(MethodError, match="needs a list of arms"):
        plots.online.data(continuous)


def test_pairs_have_a_mean_where_they_were_played():
    bandit = Bandit()
    bandit.update(Policy("Rotate", 3, "Color", 1).index, 1.0)
    record = plots.pairs.data(ss.augment.PolicySet.from_bandit(bandit))
    assert record.operations == ("Color", "Rotate")
    assert math.isfinite(record.means[1][0])
    assert math.isnan(record.means[0][1])
