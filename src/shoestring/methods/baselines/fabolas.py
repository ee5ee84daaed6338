"""Fabolas: train the configuration, for as long, that tells most per step about which one ends best.

Klein, Falkner, Bartels, Hennig and Hutter, Fast Bayesian optimization of machine learning hyperparameters on large
datasets, AISTATS 2017, as Lu, Chiang and Sha, Hyper-parameter tuning under a budget constraint, IJCAI 2019, appendix E,
adapt it: the fidelity is the share of a full training instead of the size of the data, and a configuration that was
trained goes on where it stopped.

======  ======================================================================  =======
symbol  meaning                                                                 shape
======  ======================================================================  =======
s       the fidelity: a step over the last step, one of 1/16, 1/8, … 1
φ(s)    (1, (1 − s)²): the influence of a reading at s on the end (Eq. 5)           (2,)
k       M(x, x') · φ(s)ᵀ Σ φ(s'), with M a Matérn-5/2 kernel (Eq. 4)
Σ       LLᵀ with L lower triangular, learned
u       normal scores of the losses at these fidelities                         (n,)
r       representers: configurations that may be the best, at s = 1             (R,)
p_min   the probability of each of them to be the lowest                        (R,)
c       steps that a candidate has to be trained further
======  ======================================================================  =======

The acquisition is the fall of the entropy of p_min that one reading of (x, s) is expected to bring, over c (Eq. 7). The
reading is imagined at Gauss–Hermite nodes.

Differs from the paper in that the cost is known (steps) and not modelled; that the fall of the entropy is used and not
the information itself, which would prefer the cheapest whatever it says; that the parameters are the most likely ones,
learned at 8, 16, … 128 readings, and not samples; and that readings are ranks, so that any scale works.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.core.decisions import Continue, Decision, Start
from shoestring.core.history import History, TrialRecord
from shoestring.errors import MethodError
from shoestring.methods.baselines.freeze_thaw import expected_entropy
from shoestring.methods.learning_curves import (
    Pool,
    expected_improvement,
    nothing_left,
    remaining_steps,
    steps_are_free,
)
from shoestring.models.kernels import Kernel
from shoestring.models.scores import normal_scores
from shoestring.models.threads import one_thread
from shoestring.schedulers.rungs import top_resource

# Started and new representers; draws of their joint ends; parameters are learned from at most this many readings.
_STARTED, _NEW, _DRAWS, _MOST_FITTED = 10, 5, 200, 128


@dataclass(frozen=True)
class Fabolas:
    """Choose a configuration and how long to train it by the information per step about which ends best.

    The first ``startup`` configurations are random and get a sixteenth of a full training; new ones come from a
    ``pool`` of random configurations, or of table rows.

    >>> import shoestring as ss
    >>> def curve(trial):
    ...     for step in range(trial.start + 1, 17):
    ...         yield (trial.config["x"] - 0.3) ** 2 + 1 / step
    >>> study = ss.tune(curve, {"x": (0.0, 1.0)}, budget="60 steps", max_resource=16, method="fabolas")
    >>> study.spent["steps"], study.best.value < 0.3
    (60, True)
    """

    pool: int = 200
    startup: int = 5
    reference: ClassVar[str] = (
        "Klein, Falkner, Bartels, Hennig and Hutter, Fast Bayesian optimization of machine learning hyperparameters on "
        "large datasets, AISTATS 2017"
    )

    def __post_init__(self) -> None:
        for option in ("pool", "startup"):
            value = getattr(self, option)
            if not isinstance(value, int) or value < 1:
                raise MethodError(f"{option} is {value!r}; it must be a whole number from 1")

    @one_thread()
    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        top = top_resource(history, "fabolas", 1)
        pool = history.cached(("fabolas pool", self.pool), lambda: Pool(history, self.pool))
        pool.update(history)
        levels = sorted({math.ceil(top / 2**k) for k in range(5)})
        if steps_are_free(history):
            levels = [top]
        new = np.flatnonzero(pool.untried)
        paused = [arm.trials[0] for arm in history.arms if arm.trials[0].state == "paused"]
        if not len(new) and not paused:
            return nothing_left(history)
        readings = _readings(history, levels)
        if len(new) and (len(history.arms) < self.startup or len(readings) < 2):
            until = levels[0] if history.arms else max(1, int(min(levels[0], remaining_steps(history))))
            return Start(until, "one of the first configurations, drawn at random", pool.config(int(rng.choice(new))))
        if len(readings) < 2:
            return Continue(paused[0].index, _next(levels, paused[0])[0], "too few readings to compare")
        model = _Model(history, readings, top)
        return self._most_informative(history, pool, new, paused, levels, model, rng)

    def _most_informative(
        self, history: History, pool: Pool, new: Codes, paused: list[TrialRecord], levels: list[int], model: _Model,
        rng: np.random.Generator,
    ) -> Decision:  # fmt: skip
        codec = history.codec
        old = np.array([codec.encode(trial.config) for trial in paused]).reshape(len(paused), codec.dimensions)
        fresh = new[_best_by_improvement(model, pool.points[new])[:_NEW]]
        old_first = _best_by_improvement(model, old)[:_STARTED]
        who = [paused[i] for i in old_first] + [None] * len(fresh)
        points = np.vstack([old[old_first], pool.points[fresh]])
        choices = [(i, until) for i, trial in enumerate(who) for until in _next(levels, trial)]
        cost = np.array([until - (trial.step if (trial := who[i]) else 0) for i, until in choices], dtype=float)
        gain = model.information(points, choices, rng.standard_normal((_DRAWS, len(points)))) / cost
        affordable = cost <= remaining_steps(history)
        best = np.where(affordable, gain, -np.inf).argmax() if affordable.any() else cost.argmin()
        i, until = choices[int(best)]
        trial = who[i]
        name = "a new configuration" if trial is None else f"trial {trial.index}"
        reason = f"training {name} until step {until} tells most per step about which of {len(points)} ends best"
        if trial is not None:
            return Continue(trial.index, until, reason)
        return Start(until, reason, pool.config(int(fresh[i - len(old_first)])))


def _next(levels: list[int], trial: TrialRecord | None) -> list[int]:
    """The steps until which a configuration can be trained further."""
    return [level for level in levels if trial is None or level > trial.step]


def _best_by_improvement(model: _Model, points: Array) -> Codes:
    """Configurations from the largest expected improvement at s = 1 to the lowest."""
    if not len(points):
        return np.zeros(0, dtype=np.int64)
    mean, C = model.joint(points, np.ones(len(points)))
    gain = expected_improvement(mean, np.sqrt(np.maximum(np.diag(C), 0.0)), float(model.u.min()))
    return np.argsort(-gain, kind="stable")


def _readings(history: History, levels: list[int]) -> list[tuple[int, int, float]]:
    """Arm, step and loss of the readings at the fidelities, in log order."""
    wanted = set(levels)
    return [(trial.arm, step, loss) for trial, step, loss in history.readings if step in wanted and not trial.replicate]


class _Model:
    """The process of Eq. 4 and 5, given the readings of a history."""

    def __init__(self, history: History, readings: list[tuple[int, int, float]], top: int) -> None:
        self._history, self._top = history, top
        self._choices = tuple(bool(n) for n in history.codec.choices)
        arms, steps, losses = (np.array(column) for column in zip(*readings, strict=True))
        encoded = np.array([history.codec.encode(history.arms[arm].config) for arm in arms])
        self._X, self._s = encoded.reshape(len(arms), history.codec.dimensions), steps / top
        self.u, self._losses = normal_scores(losses), losses
        fit = min(1 << (len(losses).bit_length() - 1), _MOST_FITTED)
        self._theta = history.cached(("fabolas", fit, top), lambda: self._learn(fit)) if fit >= 8 else self._start()

    def _start(self) -> Array:
        """log ℓ, log L₁₁, L₂₁, log L₂₂ and log of the noise before anything is learned."""
        return np.array([math.log(0.5 * math.sqrt(self._X.shape[1])), 0.0, 0.0, 0.0, math.log(0.05)])

    def _kernel(self, theta: Array, X: Array, s: Array, Z: Array, t: Array) -> Array:
        M = Kernel("matern52", float(np.exp(theta[0])), choices=self._choices)(X, Z)
        L = np.array([[math.exp(theta[1]), 0.0], [theta[2], math.exp(theta[3])]])
        phi, psi = (np.column_stack([np.ones(len(f)), (1 - f) ** 2]) @ L for f in (s, t))  # Eq. 5
        return np.asarray(M * (phi @ psi.T))  # Eq. 4

    def _learn(self, fit: int) -> Array:
        """The most likely parameters of the first readings, each normal around its start with deviation 1."""
        from scipy.optimize import minimize

        start, X, s = self._start(), self._X[:fit], self._s[:fit]
        u = normal_scores(self._losses[:fit])

        def negative(theta: Array) -> float:
            K = self._kernel(theta, X, s, X, s) + (np.exp(theta[4]) + 1e-8) * np.eye(fit)
            try:
                L = np.linalg.cholesky(K)
            except np.linalg.LinAlgError:
                return 1e12
            w = np.linalg.solve(L, u)
            return float(0.5 * w @ w + np.log(np.diag(L)).sum() + 0.5 * np.square(theta - start).sum())

        bounds = [(at - 3, at + 3) for at in start]
        return np.asarray(minimize(negative, start, method="L-BFGS-B", bounds=bounds, options={"maxiter": 10}).x)

    @cached_property
    def _factor(self) -> tuple[Array, Array]:
        K = self._kernel(self._theta, self._X, self._s, self._X, self._s)
        L = np.linalg.cholesky(K + (np.exp(self._theta[4]) + 1e-8) * np.eye(len(K)))
        return np.asarray(L, dtype=np.float64), np.asarray(np.linalg.solve(L, self.u), dtype=np.float64)

    def joint(self, Z: Array, t: Array) -> tuple[Array, Array]:
        """Mean (m,) and covariance (m, m) of the scores at points and fidelities."""
        L, w = self._factor
        V = np.linalg.solve(L, self._kernel(self._theta, self._X, self._s, Z, t))
        return np.asarray(V.T @ w), self._kernel(self._theta, Z, t, Z, t) - V.T @ V

    def information(self, points: Array, choices: list[tuple[int, int]], draws: Array) -> Array:
        """Return how much each choice of a point and a step lowers the expected entropy of p_min (Eq. 7). Shape
        (choices,).
        """
        rows, n = [i for i, _ in choices], len(points)
        s = np.concatenate([np.ones(n), [until / self._top for _, until in choices]])
        mean, C = self.joint(np.vstack([points, points[rows]]), s)
        noise = math.exp(self._theta[4])
        shifts = C[:n, n:] / np.sqrt(np.maximum(np.diag(C)[n:], 0.0) + noise)
        now = expected_entropy(mean[:n], C[:n, :n], np.zeros(n), draws)
        return np.array([now - expected_entropy(mean[:n], C[:n, :n], shift, draws) for shift in shifts.T])
