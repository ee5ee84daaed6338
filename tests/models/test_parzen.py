"""The Parzen estimator against a slow, readable one; and that it is a density."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad

from shoestring.models.parzen import fit

CHOICES = np.array([0, 3, 0, 0, 2])
EDGES = [None, None, np.array([0.0, 0.2, 0.5, 0.6, 1.0]), None, None]
BANDWIDTHS = np.array([0.1, 0.3, 0.2, 0.02, 0.6])


def normal_share(low, high, centre, h):
    return (math.erf((high - centre) / h / math.sqrt(2)) - math.erf((low - centre) / h / math.sqrt(2))) / 2


def kernel(x, centre, h, choices, edges):
    """The density of one coordinate around one observation."""
    if math.isnan(x):
        return 1.0
    if choices:
        return 1 / choices if math.isnan(centre) else (1 - h) * (abs(x - centre) < 1e-9) + h / choices
    if edges is not None:
        cells = list(pairwise(edges))
        low, high = next(cell for cell in cells if cell[0] <= x < cell[1])
        if math.isnan(centre):
            return high - low
        middle = next((a + b) / 2 for a, b in cells if a <= centre < b)
        return normal_share(low, high, middle, h) / normal_share(0, 1, middle, h)
    if math.isnan(centre):
        return 1.0
    gauss = math.exp(-(((x - centre) / h) ** 2) / 2) / (h * math.sqrt(2 * math.pi))
    return gauss / normal_share(0, 1, centre, h)


def random_points(rng, n, inactive=0.0):
    points = rng.random((n, 5))
    for axis, k in ((1, 3), (4, 2)):
        points[:, axis] = (rng.integers(k, size=n) + 0.5) / k
    points[rng.random((n, 5)) < inactive] = np.nan
    return points


def slow_log_density(x, points, weights, prior, axes=range(5)):
    total = sum(weights) + prior
    rows = [*zip(points, weights, strict=True), (np.full(5, np.nan), prior)]
    products = [math.prod(kernel(x[a], row[a], BANDWIDTHS[a], CHOICES[a], EDGES[a]) for a in axes) for row, _ in rows]
    return math.log(sum(w / total * k for (_, w), k in zip(rows, products, strict=True)))


@pytest.mark.parametrize("inactive", [0.0, 0.3])
def test_density_against_a_loop(inactive):
    rng = np.random.default_rng(3)
    points, queries, weights = random_points(rng, 40, inactive), random_points(rng, 30, inactive), rng.random(40) + 0.1
    estimator = fit(points, CHOICES, EDGES, BANDWIDTHS, weights, 0.7)
    expected = [slow_log_density(x, points, weights, 0.7) for x in queries]
    np.testing.assert_allclose(estimator.log_density(queries), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("inactive", [0.0, 0.3])
def test_marginals_against_a_loop(inactive):
    rng = np.random.default_rng(4)
    points, queries, weights = random_points(rng, 40, inactive), random_points(rng, 30, inactive), rng.random(40) + 0.1
    marginals = fit(points, CHOICES, EDGES, BANDWIDTHS, weights, 0.7).log_marginals(queries)
    expected = [[slow_log_density(x, points, weights, 0.7, [axis]) for axis in range(5)] for x in queries]
    np.testing.assert_allclose(marginals, expected, rtol=0, atol=1e-10)


def test_integrates_to_one():
    rng = np.random.default_rng(5)
    choices, edges = np.array([0, 3, 0]), [None, None, np.array([0.0, 0.1, 0.4, 1.0])]
    points = rng.random((6, 3))
    points[:, 1] = (rng.integers(3, size=6) + 0.5) / 3
    estimator = fit(points, choices, edges, np.array([0.08, 0.4, 0.2]), np.ones(6), 1.0)

    def slice_at(x):
        values = [[x, (k + 0.5) / 3, middle] for k, middle in product(range(3), (0.05, 0.25, 0.7))]
        return np.exp(estimator.log_density(np.array(values))).sum()

    assert quad(slice_at, 0, 1, limit=200, epsabs=1e-10)[0] == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("together", [True, False])
def test_samples_follow_the_density(together):
    rng = np.random.default_rng(6)
    points = random_points(rng, 5, 0.1)
    estimator = fit(points, CHOICES, EDGES, BANDWIDTHS, np.arange(1.0, 6.0), 0.5)
    drawn = estimator.sample(rng, 40_000, together)
    assert drawn.shape == (40_000, 5)
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    for axis in range(5):
        grid = np.tile(drawn[:1], (2000, 1))
        grid[:, axis] = (np.arange(2000) + 0.5) / 2000
        density = np.exp(estimator.log_marginals(grid)[:, axis])
        cumulated = density.cumsum() / density.sum()
        if CHOICES[axis]:
            k = CHOICES[axis]
            shares = np.bincount((drawn[:, axis] * k).astype(int), minlength=k) / len(drawn)
            middles = np.tile(drawn[:1], (k, 1))
            middles[:, axis] = (np.arange(k) + 0.5) / k
            np.testing.assert_allclose(shares, np.exp(estimator.log_marginals(middles)[:, axis]), atol=0.02)
        elif EDGES[axis] is None:
            for quantile in (0.1, 0.5, 0.9):
                at = np.quantile(drawn[:, axis], quantile)
                assert cumulated[min(int(at * 2000), 1999)] == pytest.approx(quantile, abs=0.02)
        else:
            assert set(np.round(drawn[:, axis], 9)) == {0.1, 0.35, 0.55, 0.8}


def test_together_keeps_axes_together():
    """Two observations in opposite corners: the product kernel does not mix their coordinates."""
    points = np.array([[0.1, 0.1], [0.9, 0.9]])
    estimator = fit(points, np.zeros(2, dtype=int), [None, None], np.full(2, 0.03), np.ones(2), 1e-9)
    together = estimator.sample(np.random.default_rng(0), 500, True)
    apart = estimator.sample(np.random.default_rng(0), 500, False)
    assert (np.abs(together[:, 0] - together[:, 1]) < 0.4).all()
    assert (np.abs(apart[:, 0] - apart[:, 1]) > 0.4).mean() > 0.3


def test_far_from_everything_stays_finite():
    estimator = fit(
        np.array([[0.0, 0.05]]),
        np.zeros(2, dtype=int),
        [None, np.linspace(0, 1, 11)],
        np.array([1e-3, 1e-3]),
        np.ones(1),
        1e-6,
    )
    assert np.isfinite(estimator.log_density(np.array([[1.0, 0.95], [0.0, 0.05]]))).all()
