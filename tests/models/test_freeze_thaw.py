"""The freeze-thaw belief against the joint Gaussian that it stands for, and what is learned of its parameters."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from shoestring.errors import MethodError
from shoestring.models.freeze_thaw import Belief, Mixture, Parameters, distances, log_likelihood
from shoestring.models.freeze_thaw_learning import Readings, likeliest, move, sample

STARTS = [{"start": None}, {"start": 5.0}, {"start": 5.0, "start_informs": True}]


class Joint:
    """The joint Gaussian of all readings of all arms, conditioned by brute force."""

    def __init__(self, parameters, points, times, values, counts):
        p, (K, T) = parameters, values.shape
        t = np.concatenate([[0.0], times])
        K_t = p.decay * (p.beta / (t[:, None] + t + p.beta)) ** p.alpha
        share = np.zeros(T) if p.start is None else K_t[1:, 0] / K_t[0, 0]  # what the start still weighs
        decay = K_t[1:, 1:] - (0 if p.start is None else np.outer(share, K_t[0, 1:]))
        K_x = replace(p, start=None).asymptotes(distances(points, points))[1]
        level = np.full(K, p.mean)
        if p.start_informs:  # the start as one more reading, solved for by itself
            gain = np.linalg.solve(K_x + p.decay * np.eye(K), K_x).T
            level, K_x = level + gain @ (p.start - level), K_x - gain @ K_x
        mean = np.kron(np.ones(K), share * (p.start or 0.0)) + np.kron(level, 1 - share)
        smooth = np.kron(np.eye(K), decay) + np.kron(K_x, np.outer(1 - share, 1 - share))
        read = np.concatenate([k * T + np.arange(n) for k, n in enumerate(counts)]).astype(int)
        seen = np.concatenate([values[k, :n] for k, n in enumerate(counts)])
        noisy = smooth + p.noise * np.eye(K * T)
        gain = np.linalg.solve(noisy[np.ix_(read, read)], smooth[read]).T
        self.mean = (mean + gain @ (seen - mean[read])).reshape(K, T)
        self.covariance = noisy - gain @ smooth[read]
        self.log_likelihood = multivariate_normal(mean[read], noisy[np.ix_(read, read)]).logpdf(seen)
        to_asymptotes = np.kron(K_x, 1 - share)[:, read]
        weights = np.linalg.solve(noisy[np.ix_(read, read)], to_asymptotes.T).T
        self.asymptotes = level + weights @ (seen - mean[read])
        self.asymptotes_covariance = K_x - weights @ to_asymptotes.T


@pytest.fixture(params=STARTS, ids=str)
def case(request):
    """Parameters, points, times, values, how often each arm was read, and the joint Gaussian."""
    rng = np.random.default_rng(1)
    parameters = Parameters(**request.param, own=0.1, noise=0.01, mean=0.7, lengthscale=0.5)
    points, times = rng.random((7, 3)), 1.3 * np.arange(1.0, 10.0)
    values, counts = 1 + 2 * rng.normal(size=(7, 9)), np.array([0, 3, 1, 9, 5, 0, 2])
    return parameters, points, times, values, counts, Joint(parameters, points, times, values, counts)


def observed(parameters, points, times, counts, seed=0):
    belief = Belief(parameters, points, times)
    order = np.repeat(np.arange(len(points)), counts)
    np.random.default_rng(seed).shuffle(order)
    for arm in order:
        belief.observe(arm)
    return belief


def to_come(counts, times):
    return np.array([(k, s) for k, n in enumerate(counts) for s in range(n, len(times))]).T


class TestAgainstTheJoint:
    def test_means_and_variances(self, case):
        parameters, points, times, values, counts, joint = case
        belief = observed(parameters, points, times, counts)
        arms, places = to_come(counts, times)
        np.testing.assert_allclose(belief.means(values)[arms, places], joint.mean[arms, places], atol=1e-9)
        expected = np.diag(joint.covariance).reshape(values.shape)[arms, places]
        np.testing.assert_allclose(belief.variances(arms, places + 1), expected, atol=1e-9)

    def test_asymptotes(self, case):
        parameters, points, times, values, counts, joint = case
        belief = observed(parameters, points, times, counts)
        np.testing.assert_allclose(belief.asymptotes(values), joint.asymptotes, atol=1e-9)
        np.testing.assert_allclose(np.tril(belief.C), np.tril(joint.asymptotes_covariance), atol=1e-9)

    def test_variance_once_more_is_read(self, case):
        parameters, points, times, values, counts, _ = case
        belief = observed(parameters, points, times, counts)
        more = counts.copy()
        more[4] += 2
        later = Joint(parameters, points, times, values, more)
        expected = np.diag(later.covariance).reshape(values.shape)[4, 8]
        assert belief.variances(np.array([4]), np.array([9]), 2)[0] == pytest.approx(expected, abs=1e-9)
        assert belief.variances(np.array([4]), np.array([6]), 2)[0] == 0  # it will have been read

    def test_log_likelihood(self, case):
        parameters, points, times, values, counts, joint = case
        seen = counts > 0
        if parameters.start_informs:  # of the arms that are given
            joint = Joint(parameters, points[seen], times, values[seen], counts[seen])
        found = log_likelihood(parameters, distances(points[seen], points[seen]), times, values[seen], counts[seen])
        assert found == pytest.approx(joint.log_likelihood, abs=1e-8)


def test_after_8000_readings_the_sequential_update_equals_a_refit():
    rng = np.random.default_rng(0)
    parameters = Parameters(start=10.0, form="squared_exponential", own=0.0)
    points, times = rng.random((200, 2)), np.arange(1.0, 49.0)
    counts = np.full(200, 40)
    one_by_one = observed(parameters, points, times, counts)
    at_once = Belief(parameters, points, times, counts=counts)
    values = rng.normal(size=(200, 48))
    assert counts.sum() == 8000
    np.testing.assert_allclose(np.tril(one_by_one.C), np.tril(at_once.C), atol=1e-8)
    np.testing.assert_allclose(one_by_one.means(values), at_once.means(values), atol=1e-8)


def test_readings_that_come_out_as_expected_change_no_mean():
    parameters, times = Parameters(start=3.0), np.arange(1.0, 9.0)
    points = np.random.default_rng(0).random((5, 2))
    belief = observed(parameters, points, times, np.array([2, 0, 1, 0, 0]))
    values = np.ones((5, 8))
    before = belief.means(values)
    values[0, 2] = before[0, 2]
    twin = belief.ahead(np.array([4, 1, 2, 1, 1]))
    np.testing.assert_allclose(twin.means(values)[1:], before[1:], atol=1e-9)
    assert twin.variances(np.array([0]), np.array([8]))[0] < belief.variances(np.array([0]), np.array([8]))[0]
    assert belief.counts[0] == 3, "the original, and the start counts as one, stays as it was"


def test_imputed_readings_count_as_those_that_are_read_one_by_one():
    rng = np.random.default_rng(0)
    parameters, times, points = Parameters(start=3.0), np.arange(1.0, 9.0), rng.random((7, 2))
    before, after = np.array([2, 0, 1, 0, 8, 0, 0]), np.array([4, 0, 1, 8, 8, 1, 0])
    read, imputed = (
        observed(parameters, points, times, after),
        observed(parameters, points, times, before).ahead(after + 1),
    )
    values, arms = rng.normal(size=(7, 8)), np.arange(7)
    np.testing.assert_allclose(imputed.means(values), read.means(values), atol=1e-9)
    np.testing.assert_allclose(imputed.covariance(arms), read.covariance(arms), atol=1e-9)
    np.testing.assert_allclose(imputed.spread(arms), np.diag(read.C), atol=1e-9)
    for ahead in (0, 2):
        found = [belief.variances(arms, np.full(7, 8), ahead) for belief in (imputed, read)]
        np.testing.assert_allclose(*found, atol=1e-9)
    same = observed(parameters, points, times, before)
    assert same.ahead(before + 1) is same


def drawn(parameters, arms=40, steps=15, seed=0):
    """Curves from the prior."""
    rng = np.random.default_rng(seed)
    points, times = rng.random((arms, 2)), np.arange(1.0, steps + 1)
    f = parameters.mean + np.linalg.cholesky(parameters.asymptotes(distances(points, points))[1]) @ rng.normal(
        size=arms
    )
    belief = Belief(parameters, points, times)
    values = np.zeros((arms, steps))
    grid = belief.grid
    for k in range(arms):
        z = [0.0] * grid.first
        if grid.first:
            z[0] = (parameters.start - f[k]) / grid.L[0, 0]
        z = np.concatenate([z, rng.normal(size=steps)])
        values[k] = (f[k] + grid.L @ z)[grid.first :]
    return Readings(points, times, values, np.full(arms, steps))


class TestLearning:
    truth = Parameters(alpha=1.0, beta=3.0, decay=4.0, noise=0.01, spread=1.0, own=0.05, lengthscale=0.4, start=6.0)
    guess = Parameters(alpha=1.5, beta=5.0, decay=10.0, noise=1e-3, spread=3.0, own=0.2, lengthscale=1.0, start=4.0)

    def likelihood(self, parameters, readings):
        apart = distances(readings.points, readings.points)
        return log_likelihood(parameters, apart, readings.times, readings.values, readings.counts)

    def test_the_likeliest_is_likelier_than_the_truth_and_finds_the_noise(self):
        readings = drawn(self.truth)
        found = likeliest(self.guess, readings)
        assert self.likelihood(found, readings) > self.likelihood(self.guess, readings) + 100
        assert self.likelihood(found, readings) > self.likelihood(self.truth, readings) - 10
        assert 0.5 < found.noise / self.truth.noise < 2

    def test_slice_samples_are_likely_and_differ(self):
        readings = drawn(self.truth, arms=15)
        found = sample(self.guess, readings, 3, np.random.default_rng(0))
        assert len(set(found)) == 3
        for one in found:
            assert self.likelihood(one, readings) > self.likelihood(self.truth, readings) - 30
            assert 0.3 < one.noise / self.truth.noise < 3

    def test_a_slice_sampler_draws_from_a_known_density(self):
        from shoestring.models.freeze_thaw_learning import _slice_sample

        rng, x, found = np.random.default_rng(0), np.zeros(1), []
        for _ in range(4000):
            x = _slice_sample(lambda at: -0.5 * float((at[0] - 1.0) ** 2 / 0.25), x, 0, rng)
            found.append(x[0])
        assert abs(np.mean(found) - 1.0) < 0.1
        assert abs(np.std(found) - 0.5) < 0.1

    def test_what_is_not_there_is_not_learned(self):
        start = Parameters(own=0.0, start=None)
        changed = move(start, np.ones(7))
        assert changed.own == 0
        assert changed.start is None

    def test_independent_arms_have_no_length_to_learn(self):
        start = Parameters(form="independent", own=0.0)
        changed = move(start, np.ones(6))
        assert changed.lengthscale == start.lengthscale
        assert changed.spread > start.spread


def test_a_mixture_has_the_moments_of_its_parts():
    points, times, values = np.random.default_rng(0).random((4, 2)), np.arange(1.0, 6.0), np.ones((4, 5))
    one, two = Parameters(start=2.0), Parameters(start=4.0, decay=3.0)
    parts = [Belief(p, points, times, counts=np.array([2, 0, 1, 0])) for p in (one, two)]
    mixture, arms, places = Mixture(parts), np.array([0, 3]), np.array([5, 5])
    means = np.array([part.means(values) for part in parts])
    np.testing.assert_allclose(mixture.means(values), means.mean(axis=0))
    within = np.mean([part.variances(arms, places) for part in parts], axis=0)
    np.testing.assert_allclose(mixture.variances(arms, places), within + means.var(axis=0)[arms, places - 1])
    assert list(mixture.counts) == [2, 0, 1, 0]


def test_impossible_parameters_are_refused():
    with pytest.raises(MethodError, match="noise is 0"):
        Parameters(noise=0)
    with pytest.raises(MethodError, match="own is -1"):
        Parameters(own=-1)
