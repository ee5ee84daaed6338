"""A Gaussian process over configurations that changes from round to round.

The value of configuration x in round t is f_t(x), with covariance k(x, x') · c(|t − t'|). Between
looks nothing is learned, but the process moves on: the mean shrinks and the variance grows.

======== ================================================================= ==========
symbol   meaning                                                           shape
======== ================================================================= ==========
ε        forgetting rate: f_{t+1} = √(1−ε)·f_t + √ε·g_{t+1}                scalar
s        √(1−ε), the correlation of one round with the next                scalar
K        prior covariance of the N arms                                    (N, N)
μ, σ²    posterior mean and variance of f_t on the arms                    (N,)
g        how much the past has faded since it was written down             scalar
A, V     what the looks took away: posterior covariance = K − g²(A + VᵀV)  (N, N), (n, N)
S        variance of the reading about to be taken, σ²_j + noise           scalar
D, h, y  looked-at points, their rounds, their readings                    (n, d), (n,), (n,)
L        Cholesky factor of K̃ + noise·I over the looks                     (n, n)
======== ================================================================= ==========

References: Wang, Ren, Bogunovic, Xiong, Urtasun, "Cost-efficient online hyperparameter optimization"
(2020, 2021), section 4.1 and appendix B; Bogunovic, Scarlett, Cevher, "Time-varying Gaussian process
bandit optimization" (2016).

Differs from the paper in that a round without a look does advance the process (equations 4 and 8 of
the version with proofs), where line 10 of its Algorithm 1 read literally leaves μ and σ as they
are and would never look again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from shoestring.models.kernels import Kernel

Array = NDArray[np.float64]


class Drift(Protocol):
    """c(lag): how alike a configuration's values are that many rounds apart."""

    def __call__(self, lag: Array) -> Array: ...

    @property
    def reach(self) -> float:
        """Rounds after which a look tells next to nothing."""
        ...


@dataclass(frozen=True)
class Forgetting:
    """(1−ε)^(lag/2), the kernel of the Markov model of section 4.1."""

    rate: float

    def __call__(self, lag: Array) -> Array:
        return np.asarray((1.0 - self.rate) ** (lag / 2.0))

    @property
    def reach(self) -> float:
        return 10.0 / self.rate if self.rate else np.inf


@dataclass(frozen=True)
class Smooth:
    """exp(−lag²/2ℓ²), the temporal squared exponential of the bandit experiments (appendix B.1)."""

    lengthscale: float

    def __call__(self, lag: Array) -> Array:
        return np.asarray(np.exp(-0.5 * np.square(lag / self.lengthscale)))

    @property
    def reach(self) -> float:
        return 6.0 * self.lengthscale


@dataclass(frozen=True)
class Process:
    """The prior: a spatial kernel, how it drifts, and the variance of a reading's noise."""

    kernel: Kernel = field(default_factory=Kernel)
    drift: Drift = field(default_factory=lambda: Forgetting(0.01))
    noise: float = 0.01

    @property
    def nugget(self) -> float:
        """The noise, kept off zero so that the same point can be looked at twice."""
        return max(self.noise, 1e-10 * self.kernel.variance)

    def covariance(self, X: Array, t: Array, Y: Array, u: Array) -> Array:
        return self.kernel(X, Y) * self.drift(np.abs(np.subtract.outer(t, u)))

    def with_parameters(self, values: Mapping[str, float]) -> Process:
        """The same process with some of lengthscale, variance, noise, forgetting, time_lengthscale replaced."""
        kernel, drift = self.kernel, self.drift
        lengthscale = values.get("lengthscale", kernel.lengthscale)
        kernel = replace(kernel, lengthscale=lengthscale, variance=values.get("variance", kernel.variance))
        if "forgetting" in values:
            drift = Forgetting(values["forgetting"])
        if "time_lengthscale" in values:
            drift = Smooth(values["time_lengthscale"])
        return Process(kernel, drift, values.get("noise", self.noise))


@dataclass(frozen=True)
class Looks:
    """What has been seen: one row per look."""

    points: Array
    rounds: Array
    values: Array

    @staticmethod
    def none(dimensions: int) -> Looks:
        return Looks(np.empty((0, dimensions)), np.empty(0), np.empty(0))

    def __len__(self) -> int:
        return len(self.values)

    def and_also(self, point: Array, round: float, value: float) -> Looks:
        rows = np.vstack([self.points, np.asarray(point)[None]])
        return Looks(rows, np.append(self.rounds, round), np.append(self.values, value))

    def last(self, count: int) -> Looks:
        kept = slice(max(0, len(self) - count), None)
        return Looks(self.points[kept], self.rounds[kept], self.values[kept])


def _factor(process: Process, looks: Looks) -> Array:
    gram = process.covariance(looks.points, looks.rounds, looks.points, looks.rounds)
    gram[np.diag_indices_from(gram)] += process.nugget
    # By rows, as a restored factor is: the order in memory would change the last bit of a solve.
    return np.ascontiguousarray(cholesky(gram, lower=True, overwrite_a=True, check_finite=False))


def posterior(process: Process, looks: Looks, points: Array, round: float) -> tuple[Array, Array]:
    """Equations 1 and 2 solved directly: mean (N,) and covariance (N, N) of f_round at the points."""
    now = np.full(len(points), float(round))
    prior = process.covariance(points, now, points, now)
    if not len(looks):
        return np.zeros(len(points)), prior
    L = _factor(process, looks)
    V = solve_triangular(L, process.covariance(looks.points, looks.rounds, points, now), lower=True)
    return V.T @ solve_triangular(L, looks.values, lower=True), prior - V.T @ V


def log_likelihood(process: Process, looks: Looks) -> float:
    """log N(y; 0, K̃ + noise·I)."""
    L = _factor(process, looks)
    w = solve_triangular(L, looks.values, lower=True, check_finite=False)
    return float(-0.5 * w @ w - np.log(np.diag(L)).sum() - 0.5 * len(looks) * np.log(2 * np.pi))


def fit(process: Process, looks: Looks, bounds: Mapping[str, tuple[float, float]], start: Sequence[float]) -> Process:
    """Maximum likelihood within bounds for the named parameters, all of them positive."""
    names = list(bounds)
    box = [tuple(np.log(bounds[name])) for name in names]

    def loss(logs: Array) -> float:
        candidate = process.with_parameters(dict(zip(names, np.exp(logs), strict=True)))
        return -log_likelihood(candidate, looks)

    first = np.clip(np.log(start), [low for low, _ in box], [high for _, high in box])
    found = minimize(loss, first, method="L-BFGS-B", bounds=box, options={"maxiter": 30})
    return process.with_parameters({name: float(v) for name, v in zip(names, np.exp(found.x), strict=True)})


class ArmFilter:
    """The exact posterior over a fixed set of arms, kept up to date in O(N²) a look and O(N) a round.

    Because the forgetting kernel is Markov, what all earlier looks say about f_t fits into an N × N
    matrix. Recent looks wait as rows of V, where the column of an arm needs no triangular solve; a
    full V is folded into A by one matrix product, so the cost stays flat for ever and no
    look is ever dropped.
    """

    ROWS = 128

    def __init__(self, covariance: Array, rate: float, noise: float) -> None:
        self._K, self._rate, self._noise = covariance, rate, noise
        self._step = float(np.sqrt(1.0 - rate))
        self._prior = np.diag(covariance).copy()
        self.mean = np.zeros(len(covariance))
        self.variance = self._prior.copy()
        self._A: Array | None = None
        self._V = np.empty((self.ROWS, len(covariance)))
        self._rows = 0
        self._fade = 1.0
        self._column: tuple[int, Array] | None = None

    def advance(self, rounds: int = 1) -> None:
        """Let time pass: μ ← s·μ, σ² ← (1−ε)σ² + ε·k (equations 4 and 8)."""
        kept = (1.0 - self._rate) ** rounds
        self.mean *= self._step**rounds
        self.variance *= kept
        self.variance += (1.0 - kept) * self._prior
        self._fade *= self._step**rounds
        self._column = None
        if self._fade < 1e-3:  # left alone it underflows after some 14,000 rounds at ε = .05
            self._renormalise()

    def covariance(self, arm: int) -> Array:
        """c: posterior covariance of one arm with all, shape (N,)."""
        if self._column is None or self._column[0] != arm:
            V = self._V[: self._rows]
            taken = V[:, arm] @ V
            if self._A is not None:
                taken += self._A[arm]
            self._column = (arm, self._K[arm] - self._fade**2 * taken)
        return self._column[1]

    def observe(self, arm: int, value: float) -> None:
        """One look, without a triangular solve: μ += c(y−μ_j)/S, σ² −= c²/S, append c/(g√S) to V."""
        c = self.covariance(arm)
        S = self.variance[arm] + self._noise
        self.mean += c * ((value - self.mean[arm]) / S)
        self.variance -= np.square(c) / S
        np.maximum(self.variance, 0.0, out=self.variance)
        self._V[self._rows] = c / (self._fade * np.sqrt(S))
        self._rows += 1
        self._column = None
        if self._rows == self.ROWS:
            self._fold()

    def _fold(self) -> None:
        V = self._V[: self._rows]
        self._A = V.T @ V if self._A is None else self._A + V.T @ V
        self._rows = 0

    def _renormalise(self) -> None:
        self._V[: self._rows] *= self._fade
        if self._A is not None:
            self._A *= self._fade**2
        self._fade = 1.0

    def state(self) -> dict[str, Any]:
        """Everything that changes, as arrays and numbers."""
        rows = self._V[: self._rows].copy()
        return {"mean": self.mean, "variance": self.variance, "V": rows, "A": self._A, "fade": self._fade}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.mean, self.variance = state["mean"].copy(), state["variance"].copy()
        self._rows = len(state["V"])
        self._V[: self._rows] = state["V"]
        self._A, self._fade, self._column = state["A"], float(state["fade"]), None


class WindowedProcess:
    """The posterior at any points, for any drift, from the looks within reach.

    A look appends a row to L. When a fifth more looks than the window allows have gathered, the
    oldest are dropped and L is made anew: dropping rows from recursive moments instead diverges.
    """

    LARGEST = 1000

    def __init__(self, process: Process, looks: Looks, factor: Array | None = None) -> None:
        """A factor of these looks that was kept spares making it, and continues to the last bit."""
        self.process, self.looks = process, looks
        self._window = int(min(max(process.drift.reach, 10), self.LARGEST))
        if factor is None:
            self._factorise()
        else:
            self.factor = factor
            self._solve()

    def observe(self, point: Array, round: int, value: float) -> None:
        crowded = len(self.looks) >= 1.2 * self._window
        earlier, self.looks = self.looks, self.looks.and_also(point, round, value)
        if crowded:
            self.looks = self.looks.last(self._window)
            self._factorise()
        else:
            self._append(earlier)

    def at(self, points: Array, round: int) -> tuple[Array, Array]:
        """Mean and variance of f_round, shapes (m,)."""
        k = self._with_looks(points, round)
        V = solve_triangular(self.factor, k, lower=True, check_finite=False)
        variance = self._prior(points) - np.einsum("ij,ij->j", V, V)
        return k.T @ self._alpha, np.maximum(variance, 1e-12)

    def gradients(self, points: Array, round: int) -> tuple[Array, Array, Array, Array]:
        """Mean, variance (m,) and their gradients by the points (m, d)."""
        faded = self.process.drift(round - self.looks.rounds)
        k, dk = self.process.kernel.with_gradient(points, self.looks.points)
        k, dk = k * faded, dk * faded[:, None]
        V = solve_triangular(self.factor, k.T, lower=True, check_finite=False)
        W = solve_triangular(self.factor, V, lower=True, trans="T", check_finite=False)  # (K̃+noise·I)⁻¹k
        variance = np.maximum(self._prior(points) - np.einsum("ij,ij->j", V, V), 1e-12)
        d_mean = np.einsum("mnd,n->md", dk, self._alpha)
        return k @ self._alpha, variance, d_mean, -2.0 * np.einsum("mnd,nm->md", dk, W)

    def covariance(self, point: Array, points: Array, round: int) -> Array:
        """Posterior covariance of one point with others, shape (m,)."""
        now = np.full(len(points), float(round))
        prior = self.process.covariance(point[None], now[:1], points, now)[0]
        both = self._with_looks(np.vstack([point[None], points]), round)
        V = solve_triangular(self.factor, both, lower=True, check_finite=False)
        return np.asarray(prior - V[:, 0] @ V[:, 1:])

    def _prior(self, points: Array) -> Array:
        return np.full(len(points), self.process.kernel.variance)

    def _with_looks(self, points: Array, round: int) -> Array:
        now = np.full(len(points), float(round))
        return self.process.covariance(self.looks.points, self.looks.rounds, points, now)

    def _factorise(self) -> None:
        self.factor = _factor(self.process, self.looks) if len(self.looks) else np.empty((0, 0))
        self._solve()

    def _append(self, earlier: Looks) -> None:
        newest = self.looks.last(1)
        k = self.process.covariance(earlier.points, earlier.rounds, newest.points, newest.rounds)[:, 0]
        row = solve_triangular(self.factor, k, lower=True, check_finite=False) if len(earlier) else k
        own = self.process.kernel.variance + self.process.nugget
        L = np.zeros((len(self.looks), len(self.looks)))
        L[:-1, :-1], L[-1, :-1] = self.factor, row
        L[-1, -1] = np.sqrt(np.maximum(own - row @ row, 1e-12 * own))
        self.factor = L
        self._solve()

    def _solve(self) -> None:
        half = solve_triangular(self.factor, self.looks.values, lower=True, check_finite=False)
        self._alpha = solve_triangular(self.factor, half, lower=True, trans="T", check_finite=False)
