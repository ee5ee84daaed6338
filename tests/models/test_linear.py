"""Ridge and logistic regression against a general minimiser."""

import numpy as np
from scipy.optimize import minimize

from shoestring.models.linear import linear, logistic_regression, probability, ridge_regression

RNG = np.random.default_rng(0)
Z = RNG.random((40, 3))
X = np.hstack([np.ones((40, 1)), Z])


def test_ridge_regression_is_the_minimum():
    y = RNG.standard_normal(40)
    found = ridge_regression(Z, y, 0.7)
    wanted = minimize(lambda b: ((y - X @ b) ** 2).sum() + 0.7 * (b[1:] ** 2).sum() + 0.7e-3 * b[0] ** 2, np.zeros(4))
    np.testing.assert_allclose(found, wanted.x, atol=1e-4)
    np.testing.assert_allclose(linear(found, Z), X @ found)


def test_logistic_regression_is_the_maximum():
    y, w = (RNG.random(40) < Z[:, 0]).astype(float), RNG.random(40)

    def loss(b):
        p = 1 / (1 + np.exp(-X @ b))
        return -(w * (y * np.log(p) + (1 - y) * np.log(1 - p))).sum() + 0.15 * (b[1:] ** 2).sum() + 0.15e-3 * b[0] ** 2

    np.testing.assert_allclose(logistic_regression(Z, y, w, 0.3), minimize(loss, np.zeros(4)).x, atol=1e-3)


def test_one_class_alone_is_certain_but_finite():
    beta = logistic_regression(Z, np.ones(40), np.ones(40), 0.3)
    assert np.isfinite(beta).all()
    assert (probability(beta, Z) > 0.9).all()
