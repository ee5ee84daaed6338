"""BHPT and its baselines: what they decide, how budgets change it, and what their reasons say."""

import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import shoestring as ss
from shoestring.errors import MethodError
from shoestring.executors import Simulated
from shoestring.methods import BHPT, BayesianOptimization, FreezeThaw, RandomSearch
from shoestring.methods.baselines.freeze_thaw import entropies
from shoestring.methods.baselines.rollout import reward
from shoestring.methods.beliefs import grid
from shoestring.methods.learning_curves import expected_improvement
from shoestring.models.action_values import AHEAD, Outlook, best_of_others, expected_minimum, lookahead_gains, q_values
from shoestring.models.fantasies import Fantasy
from shoestring.models.freeze_thaw import Belief, Mixture, Parameters, TimeGrid
from shoestring.problems import CurveTable
from shoestring.testing import played
from shoestring.testing.laws import check_cached_equals_fresh

RNG = np.random.default_rng


def viewed(left, counts=(0, 2, 5, 8), steps=8, seed=0, **parameters):
    """An outlook on four arms with some readings."""
    belief = Belief(
        Parameters(start=5.0, **parameters),
        RNG(seed).random((4, 2)),
        np.arange(1.0, steps + 1),
        counts=np.array(counts),
    )
    mixture = Mixture([belief])
    means = mixture.means(3 + RNG(seed).normal(size=(4, steps)))
    return Outlook.of(mixture, means, np.arange(1, steps + 1), left, np.ones(4, dtype=bool)), means


class TestActionValues:
    def test_expected_minimum_by_simulation(self):
        draws = RNG(0).normal(1.0, 2.0, 400_000)
        expected = np.minimum(draws, 0.5).mean()
        assert expected_minimum(np.array([1.0]), np.array([2.0]), 0.5)[0] == pytest.approx(expected, abs=0.02)
        assert expected_minimum(np.array([1.0]), np.array([0.0]), 0.5)[0] == 0.5

    def test_an_outlook_reaches_as_far_as_the_budget_and_the_last_step(self):
        view, means = viewed(left=2)
        for arm, reached in enumerate((0, 2, 5)):
            assert view.loss[arm] == means[arm, reached : reached + 2].min()
        assert view.loss[3] == math.inf, "trained to its end"
        far, means = viewed(left=100)
        assert far.loss[2] == means[2, 5:].min()
        np.testing.assert_array_equal(view.losses_with(1)[:3], means[[0, 1, 2], [0, 2, 5]])

    def test_q_is_the_expected_minimum_with_the_best_of_the_others(self):
        view, _ = viewed(left=3)
        values, deviation = q_values(view), view.deviation()
        for arm in range(3):
            rest = min(view.loss[k] for k in range(3) if k != arm)
            expected = expected_minimum(view.loss[arm : arm + 1], deviation[arm : arm + 1], rest)[0]
            assert values[arm] == pytest.approx(expected)
        assert values[3] == math.inf
        assert (q_values(view, incumbent=-3.0)[:3] <= -3.0).all()

    def test_the_published_q_does_not_see_the_best_loss_so_far(self):
        """Equation 8 compares with what the others may reach only; the shipped rule with the best loss in hand too."""
        view, _ = viewed(left=3)
        hand = float(view.loss.min()) - 0.1
        seen = SimpleNamespace(outlook=view, incumbent=hand)
        values = {option: BHPT(incumbent=option).q(seen) for option in (True, False)}
        np.testing.assert_array_equal(values[False], q_values(view))
        np.testing.assert_array_equal(values[True], q_values(view, hand))
        assert (values[True][:3] <= hand).all()
        assert (values[False][:3] > values[True][:3]).any()
        assert not BHPT.paper().incumbent
        assert BHPT().incumbent
        with pytest.raises(MethodError, match="incumbent"):
            BHPT(rule="kgm", incumbent=False)

    @pytest.mark.parametrize("left", [3, 100])
    def test_a_look_is_worth_what_it_tells_for_the_steps_it_takes(self, left):
        """Against the definition, arm by arm and look by look."""
        view, _ = viewed(left)
        now, gains = min(view.loss.min(), 2.0), lookahead_gains(view, incumbent=2.0)
        for arm in range(3):
            found = [-math.inf]
            for ahead in AHEAD:
                if ahead < left and view.reached[arm] + ahead <= len(view.steps):
                    others = view.losses_with(left - ahead)
                    rest = min([2.0, *(others[k] for k in range(4) if k != arm)])
                    place = view.place[[arm]]
                    told = view.belief.variances(np.array([arm]), place)
                    told = told - view.belief.variances(np.array([arm]), place, ahead)
                    found.append((now - expected_minimum(view.loss[[arm]], np.sqrt(told), rest)[0]) / ahead)
            assert gains[arm] in (pytest.approx(max(found)), -math.inf)
            assert max(found) <= gains.max() + 1e-12, "no arm that is worth more is left out"
        assert gains[3] == -math.inf

    def test_a_look_that_takes_all_that_is_left_is_not_considered(self):
        view, _ = viewed(left=1)
        assert (lookahead_gains(view) == -math.inf).all()

    def test_an_outlook_leaves_the_means_as_they_are(self):
        """One arm's row is its own transpose in memory."""
        mixture = Mixture([Belief(Parameters(), RNG(0).random((1, 2)), np.arange(1.0, 6), counts=np.array([2]))])
        means = mixture.means(RNG(0).normal(size=(1, 5)))
        before = means.copy()
        Outlook.of(mixture, means, np.arange(1, 6), 10, np.ones(1, dtype=bool))
        np.testing.assert_array_equal(means, before)

    def test_exhaustion(self):
        assert viewed(left=1)[0].needs_whole_budget()
        assert not viewed(left=100)[0].needs_whole_budget()

    def test_best_of_others(self):
        np.testing.assert_array_equal(best_of_others(np.array([3.0, 1.0, 2.0])), [1, 2, 1])
        np.testing.assert_array_equal(best_of_others(np.array([3.0])), [math.inf])


def table(arms=30, steps=12, seed=0):
    """Curves that fall from 5 to a floor that depends smoothly on two parameters."""
    rng = RNG(seed)
    X = rng.random((arms, 2))
    floor = 3 * ((X - 0.4) ** 2).sum(axis=1)
    Y = floor[:, None] + (5 - floor[:, None]) * 0.7 ** np.arange(1, steps + 1)
    return CurveTable(X, Y + 0.01 * rng.normal(size=Y.shape), space={"a": (0.0, 1.0), "b": (0.0, 1.0)})


def run(method, budget=60, problem=None, seed=0, workers=1):
    problem = problem or table()
    study = ss.Study(
        problem.space, budget=ss.Budget(steps=budget), method=method, max_resource=problem.max_resource, seed=seed
    )
    study.run(problem, executor=Simulated(workers))
    return study


def shares(study):
    """Return how the steps were spread over the arms, largest first."""
    return sorted((trial.step for trial in study.trials), reverse=True)


RULES = {
    "q": BHPT(rule="q"),
    "eps": BHPT(epsilon=0.5),
    "kgm": BHPT(rule="kgm"),
    "ml": BHPT(learn="ml"),
    "slice": BHPT(rule="q", learn="slice"),
}


@pytest.mark.parametrize("rule", RULES)
def test_it_finds_a_good_arm(rule):
    problem, seeds = table(), range(2 if rule == "slice" else 4)  # slice sampling takes seconds a study
    regrets = [problem.normalised_regret(run(RULES[rule], seed=seed).history) for seed in seeds]
    random = [problem.normalised_regret(run("random", seed=seed).history) for seed in seeds]
    assert np.mean(regrets) < 0.3
    assert np.mean(regrets) < np.mean(random)


def test_another_budget_makes_other_decisions():
    """A small budget goes to one arm after a few looks; a large one is spread wide first."""
    small, large = run(BHPT(rule="q", learn=None), budget=12), run(BHPT(rule="q", learn=None), budget=120)
    assert len(large.trials) > len(small.trials)
    first = [grant.trial for grant in large.history.grants[:12]]
    assert [grant.trial for grant in small.history.grants] != first
    assert shares(small)[0] >= 5


def test_the_last_units_go_to_the_best_arm():
    study = run(BHPT(rule="q"), budget=20)
    assert "needs all that is left" in study.history.grants[-1].reason
    assert study.history.grants[-1].trial == min(study.trials, key=lambda t: min(t.losses.values())).index


def test_without_epsilon_zero_and_one():
    """ε = 0 is the best arm always (after the first), ε = 1 never: the two branches of Eq. 11."""
    always = run(BHPT(epsilon=0.0, learn=None), budget=12)
    never = run(BHPT(epsilon=1.0, learn=None), budget=30)
    assert all("may overtake" not in grant.reason for grant in always.history.grants)
    assert any("may overtake" in grant.reason for grant in never.history.grants[:10])


def test_reasons_are_in_the_users_units():
    problem = table()
    flipped = CurveTable(
        problem.space.meta["rows"], -1000 * problem._Y, space={"a": (0.0, 1.0), "b": (0.0, 1.0)}, mode="max"
    )
    low, high = (
        run(BHPT()),
        ss.Study(flipped.space, budget=ss.Budget(steps=60), method=BHPT(), mode="max", max_resource=12, seed=0),
    )
    high.run(flipped, executor=Simulated(1))
    assert [g.trial for g in low.history.grants] == [g.trial for g in high.history.grants]
    reason = high.history.grants[-1].reason
    told = float(reason.split("should reach ")[1].split(" ")[0])
    assert -5000 <= told <= 0
    assert " left" in reason
    assert "trial " in reason


def test_running_grants_are_thought_of_as_done():
    """With several workers no arm is granted twice at a time, and the arms differ."""
    study = run(BHPT(), workers=5, budget=40)
    first = [grant.trial for grant in study.history.grants[:5]]
    assert len(set(first)) == 5
    assert study.spent["steps"] == 40


def test_the_pool_doubles_when_half_of_it_is_started():
    def flat(trial):
        for _ in range(trial.start, 2):
            yield 1.0 + 0.01 * trial.arm

    study = ss.tune(flat, {"x": (0.0, 1.0)}, budget="60 steps", max_resource=2, method=BHPT(pool=4, learn=None))
    assert len(study.trials) > 4
    assert study.verify().ok


@pytest.mark.parametrize(("learn", "most"), [("ml", 20), ("slice", 7)])
def test_what_is_learned_is_a_function_of_the_log(learn, most):
    """Rebuilt for a decision, across turns of learning and a pool that doubles, it decides the same."""
    method = BHPT(pool=8, learn=learn)
    study, events = played(method, budget=ss.Budget(steps=20))
    assert len(study.trials) > 4, "more than half of the first pool"
    check_cached_equals_fresh(method, events, most)


def test_a_finite_space_is_trained_to_its_end():
    def curve(trial):
        for step in range(trial.start + 1, 4):
            yield trial.config["a"] + 1 / step

    study = ss.tune(curve, {"a": [1, 2, 3]}, budget="100 steps", max_resource=3, method=BHPT())
    assert study.spent["steps"] == 9
    assert study.state != "running"


@pytest.mark.parametrize("wild", [math.nan, math.inf, 1e300])
def test_diverging_losses_do_no_harm(wild):
    def curve(trial):
        for step in range(trial.start + 1, 10):
            yield wild if trial.config["x"] > 0.6 and step > 2 else 1e-4 * abs(trial.config["x"] - 0.3) + 1e-4 / step

    study = ss.tune(curve, {"x": (0.0, 1.0)}, budget="90 steps", max_resource=9, method=BHPT())
    assert study.spent["steps"] == 90
    assert study.best.value < 1e-4


def test_a_budget_of_seconds_and_of_cost():
    class Slow:
        space = ss.space(x=(0.0, 1.0))

        def reading(self, config, step, seed):
            return ss.Reading(abs(config["x"] - 0.3) + 1 / step, cost=2.0)

        def seconds(self, config, step, seed):
            return 10.0

        def __call__(self, trial):
            for step in range(trial.start + 1, 10):
                yield self.reading(trial.config, step, trial.seed)

    for budget in ("500s", "100 cost"):
        study = ss.tune(Slow(), Slow.space, budget=budget, max_resource=9, method=BHPT(rule="q"), executor=Simulated(1))
        assert 45 <= study.spent["steps"] <= 50
        assert "needs all that is left" in study.history.grants[-1].reason


def test_the_papers_setting_opens_configurations_in_no_order():
    """To independent configurations all new ones are alike; the order of a table must not decide."""
    rows = [table().row(trial.config) for trial in run(BHPT.paper(), budget=40).trials]
    assert len(rows) > 4
    assert rows != sorted(rows)


class TestBaselines:
    def test_bayesian_optimisation_stops_nothing(self):
        study = run(BayesianOptimization(startup=2), budget=60)
        assert shares(study) == [12] * 5
        assert ["improvement" in grant.reason for grant in study.history.grants] == [False] * 2 + [True] * 3

    def test_freeze_thaw_freezes_and_thaws(self):
        study = run(FreezeThaw(learn=None), budget=80)
        went_back = [a.trial != b.trial and b.start > 0 for a, b in pairwise(study.history.grants)]
        assert any(went_back)
        assert len(study.trials) > 3

    def test_freeze_thaw_prefers_the_reading_that_tells(self):
        """Of two arms that may be best, the one that is hardly known; a sure loser's reading tells nothing."""
        times = TimeGrid(Parameters(start=5.0), np.arange(1.0, 9.0))
        part = Fantasy(
            times, np.array([0.0, 0.0, 9.0]), np.diag([0.01, 1.0, 0.01]), np.array([5, 1, 5]), np.zeros((3, 9))
        )
        left = entropies(part, RNG(0).standard_normal((500, 3)))
        assert left.argmin() == 1

    def test_rollout_of_one_reading_is_expected_improvement(self):
        part, best = imagined(), 2.0
        means, variances = part.next_readings()
        for arm in range(3):
            expected = expected_improvement(means, np.sqrt(variances), best)[arm]
            assert reward(part, arm, best, 1) == pytest.approx(expected)
            assert reward(part, arm, best, 3) >= expected - 0.05 * abs(expected) - 1e-3

    def test_random_search_is_the_method_of_that_name(self):
        assert [g.config for g in run(RandomSearch()).history.grants] == [
            g.config for g in run("random").history.grants
        ]

    def test_an_imagined_reading_does_what_a_reading_does(self):
        belief, values = believed()
        arms = np.array([2, 0, 3])
        part = Fantasy.of(belief, values, arms)
        mean, variance = part.next_readings()
        np.testing.assert_allclose(variance, belief.variances(arms, np.array([3, 1, 6])))
        values[2, 2] = 1.7
        after = part.after(0, 1.7)
        belief.observe(2)
        later = Fantasy.of(belief, values, arms)
        assert mean[0] != 1.7
        for one, two in ((after.mu, later.mu), (after.C, later.C), (after.p, later.p), (after.q, later.q)):
            np.testing.assert_allclose(one, two, atol=1e-9)


def believed():
    values = 3 + RNG(3).normal(size=(4, 8))
    return Belief(
        Parameters(start=5.0), RNG(2).random((4, 2)), np.arange(1.0, 9.0), counts=np.array([0, 1, 2, 5])
    ), values


def imagined():
    belief, values = believed()
    return Fantasy.of(belief, values, np.array([0, 1, 2]))


def test_grid():
    assert grid(27, None) == tuple(range(1, 28))
    assert grid(100, None)[:2] == (4, 8)
    assert grid(5, 2) == (2, 4, 5)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rule": "best"}, "rule is 'best'"),
        ({"epsilon": 2.0}, "epsilon is 2.0"),
        ({"rule": "kgm", "epsilon": 0.5}, "epsilon is 0.5"),
        ({"pool": 0}, "pool is 0"),
        ({"learn": "mcmc"}, "learn is 'mcmc'"),
        ({"scale": "sqrt"}, "scale is 'sqrt'"),
        ({"parameters": {"gamma": 1.0}}, "parameters has 'gamma'"),
        ({"parameters": {"noise": -1.0}}, "noise is -1.0"),
    ],
)
def test_wrong_options_are_refused(options, told):
    with pytest.raises(MethodError, match=told):
        BHPT(**options)
