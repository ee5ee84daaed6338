"""The parameters of the freeze-thaw belief, learned from readings: the likeliest, or a sample of likely ones.

Both start from given parameters θ₀ and take these for a prior: the logarithm of a scale is normal around
its θ₀ with deviation 1, the prior mean and the start are normal around theirs with the deviation of the
asymptotes. x is a point in units of those deviations, so θ₀ is at 0 and log p(x) = log p(readings | θ(x)) − ½|x|².

Slice sampling as in the paper's appendix E (and MacKay's book): step 0.5, 10 draws thrown away, at most
10 attempts to widen a slice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.optimize import minimize

from shoestring.models.freeze_thaw import Parameters, distances, log_likelihood

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_SCALES = ("alpha", "beta", "decay", "noise", "spread", "own", "lengthscale")
_STEP, _BURN_IN, _ATTEMPTS = 0.5, 10, 10
# No parameter moves further than this from where it began, in deviations of the prior.
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
    density = _density(start, readings)
    x = np.zeros(len(_learned(start)))

    def unlikelihood(x: Array) -> float:
        return -density(x)

    bounds = [(-_FURTHEST, _FURTHEST)] * len(x)
    found = minimize(unlikelihood, x, method="L-BFGS-B", bounds=bounds, options={"maxiter": 15})
    return moved(start, found.x)


def sampled(start: Parameters, readings: Readings, number: int, rng: np.random.Generator) -> list[Parameters]:
    """``number`` draws from what the parameters can be, one sweep over the parameters apart."""
    density = _density(start, readings)
    x = np.zeros(len(_learned(start)))
    found = []
    for sweep in range(_BURN_IN + number):
        for i in range(len(x)):
            x = _sliced(density, x, i, rng)
        if sweep >= _BURN_IN:
            found.append(moved(start, x))
    return found


def moved(start: Parameters, x: Array) -> Parameters:
    """θ(x)."""
    changes = {}
    for name, by in zip(_learned(start), x, strict=True):
        value = getattr(start, name)
        changes[name] = value * math.exp(by) if name in _SCALES else value + by * math.sqrt(start.spread)
    return replace(start, **changes)


def _learned(start: Parameters) -> list[str]:
    """A variance of 0 and a start that is not there stay so."""
    scales = [name for name in _SCALES if getattr(start, name) > 0]
    return [*scales, "mean", *([] if start.start is None else ["start"])]


def _density(start: Parameters, readings: Readings) -> Callable[[Array], float]:
    r, apart = readings, distances(readings.points, readings.points, readings.choices)

    def density(x: Array) -> float:
        try:
            found = log_likelihood(moved(start, x), apart, r.times, r.values, r.counts)
        except LinAlgError:  # so smooth that the factor breaks down: as good as impossible
            return -1e12
        return found - 0.5 * float(x @ x) if math.isfinite(found) else -1e12

    return density


def _sliced(density: Callable[[Array], float], x: Array, i: int, rng: np.random.Generator) -> Array:
    """One coordinate moved to a random place of equal or higher density than a random height below its own."""
    height = density(x) + math.log(1.0 - rng.random())

    def at(value: float) -> Array:
        there = x.copy()
        there[i] = value
        return there

    low = x[i] - _STEP * rng.random()
    high = low + _STEP
    for _ in range(_ATTEMPTS):
        if density(at(low)) < height:
            break
        low -= _STEP
    for _ in range(_ATTEMPTS):
        if density(at(high)) < height:
            break
        high += _STEP
    while high - low > 1e-9:
        value = rng.uniform(low, high)
        if density(at(value)) >= height:
            return at(value)
        low, high = (value, high) if value < x[i] else (low, value)
    return x
