"""Acquisition functions: the score of a point from its posterior. Losses are minimised, scores maximised.

======  =====  ========================================================
symbol  shape  meaning
======  =====  ========================================================
μ, s    (m,)   the posterior mean and standard deviation
b       ()     the incumbent's loss
z       (m,)   (b − μ)/s
h       (m,)   φ(z) + z Φ(z), so that EI = s·h(z)
======  =====  ========================================================

Each function returns the score and its derivatives by μ and by s. The probability of improvement Φ(z) is ranked
by z itself, because Φ saturates. The logarithm of the expected improvement stays finite and keeps its slope
where the expected improvement underflows (Ament, Daulton, Eriksson, Balandat and Bakshy, Unexpected improvements
to expected improvement for Bayesian optimization, NeurIPS 2023).

SciPy is imported by the functions that need it: it loads slowly, and the first decisions of a study score nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoestring._arrays import Array

Scored = tuple[Array, Array, Array]

_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)
# Below this, log h is its leading term: the exact form rounds to nothing.
_FAR = -1000.0
# Normal deviates and their weights, for expectations over a reading.
_DEVIATES = np.linspace(-4.0, 4.0, 33)
_WEIGHTS = np.exp(-0.5 * _DEVIATES**2) / np.exp(-0.5 * _DEVIATES**2).sum()
# A smaller expected gain is rounding.
_LEAST_GAIN = 1e-12


def _log_h(z: Array) -> Array:
    """log(φ(z) + zΦ(z)) without cancellation: by erfcx below −1, by its leading term where that rounds to 0."""
    from scipy.special import erfcx, ndtr

    near = np.maximum(z, -1.0)
    far = np.clip(z, _FAR, -1.0)
    upper = np.log(np.exp(-0.5 * near**2 - _LOG_ROOT_2PI) + near * ndtr(near))
    middle = -0.5 * far**2 - _LOG_ROOT_2PI + np.log1p(far * np.sqrt(np.pi / 2) * erfcx(-far / np.sqrt(2)))
    least = np.minimum(z, _FAR)
    lower = -0.5 * least**2 - _LOG_ROOT_2PI - 2 * np.log(-least)
    return np.asarray(np.where(z > -1, upper, np.where(z > _FAR, middle, lower)))


def log_expected_improvement(mean: Array, sd: Array, best: float) -> Scored:
    from scipy.special import log_ndtr

    z = (best - mean) / sd
    log_h = _log_h(z)
    by_mean = -np.exp(log_ndtr(z) - log_h) / sd
    by_sd = np.exp(-0.5 * z**2 - _LOG_ROOT_2PI - log_h) / sd
    return log_h + np.log(sd), by_mean, by_sd


def expected_improvement(mean: Array, sd: Array, best: float | Array) -> Scored:
    from scipy.special import ndtr

    z = (best - mean) / sd
    density = np.exp(-0.5 * z**2 - _LOG_ROOT_2PI)
    return sd * density + (best - mean) * ndtr(z), -ndtr(z), density


def probability_of_improvement(mean: Array, sd: Array, best: float) -> Scored:
    z = (best - mean) / sd
    return z, -1 / sd, -z / sd


def upper_confidence_bound(mean: Array, sd: Array, best: float, width: float = 2.0) -> Scored:
    """The upper bound of the negated loss, ``width`` standard deviations from its mean."""
    return width * sd - mean, np.full_like(mean, -1.0), np.full_like(mean, width)


def log_knowledge_gradient(mean: Array, sd: Array, noise: float, tried: Array, effects: Array) -> Array:
    """The logarithm of how far a noisy reading at a point is expected to lower the lowest posterior mean. Shape (m,).

    ``tried`` (t,) are the means where there were readings, and ``effects`` (t, m) how far each reading moves them. The
    expectation over the reading is a sum over normal deviates. Without noise nothing moves but the mean of the point
    itself, and this is the expected improvement.
    """
    own = sd**2 / np.sqrt(sd**2 + noise)
    gain = np.zeros(len(mean))
    for z, weight in zip(_DEVIATES, _WEIGHTS, strict=True):
        lowest = np.minimum((tried[:, None] + z * effects).min(axis=0), mean + z * own)
        gain += weight * (tried.min() - lowest)
    return np.asarray(np.log(np.maximum(gain, _LEAST_GAIN)))


ACQUISITIONS: dict[str, Callable[[Array, Array, float], Scored]] = {
    "log-ei": log_expected_improvement,
    "ei": expected_improvement,
    "pi": probability_of_improvement,
    "ucb": upper_confidence_bound,
}
