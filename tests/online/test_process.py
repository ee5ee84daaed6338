"""The time-varying process against the joint Gaussian written out in full."""

import numpy as np
import pytest

from shoestring.models.kernels import KERNELS, Kernel
from shoestring.models.time_varying import (
    ArmFilter,
    Forgetting,
    Readings,
    Smooth,
    TimeVaryingProcess,
    WindowedProcess,
    fit,
    log_likelihood,
    posterior,
)

GRID = np.linspace(0, 1, 40)[:, None]


def random_readings(rng, n, rounds, points=GRID):
    when = np.sort(rng.choice(np.arange(1, rounds + 1), n, replace=False)).astype(float)
    return Readings(points[rng.integers(len(points), size=n)], when, rng.normal(size=n))


def joint_gaussian(process, readings, points, round):
    """Conditioning on the full covariance of readings and points, with an explicit inverse."""
    X = np.vstack([readings.points, points])
    t = np.concatenate([readings.rounds, np.full(len(points), float(round))])
    C = np.array([[process.kernel(a[None], b[None])[0, 0] for b in X] for a in X])
    C *= process.drift(np.abs(t[:, None] - t[None]))
    n = len(readings)
    inverse = np.linalg.inv(C[:n, :n] + process.noise * np.eye(n))
    return C[n:, :n] @ inverse @ readings.values, C[n:, n:] - C[n:, :n] @ inverse @ C[:n, n:]


def filtered(process, readings, points, round):
    model = ArmFilter(process.kernel(points, points), process.drift.rate, process.noise)
    for point, when, value in zip(readings.points, readings.rounds, readings.values, strict=True):
        model.observe(int(np.flatnonzero((points == point).all(axis=1))[0]), int(when), value)
    model.predict(round)
    return model


@pytest.mark.parametrize("form", KERNELS)
@pytest.mark.parametrize("drift", [Forgetting(0.03), Smooth(8.0)])
def test_direct_posterior_is_the_joint_gaussian(form, drift):
    process = TimeVaryingProcess(Kernel(form, 0.3, 1.7), drift, 0.05)
    readings = random_readings(np.random.default_rng(1), 15, 30)
    mean, covariance = posterior(process, readings, GRID[::5], 33)
    expected_mean, expected_covariance = joint_gaussian(process, readings, GRID[::5], 33)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-10)
    np.testing.assert_allclose(covariance, expected_covariance, atol=1e-10)


@pytest.mark.parametrize("form", KERNELS)
def test_filter_is_the_direct_posterior(form):
    process = TimeVaryingProcess(Kernel(form, 0.3, 1.7), Forgetting(0.03), 0.05)
    readings = random_readings(np.random.default_rng(2), 60, 100)
    mean, covariance = posterior(process, readings, GRID, 101)
    model = filtered(process, readings, GRID, 101)
    np.testing.assert_allclose(model.mean, mean, atol=1e-9)
    np.testing.assert_allclose(model.variance, np.diag(covariance), atol=1e-9)
    np.testing.assert_allclose(model.covariance(7), covariance[7], atol=1e-9)


@pytest.mark.parametrize("rate", [0.003, 0.05])
def test_filter_agrees_with_the_direct_posterior_after_2000_rounds(rate):
    process = TimeVaryingProcess(Kernel("matern32", 0.2), Forgetting(rate), 0.01)
    readings = random_readings(np.random.default_rng(3), 1500, 2000)
    mean, covariance = posterior(process, readings, GRID, 2000)
    model = filtered(process, readings, GRID, 2000)
    assert np.abs(model.mean - mean).max() < 1e-8
    assert np.abs(model.variance - np.diag(covariance)).max() < 1e-8


def test_a_round_without_a_reading_shrinks_the_mean_and_raises_the_variance():
    rate, kernel = 0.07, Kernel("matern52", 0.2, 2.5)
    model = ArmFilter(kernel(GRID, GRID), rate, 0.01)
    model.observe(11, 0, 1.3)
    mean, variance = model.mean.copy(), model.variance.copy()
    model.predict(1)
    np.testing.assert_allclose(model.mean, np.sqrt(1 - rate) * mean, rtol=1e-12)
    np.testing.assert_allclose(model.variance, (1 - rate) * variance + rate * 2.5, rtol=1e-12)


def test_the_information_of_readings_follows_from_their_predictive_variances():
    """Lemma 3 of the version with proofs, with rounds that are not looked at in between."""
    rng = np.random.default_rng(5)
    process = TimeVaryingProcess(Kernel("matern32", 0.2), Forgetting(0.05), 0.01)
    readings = random_readings(rng, 30, 80)
    joint = process.kernel(readings.points, readings.points)
    joint = joint * process.drift(np.abs(readings.rounds[:, None] - readings.rounds[None]))
    information = 0.5 * np.linalg.slogdet(np.eye(30) + joint / process.noise)[1]
    model, summed = ArmFilter(process.kernel(GRID, GRID), 0.05, process.noise), 0.0
    for point, when, value in zip(readings.points, readings.rounds, readings.values, strict=True):
        arm = int(np.flatnonzero((point == GRID).all(axis=1))[0])
        summed += 0.5 * np.log1p(model.predict(int(when))[1][arm] / process.noise)
        model.observe(arm, int(when), value)
    assert summed == pytest.approx(information, rel=1e-9)


def test_the_ranking_can_change_between_readings():
    """Lemma 1 of the version with proofs says it cannot; the code must not rely on it."""
    kernel = Kernel("independent", 1.0)
    arms = np.arange(2.0)[:, None]
    model = ArmFilter(kernel(arms, arms), 0.1, 0.01)
    model.observe(0, 0, 0.9)

    def favourite():
        return int(np.argmax(model.mean + np.sqrt(model.variance)))

    assert favourite() == 1
    model.predict(3)
    assert favourite() == 0


def test_no_drift_and_no_underflow_after_50000_rounds():
    process, rng = TimeVaryingProcess(Kernel("matern32", 0.3), Forgetting(0.05), 0.01), np.random.default_rng(4)
    arms = GRID[::4]
    model = ArmFilter(process.kernel(arms, arms), 0.05, 0.01)
    readings = Readings.empty(1)
    for round in range(1, 50_001):
        model.predict(round)
        if round % 3 == 0:
            arm, value = int(rng.integers(len(arms))), rng.normal()
            model.observe(arm, round, value)
            if round > 48_500:
                readings = readings.append(arms[arm], round, value)
    mean, covariance = posterior(process, readings, arms, 50_000)
    np.testing.assert_allclose(model.mean, mean, atol=1e-8)
    np.testing.assert_allclose(model.variance, np.diag(covariance), atol=1e-8)


def test_many_rounds_without_a_reading_return_to_the_prior():
    model = ArmFilter(Kernel("matern32", 0.3)(GRID, GRID), 0.05, 0.01)
    model.observe(3, 0, 5.0)
    for round in range(1, 20_001):
        model.predict(round)
    np.testing.assert_allclose(model.mean, 0.0, atol=1e-100)
    np.testing.assert_allclose(model.variance, 1.0, atol=1e-12)
    model.observe(3, 20_000, 1.0)
    assert model.mean[3] == pytest.approx(1 / 1.01)


@pytest.mark.parametrize("drift", [Forgetting(0.02), Smooth(20.0)])
def test_windowed_process_is_the_direct_posterior_while_no_reading_is_dropped(drift):
    process = TimeVaryingProcess(Kernel("matern52", 0.3), drift, 0.02)
    readings = random_readings(np.random.default_rng(5), 50, 80)
    window = WindowedProcess(process, Readings.empty(1))
    for point, when, value in zip(readings.points, readings.rounds, readings.values, strict=True):
        window.observe(point, when, value)
    mean, covariance = posterior(process, readings, GRID, 81)
    at_mean, at_variance = window.predict(GRID, 81)
    np.testing.assert_allclose(at_mean, mean, atol=1e-9)
    np.testing.assert_allclose(at_variance, np.diag(covariance), atol=1e-9)
    np.testing.assert_allclose(window.covariance(GRID[5], GRID, 81), covariance[5], atol=1e-9)


def test_the_window_stays_bounded_and_close_to_all_readings():
    process = TimeVaryingProcess(Kernel("matern32", 0.3), Forgetting(0.2), 0.02)
    readings = random_readings(np.random.default_rng(6), 400, 400)
    window = WindowedProcess(process, Readings.empty(1))
    for point, when, value in zip(readings.points, readings.rounds, readings.values, strict=True):
        window.observe(point, when, value)
        assert len(window.readings) <= 61
    mean, covariance = posterior(process, readings, GRID, 401)
    at_mean, at_variance = window.predict(GRID, 401)
    assert np.abs(at_mean - mean).max() < 0.01
    assert np.abs(at_variance - np.diag(covariance)).max() < 1e-3


@pytest.mark.parametrize("form", ["matern12", "matern32", "matern52", "squared_exponential"])
def test_gradients_are_those_of_finite_differences(form):
    rng = np.random.default_rng(7)
    readings = Readings(rng.random((12, 3)), np.arange(12.0), rng.normal(size=12))
    window = WindowedProcess(TimeVaryingProcess(Kernel(form, (0.3, 0.5, 0.9)), Forgetting(0.02), 0.02), readings)
    points = rng.random((4, 3))
    _, _, d_mean, d_variance = window.predict_with_gradient(points, 13)
    for j in range(3):
        step = np.eye(3)[j] * 1e-6
        up, down = window.predict(points + step, 13), window.predict(points - step, 13)
        np.testing.assert_allclose(d_mean[:, j], (up[0] - down[0]) / 2e-6, atol=1e-5)
        np.testing.assert_allclose(d_variance[:, j], (up[1] - down[1]) / 2e-6, atol=1e-5)


def test_distances_of_choices_and_inactive_parameters():
    kernel = Kernel("squared_exponential", 1.0, choices=(False, True))
    A = np.array([[0.5, 0.25], [np.nan, 0.25]])
    B = np.array([[0.5, 0.75], [np.nan, 0.25]])
    squared = -2 * np.log(kernel(A, B))
    np.testing.assert_allclose(squared, [[1.0, 1.0], [2.0, 0.0]], atol=1e-12)


def test_log_likelihood_is_that_of_the_multivariate_normal():
    from scipy.stats import multivariate_normal

    process = TimeVaryingProcess(Kernel("matern32", 0.3), Forgetting(0.05), 0.1)
    readings = random_readings(np.random.default_rng(8), 20, 40)
    gram = process.covariance(readings.points, readings.rounds, readings.points, readings.rounds) + 0.1 * np.eye(20)
    assert log_likelihood(process, readings) == pytest.approx(
        multivariate_normal(np.zeros(20), gram).logpdf(readings.values)
    )


def test_fit_raises_the_likelihood_and_stays_within_bounds():
    rng = np.random.default_rng(9)
    truth = TimeVaryingProcess(Kernel("matern32", 0.2), Forgetting(0.05), 0.01)
    readings = random_readings(rng, 120, 150)
    gram = truth.covariance(readings.points, readings.rounds, readings.points, readings.rounds) + 0.01 * np.eye(120)
    readings = Readings(readings.points, readings.rounds, np.linalg.cholesky(gram) @ rng.normal(size=120))
    start = TimeVaryingProcess(Kernel("matern32", 1.5), Forgetting(0.001), 0.5)
    bounds = {"lengthscale": (0.05, 2.0), "forgetting": (1e-4, 0.3), "noise": (1e-4, 1.0)}
    found = fit(start, readings, bounds)
    assert log_likelihood(found, readings) > log_likelihood(truth, readings) - 0.5
    assert 0.1 < found.kernel.lengthscale < 0.5
    assert 0.01 < found.drift.rate < 0.2
    held = fit(start, readings, {"lengthscale": (1.0, 1.4)})
    assert 1.0 <= held.kernel.lengthscale <= 1.4
    assert held.noise == 0.5
