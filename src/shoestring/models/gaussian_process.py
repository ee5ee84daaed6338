"""A Gaussian process with a Matérn-5/2 kernel and a length-scale for each axis, in plain arrays.

========  =========  =======================================================================
symbol    shape      meaning
========  =========  =======================================================================
Z         (n, D)     the columns of what was observed (``embedding.py``); Zs (m, D) new ones
y         (n,)       what was observed, of mean about 0 and spread about 1
axis      (D,)       which axis a column belongs to: its columns share a length-scale
ℓ         (d,)       the length-scales
s², σ²    ()         the variance of the function, and of the noise
r         (n, m)     √Σ((z−z')/ℓ)²
k         (n, m)     s² (1 + √5 r + 5r²/3) exp(−√5 r)
G         (n, m)     (5/3) s² (1 + √5 r) exp(−√5 r); ∂k/∂z = −G (z−z')/ℓ²
L         (n, n)     the lower Cholesky factor of k(Z, Z) + σ²
α         (n,)       (k + σ²)⁻¹ y
========  =========  =======================================================================

ℓ, s² and σ² are those of the highest posterior: the marginal likelihood (Rasmussen and Williams,
Gaussian Processes for Machine Learning, 2006, eq. 2.30 and 5.9) times normal priors on their
logarithms. With the parameters kept, new observations extend L by a block instead of factorising anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_ROOT5 = 5**0.5
# Beside the learned noise: what keeps the factorisation stable where two points are almost the same.
_JITTER = 1e-8


@dataclass(frozen=True)
class Prior:
    """Normal priors on the logarithms: their centres and standard deviations.

    A length-scale's centre grows with the root of the number of axes, as distances do (Hvarfner, Hellsten
    and Nardi, Vanilla Bayesian optimization performs great in high dimensions, ICML 2024).
    """

    length: float = 0.4
    length_spread: float = 1.0
    variance: float = 1.0
    variance_spread: float = 1.0
    noise: float = 1e-3
    noise_spread: float = 2.0

    def centre(self, d: int) -> Array:
        lengths = np.full(d, np.log(self.length) + 0.5 * np.log(d))
        return np.append(lengths, [np.log(self.variance), np.log(self.noise)])

    def spread(self, d: int) -> Array:
        return np.append(np.full(d, self.length_spread), [self.variance_spread, self.noise_spread])


@dataclass(frozen=True, eq=False)
class Parameters:
    """ℓ, s² and σ²."""

    lengths: Array
    variance: float
    noise: float


def squared_distances(A: Array, B: Array) -> Array:
    """|a − b|² of all pairs. Shapes (n, D) and (m, D) to (n, m)."""
    squared = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * (A @ B.T)
    return np.asarray(np.maximum(squared, 0.0, out=squared))


def _kernel(A: Array, B: Array, variance: float) -> tuple[Array, Array]:
    """k and G of points that are already divided by the length-scales."""
    r = np.sqrt(squared_distances(A, B))
    r *= _ROOT5
    fall = np.exp(-r)
    fall *= variance
    G = (1 + r) * fall
    k = G + (r * r / 3) * fall
    return k, G * (5 / 3)


def learned(Z: Array, y: Array, axis: Codes, prior: Prior | None = None) -> Parameters:
    """The parameters with the highest posterior, from two starts: a smooth and a rough function."""
    from scipy.optimize import minimize

    prior = prior or Prior()
    d = int(axis.max()) + 1 if len(axis) else 0
    centre, spread = prior.centre(d), prior.spread(d)
    bounds = [*[(np.log(0.01), np.log(100.0))] * d, (np.log(0.01), np.log(100.0)), (np.log(1e-6), np.log(1.0))]
    found = None
    for shift in (0.0, -1.0):
        start = centre.copy()
        start[:d] += shift
        result = minimize(
            _negative_log_posterior,
            start,
            args=(Z, y, axis, centre, spread),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 40, "ftol": 1e-5},
        )
        if found is None or result.fun < found.fun:
            found = result
    assert found is not None
    return _parameters(found.x, d)


def _parameters(theta: Array, d: int) -> Parameters:
    return Parameters(np.exp(theta[:d]), float(np.exp(theta[d])), float(np.exp(theta[d + 1])))


def _negative_log_posterior(
    theta: Array, Z: Array, y: Array, axis: Codes, centre: Array, spread: Array
) -> tuple[float, Array]:
    """Its value and its gradient by the logarithms of ℓ, s² and σ² (eq. 2.30 and 5.9)."""
    n, d = len(y), len(theta) - 2
    at = _parameters(theta, d)
    scaled = Z / at.lengths[axis]
    k, G = _kernel(scaled, scaled, at.variance)
    K = k.copy()
    K.flat[:: n + 1] += at.noise + _JITTER
    L, failed = dpotrf(K, lower=1, clean=1)
    if failed:
        return 1e10, np.zeros_like(theta)
    inverse, _ = dpotri(L, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    alpha = inverse @ y
    off = (theta - centre) / spread
    value = 0.5 * y @ alpha + np.log(np.diag(L)).sum() + 0.5 * off @ off
    W = inverse - np.outer(alpha, alpha)  # the gradient of the likelihood by K, times 2
    gradient = np.empty_like(theta)
    M = W * G
    # Σ_ij M_ij (z_i − z_j)² = 2 Σ_i z_i² (M1)_i − 2 zᵀMz for each column, summed over an axis's columns
    by_column = 2 * ((scaled**2).T @ M.sum(axis=1)) - 2 * (scaled * (M @ scaled)).sum(axis=0)
    gradient[:d] = 0.5 * np.bincount(axis, by_column, minlength=d)
    gradient[d] = 0.5 * (W * k).sum()
    gradient[d + 1] = 0.5 * at.noise * np.trace(W)
    return float(value), gradient + off / spread


@dataclass(frozen=True, eq=False)
class Process:
    """A process that has seen Z and y; :meth:`given` makes one.

    >>> import numpy as np
    >>> Z, y = np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])
    >>> process = Process.given(Z, y, np.array([0]), Parameters(np.array([0.5]), 1.0, 1e-6))
    >>> mean, sd = process.predict(np.array([[0.0], [0.5]]))
    >>> mean.round(3) + 0.0, bool(sd[0] < 0.01 < sd[1])
    (array([-1.,  0.]), True)
    """

    parameters: Parameters
    axis: Codes
    scaled: Array
    y: Array
    L: Array
    alpha: Array

    @classmethod
    def given(cls, Z: Array, y: Array, axis: Codes, parameters: Parameters) -> Process:
        scaled = Z / parameters.lengths[axis]
        k, _ = _kernel(scaled, scaled, parameters.variance)
        L = _factor(k, parameters.noise)
        return cls(parameters, axis, scaled, y, L, cho_solve((L, True), y))

    def extended(self, Z: Array, y: Array) -> Process:
        """With more observations, the earlier ones' factor kept; ``y`` (n + m,) holds all values anew.

        [[L, 0], [B, C]] with B = (L⁻¹ k(Z, Zs))ᵀ and C Cᵀ = k(Zs, Zs) + σ² − B Bᵀ.
        """
        if not len(Z):
            return Process(self.parameters, self.axis, self.scaled, y, self.L, cho_solve((self.L, True), y))
        new, n = Z / self.parameters.lengths[self.axis], len(self.scaled)
        across, _ = _kernel(self.scaled, new, self.parameters.variance)
        own, _ = _kernel(new, new, self.parameters.variance)
        B = solve_triangular(self.L, across, lower=True).T
        L = np.zeros((n + len(new), n + len(new)))
        L[:n, :n], L[n:, :n], L[n:, n:] = self.L, B, _factor(own - B @ B.T, self.parameters.noise)
        return Process(self.parameters, self.axis, np.vstack([self.scaled, new]), y, L, cho_solve((L, True), y))

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the function, without the noise. Shape (m, D) to (m,) and (m,)."""
        k, _ = _kernel(self.scaled, Z / self.parameters.lengths[self.axis], self.parameters.variance)
        V = solve_triangular(self.L, k, lower=True, check_finite=False)
        variance = self.parameters.variance - (V * V).sum(axis=0)
        return self.alpha @ k, np.sqrt(np.maximum(variance, 1e-12))

    def predict_with_gradient(self, Z: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, standard deviation and their gradients by Z. Shapes (m,), (m,), (m, D) and (m, D)."""
        scales = self.parameters.lengths[self.axis]
        new = Z / scales
        k, G = _kernel(self.scaled, new, self.parameters.variance)
        V = cho_solve((self.L, True), k, check_finite=False)
        sd = np.sqrt(np.maximum(self.parameters.variance - (k * V).sum(axis=0), 1e-12))

        def slope(weights: Array) -> Array:
            """Σ_i w_i ∂k_i/∂z, with ∂k/∂z = −G (z − z_i)/ℓ² and z in units of ℓ."""
            w = weights * G
            return np.asarray((w.T @ self.scaled - w.sum(axis=0)[:, None] * new) / scales)

        return self.alpha @ k, sd, slope(self.alpha[:, None]), -slope(V) / sd[:, None]

    def leave_one_out(self) -> tuple[Array, Array]:
        """What the others say of each observation: mean and standard deviation, noise included (eq. 5.12)."""
        inverse, _ = dpotri(self.L, lower=1)
        precision = np.diag(inverse)
        return self.y - self.alpha / precision, np.sqrt(1 / precision)


def _factor(k: Array, noise: float) -> Array:
    """The lower Cholesky factor, with as much jitter as it takes."""
    for jitter in (_JITTER, 1e-6, 1e-4, 1e-2):
        K = k + (noise + jitter) * np.eye(len(k))
        L, failed = dpotrf(K, lower=1, clean=1)
        if not failed:
            return np.asarray(L)
    raise ArithmeticError("the covariance of the observations is not positive; are there NaNs among them?")
