"""A Gaussian process with a Matérn-5/2 kernel and a length-scale for each axis.

========  =========  =======================================================================
symbol    shape      meaning
========  =========  =======================================================================
Z         (n, D)     the observed points as columns (``embedding.py``); Zs (m, D) new ones
y         (n,)       the observed values, of mean about 0 and spread about 1
axis      (D,)       which axis a column belongs to: its columns share a length-scale
ℓ         (d,)       the length-scales
a, b      (w,)       the shapes of the ordered axes, if these are warped (``warping.py``)
s², σ²    ()         the variance of the function, and of the noise
u         (n, D)     the warped columns divided by ℓ: ``scaled``
r         (n, m)     √Σ(u−u')²
k         (n, m)     s² (1 + √5 r + 5r²/3) exp(−√5 r)
G         (n, m)     (5/3) s² (1 + √5 r) exp(−√5 r); ∂k/∂u = −G (u−u')
L         (n, n)     the lower Cholesky factor of k(Z, Z) + σ²
α         (n,)       (k + σ²)⁻¹ y
========  =========  =======================================================================

ℓ, s², σ², a and b are the maximum a posteriori: the marginal likelihood (Rasmussen and Williams, Gaussian Processes
for Machine Learning, 2006, eq. 2.30 and 5.9) times normal priors on their logarithms. With the parameters kept, new
observations extend L by a block, without a new factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import OptimizeResult, minimize

from shoestring._arrays import Array, Codes
from shoestring.models.cholesky import JITTER, append_rows, factor, solve, solve_lower
from shoestring.models.kernels import matern52
from shoestring.models.warping import NO_WARP, Warp

# The bound of |log a| and |log b|.
_STRONGEST_WARP = 1.5
# The centres of the priors of ℓ, s² and σ², and the deviations of the logarithms of these and of the shapes.
_LENGTH, _VARIANCE, _NOISE = 0.4, 1.0, 1e-3
_LENGTH_SPREAD, _VARIANCE_SPREAD, _NOISE_SPREAD, _SHAPE_SPREAD = 1.0, 1.0, 2.0, 0.33
# The most iterations from a start.
_THOROUGH, _QUICK = 40, 10


def prior(d: int, w: int) -> tuple[Array, Array]:
    """Centres and standard deviations of the normal priors on the logarithms, for d axes and w warped columns.

    A length-scale's centre grows with the root of the number of axes, as distances do (Hvarfner, Hellsten
    and Nardi, Vanilla Bayesian optimization performs great in high dimensions, ICML 2024).
    """
    length = np.log(_LENGTH) + 0.5 * np.log(d)
    centre = [length] * d + [np.log(_VARIANCE), np.log(_NOISE)] + [0.0] * (2 * w)
    spread = [_LENGTH_SPREAD] * d + [_VARIANCE_SPREAD, _NOISE_SPREAD] + [_SHAPE_SPREAD] * (2 * w)
    return np.array(centre), np.array(spread)


@dataclass(frozen=True, eq=False)
class Parameters:
    """ℓ, s², σ² and the warping of the axes."""

    lengths: Array
    variance: float
    noise: float
    warp: Warp = NO_WARP

    def scaled(self, Z: Array, axis: Codes) -> Array:
        """u. Shape (n, D)."""
        return np.asarray(self.warp(Z) / self.lengths[axis])


def _kernel(A: Array, B: Array, variance: float) -> tuple[Array, Array]:
    """k and G of points that are already divided by the length-scales.

    Distances by one matrix product: unlike ``kernels.py``, the columns here are all ordered and active.
    """
    r = A @ B.T
    r *= -2
    r += (A * A).sum(axis=1)[:, None]
    r += (B * B).sum(axis=1)
    np.maximum(r, 0.0, out=r)
    return matern52(np.sqrt(r, out=r), variance)


def learned(Z: Array, y: Array, axis: Codes, warped: Codes = NO_WARP.columns, quick: bool = False) -> Parameters:
    """The maximum a posteriori, by L-BFGS-B from two starts: a smooth and a rough function.

    ``warped`` (w,) are the columns of axes that may be warped. With ``quick`` there are a few iterations from one start
    between these, which takes a quarter of the time.
    """
    d = int(axis.max()) + 1 if len(axis) else 0
    centre, spread = prior(d, len(warped))
    bounds = [*[(np.log(0.01), np.log(100.0))] * (d + 1), (np.log(1e-6), np.log(1.0))]
    bounds += [(-_STRONGEST_WARP, _STRONGEST_WARP)] * (2 * len(warped))
    given = (Z, y, axis, warped, centre, spread)

    def optimum(rougher: float) -> OptimizeResult:
        start = np.where(np.arange(len(centre)) < d, centre - rougher, centre)
        options: Any = {"maxiter": _QUICK if quick else _THOROUGH, "ftol": 1e-5}
        return minimize(_negative_log_posterior, start, given, "L-BFGS-B", jac=True, bounds=bounds, options=options)

    found = min(map(optimum, (0.5,) if quick else (0.0, 1.0)), key=lambda result: float(result.fun))
    return _parameters(found.x, d, warped)


def expected(axis: Codes) -> Parameters:
    """The centre of the prior, without warping."""
    d = int(axis.max()) + 1 if len(axis) else 0
    return _parameters(prior(d, 0)[0], d, NO_WARP.columns)


def _parameters(theta: Array, d: int, warped: Codes) -> Parameters:
    values = np.exp(theta)
    a, b = values[d + 2 :].reshape(2, -1)
    return Parameters(values[:d], float(values[d]), float(values[d + 1]), Warp(warped, a, b))


def _negative_log_posterior(
    theta: Array, Z: Array, y: Array, axis: Codes, warped: Codes, centre: Array, spread: Array
) -> tuple[float, Array]:
    """Its value and its gradient by the logarithms of ℓ, s², σ², a and b (eq. 2.30 and 5.9)."""
    n, d = len(y), len(theta) - 2 - 2 * len(warped)
    at = _parameters(theta, d, warped)
    scaled = at.scaled(Z, axis)
    k, G = _kernel(scaled, scaled, at.variance)
    K = k.copy(order="F")  # LAPACK's order, so that it is factorised and inverted in place
    K.reshape(-1, order="A")[:: n + 1] += at.noise + JITTER
    L, failed = dpotrf(K, lower=1, clean=1, overwrite_a=1)
    if failed:
        return 1e10, np.zeros_like(theta)
    log_determinant = 2 * np.log(np.diag(L)).sum()
    lower, _ = dpotri(L, lower=1, overwrite_c=1)
    inverse = lower + lower.T
    inverse.flat[:: n + 1] /= 2
    alpha = inverse @ y
    off = (theta - centre) / spread
    value = 0.5 * (y @ alpha + log_determinant + off @ off)
    W = inverse
    W -= np.outer(alpha, alpha)  # the gradient of the likelihood by K, times 2
    gradient = np.empty_like(theta)
    M = W * G
    # By u_i the value has the slope Σ_j M_ij (u_j − u_i); u is the warped z over ℓ, so by log ℓ it moves by −u.
    by_u = M @ scaled - M.sum(axis=1)[:, None] * scaled
    gradient[:d] = -np.bincount(axis, (by_u * scaled).sum(axis=0), minlength=d)
    gradient[d] = 0.5 * np.vdot(W, k)
    gradient[d + 1] = 0.5 * at.noise * np.trace(W)
    by_warped = (by_u / at.lengths[axis])[:, warped]
    gradient[d + 2 :] = np.concatenate([(by_warped * by).sum(axis=0) for by in at.warp.by_shape(Z)])
    return float(value), gradient + off / spread


@dataclass(frozen=True, eq=False)
class Process:
    """The posterior given Z and y; :meth:`given` computes it.

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
        scaled = parameters.scaled(Z, axis)
        k, _ = _kernel(scaled, scaled, parameters.variance)
        L = factor(k, parameters.noise)
        return cls(parameters, axis, scaled, y, L, solve(L, y))

    def extended(self, Z: Array, y: Array) -> Process:
        """The posterior with more observations; the factor is extended, ``y`` (n + m,) replaces all values.

        [[L, 0], [B, C]] with B = (L⁻¹ k(Z, Zs))ᵀ and C Cᵀ = k(Zs, Zs) + σ² − B Bᵀ.
        """
        if not len(Z):
            return Process(self.parameters, self.axis, self.scaled, y, self.L, solve(self.L, y))
        new = self.parameters.scaled(Z, self.axis)
        across, _ = _kernel(self.scaled, new, self.parameters.variance)
        own, _ = _kernel(new, new, self.parameters.variance)
        B = solve_lower(self.L, across).T
        L = append_rows(self.L, B, factor(own - B @ B.T, self.parameters.noise), order="F")
        return Process(self.parameters, self.axis, np.vstack([self.scaled, new]), y, L, solve(L, y))

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the function, without the noise. Shape (m, D) to (m,) and (m,)."""
        k, _ = _kernel(self.scaled, self.parameters.scaled(Z, self.axis), self.parameters.variance)
        V = solve_lower(self.L, k)
        variance = self.parameters.variance - (V * V).sum(axis=0)
        return self.alpha @ k, np.sqrt(np.maximum(variance, 1e-12))

    def effects(self, Z: Array, at: Array) -> Array:
        """Return how far one reading moves the posterior means elsewhere, for each standard deviation by which it
        surprises.

        The readings are at Z (m, D) and the means at ``at`` (t, D): cov(at, Z) / √(var(Z) + σ²). Shape (t, m).
        """
        new, there = (self.parameters.scaled(points, self.axis) for points in (Z, at))
        V, U = (self._whitened(points) for points in (new, there))
        across, _ = _kernel(there, new, self.parameters.variance)
        variance = np.maximum(self.parameters.variance - (V * V).sum(axis=0), 1e-12)
        return np.asarray((across - U.T @ V) / np.sqrt(variance + self.parameters.noise))

    def _whitened(self, scaled: Array) -> Array:
        """L⁻¹ k(Z, Zs). Shape (n, m)."""
        k, _ = _kernel(self.scaled, scaled, self.parameters.variance)
        return solve_lower(self.L, k)

    def predict_with_gradient(self, Z: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, standard deviation and their gradients by Z. Shapes (m,), (m,), (m, D) and (m, D)."""
        new = self.parameters.scaled(Z, self.axis)
        by_z = self.parameters.warp.slope(Z) / self.parameters.lengths[self.axis]
        k, G = _kernel(self.scaled, new, self.parameters.variance)
        V = solve(self.L, k)
        sd = np.sqrt(np.maximum(self.parameters.variance - (k * V).sum(axis=0), 1e-12))

        def slope(weights: Array) -> Array:
            """Σ_i w_i ∂k_i/∂z, with ∂k/∂u = −G (u − u_i)."""
            w = weights * G
            return np.asarray((w.T @ self.scaled - w.sum(axis=0)[:, None] * new) * by_z)

        return self.alpha @ k, sd, slope(self.alpha[:, None]), -slope(V) / sd[:, None]
