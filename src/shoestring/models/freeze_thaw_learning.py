"""Learns the parameters of the freeze-thaw belief from readings: the most likely ones, or a posterior sample.

Both start from given parameters θ₀, which are also the centre of the prior: the logarithm of a scale is normal around
its θ₀ with deviation 1; the prior mean and the start are normal around theirs with the deviation of the asymptotes.
x is a point in units of those deviations, so θ₀ is at 0 and log p(x) = log p(readings | θ(x)) − ½|x|².

Slice sampling as in appendix E of Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019,
and in MacKay, Information Theory, Inference, and Learning Algorithms, 2003: step 0.5, 10 sweeps of burn-in, at most
10 attempts to widen a slice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError
from scipy.optimize import minimize

from shoestring._arrays import Array, Codes
from shoestring.models.freeze_thaw import Parameters, distances, log_likelihood

Density = Callable[[Array], float]

_SCALES = ("alpha", "beta", "decay", "noise", "spread", "own", "lengthscale")
_STEP, _BURN_IN, _ATTEMPTS = 0.5, 10, 10
# No parameter moves further than this from θ₀, in deviations of the prior.
_FURTHEST = 4.0


@dataclass(frozen=True)
class Readings:
    """The first ``counts`` (S,) of ``values`` (S, times) of the arms at ``points`` (S, d)."""

    points: Array
    times: Array
    values: Array
    counts: Codes
    choices: tuple[bool, ...] = ()


def likeliest(start: Parameters, readings: Readings) -> Parameters:
    """Type-II maximum likelihood with the prior above, by L-BFGS-B."""
    density = _log_density(start, readings)
    x = np.zeros(len(_names_to_learn(start)))
    bounds = [(-_FURTHEST, _FURTHEST)] * len(x)

    def negative(x: Array) -> float:
        return -density(x)

    found = minimize(negative, x, method="L-BFGS-B", bounds=bounds, options={"maxiter": 15})
    return move(start, found.x)


def sample(start: Parameters, readings: Readings, number: int, rng: np.random.Generator) -> list[Parameters]:
    """``number`` posterior draws, one sweep over the parameters apart."""
    density = _log_density(start, readings)
    x = np.zeros(len(_names_to_learn(start)))
    found = []
    for sweep in range(_BURN_IN + number):
        for i in range(len(x)):
            x = _slice_sample(density, x, i, rng)
        if sweep >= _BURN_IN:
            found.append(move(start, x))
    return found


def move(start: Parameters, x: Array) -> Parameters:
    """θ(x)."""
    changes = {}
    for name, by in zip(_names_to_learn(start), x, strict=True):
        value = getattr(start, name)
        changes[name] = value * math.exp(by) if name in _SCALES else value + by * math.sqrt(start.spread)
    return replace(start, **changes)


def _names_to_learn(start: Parameters) -> list[str]:
    """The names of the parameters that are learned; a variance of 0 and parameters without effect stay fixed."""
    without = ("lengthscale",) if start.form == "independent" else ()
    scales = [name for name in _SCALES if getattr(start, name) > 0 and name not in without]
    return [*scales, "mean", *([] if start.start is None else ["start"])]


def _log_density(start: Parameters, readings: Readings) -> Density:
    r, distance = readings, distances(readings.points, readings.points, readings.choices)

    def density(x: Array) -> float:
        try:
            found = log_likelihood(move(start, x), distance, r.times, r.values, r.counts)
        except LinAlgError:  # so smooth that the factorisation fails: treated as impossible
            return -1e12
        return found - 0.5 * float(x @ x) if math.isfinite(found) else -1e12

    return density


def _slice_sample(density: Density, x: Array, i: int, rng: np.random.Generator) -> Array:
    """x with coordinate i redrawn uniformly from the slice: where the density is above a random height below x's."""
    height = density(x) + math.log(1.0 - rng.random())

    def at(value: float) -> Array:
        there = x.copy()
        there[i] = value
        return there

    low = x[i] - _STEP * rng.random()
    ends = [low, low + _STEP]
    for end, step in ((0, -_STEP), (1, _STEP)):
        for _ in range(_ATTEMPTS):
            if density(at(ends[end])) < height:
                break
            ends[end] += step
    low, high = ends
    while high - low > 1e-9:
        value = rng.uniform(low, high)
        if density(at(value)) >= height:
            return at(value)
        low, high = (value, high) if value < x[i] else (low, value)
    return x
