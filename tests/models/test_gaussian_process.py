"""The models behind the samplers: embedding, Gaussian process, acquisitions, forests."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import norm

from shoestring.models.acquisition import ACQUISITIONS
from shoestring.models.embedding import Embedding
from shoestring.models.forests import FORESTS, forest
from shoestring.models.gaussian_process import Parameters, Process, _negative_log_posterior, learned, prior
from shoestring.models.kernels import Kernel
from shoestring.models.warping import Warp
from shoestring.samplers.surrogate import AcquisitionName

AXIS = np.array([0, 1, 1, 2])


def data(n=30, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.random((n, 4))
    y = np.sin(5 * Z[:, 0]) + Z[:, 3] ** 2
    return Z, (y - y.mean()) / y.std()


PARAMETERS = Parameters(np.array([0.4, 0.7, 0.9]), 1.3, 1e-3)
BENT = replace(PARAMETERS, warp=Warp(np.array([0, 3]), np.array([0.6, 1.4]), np.array([1.7, 0.8])))


class TestEmbedding:
    embed = Embedding(np.array([0, 3, 0]), np.array([False, False, True]))

    def test_distances(self):
        points = np.array([[0.2, 1 / 6, 0.4], [0.2, 5 / 6, 0.4], [0.7, 1 / 6, 0.4], [0.2, 1 / 6, np.nan]])
        Z = self.embed(points)
        assert Z.shape == (4, len(self.embed.axis)) == (4, 6)
        gaps = ((Z - Z[0]) ** 2).sum(axis=1)
        assert gaps[1] == pytest.approx(1.0)  # another choice
        assert gaps[2] == pytest.approx(0.25)
        assert gaps[3] > 0.5  # inactive is far from active
        assert np.isfinite(Z).all()

    def test_there_and_back(self):
        points = np.array([[0.2, 0.5, 0.9], [0.1, 5 / 6, 0.0]])
        np.testing.assert_allclose(self.embed.points(self.embed(points)), points)

    def test_ordered_columns(self):
        assert self.embed.ordered.tolist() == [0, 4]
        assert self.embed.axis.tolist() == [0, 1, 1, 1, 2, 2]


class TestProcess:
    def test_kernel_is_that_of_the_other_module(self):
        Z, y = data(10)
        process = Process.given(Z, y, np.arange(4), Parameters(np.array([0.4, 0.7, 0.7, 0.9]), 1.3, 1e-3))
        k = Kernel("matern52", (0.4, 0.7, 0.7, 0.9), 1.3)(Z, Z) + (1e-3 + 1e-8) * np.eye(10)
        np.testing.assert_allclose(process.L @ process.L.T, k, atol=1e-10)

    def test_predictions_by_the_textbook(self):
        Z, y = data()
        new = np.random.default_rng(1).random((5, 4))
        lengths = tuple(PARAMETERS.lengths[AXIS])
        kernel = Kernel("matern52", lengths, PARAMETERS.variance)
        K = kernel(Z, Z) + PARAMETERS.noise * np.eye(len(Z))
        k = kernel(Z, new)
        mean, sd = Process.given(Z, y, AXIS, PARAMETERS).predict(new)
        np.testing.assert_allclose(mean, k.T @ np.linalg.solve(K, y), atol=1e-4)
        variance = PARAMETERS.variance - (k * np.linalg.solve(K, k)).sum(axis=0)
        np.testing.assert_allclose(sd, np.sqrt(variance), atol=1e-4)

    def test_extending_is_the_same_as_starting_over(self):
        Z, y = data()
        new = np.random.default_rng(1).random((5, 4))
        whole = Process.given(Z, y, AXIS, PARAMETERS)
        for n in (10, 29, 30):
            part = Process.given(Z[:n], y[:n], AXIS, PARAMETERS).extended(Z[n:], y)
            np.testing.assert_allclose(part.predict(new), whole.predict(new), atol=1e-8)

    @pytest.mark.parametrize("parameters", [PARAMETERS, BENT])
    def test_gradients_of_the_prediction(self, parameters):
        Z, y = data()
        process, point = Process.given(Z, y, AXIS, parameters), np.full((1, 4), 0.37)
        _, _, by_mean, by_sd = process.predict_with_gradient(point)
        for which, given in enumerate((by_mean, by_sd)):
            numeric = approx_fprime(point[0], lambda x, w=which: process.predict(x[None])[w][0], 1e-6)
            np.testing.assert_allclose(given[0], numeric, atol=1e-4)

    @pytest.mark.parametrize("bent", [np.empty(0, dtype=int), np.array([0, 3])])
    def test_gradient_of_the_likelihood(self, bent):
        Z, y = data()
        w = len(bent)
        given = (Z, y, AXIS, bent, *prior(3, w))
        theta = given[4] + np.array([0.3, -0.2, 0.1, 0.4, 1.0, -0.4, 0.2, 0.5, -0.3])[: 5 + 2 * w]
        _, gradient = _negative_log_posterior(theta, *given)
        numeric = approx_fprime(theta, lambda t: _negative_log_posterior(t, *given)[0], 1e-6)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-3, atol=1e-3)

    def test_learns_which_axes_matter_and_how_noisy_it_is(self):
        Z, y = data(60)
        found = learned(Z, y, AXIS)
        assert found.lengths[1] > 5 * found.lengths[0]  # the middle axis does nothing
        noisy = y + 0.5 * np.random.default_rng(2).standard_normal(60)
        assert learned(Z, noisy, AXIS).noise > 10 * found.noise

    def test_bends_an_axis_that_is_steeper_at_one_end(self):
        rng, axes = np.random.default_rng(0), np.arange(3)
        Z, new = rng.random((60, 3)), rng.random((200, 3))

        def f(Z):
            return np.sin(10 * Z**0.3).sum(axis=1)

        def error(bent):
            parameters = learned(Z, f(Z), axes, bent)
            return np.abs(Process.given(Z, f(Z), axes, parameters).predict(new)[0] - f(new)).mean()

        assert error(axes) < 0.6 * error(axes[:0])
        assert learned(Z, f(Z), axes, axes).warp(np.full((1, 3), 0.1)).min() > 0.3  # room where much happens

    def test_the_same_point_twice(self):
        Z = np.full((6, 4), 0.5)
        mean, sd = Process.given(Z, np.ones(6), AXIS, Parameters(np.ones(3), 1.0, 1e-6)).predict(Z[:1])
        assert mean[0] == pytest.approx(1.0, abs=1e-3)
        assert np.isfinite(sd).all()


class TestAcquisition:
    mean, sd = np.linspace(-3.0, 40.0, 60), np.full(60, 0.5)

    def test_values(self):
        z = (0.3 - self.mean) / self.sd
        by_hand = self.sd * (norm.pdf(z) + z * norm.cdf(z))
        np.testing.assert_allclose(ACQUISITIONS["ei"](self.mean, self.sd, 0.3)[0], by_hand, atol=1e-12)
        near = by_hand > 1e-12
        log_ei = ACQUISITIONS["log-ei"](self.mean, self.sd, 0.3)[0]
        np.testing.assert_allclose(log_ei[near], np.log(by_hand[near]), atol=1e-3)
        assert (np.diff(log_ei) < 0).all()  # it still falls where the expected improvement is 0
        assert np.isfinite(ACQUISITIONS["log-ei"](np.array([1e6]), np.array([1e-3]), 0.0)[0]).all()
        np.testing.assert_allclose(ACQUISITIONS["pi"](self.mean, self.sd, 0.3)[0], z)
        np.testing.assert_allclose(ACQUISITIONS["ucb"](self.mean, self.sd, 0.3)[0], 2 * self.sd - self.mean)

    @pytest.mark.parametrize("name", ACQUISITIONS)
    def test_derivatives(self, name):
        score, h = ACQUISITIONS[name], 1e-6
        _, by_mean, by_sd = score(self.mean, self.sd, 0.3)
        numeric = (score(self.mean + h, self.sd, 0.3)[0] - score(self.mean - h, self.sd, 0.3)[0]) / (2 * h)
        np.testing.assert_allclose(by_mean, numeric, rtol=1e-3, atol=1e-6)
        numeric = (score(self.mean, self.sd + h, 0.3)[0] - score(self.mean, self.sd - h, 0.3)[0]) / (2 * h)
        np.testing.assert_allclose(by_sd, numeric, rtol=1e-3, atol=1e-6)

    def test_the_samplers_know_the_names(self):
        assert set(get_args(AcquisitionName)) == set(ACQUISITIONS)


@pytest.mark.parametrize("name", FORESTS)
class TestForests:
    def test_learns_and_says_how_sure_it_is(self, name):
        rng = np.random.default_rng(0)
        Z = rng.random((120, 3))
        y = 4 * (Z[:, 0] - 0.3) ** 2 + (Z[:, 1] > 0.5)
        model = forest(name, Z, y, np.random.default_rng(1))
        new = rng.random((200, 3))
        mean, sd = model.predict(new)
        assert np.corrcoef(mean, 4 * (new[:, 0] - 0.3) ** 2 + (new[:, 1] > 0.5))[0, 1] > 0.9
        assert (sd > 0).all()
        far = model.predict(np.array([[0.3, 0.1, 0.5], [0.3, 0.505, 0.5]]))[1]
        assert far[1] > far[0]  # at the jump the members disagree

    def test_the_same_randomness_gives_the_same_forest(self, name):
        Z, y = data()
        first, second, other = (forest(name, Z, y, np.random.default_rng(s)).predict(Z + 0.01) for s in (3, 3, 4))
        np.testing.assert_array_equal(first, second)
        assert (first[0] != other[0]).any()

    def test_two_observations_and_equal_ones(self, name):
        Z = np.array([[0.1], [0.9]])
        for y in (np.array([0.0, 1.0]), np.zeros(2)):
            mean, sd = forest(name, Z, y, np.random.default_rng(0)).predict(Z)
            assert np.isfinite(mean).all()
            assert (sd > 0).all()
