"""Linear models with a ridge penalty, for what is roughly monotone in the parameters: failures and prices.

====== ======== ==========================================================
Z      (n, D)   configurations as columns (``embedding.py``)
y      (n,)     what is predicted
w      (n,)     weights of the observations
β      (D + 1,) the intercept, which is not penalised, and the slopes
λ      scalar   the ridge penalty
====== ======== ==========================================================
"""

from __future__ import annotations

import numpy as np

from shoestring._arrays import Array

# Newton's method on a convex function converges in fewer.
_STEPS = 25


def ridge_regression(Z: Array, y: Array, penalty: float) -> Array:
    """β that minimises |y − Zβ|² + λ|slopes|².

    >>> import numpy as np
    >>> ridge_regression(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0]), 1e-9).round(3)
    array([1., 2.])
    """
    X = _with_intercept(Z)
    return np.asarray(np.linalg.solve(X.T @ X + _ridge(X, penalty), X.T @ y))


def logistic_regression(Z: Array, y: Array, w: Array, penalty: float) -> Array:
    """β that maximises the weighted log-likelihood of 0 and 1 minus λ|slopes|²/2, by Newton's method."""
    X = _with_intercept(Z)
    ridge = _ridge(X, penalty)
    beta = np.zeros(X.shape[1])
    for _ in range(_STEPS):
        p = probability(beta, Z)
        gradient = X.T @ (w * (y - p)) - ridge @ beta
        curvature = (X * (w * p * (1 - p))[:, None]).T @ X + ridge
        step = np.linalg.solve(curvature, gradient)
        beta = beta + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-8:
            break
    return beta


def linear(beta: Array, Z: Array) -> Array:
    return np.asarray(beta[0] + Z @ beta[1:])


def probability(beta: Array, Z: Array) -> Array:
    """Of a 1, under a logistic regression. Shape (n,)."""
    return np.asarray(1 / (1 + np.exp(-np.clip(linear(beta, Z), -40, 40))))


def _with_intercept(Z: Array) -> Array:
    return np.hstack([np.ones((len(Z), 1)), Z])


def _ridge(X: Array, penalty: float) -> Array:
    """The intercept has a penalty only so that the matrix can be solved when all observations are alike."""
    return np.diag([1e-3 * penalty, *[penalty] * (X.shape[1] - 1)])
