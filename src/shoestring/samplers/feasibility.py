"""The probability that a configuration fulfils the constraints of a study: a Gaussian process for each constraint.

Gardner, Kusner, Xu, Weinberger and Cunningham, Bayesian optimization with inequality constraints, ICML 2014. The
number that a constraint is on is tamed together with the bound, so that the bound has a place among its scores.

======== ====== ============================================================
symbol   shape  meaning
======== ====== ============================================================
t        ()     the bound of a constraint, as a score
μ, s     (m,)   posterior mean and standard deviation of a score at a point
z        (m,)   (t − μ)/s; the point is feasible with probability Φ(z)
======== ====== ============================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoestring._arrays import Array, Codes, Mask
from shoestring.core.goals import Constraint
from shoestring.core.history import FAILED, History
from shoestring.core.scores import tame
from shoestring.core.weighing import level
from shoestring.models.acquisition import log_expected_improvement
from shoestring.samplers.candidates import embedding
from shoestring.samplers.training import TrainingSet, refit_size, thinned

if TYPE_CHECKING:
    from shoestring.models.gaussian_process import Parameters, Process

# The parameters are learned from at most this many arms, and the process is of at most that many.
_MOST_LEARNED_FROM, _MOST_KNOWN = 100, 300
_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


class _Bounded(NamedTuple):
    """The process of the number that a constraint is on, and the bound as a score."""

    process: Process
    bound: float


class Levels(NamedTuple):
    """The numbers that the constraints are on, small is good: ``found`` (n, k) at points, and the ``bounds`` (k,)."""

    found: Array
    bounds: Array

    def reached(self, constraints: Sequence[Constraint]) -> Mask:
        """Return which constraint is fulfilled at which point. Shape (n, k)."""
        strict = np.array([one.strict for one in constraints])
        return np.where(strict, self.found < self.bounds, self.found <= self.bounds)

    def fulfilled(self, constraints: Sequence[Constraint]) -> Mask:
        """Return which points fulfil all constraints. Shape (n,)."""
        return np.asarray(self.reached(constraints).all(axis=1))


class Feasibility:
    """The probability that all constraints are fulfilled; ``known`` (n,) says which known points fulfil them.

    With ``quick`` the parameters are learned in a quarter of the time.
    """

    known: Mask

    def __init__(self, history: History, points: Array, levels: Levels, quick: bool = False) -> None:
        self.known = levels.fulfilled(history.goals.constraints)
        self.embed, self._quick = embedding(history), quick
        own = history.unweighed or history  # parameters do not depend on weights
        self._parts = [
            self._process(points, found, bound, own.cached(("parameters of a constraint", j, quick), dict))
            for j, (found, bound) in enumerate(zip(levels.found.T, levels.bounds.tolist(), strict=True))
        ]

    def among(self, places: Codes) -> Feasibility:
        """The same probabilities, with only these of the known points."""
        view = copy(self)
        view.known = self.known[places]
        return view

    def _process(self, points: Array, found: Array, bound: float, kept: dict[bytes, Parameters]) -> _Bounded:
        """The process of one constraint. Its parameters are cached by the content they were fitted to."""
        from shoestring.models.gaussian_process import Process, learned  # here because SciPy loads slowly

        there = np.flatnonzero(~np.isnan(found))
        points, found = points[there], found[there]
        scores = tame(np.append(found, bound))
        chosen = thinned(np.abs(scores[:-1] - scores[-1]), _MOST_KNOWN)  # those near the bound say most about it
        n = refit_size(len(there))
        fitted, at = points[:n], tame(np.append(found[:n], bound))
        key = blake2b(fitted.tobytes() + at.tobytes(), digest_size=16).digest()
        if key not in kept:
            kept.clear()
            few = thinned(np.abs(at[:-1] - at[-1]), _MOST_LEARNED_FROM)
            kept[key] = learned(self.embed(fitted[few]), at[:-1][few], self.embed.axis, quick=self._quick)
        process = Process.given(self.embed(points[chosen]), scores[:-1][chosen], self.embed.axis, kept[key])
        return _Bounded(process, float(scores[-1]))

    def is_likely(self, Z: Array) -> Mask:
        """Return which embedded points are more likely to fulfil the constraints than not. Shape (m, D) to (m,)."""
        return np.asarray(self._log_probability(Z) > np.log(0.5))

    def last(self, losses: Array, Z: Array) -> Array:
        """The losses of the known points, with those that are not feasible after the others, the likeliest first."""
        after = losses[self.known].max(initial=0.0) - self._log_probability(Z)
        return np.where(self.known, losses, after)

    def _log_probability(self, Z: Array) -> Array:
        """Σ log Φ(z). Shape (m, D) to (m,)."""
        from scipy.special import log_ndtr  # here because it loads slowly, and a stored study is shown without it

        total = np.zeros(len(Z))
        for process, bound in self._parts:
            mean, sd = process.predict(Z)
            total += log_ndtr((bound - mean) / sd)
        return total

    def score(self, process: Process, best: float, Z: Array) -> Array:
        """The logarithm of the expected improvement and of the probability, the latter alone if ``best`` is infinite.

        ``process`` is that of the losses. Shape (m, D) to (m,).
        """
        gained = log_expected_improvement(*process.predict(Z), best)[0] if best < np.inf else np.zeros(len(Z))
        return np.asarray(gained + self._log_probability(Z))

    def slope(self, process: Process, best: float, Z: Array) -> tuple[Array, Array]:
        """The score and its gradient by Z. Shapes (m,) and (m, D)."""
        from scipy.special import log_ndtr

        total, gradient = np.zeros(len(Z)), np.zeros(Z.shape)
        if best < np.inf:
            mean, sd, mean_slope, sd_slope = process.predict_with_gradient(Z)
            total, by_mean, by_sd = log_expected_improvement(mean, sd, best)
            gradient = by_mean[:, None] * mean_slope + by_sd[:, None] * sd_slope
        for own, bound in self._parts:
            mean, sd, mean_slope, sd_slope = own.predict_with_gradient(Z)
            z = (bound - mean) / sd
            log_p = log_ndtr(z)
            by_z = np.exp(-0.5 * z**2 - _LOG_ROOT_2PI - log_p)  # φ(z)/Φ(z)
            total = total + log_p
            gradient = gradient - (by_z / sd)[:, None] * (mean_slope + z[:, None] * sd_slope)
        return total, gradient


def bounds_of(constraints: Sequence[Constraint]) -> Array:
    """The bounds of :class:`Levels`. Shape (k,)."""
    return np.array([one.sign * one.bound for one in constraints])


def known_levels(history: History, known: TrainingSet) -> Levels:
    """The levels of each known arm."""
    found = np.full((len(known.arms), len(history.goals.constraints)), np.nan)
    for row, arm in enumerate(known.arms.tolist()):
        trials = [trial for trial in history.arms[arm].trials if trial.state not in FAILED] if arm >= 0 else []
        if trials:
            step = known.step
            if step not in trials[0].readings:
                step = max((s for s in trials[0].readings if s <= known.step), default=trials[0].step)
            found[row] = [level(constraint, trials[0], step) for constraint in history.goals.constraints]
    return Levels(found, bounds_of(history.goals.constraints))
