"""A Gaussian process over configurations that changes from round to round.

The reward of configuration x in round t is f_t(x), with covariance k(x, x') · c(|t − t'|). In a round without a
reading nothing is learned, but the process moves on: the mean shrinks and the variance grows.

======== ================================================================= ==========
symbol   meaning                                                           shape
======== ================================================================= ==========
ε        forgetting rate: f_{t+1} = √(1−ε)·f_t + √ε·g_{t+1}                scalar
s        √(1−ε), the correlation of one round with the next                scalar
K        prior covariance of the N arms                                    (N, N)
μ, σ²    posterior mean and variance of f_t on the arms                    (N,)
g        the factor by which A and V have faded since they were stored     scalar
A, V     the reduction by the readings: covariance = K − g²(A + VᵀV)       (N, N), (n, N)
S        variance of the next reading, σ²_j + noise                        scalar
D, h, y  points of the readings, their rounds, their values                (n, d), (n,), (n,)
L        Cholesky factor of K̃ + noise·I over the readings                  (n, n)
======== ================================================================= ==========

References: Wang, Ren, Bogunovic, Xiong and Urtasun, Cost-efficient online hyperparameter optimization (AutoML
workshop 2020, with proofs; ACML 2021), section 4.1 and appendix B; Bogunovic, Scarlett and Cevher, Time-varying
Gaussian process bandit optimization (AISTATS 2016).

Differs from the paper in that a round without a reading does advance the process (equations 4 and 8 of the 2020
version). Line 10 of Algorithm 1, read literally, never changes μ and σ and would never ask for a reading again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from shoestring._arrays import Array
from shoestring.models.cholesky import append_rows, solve_lower, solve_upper
from shoestring.models.kernels import Kernel


class Drift(Protocol):
    """c(lag): the correlation of a configuration's rewards that many rounds apart."""

    def __call__(self, lag: Array) -> Array: ...

    @property
    def lifetime(self) -> float:
        """Rounds after which a reading says next to nothing."""
        ...


@dataclass(frozen=True)
class Forgetting:
    """(1−ε)^(lag/2), the kernel of the Markov model of section 4.1."""

    rate: float

    def __call__(self, lag: Array) -> Array:
        return np.asarray((1.0 - self.rate) ** (lag / 2.0))

    @property
    def lifetime(self) -> float:
        return 10.0 / self.rate if self.rate else np.inf


@dataclass(frozen=True)
class Smooth:
    """exp(−lag²/2ℓ²), the temporal squared exponential of the bandit experiments (appendix B.1)."""

    lengthscale: float

    def __call__(self, lag: Array) -> Array:
        return np.asarray(np.exp(-0.5 * np.square(lag / self.lengthscale)))

    @property
    def lifetime(self) -> float:
        return 6.0 * self.lengthscale


@dataclass(frozen=True)
class TimeVaryingProcess:
    """The prior: a spatial kernel, how it drifts, and the variance of a reading's noise."""

    kernel: Kernel = field(default_factory=Kernel)
    drift: Drift = field(default_factory=lambda: Forgetting(0.01))
    noise: float = 0.01

    @property
    def nugget(self) -> float:
        """The noise, kept off zero so that the same point can be read twice."""
        return max(self.noise, 1e-10 * self.kernel.variance)

    def covariance(self, X: Array, t: Array, Y: Array, u: Array) -> Array:
        return self.kernel(X, Y) * self.drift(np.abs(np.subtract.outer(t, u)))

    @property
    def parameters(self) -> dict[str, float]:
        """All that :meth:`with_parameters` can replace; a length-scale per coordinate cannot be."""
        values = {"variance": self.kernel.variance, "noise": self.noise}
        if isinstance(self.kernel.lengthscale, float):
            values["lengthscale"] = self.kernel.lengthscale
        if isinstance(self.drift, Forgetting):
            values["forgetting"] = self.drift.rate
        if isinstance(self.drift, Smooth):
            values["time_lengthscale"] = self.drift.lengthscale
        return values

    def with_parameters(self, values: Mapping[str, float]) -> TimeVaryingProcess:
        """The same process with some of its parameters replaced."""
        kernel, drift = self.kernel, self.drift
        lengthscale = values.get("lengthscale", kernel.lengthscale)
        kernel = replace(kernel, lengthscale=lengthscale, variance=values.get("variance", kernel.variance))
        if "forgetting" in values:
            drift = Forgetting(values["forgetting"])
        if "time_lengthscale" in values:
            drift = Smooth(values["time_lengthscale"])
        return TimeVaryingProcess(kernel, drift, values.get("noise", self.noise))


@dataclass(frozen=True)
class Readings:
    """The observations: a point, a round and a value each. Shapes (n, d), (n,) and (n,)."""

    points: Array
    rounds: Array
    values: Array

    @staticmethod
    def empty(dimensions: int) -> Readings:
        return Readings(np.empty((0, dimensions)), np.empty(0), np.empty(0))

    def __len__(self) -> int:
        return len(self.values)

    def append(self, point: Array, round: float, value: float) -> Readings:
        rows = np.vstack([self.points, np.asarray(point)[None]])
        return Readings(rows, np.append(self.rounds, round), np.append(self.values, value))

    def last(self, count: int) -> Readings:
        kept = slice(max(0, len(self) - count), None)
        return Readings(self.points[kept], self.rounds[kept], self.values[kept])


def _factor(process: TimeVaryingProcess, readings: Readings) -> Array:
    gram = process.covariance(readings.points, readings.rounds, readings.points, readings.rounds)
    gram[np.diag_indices_from(gram)] += process.nugget
    # By rows, as a restored factor is: the order in memory would change the last bit of a solve.
    return np.ascontiguousarray(cholesky(gram, lower=True, overwrite_a=True, check_finite=False))


def posterior(process: TimeVaryingProcess, readings: Readings, points: Array, round: float) -> tuple[Array, Array]:
    """Equations 1 and 2 solved directly: mean (N,) and covariance (N, N) of f_round at the points."""
    now = np.full(len(points), float(round))
    prior = process.covariance(points, now, points, now)
    if not len(readings):
        return np.zeros(len(points)), prior
    L = _factor(process, readings)
    V = solve_triangular(L, process.covariance(readings.points, readings.rounds, points, now), lower=True)
    return V.T @ solve_triangular(L, readings.values, lower=True), prior - V.T @ V


def log_likelihood(process: TimeVaryingProcess, readings: Readings) -> float:
    """log N(y; 0, K̃ + noise·I)."""
    L = _factor(process, readings)
    w = solve_lower(L, readings.values)
    return float(-0.5 * w @ w - np.log(np.diag(L)).sum() - 0.5 * len(readings) * np.log(2 * np.pi))


def fit(
    process: TimeVaryingProcess, readings: Readings, bounds: Mapping[str, tuple[float, float]]
) -> TimeVaryingProcess:
    """Maximum likelihood within bounds for the named parameters, from their present values; all are positive."""
    names, present = list(bounds), process.parameters
    box = [tuple(np.log(bounds[name])) for name in names]

    def loss(logs: Array) -> float:
        candidate = process.with_parameters(dict(zip(names, np.exp(logs), strict=True)))
        return -log_likelihood(candidate, readings)

    start = np.log([present[name] for name in names])
    start = np.clip(start, [low for low, _ in box], [high for _, high in box])
    found = minimize(loss, start, method="L-BFGS-B", bounds=box, options={"maxiter": 30})
    return process.with_parameters({name: float(v) for name, v in zip(names, np.exp(found.x), strict=True)})


class ArmFilter:
    """The exact posterior over a fixed set of arms, updated in O(N²) per reading and O(N) per round.

    Because the forgetting kernel is Markov, everything that earlier readings say about f_t fits into an N × N
    matrix. Recent readings are kept as rows of V, where the covariance of an arm with all others needs no
    triangular solve. A full V is added to A by one matrix product, so the cost per round stays constant and no
    reading is ever dropped.
    """

    ROWS = 128

    def __init__(self, covariance: Array, rate: float, noise: float) -> None:
        self._K, self._rate, self._noise = covariance, rate, noise
        self._step = float(np.sqrt(1.0 - rate))
        self._prior = np.diag(covariance).copy()
        self.round = 0
        self.mean = np.zeros(len(covariance))
        self.variance = self._prior.copy()
        self._A: Array | None = None
        self._V = np.empty((self.ROWS, len(covariance)))
        self._rows = 0
        self._fade = 1.0
        self._column: tuple[int, Array] | None = None

    def predict(self, round: int) -> tuple[Array, Array]:
        """Mean and variance of f_round on all arms, shapes (N,). Rounds must not decrease."""
        if round > self.round:
            self._advance(round - self.round)
            self.round = round
        return self.mean, self.variance

    def _advance(self, rounds: int) -> None:
        """μ ← s·μ, σ² ← (1−ε)σ² + ε·k for each round (equations 4 and 8)."""
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
            reduction = V[:, arm] @ V
            if self._A is not None:
                reduction += self._A[arm]
            self._column = (arm, self._K[arm] - self._fade**2 * reduction)
        return self._column[1]

    def observe(self, arm: int, round: int, value: float) -> None:
        """One reading, without a triangular solve: μ += c(y−μ_j)/S, σ² −= c²/S, append c/(g√S) to V."""
        self.predict(round)
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
        numbers = {"fade": self._fade, "round": self.round}
        return {"mean": self.mean, "variance": self.variance, "V": rows, "A": self._A, **numbers}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.mean, self.variance = state["mean"].copy(), state["variance"].copy()
        self._rows = len(state["V"])
        self._V[: self._rows] = state["V"]
        self._A, self._fade, self._column = state["A"], float(state["fade"]), None
        self.round = int(state["round"])


class WindowedProcess:
    """The posterior at any points, for any drift, from the most recent readings.

    A reading appends a row to L. When there are a fifth more readings than the window allows, the oldest are
    dropped and L is computed again; updating L or the moments for dropped rows diverges instead.
    """

    LARGEST = 1000

    def __init__(self, process: TimeVaryingProcess, readings: Readings) -> None:
        self.process = process
        self._window = int(min(max(process.drift.lifetime, 10), self.LARGEST))
        self.readings = readings.last(self._window) if self._is_crowded(readings) else readings
        self._factorise()

    def _is_crowded(self, readings: Readings) -> bool:
        return len(readings) >= 1.2 * self._window

    def observe(self, point: Array, round: int, value: float) -> None:
        earlier, self.readings = self.readings, self.readings.append(point, round, value)
        if self._is_crowded(earlier):
            self.readings = self.readings.last(self._window)
            self._factorise()
        else:
            self._append(earlier)

    def state(self) -> dict[str, Any]:
        """The readings and L, which continues to the last bit where a new factorisation would not."""
        return {**asdict(self.readings), "factor": self._factor}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.readings = Readings(state["points"], state["rounds"], state["values"])
        self._factor = state["factor"]
        self._solve()

    def predict(self, points: Array, round: int) -> tuple[Array, Array]:
        """Mean and variance of f_round, shapes (m,)."""
        k = self._with_readings(points, round)
        V = solve_lower(self._factor, k)
        return k.T @ self._alpha, self._variance(V)

    def predict_with_gradient(self, points: Array, round: int) -> tuple[Array, Array, Array, Array]:
        """Mean, variance (m,) and their gradients by the points (m, d)."""
        faded = self.process.drift(round - self.readings.rounds)
        k, dk = self.process.kernel.with_gradient(points, self.readings.points)
        k, dk = k * faded, dk * faded[:, None]
        V = solve_lower(self._factor, k.T)
        W = solve_upper(self._factor, V)  # (K̃+noise·I)⁻¹k
        d_mean = np.einsum("mnd,n->md", dk, self._alpha)
        return k @ self._alpha, self._variance(V), d_mean, -2.0 * np.einsum("mnd,nm->md", dk, W)

    def covariance(self, point: Array, points: Array, round: int) -> Array:
        """Posterior covariance of one point with others, shape (m,)."""
        now = np.full(len(points), float(round))
        prior = self.process.covariance(point[None], now[:1], points, now)[0]
        both = self._with_readings(np.vstack([point[None], points]), round)
        V = solve_lower(self._factor, both)
        return np.asarray(prior - V[:, 0] @ V[:, 1:])

    def _variance(self, V: Array) -> Array:
        return np.asarray(np.maximum(self.process.kernel.variance - np.einsum("ij,ij->j", V, V), 1e-12))

    def _with_readings(self, points: Array, round: int) -> Array:
        now = np.full(len(points), float(round))
        return self.process.covariance(self.readings.points, self.readings.rounds, points, now)

    def _factorise(self) -> None:
        self._factor = _factor(self.process, self.readings) if len(self.readings) else np.empty((0, 0))
        self._solve()

    def _append(self, earlier: Readings) -> None:
        newest = self.readings.last(1)
        k = self.process.covariance(earlier.points, earlier.rounds, newest.points, newest.rounds)[:, 0]
        row = solve_lower(self._factor, k) if len(earlier) else k
        own = self.process.kernel.variance + self.process.nugget
        pivot = np.sqrt(np.maximum(own - row @ row, 1e-12 * own))
        self._factor = append_rows(self._factor, row[None], pivot, order="C")
        self._solve()

    def _solve(self) -> None:
        half = solve_lower(self._factor, self.readings.values)
        self._alpha = solve_upper(self._factor, half)
