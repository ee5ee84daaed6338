"""The Gaussian process as a sampler: batches, failures, and parameters that are too sure of themselves."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

import shoestring as ss
from shoestring.core.decisions import Proposal
from shoestring.core.randomness import generator
from shoestring.errors import MethodError
from shoestring.models.kernels import Kernel
from shoestring.samplers import GaussianProcess, Random, gp
from shoestring.samplers.ranking import fitted_forest, mean_ranks
from shoestring.samplers.surrogate import Surrogate
from shoestring.samplers.training import scaled, training_set
from shoestring.schedulers import Full
from shoestring.views.trace import trace_of

UNIT = dict.fromkeys("abc", (0.0, 1.0))


def bowl(config):
    return sum((value - 0.3) ** 2 for value in config.values())


def study_of(evaluations, loss, space=UNIT, sampler=None, seed=0):
    """A study that was told this many results, five at a time; a loss of None is a failure."""
    method = ss.compose(sampler or GaussianProcess(), Full())
    study = ss.Study(space, budget=ss.Budget(evaluations=500), method=method, seed=seed)
    for _ in range(0, evaluations, 5):
        for grant in [study.ask() for _ in range(5)]:
            value = loss(grant.config)
            if value is None:
                study.fail(grant, "on purpose")
            else:
                study.tell(grant, value)
    return study


def surrogate_of(study, **options):
    known = training_set(study.history, 3)
    return Surrogate(study.history, known, "tame", "log-ei", warp=False, **options), known


def half_fails(config):
    return None if config["a"] > 0.5 else bowl(config)


class TestBatches:
    def test_what_is_believed_of_running_trials_is_an_incumbent(self):
        """Else the best of a batch would promise the same improvement again."""

        class ThenTheBest:
            def propose(self, history, rng):
                values = rng.random(3) if len(history.arms) < 20 else (0.3, 0.3, 0.3)
                return Proposal({name: float(value) for name, value in zip("abc", values, strict=True)}, "given")

        study = study_of(20, bowl, sampler=ThenTheBest())
        before, _ = surrogate_of(study)
        study.ask()
        after, known = surrogate_of(study)
        believed, _ = after.predict(known.pending)
        assert believed[0] < before.best - 0.05
        assert after.best == pytest.approx(believed[0])
        assert after.score(known.pending)[0] < before.score(known.pending)[0] - 1

    def test_a_batch_is_not_one_configuration_five_times(self):
        study = study_of(25, lambda config: bowl(config) + 0.3 * np.cos(40 * config["a"]))
        points = np.array([list(study.ask().config.values()) for _ in range(5)])
        gaps = np.abs(points[:, None] - points).max(axis=2)[np.triu_indices(5, 1)]
        assert gaps.min() > 0.005


def noisy(config):
    """A bowl with noise of half of its spread; the same configuration has the same reading."""
    seed = [int(value * 2**32) for value in config.values()]
    return bowl(config) + 0.1 * np.random.default_rng(seed).standard_normal()


class TestNoise:
    def test_the_best_is_by_the_posterior_mean_at_what_was_tried(self):
        """With a quarter of the learned noise as a part of the function, by the formula of a sum of two processes."""
        study = study_of(50, noisy)
        losses = np.array([trial.losses[1] for trial in study.trials])
        known = training_set(study.history, 3)
        surrogate = Surrogate(study.history, known, "cap", "log-ei", warp=False)
        process = surrogate.process
        rough = surrogate.predict(known.points)[0] + 0.25 * process.parameters.noise * process.alpha
        assert study.best.trial == known.arms[rough.argmin()] != losses.argmin()
        assert study.best.value == losses[study.best.trial]
        assert losses.min() < study.best.expected < np.median(losses)

    def test_replay_and_another_process_recommend_the_same(self, tmp_path):
        method, log = ss.compose(GaussianProcess(), Full()), tmp_path / "a.db"
        study = ss.Study(UNIT, budget="60 evaluations", method=method, storage=log)
        while (grant := study.ask()) is not None:
            study.tell(grant, noisy(grant.config))
        assert study.best.expected is not None
        assert ss.Study.load(log).best == study.best == trace_of(study).best()
        assert study.history.best() == study.history.best("best") != study.best

    @pytest.mark.parametrize("loss", [bowl, half_fails, lambda config: float(config["a"] > 0.4)])
    def test_without_noise_it_is_the_best_reading(self, loss):
        study = study_of(50, loss)
        assert study.best == study.history.best("best")

    def test_the_reason_says_it(self):
        noisily, exactly = study_of(50, noisy).ask(), study_of(50, bowl).ask()
        assert "knowledge gradient, as readings are noisy" in noisily.reason
        assert "the highest log-ei" in exactly.reason

    def test_fewer_proposals_are_on_the_bounds_than_by_expected_improvement(self, monkeypatch):
        def on_bounds():
            studies = [study_of(50, noisy, seed=seed) for seed in range(5)]
            points = np.array([list(trial.config.values()) for study in studies for trial in study.trials[8:]])
            return int(np.isin(points, (0.0, 1.0)).sum())

        by_gain = on_bounds()
        monkeypatch.setattr("shoestring.samplers.surrogate._NOISY", np.inf)
        assert by_gain < on_bounds()

    def test_the_rule_best_is_the_raw_reading(self):
        study = ss.Study(UNIT, budget="50 evaluations", method="gp", recommend="best")
        while (grant := study.ask()) is not None:
            study.tell(grant, noisy(grant.config))
        assert study.best.value == min(trial.losses[1] for trial in study.trials)

    def test_curves_are_judged_by_their_readings(self):
        study = ss.Study(UNIT, budget="60 steps", max_resource=2, method="gp")
        while (grant := study.ask()) is not None:
            study.tell(grant, [noisy(grant.config)] * (grant.until - grant.start))
        assert study.best.expected is None

    def test_the_proposal_lowers_the_lowest_mean_most_on_average_over_its_reading(self):
        """By simulation: condition on readings drawn from the process, and look at the lowest mean of what is tried."""
        surrogate, known = surrogate_of(study_of(40, noisy))
        points = np.random.default_rng(0).random((4, 3))
        process, embed = surrogate.process, surrogate.embed
        gains = np.exp(surrogate.rescored(points, np.zeros(4)))
        before = surrogate.predict(known.points)[0].min()
        for point, gain in zip(points, gains, strict=True):
            (mean,), (sd,) = surrogate.predict(point[None])
            spread = np.sqrt(sd**2 + process.parameters.noise)
            lowest, deviates = [], np.linspace(-5, 5, 101)
            for deviate in deviates:
                after = process.extended(embed(point[None]), np.append(process.y, mean + spread * deviate))
                lowest.append(after.predict(embed(np.vstack([known.points, point])))[0].min())
            expected = before - np.average(lowest, weights=norm.pdf(deviates))
            assert gain == pytest.approx(expected, rel=0.05, abs=1e-5)


class TestFailures:
    def test_the_prior_mean_is_the_worst_loss(self):
        """By a dense solve: m + k (K + σ²)⁻¹ (y − m), where m is the worst loss and failed arms have it too."""
        study = study_of(25, half_fails)
        surrogate, known = surrogate_of(study)
        at = surrogate.process.parameters
        y = scaled(known.losses, "tame")
        assert len(known.failed) > 2
        X = np.vstack([known.points, known.failed])
        observed = np.append(y, np.full(len(known.failed), y.max()))
        kernel = Kernel("matern52", tuple(at.lengths), at.variance)
        K = kernel(X, X) + (at.noise + 1e-8) * np.eye(len(X))
        new = generator(0, 0, "new points").random((40, 3))
        mean = y.max() + kernel(new, X) @ np.linalg.solve(K, observed - y.max())
        found, _ = surrogate.predict(new)
        np.testing.assert_allclose(found + y.max(), mean, atol=1e-5)
        at_arms = y.max() + kernel(known.points, X) @ np.linalg.solve(K, observed - y.max())
        assert surrogate.best + y.max() == pytest.approx(at_arms.min(), abs=1e-5)

    def test_candidates_are_ordered_by_two_ranks(self):
        study = study_of(25, half_fails)
        surrogate, known = surrogate_of(study, margin=0.05)
        points = generator(0, 1, "candidates").random((30, 3))
        scores = surrogate.score(points)
        forest, best = fitted_forest("et", study.history, known, "tame")
        votes = surrogate.acquire(*forest.predict(points), best - 0.05)[0]
        expected = [(scores > scores[i]).sum() + (votes > votes[i]).sum() for i in range(30)]
        order = GaussianProcess()._order(surrogate, points, scores)
        # A tie of the forest's shares ranks, so ranks are compared and not places.
        np.testing.assert_allclose(mean_ranks([scores, votes])[order], np.sort(mean_ranks([scores, votes])))
        assert np.corrcoef(np.array(expected)[order], np.arange(30))[0, 1] > 0.9

    def test_nothing_changes_without_failures(self, monkeypatch):
        """The forest is not asked, the losses are not shifted, and the acquisition alone decides."""

        def refuse(*_):
            raise AssertionError("the forest was asked")

        monkeypatch.setattr(gp, "fitted_forest", refuse)
        study = study_of(30, bowl)
        surrogate, known = surrogate_of(study)
        np.testing.assert_array_equal(surrogate.y, scaled(known.losses, "tame"))
        points = generator(0, 2, "candidates").random((30, 3))
        order = GaussianProcess()._order(surrogate, points, surrogate.score(points))
        assert (np.diff(surrogate.score(points)[order]) <= 0).all()

    def test_a_failing_half_space_is_left_alone(self):
        """Losses fall towards the border and would go on falling: random search would lose 40 % beyond it."""

        def loss(config):
            return None if config["a"] > 0.6 else bowl(config) - config["a"]

        studies = [study_of(50, loss, seed=seed) for seed in range(2)]
        assert "a forest, as" in studies[0].history.grants[-1].reason
        late = [trial.state == "failed" for study in studies for trial in study.trials[20:]]
        assert np.mean(late) < 0.3
        assert max(study.best.value for study in studies) < -0.45


def test_reasons_are_in_the_users_units():
    study = ss.tune(lambda trial: 90 - trial.config["a"], {"a": (0.0, 1.0)}, budget="12 evaluations", mode="max")
    values = [trial.readings[1].value for trial in study.trials[:11]]
    reason = study.history.grants[11].reason
    assert f"(best so far {max(values):.4g})" in reason
    assert 89 <= float(reason.partition("predicted ")[2].split()[0]) <= 90


class TestPlateaus:
    """Half of the arms or more share the best loss."""

    def test_every_second_proposal_asks_a_forest(self):
        grants = study_of(30, lambda config: max(config["a"] - 0.6, 0.0)).history.grants[10:]
        assert all("a forest, as" in grant.reason and "share the best loss" in grant.reason for grant in grants[::2])
        assert all("the highest log-ei" in grant.reason for grant in grants[1::2])

    def test_the_process_decides_once_something_is_better(self):
        study = study_of(20, lambda config: max(config["a"] - 0.6, 0.0))
        surrogate, _ = surrogate_of(study)
        assert gp._doubt(surrogate)
        for value in (-1.0, -0.9):
            study.tell(study.ask(), value)
        surrogate, known = surrogate_of(study)
        assert (known.losses == 0.0).mean() > 0.5
        assert not gp._doubt(surrogate)

    def test_the_forest_is_uncertain_at_the_border_and_the_process_everywhere(self):
        study = study_of(60, lambda config: float(config["a"] > 0.7), sampler=Random())
        surrogate, known = surrogate_of(study)
        points = generator(0, 4, "candidates").random((300, 3))
        forest, _ = fitted_forest("et", study.history, known, "tame")
        border, level = np.abs(points[:, 0] - 0.7) < 0.1, points[:, 0] < 0.5
        spreads = [model.predict(points)[1] for model in (forest, surrogate)]
        by_forest, by_process = (sd[border].mean() / sd[level].mean() for sd in spreads)
        assert by_forest > 3 > 1.5 > by_process


class TestGrids:
    SPACE = ss.space(n=(1, 12), m=(1, 12), k=["x", "y"])

    def test_what_was_tried_has_no_score(self):
        study = study_of(25, lambda config: (config["n"] - 5) ** 2 + config["m"], self.SPACE)
        study.ask()
        surrogate, known = surrogate_of(study)
        taken = np.vstack([known.points, known.pending])
        assert np.isneginf(surrogate.open_score(taken)).all()
        assert np.isfinite(surrogate.score(taken)).all()
        cells = product(range(1, 13), range(1, 13), "xy")
        every = np.array([study.history.codec.encode({"n": n, "m": m, "k": k}) for n, m, k in cells])
        assert np.isfinite(surrogate.open_score(every)).sum() == len(every) - len(taken)

    def test_the_search_ends_at_the_best_that_is_free(self):
        """With noise the process would like to see its optimum again; the first candidate is always a free one."""
        rng = np.random.default_rng(0)
        study = study_of(
            40, lambda c: (c["n"] - 5) ** 2 + (c["m"] - 7) ** 2 + rng.normal(), {"n": (1, 12), "m": (1, 12)}
        )
        surrogate, _ = surrogate_of(study)
        points, scores = GaussianProcess()._candidates(surrogate, generator(0, 0, "candidates"))
        best = study.history.codec.decode(points[scores.argmax()])
        assert best not in [arm.config for arm in study.history.arms]


class TestDoubt:
    def test_the_priors_parameters_are_not_certain_on_a_plateau(self):
        """Nearly all losses are equal: the learned parameters see no improvement anywhere, the prior's do."""
        study = study_of(30, lambda config: float(config["a"] > 0.97), sampler=Random())
        points = generator(0, 3, "candidates").random((200, 3))
        learned, _ = surrogate_of(study, margin=0.05)
        doubting, _ = surrogate_of(study, margin=0.05, learn="none")
        assert doubting.score(points).max() > learned.score(points).max()
        assert doubting.score(points).max() > gp._LEAST_PROMISE

    def test_candidates_that_promise_nothing_are_scored_again(self, monkeypatch):
        study, asked = study_of(20, bowl), []

        class Watched(Surrogate):
            def __init__(self, *given):
                asked.append(given[-1])
                super().__init__(*given)

        monkeypatch.setattr(gp, "Surrogate", Watched)
        for least, expected in ((-1e9, ["thorough"]), (1e9, ["thorough", "none"])):
            monkeypatch.setattr(gp, "_LEAST_PROMISE", least)
            asked.clear()
            proposal = GaussianProcess().propose(study.history, generator(0, 0, "test"))
            assert asked == expected
        assert proposal.config


def test_a_liar_counts_what_is_running_as_told():
    """A lie at the lowest loss draws suggestions elsewhere; without running arms it changes nothing."""

    def asked(liar, waiting):
        method = ss.compose(GaussianProcess(startup=4, liar=liar), Full())
        study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method=method, seed=1)
        for _ in range(6):
            grant = study.ask()
            study.tell(grant, (grant.config["x"] - 0.3) ** 2)
        for _ in range(waiting):
            study.ask()
        return study.ask().config["x"]

    assert asked(None, 0) == asked("min", 0)
    assert len({asked(liar, 1) for liar in (None, "min", "max", "ignore")}) == 4
    with pytest.raises(MethodError, match="liar"):
        GaussianProcess(liar="never")
