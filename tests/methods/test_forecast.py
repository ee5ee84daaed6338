"""Forecasts of learning curves: the process against its joint normal, and what the method does with them."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata
from threadpoolctl import threadpool_info

import shoestring as ss
from shoestring.errors import MethodError
from shoestring.executors import Simulated
from shoestring.methods import Forecast, named
from shoestring.methods.forecast.prices import step_prices
from shoestring.methods.learning_curves import Pool, remaining_steps
from shoestring.models.curve_process import CurvePrior, CurveProcess
from shoestring.models.scores import blended_scores, loss_of_score, normal_scores
from shoestring.models.threads import one_thread
from shoestring.problems import CurveTable, Synthetic, WithCurves
from shoestring.spaces.definition import as_space
from shoestring.testing import played
from shoestring.testing.laws import check_cached_equals_fresh

LAST = 34
P = CurvePrior()


def matern52(a, b, length):
    r = np.sqrt(5) * np.linalg.norm(a[:, None] - b[None], axis=2) / length
    return (1 + r + r**2 / 3) * np.exp(-r)


def covariance(points, arms, steps, other_points, other_arms, other_steps, is_table=False):
    """The kernel as it is written in the module, pair by pair."""
    gap = np.abs(np.log(steps)[:, None] - np.log(other_steps)[None])
    shared = np.exp(-(gap**2) / (2 * P.shared_length**2))
    own = P.own**2 + P.own_trend**2 * np.exp(-gap / P.own_length)
    near = np.asarray(arms)[:, None] == np.asarray(other_arms)[None]
    if not is_table:
        near = matern52(points, other_points, P.near_length)
    alike = matern52(points, other_points, P.space_length) * (P.alike**2 + P.alike_trend**2 * shared)
    return P.level**2 + P.trend**2 * shared + alike + near * own


def some_readings(rng, arms=12, dimensions=3):
    """Each arm's milestones in order, the arms mixed."""
    X = rng.random((arms, dimensions))
    depths = {arm: list((1, 2, 3, 5, 8)[: rng.integers(1, 6)]) for arm in range(arms - 3)}
    order = [arm for arm, steps in depths.items() for _ in steps]
    rng.shuffle(order)
    return X, [(int(arm), depths[arm].pop(0)) for arm in order]


def direct(X, readings, u, points=None, is_table=False):
    """Mean and deviation of the end of every curve, from the whole joint normal."""
    arms, steps = (np.array(column) for column in zip(*readings, strict=True))
    K = covariance(X[arms], arms, steps, X[arms], arms, steps, is_table) + P.noise**2 * np.eye(len(arms))
    ends = X if points is None else points
    names = np.arange(len(X)) if points is None else -np.ones(len(points))
    last = np.full(len(ends), LAST)
    cross = covariance(X[arms], arms, steps, ends, names, last, is_table)
    prior = covariance(ends, np.arange(len(ends)), last, ends, np.arange(len(ends)), last, is_table)
    quadratic = u @ np.linalg.solve(K, u)
    scale = (P.strength + quadratic) / (P.strength + len(u))
    variance = np.diag(prior) - np.einsum("ij,ij->j", cross, np.linalg.solve(K, cross))
    return cross.T @ np.linalg.solve(K, u), np.sqrt(scale * variance)


def forecast(process, w, scale):
    return process.means(w), process.deviations(scale)


def filled(X, readings, is_table=False):
    process = CurveProcess(X, LAST, is_table=is_table)
    for arm, step in readings:
        process.add(arm, step)
    return process


@pytest.mark.parametrize("is_table", [False, True])
def test_forecasts_are_those_of_the_joint_normal(is_table):
    rng = np.random.default_rng(0)
    X, readings = some_readings(rng)
    u = rng.standard_normal(len(readings))
    process = filled(X, readings, is_table)
    wanted_moments = direct(X, readings, u, is_table=is_table)
    for found, wanted in zip(forecast(process, *process.whiten(u)), wanted_moments, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_forecasts_at_points_outside_of_the_pool():
    rng = np.random.default_rng(1)
    X, readings = some_readings(rng)
    u, points = rng.standard_normal(len(readings)), rng.random((5, 3))
    process = filled(X, readings)
    found = process.forecast_points(*process.whiten(u), points)
    for one, wanted in zip(found, direct(X, readings, u, points), strict=True):
        np.testing.assert_allclose(one, wanted, atol=1e-9)


def test_a_column_added_late_is_a_column_that_was_there():
    rng = np.random.default_rng(2)
    X, readings = some_readings(rng)
    u = rng.standard_normal(len(readings))
    early, late = filled(X, readings), CurveProcess(X[:-1], LAST)
    for arm, step in readings[:7]:
        late.add(arm, step)
    assert late.add_column(X[-1]) == len(X) - 1
    for arm, step in readings[7:]:
        late.add(arm, step)
    for process in (early, late):
        process.add(len(X) - 1, 1)
    u = np.append(u, 0.3)
    for one, other in zip(forecast(early, *early.whiten(u)), forecast(late, *late.whiten(u)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_promised_readings_narrow_the_forecast_and_are_taken_back():
    rng = np.random.default_rng(3)
    X, readings = some_readings(rng)
    u = rng.standard_normal(len(readings))
    process = filled(X, readings)
    w, scale = process.whiten(u)
    mean, deviation = forecast(process, w, scale)
    process.expect("in", 5, len(X) - 1, X[-1])
    for name in ("out", "also out"):
        process.expect(name, 1, None, rng.random(3))
    promised = forecast(process, w, scale)
    np.testing.assert_array_equal(forecast(process.without_expected(), w, scale)[1], deviation)
    for name in ("in", "out", "also out"):
        process.forget(name)
    np.testing.assert_array_equal(promised[0], mean)
    assert (promised[1] < deviation).all()
    np.testing.assert_array_equal(forecast(process, w, scale)[1], deviation)


def test_several_promises_outside_are_known_to_each_other():
    rng = np.random.default_rng(4)
    X, readings = some_readings(rng)
    outside = rng.random((2, 3))
    process = CurveProcess(X[:-2], LAST)
    # Before and between the readings, and before the last columns are added: it is one joint normal all the same.
    for place, (arm, step) in enumerate(readings):
        if place in (0, 7):
            process.expect(place, 1, None, outside[place // 7])
        if place in (5, 9):
            process.add_column(X[-2 + place // 9])
        if place % 3 == 1:
            process.expect("this", step, arm, X[arm])
        process.add(arm, step, "this" if place % 3 == 1 else None)
    n = len(readings)
    arms = np.array([*(arm for arm, _ in readings), -1, -2])
    everywhere = np.vstack([X[arms[:n]], outside])
    steps = np.array([*(step for _, step in readings), 1, 1])
    K = covariance(everywhere, arms, steps, everywhere, arms, steps) + P.noise**2 * np.eye(n + 2)
    last = np.full(len(X), LAST)
    cross = covariance(everywhere, arms, steps, X, np.arange(len(X)), last)
    variance = process.prior_variance - np.einsum("ij,ij->j", cross, np.linalg.solve(K, cross))
    np.testing.assert_allclose(forecast(process, np.zeros(n), 1.0)[1] ** 2, variance, atol=1e-9)


def interleaved(rng, count, asked_at):
    """A process that was given columns, readings and expected readings, and was asked for forecasts at some of them."""
    X = rng.random((20, 3))
    process = CurveProcess(X, LAST)
    for place in range(count):
        if place % 5 == 2:
            process.add_column(rng.random(3))
        column, step = int(rng.integers(20)), int(rng.integers(1, LAST))
        process.expect("outside", 5, None, rng.random(3))
        process.expect("inside", step, column, X[column])
        process.forget("outside" if place % 4 else f"long {place - 12}")
        process.expect(f"long {place}", 9, None, rng.random(3))
        process.add(column, step, "inside" if place % 2 else None)
        process.forget("inside")
        process.forget("outside")
        if place in asked_at:
            forecast(process, *process.whiten(np.ones(place + 1)))
    return process


@pytest.mark.parametrize("count", [64, 150])
def test_forecasts_do_not_depend_on_when_others_were_asked_for(count):
    """The readings fill blocks: to the last bit, what was computed row by row before a block was full has no effect."""
    found = []
    for asked_at in (range(count), (40, 100), ()):
        process = interleaved(np.random.default_rng(5), count, asked_at)
        w, scale = process.whiten(np.sin(np.arange(count)))
        points = np.random.default_rng(6).random((4, 3))
        found.append([w, *forecast(process, w, scale), *process.forecast_points(w, scale, points)])
    for one in found[1:]:
        for part, wanted in zip(one, found[0], strict=True):
            np.testing.assert_array_equal(part, wanted)


@pytest.mark.parametrize("block", [1, 4])
def test_blocks_of_readings_are_the_same_joint_normal(block, monkeypatch):
    rows = interleaved(np.random.default_rng(5), 50, range(50))
    monkeypatch.setattr("shoestring.models.curve_process._BLOCK", block)
    blocks = interleaved(np.random.default_rng(5), 50, ())
    u = np.sin(np.arange(50))
    for one, other in zip(forecast(rows, *rows.whiten(u)), forecast(blocks, *blocks.whiten(u)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_linear_algebra_of_a_decision_has_one_thread_and_gives_the_others_back():
    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    with one_thread():
        assert set(threads()) == {1}
    assert threads() == before != []


def test_scores_of_equal_losses_are_alike_and_as_scipy_ranks_them():
    losses = np.random.default_rng(0).integers(0, 9, 50).astype(float)
    losses[[3, 7]] = np.inf
    np.testing.assert_allclose(normal_scores(losses), ndtri((rankdata(losses) - 0.5) / 50))


def test_scores_know_order_alone():
    losses = np.array([1e34, 3.0, 1e-4, 0.5, 0.5])
    np.testing.assert_array_equal(normal_scores(losses), normal_scores(np.log(losses)))
    scores = normal_scores(losses)
    assert loss_of_score(scores[1], losses, scores) == 3.0
    assert loss_of_score(-9.0, losses, scores) == 1e-4


def test_blended_scores_know_order_and_size_but_no_unit():
    losses = np.array([0.10, 0.11, 0.50, 0.51, 0.9, 1e9, np.inf])
    scores = blended_scores(losses)
    np.testing.assert_array_equal(np.argsort(scores), np.arange(7))
    np.testing.assert_allclose(blended_scores(1000 * losses - 7), scores, atol=1e-6)
    assert loss_of_score(scores[4], losses[:-1], scores[:-1]) == 0.9
    close, ahead = (np.diff(blended_scores(np.array([best, 0.4, 0.5, 0.6])))[0] for best in (0.39, 0.1))
    assert ahead > 1.3 * close  # ranks alone make them equal


def test_blended_scores_of_extreme_losses_are_finite():
    for losses in ([np.inf, np.inf], [1e308, -1e308, 0.0], [1.0, 1.0, 1.0], [0.0, 5e-324, 1e300]):
        assert np.isfinite(blended_scores(np.array(losses))).all()


def opened(budget, space=None, **options):
    return ss.Study(space or {"x": (0.0, 1.0)}, budget=budget, method="forecast", max_resource=27, **options)


def test_what_is_left_counts_in_every_unit():
    study = opened(ss.Budget(steps=100, cost=30.0))
    assert remaining_steps(study.history) == 100
    study.tell(study.ask(), ss.Reading(1.0, cost=2.0))
    assert remaining_steps(study.history) == 28  # the first grant is of two steps
    assert remaining_steps(opened(ss.Budget(seconds=60)).history) == float("inf")


def test_a_pool_is_all_of_a_small_space_and_the_same_again():
    small = opened("50 steps", {"a": [1, 2, 3], "b": (1, 4)}).history
    assert len(Pool(small, 50)) == 12
    large = opened("50 steps", {"x": (0.0, 1.0), "a": [1, 2]}).history
    np.testing.assert_array_equal(Pool(large, 40).points, Pool(large, 40).points)


def curves(name="hartmann6"):
    return WithCurves(Synthetic(name), max_resource=27)


def test_it_finds_better_than_random_and_halving_on_curves_that_cross():
    means = {}
    for name in ("forecast", "asha", "random"):
        ends = []
        for seed in range(6):
            problem = curves()
            study, _ = played(
                named(name), problem, budget=ss.Budget(steps=10 * 27), workers=1, max_resource=27, seed=seed
            )
            ends.append(min(loss for _, _, loss in study.history.readings) - problem.best)
        means[name] = np.mean(ends)
    assert means["forecast"] < 0.8 * means["asha"] < 0.8 * means["random"]


def test_the_last_steps_go_to_the_arm_with_the_best_forecast():
    study, _ = played(Forecast(), curves(), budget=ss.Budget(steps=60), workers=1, max_resource=27)
    last = [grant for grant in study.history.grants if (grant.state or {}).get("rule") == "end game"]
    steps = {arm: sum(g.until - g.start for g in last if g.arm == arm) for arm in {g.arm for g in last}}
    assert max(steps.values()) > 0.6 * sum(steps.values()) > 5
    assert "steps left" in last[0].reason
    assert "forecast of" in last[0].reason


def test_another_budget_is_another_plan():
    plans = [
        [
            (g.arm, g.until)
            for g in played(Forecast(), curves(), budget=ss.Budget(steps=n), workers=1, max_resource=27)[
                0
            ].history.grants
        ]
        for n in (40, 200)
    ]
    assert plans[0] != plans[1][: len(plans[0])]


def test_promotions_by_rank_have_their_share():
    study, _ = played(Forecast(), curves(), budget=ss.Budget(steps=400), workers=1, max_resource=27)
    by = {}
    for grant in study.history.grants:
        by.setdefault((grant.state or {}).get("rule"), []).append(grant.until - grant.start)
    assert 0.2 < sum(by["guard"]) / 400 < 0.45
    none, _ = played(Forecast(guard=0.0), curves(), budget=ss.Budget(steps=400), workers=1, max_resource=27)
    assert not any((grant.state or {}).get("rule") == "guard" for grant in none.history.grants)


def test_where_steps_are_free_every_trial_is_trained_to_its_end():
    study, _ = played(Forecast(), curves(), budget=ss.Budget(evaluations=9), workers=1, max_resource=27)
    assert [trial.state for trial in study.trials] == ["finished"] * 9


@pytest.mark.parametrize("evaluations", [3, 12])
def test_few_evaluations_are_not_used_up_by_first_steps(evaluations):
    limits = ss.Budget(evaluations=evaluations, steps=20 * 27)
    study, _ = played(Forecast(), curves(), budget=limits, workers=1, max_resource=27)
    trained = [trial.step for trial in study.trials]
    assert len(trained) == evaluations
    assert trained.count(27) >= 2, "the evaluations ended while there were steps to spend"


def test_it_ends_when_everything_is_trained():
    def train(trial):
        for step in range(trial.start + 1, 5):
            yield trial.config["a"] / step

    study = ss.Study({"a": [1, 2, 3]}, budget="1000 steps", method="forecast", max_resource=4)
    study.run(train, progress=False)
    assert study.spent["steps"] == 12
    assert study.state == "finished"


def test_long_studies_are_condensed_and_go_on_alike(monkeypatch):
    monkeypatch.setattr("shoestring.methods.forecast.readings._MOST_READINGS", 24)
    monkeypatch.setattr("shoestring.models.curve_process._BLOCK", 8)
    problem, budget = curves("branin"), ss.Budget(steps=200)
    study, events = played(Forecast(pool=50), problem, budget=budget, workers=2, max_resource=27)
    check_cached_equals_fresh(Forecast(pool=50), events)
    assert sum(len(trial.losses) > 0 for trial in study.trials) > 24
    assert study.history.best().value - problem.best < 1.0


@pytest.mark.parametrize("workers", [1, 7])
def test_diverging_and_huge_losses(workers):
    def train(trial):
        rate = trial.config["rate"]
        for step in range(trial.start + 1, 28):
            yield float("nan") if rate > 0.9 and step > 3 else 1e4 ** (1 - step / 27) * (1e-4 + abs(rate - 0.3))

    study = ss.Study({"rate": (0.0, 1.0)}, budget="300 steps", method="forecast", max_resource=27)
    study.run(train, executor=Simulated(workers), progress=False)
    assert abs(study.best.config["rate"] - 0.3) < 0.1
    assert study.spent["steps"] == 300


def run(objective, space, budget="150 steps", max_resource=15, **options):
    study = ss.Study(space, budget=budget, method="forecast", max_resource=max_resource, **options)
    return study.run(objective, executor=Simulated(1), progress=False)


CUBE = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}


def bowl(config, step):
    return sum((value - 0.3) ** 2 for value in config.values()) + 1 / step


@pytest.mark.parametrize("seed", [0, 1])
def test_a_copy_of_a_good_configuration_is_not_trained_again(seed):
    """If all configurations of a cell are the same, a neighbour is a copy as long as it stays in the cell."""

    def cell(config):
        return tuple(int(8 * value) for value in config.values())

    def train(trial):
        for step in range(trial.start + 1, 28):
            yield bowl({name: int(8 * value) / 8 for name, value in trial.config.items()}, step)

    history = run(train, CUBE, "270 steps", 27, seed=seed).history
    parents = {
        grant.arm: grant.state["parent"] for grant in history.grants if (grant.state or {}).get("parent", -1) >= 0
    }
    copies = [
        arm for arm, parent in parents.items() if cell(history.arms[arm].config) == cell(history.arms[parent].config)
    ]
    assert parents
    assert all(history.arms[arm].trials[0].step == 1 for arm in copies)


def test_of_configurations_with_the_same_readings_one_is_continued():
    """The third parameter has no effect, and the others are rounded to quarters."""

    def cell(config):
        return tuple(round(4 * config[name]) / 4 for name in "ab")

    def train(trial):
        for step in range(trial.start + 1, 28):
            yield bowl(dict(zip("ab", cell(trial.config), strict=True)), step)

    trials = run(train, CUBE, "270 steps", 27).trials
    continued = [cell(trial.config) for trial in trials if trial.step > 3]
    assert len({cell(trial.config) for trial in trials}) < len(trials)
    assert continued
    assert len(continued) == len(set(continued))


def test_trials_that_have_not_learned_anything_yet_are_not_taken_for_the_same():
    def train(trial):
        for step in range(trial.start + 1, 28):
            yield max(0, step - 8) * trial.config["a"]

    trials = run(train, CUBE, "270 steps", 27, mode="max").trials
    assert sum(trial.step > 8 for trial in trials) >= 3


def test_repetitions_are_trained_where_nothing_else_is_left():
    def train(trial):
        for step in range(trial.start + 1, 6):
            yield trial.config["a"] / step

    study = run(train, {"a": [1, 2, 3], "no effect": [1, 2]}, "1000 steps", 5)
    assert study.spent["steps"] == 30
    check_cached_equals_fresh(Forecast(), study.events())


def test_half_of_the_first_configurations_go_further():
    def train(trial):
        for step in range(trial.start + 1, 28):
            yield bowl(trial.config, step)

    firsts = [
        grant.until
        for grant in run(train, CUBE, "150 steps", 27).history.grants
        if grant.reason.startswith("one of the first")
    ]
    assert firsts == [3] * 5 + [1] * 5


@pytest.mark.parametrize(("budget", "last"), [("80 steps", 1000), ("1 step", 20)])
def test_a_budget_much_smaller_than_a_training_is_not_spent_on_first_steps(budget, last):
    def train(trial):
        for step in range(trial.start + 1, last + 1):
            yield bowl(trial.config, step)

    study = run(train, CUBE, budget, last)
    assert len(study.trials) >= min(10, study.spent["steps"])


def test_failures_by_chance_do_not_repel_the_search():
    """Good configurations are trained longer, so they have more chances to fail."""

    def train(trial):
        rng = np.random.default_rng(trial.seed + trial.start)
        for step in range(trial.start + 1, 28):
            if rng.random() < 0.06:
                raise OSError("the file system is gone")
            yield bowl(trial.config, step)

    ends = [run(train, CUBE, "270 steps", 27, seed=seed).best.value - 1 / 27 for seed in range(4)]
    assert np.mean(ends) < 0.15


@pytest.mark.parametrize("seed", range(3))
def test_it_learns_which_configurations_fail_at_once(seed):
    def train(trial):
        for step in range(trial.start + 1, 16):
            if trial.config["a"] > 0.5 and trial.config["b"] > 0.5:
                raise ValueError("no")
            yield bowl(trial.config, step)

    study = run(train, CUBE, seed=seed)
    assert sum(trial.state == "failed" for trial in study.trials) <= 12


def test_reasons_say_where_trials_failed():
    def train(trial):
        for step in range(trial.start + 1, 16):
            if step == 4:
                raise ValueError("diverged")
            yield bowl(trial.config, step)

    reasons = [grant.reason for grant in run(train, CUBE).history.grants]
    assert any("trials failed, in step 4)" in reason for reason in reasons)


def test_it_learns_which_configurations_diverge_later():
    def train(trial):
        for step in range(trial.start + 1, 16):
            yield float("nan") if trial.config["a"] > 0.6 and step > 5 else bowl(trial.config, step) - trial.config["a"]

    lost = []
    for seed in range(4):
        trials = run(train, CUBE, seed=seed).trials
        lost.append(sum(trial.step + 1 for trial in trials if trial.state == "failed"))
    assert np.mean(lost) <= 60


def test_failures_between_readings_leave_the_state_that_is_rebuilt_from_the_log():
    class Fails:
        space, max_resource, mode = as_space(CUBE), 15, "min"

        def __call__(self, trial):
            for step in range(trial.start + 1, 16):
                if trial.config["a"] > 0.3 and step > 6 * trial.config["b"]:
                    raise ValueError("no")
                yield bowl(trial.config, step)

        def seconds(self, config, step, seed=0):
            return 1.0 + config["c"]

    study, events = played(Forecast(pool=50), Fails(), budget=ss.Budget(steps=150), workers=3, max_resource=15)
    assert sum(trial.state == "failed" for trial in study.trials) > 2
    check_cached_equals_fresh(Forecast(pool=50), events)


@pytest.mark.parametrize("unit", ["cost", "seconds"])
def test_expensive_configurations_must_promise_more(unit):
    """Of two sides of the space that are equally good, the one with cheaper steps gets most of them."""

    class Priced:
        def __call__(self, trial):
            for step in range(trial.start + 1, 28):
                cost = self.seconds(trial.config) if unit == "cost" else None
                yield ss.Reading((trial.config["x"] - 0.5) ** 2 + 1 / step, cost=cost)

        def seconds(self, config, step=1, seed=0):
            return 10.0 if config["slow"] > 0.5 else 1.0

    space = {"x": (0.0, 1.0), "slow": (0.0, 1.0)}
    histories = [run(Priced(), space, ss.Budget(**{unit: 600.0}), 27, seed=seed).history for seed in range(4)]
    assert sum(map(cheap_share, histories)) / 4 > 2 / 3
    per = {"cost": "per unit of cost (a step took 1 to 10)", "seconds": "per second (a step took 1 to 10)"}[unit]
    assert all(any(per in grant.reason for grant in history.grants) for history in histories)


def cheap_share(history):
    """The share of the steps after the first ten configurations that went to the cheap half of the space."""
    steps = [sum(t.step for t in history.trials[10:] if (t.config["slow"] > 0.5) == slow) for slow in (False, True)]
    return steps[0] / sum(steps)


def test_prices_alike_is_blind_to_what_steps_cost():
    class Priced:
        def __call__(self, trial):
            yield from ((trial.config["x"] - 0.5) ** 2 + 1 / step for step in range(trial.start + 1, 28))

        def seconds(self, config, step=1, seed=0):
            return 10.0 if config["slow"] > 0.5 else 1.0

    def share(prices):
        space, budget = {"x": (0.0, 1.0), "slow": (0.0, 1.0)}, ss.Budget(seconds=600.0)
        study = ss.Study(space, budget=budget, method=Forecast(prices=prices), max_resource=27, seed=0)
        study.run(Priced(), executor=Simulated(1), progress=False)
        assert any("(a step took" in grant.reason for grant in study.history.grants) == (prices == "measured")
        return cheap_share(study.history)

    assert share("measured") > share("alike")


@pytest.mark.parametrize("once", [5.0, 0.0])
def test_what_is_paid_once_is_not_expected_of_later_steps(once):
    """Later steps of a trial are priced below the mean of its first ones by what the other trials say."""
    X, Z = np.random.default_rng(0).random((60, 2)), lambda points: points

    class Started:
        def __init__(self, step):
            self.step = step

    class Some:
        points, trial = X, lambda self, column: Started(1 + column % 8)

    def price(column):
        return np.exp(2 * X[column, 0])

    measured = {c: price(c) * np.exp(once / 5 / (1 + c % 8)) for c in range(40)}
    steps = np.full(60, 4.0)
    found = step_prices(measured, Some(), steps, Z, True)
    true = np.array([price(c) * (np.exp(once / 5 / 4) if c >= 40 else 1) for c in range(60)])
    assert np.allclose(np.log(found), np.log(true), atol=0.1)
    average = step_prices(measured, Some(), steps, Z, False)
    assert np.allclose(average[:40], list(measured.values()))


def test_where_starting_takes_long_fewer_trials_are_started():
    """With "average", what starting took is expected of later steps too: new trials look as cheap as old ones."""

    class Loads:
        def __call__(self, trial):
            yield from ((trial.config["x"] - 0.5) ** 2 + 1 / step for step in range(trial.start + 1, 28))

        def seconds(self, config, step=1, seed=0):
            return 30.0 if step == 1 else 1.0

    def started(prices, seed):
        study = ss.Study({"x": (0.0, 1.0)}, budget=ss.Budget(seconds=900.0), method=Forecast(prices=prices),
                         max_resource=27, seed=seed)  # fmt: skip
        study.run(Loads(), executor=Simulated(1), progress=False)
        return len(study.trials)

    assert sum(started("measured", seed) for seed in range(3)) < sum(started("average", seed) for seed in range(3))


def misleading(config, step):
    """Give the best readings to the other end of the space in the first half of a training."""
    early = bowl({name: 1 - value for name, value in config.items()}, step)
    return 2 + early if step < 14 else bowl(config, step)


def rules(reading, budget="540 steps", workers=1, seed=0):
    def train(trial):
        for step in range(trial.start + 1, 28):
            yield reading(trial.config, step)

    study = ss.Study(CUBE, budget=budget, method="forecast", max_resource=27, seed=seed)
    study.run(train, executor=Simulated(workers), progress=False)
    return study, [(grant.state or {}).get("rule") for grant in study.history.grants]


@pytest.mark.parametrize("workers", [1, 4])
def test_where_early_readings_mislead_half_of_the_steps_are_whole_trainings_and_it_says_so(workers):
    study, by = rules(misleading, workers=workers)
    whole = [grant for grant, rule in zip(study.history.grants, by, strict=True) if rule == "whole"]
    assert len(whole) >= 7
    assert all((grant.start, grant.until) == (0, 27) for grant in whole)
    assert any("the best end is not one that early readings chose" in grant.reason for grant in whole)
    assert any("under a Gaussian process of" in grant.reason for grant in whole)
    check_cached_equals_fresh(Forecast(), study.events())


def test_where_early_readings_mislead_it_is_better_than_methods_that_do_not_notice():
    def ends(method):
        def train(trial):
            for step in range(trial.start + 1, 28):
                yield misleading(trial.config, step)

        studies = [ss.Study(CUBE, budget="540 steps", method=method, max_resource=27, seed=s) for s in range(6)]
        return np.mean([s.run(train, executor=Simulated(1), progress=False).best.value for s in studies])

    assert ends("forecast") < 0.7 * ends("asha")


def test_few_trainings_are_whole_where_early_readings_are_right():
    for seed in range(3):
        study, by = rules(bowl, seed=seed)
        spent = np.cumsum([grant.until - grant.start for grant in study.history.grants])
        early = int(np.searchsorted(spent, 10 * 27, side="right"))
        assert 2 <= by[:early].count("whole") <= 3
        assert 4 <= by[early:].count("whole") <= 6


def test_a_larger_share_of_whole_trainings_is_that_of_all_steps():
    study = ss.Study(CUBE, budget="540 steps", method=Forecast(whole=0.8), max_resource=27, seed=0)
    study.run(lambda trial: (bowl(trial.config, step) for step in range(trial.start + 1, 28)),
              executor=Simulated(1), progress=False)  # fmt: skip
    rules = [(grant.state or {}).get("rule") for grant in study.history.grants]
    assert 12 <= rules.count("whole") <= 16


def test_a_small_budget_has_no_whole_trainings():
    assert "whole" not in rules(misleading, "500 steps")[1]


def test_few_evaluations_are_not_used_up_by_whole_trainings():
    assert "whole" not in rules(misleading, ss.Budget(steps=540, evaluations=15))[1]


def test_whole_trainings_are_rows_of_a_table_that_were_not_tried():
    xs = np.random.default_rng(0).random((200, 3))
    ys = [[misleading(dict(zip("abc", x, strict=True)), step) for step in range(1, 28)] for x in xs]
    study, _ = played(Forecast(), CurveTable(xs, ys), budget=ss.Budget(steps=20 * 27), workers=1, max_resource=27)
    whole = [g.arm for g in study.history.grants if (g.state or {}).get("rule") == "whole"]
    assert len(whole) > 4
    assert len({tuple(arm.config.items()) for arm in study.history.arms}) == len(study.history.arms)


def test_whole_trainings_learn_from_failures():
    def train(trial):
        for step in range(trial.start + 1, 28):
            if trial.config["a"] > 0.6:
                raise ValueError("no")
            yield misleading(trial.config, step)

    study = ss.Study(CUBE, budget="540 steps", method="forecast", max_resource=27, seed=1)
    study.run(train, executor=Simulated(1), progress=False)
    whole = [grant.config["a"] for grant in study.history.grants if (grant.state or {}).get("rule") == "whole"]
    assert len(whole) > 6
    assert sum(a > 0.6 for a in whole[6:]) < len(whole[6:]) / 3


@pytest.mark.parametrize("workers", [8, 32])
def test_many_workers_leave_enough_for_the_end_of_a_training(workers):
    study = rules(bowl, "270 steps", workers=workers)[0]
    assert study.spent["steps"] == 270
    assert max(trial.step for trial in study.trials) > 20, "all was spent on first steps"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startup": 0}, "startup is 0"),
        ({"pool": 1.5}, "pool is 1.5"),
        ({"guard": 2}, "guard is 2"),
        ({"eta": 1}, "eta is 1"),
        ({"whole": 2}, "whole is 2"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(MethodError, match=message):
        Forecast(**options)


def test_it_needs_to_know_how_long_a_training_is():
    with pytest.raises(MethodError, match="forecast needs max_resource"):
        ss.Study({"x": (0.0, 1.0)}, budget="10 steps", method="forecast").ask()
