"""The freeze-thaw belief: a joint Gaussian over the learning curves of all arms.

Swersky, Snoek and Adams, Freeze-thaw Bayesian optimization, arXiv:1406.3896, 2014; as used by Lu, Chiang and Sha,
Hyper-parameter tuning under a budget constraint, IJCAI 2019, section 3.2 and appendix D. A curve is an asymptote,
which is similar for similar arms, plus a decay of its own:

    y_k(t) = f_k + g_k(t) + noise,   f ~ N(m, K_x),   cov(g(t), g(t')) = decay·β^α / (t + t' + β)^α

======  ====================================================================  =============
symbol  meaning                                                               shape
======  ====================================================================  =============
K, Q    arms; places on the grid of times, which all arms share
q_k     readings of arm k: always the first q_k of the grid                   (K,)
L       Cholesky factor of K_t on the whole grid, the noise included          (Q, Q)
u       L⁻¹1                                                                  (Q,)
z_k     L⁻¹y_k, its first q_k entries                                         (q_k,)
λ_q     1ᵀK_t⁻¹1 of the first q readings: Σ_{i<q} u_i²                        (Q+1,)
Ω_q,s   1 − k_*ᵀK_t⁻¹1, the weight of the asymptote at s: 1 − Σ L_si·u_i      (Q+1, Q)
v_q,s   variance of the reading at place s given the asymptote                (Q+1, Q)
γ_k     1ᵀK_t⁻¹(y_k − m)                                                      (K,)
C, μ    covariance and mean of the asymptotes given the readings              (K, K), (K,)
======  ====================================================================  =============

**No arm is factorised by itself.** The readings of every arm are the beginning of one grid, so the beginning of one
factor L serves them all, and λ, Ω, v are running sums along its rows. One more reading of arm k adds u_q² to its
precision: C −= C_k C_kᵀ·u_q²/(1 + u_q²·C_kk), one symmetric rank-one update, whatever the number of readings. The
means are linear in the readings with weights that do not depend on them, so the readings can be rescaled at any time.

Differs from the paper in the corrected formulas for Ω, for the unseen arms and for the likelihood, where the printed
ones do not agree with the joint Gaussian; and in two terms. ``start`` is a loss that all curves have at time 0, kept
as the first reading of every arm. ``own`` is the variance of an asymptote that is not shared with its neighbours.
K_x is never inverted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import dsymv, dsyr

from shoestring._arrays import Array, Codes
from shoestring.errors import MethodError
from shoestring.models.cholesky import solve_lower
from shoestring.models.kernels import Kernel


@dataclass(frozen=True)
class Parameters:
    """The fixed parameters of the belief. ``decay``, ``noise``, ``spread`` and ``own`` are variances.

    ``start`` is None where curves have no common loss at time 0. With ``start_informs`` it is a reading like any
    other, which also informs about the asymptotes; otherwise these lie around ``mean`` wherever the curves start.
    """

    alpha: float = 1.5
    beta: float = 5.0
    decay: float = 10.0
    noise: float = 1e-4
    spread: float = 1.0
    own: float = 0.0
    lengthscale: float = 0.8
    mean: float = 0.0
    start: float | None = None
    form: str = "matern52"
    start_informs: bool = False

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "decay", "noise", "spread", "lengthscale"):
            if not 0 < getattr(self, name) < math.inf:
                raise MethodError(f"{name} is {getattr(self, name)!r}; it must be a number above 0")
        if not 0 <= self.own < math.inf:
            raise MethodError(f"own is {self.own!r}; it must be a variance, 0 or more")

    def asymptotes(self, distance: Array) -> tuple[Array, Array]:
        """Prior mean m (K,) and covariance K_x (K, K) of the asymptotes of arms at these distances (K, K).

        Where the start informs, both are given that every arm was at ``start`` at time 0.
        """
        mean = np.full(len(distance), self.mean)
        K_x = Kernel(self.form, variance=self.spread).at(distance / self.lengthscale)
        K_x[np.diag_indices_from(K_x)] += self.own
        if self.start is None or not self.start_informs:
            return mean, K_x
        L = cholesky(K_x + self.decay * np.eye(len(K_x)), lower=True)
        half = solve_lower(L, np.column_stack([K_x, self.start - mean]))
        return mean + half[:, :-1].T @ half[:, -1], K_x - half[:, :-1].T @ half[:, :-1]


def distances(points: Array, others: Array, choices: tuple[bool, ...] = ()) -> Array:
    """Distances between arms in the unit cube, shape (n, m)."""
    return Kernel(lengthscale=1.0, choices=choices).distance(points, others)


class TimeGrid:
    """Matrices that depend on the parameters and the grid of times alone: L, u, λ, Ω and v.

    ``first`` is the place of the first real reading: 1 where the common start takes place 0. ``informs`` is u with
    0 at the start, because what the start says about the asymptotes is already part of their prior.
    """

    def __init__(self, parameters: Parameters, times: Array) -> None:
        self.start = parameters.start
        self.first = 0 if self.start is None else 1
        t = np.concatenate([np.zeros(self.first), times])
        K_t = parameters.decay * (parameters.beta / (t[:, None] + t + parameters.beta)) ** parameters.alpha
        K_t[np.diag_indices_from(K_t)] += parameters.noise
        if self.first:
            K_t[0, 0] -= parameters.noise  # the start is known
        self.L = cholesky(K_t, lower=True)
        self.u = solve_triangular(self.L, np.ones(len(t)), lower=True)
        self.informs = self.u.copy()
        self.informs[: self.first] = 0.0
        self.precision = np.concatenate([[0.0], np.cumsum(self.informs**2)])
        self.omega = 1.0 - _sums_before(self.L * self.u)
        self.variance = np.maximum(np.diag(K_t) - _sums_before(self.L**2), 0.0)

    def whiten(self, values: Array, counts: Codes) -> Array:
        """z of every arm (K, Q), 0 after its last reading; entries of ``values`` (K, times) after it are ignored.

        ``counts`` (K,) includes the start.
        """
        z = np.zeros((len(values), len(self.u)))
        if self.start is not None:
            z[:, 0] = self.start / self.L[0, 0]
        read = np.flatnonzero(counts > self.first)  # most arms of a pool have nothing but the start
        if len(read):
            known = values[read]
            if self.start is not None:
                known = np.column_stack([np.full(len(read), self.start), known])
            held = np.arange(len(self.u)) < counts[read, None]
            found = solve_lower(self.L, np.where(held, known, 0.0).T).T
            z[read] = np.where(held, found, 0.0)
        return z


def _sums_before(terms: Array) -> Array:
    """Row q: for every place s the sum of terms[s, i] over i < q. Shape (Q+1, Q)."""
    return np.concatenate([np.zeros((1, len(terms))), np.cumsum(terms, axis=1).T])


class Belief:
    """The belief about ``points`` (K, d) on a grid of ``times``: C and q, and the means of given readings.

    ``counts`` are the numbers of readings to start with; :meth:`observe` adds more.

    >>> import numpy as np
    >>> belief = Belief(Parameters(start=10.0), np.array([[0.1], [0.9]]), np.arange(1.0, 5.0))
    >>> belief.observe(0)
    >>> readings = np.array([[8.0, 0, 0, 0], [0, 0, 0, 0]])     # entries that are not read yet are ignored
    >>> belief.means(readings)[0].round(2)
    array([8.  , 6.6 , 5.58, 4.81])
    """

    def __init__(
        self,
        parameters: Parameters,
        points: Array,
        times: Array,
        choices: tuple[bool, ...] = (),
        counts: Codes | None = None,
    ) -> None:
        self.parameters = parameters
        self.grid = TimeGrid(parameters, times)
        self.counts = np.full(len(points), self.grid.first, dtype=np.int64)
        self.prior_mean, C = parameters.asymptotes(distances(points, points, choices))
        if counts is not None:
            seen = np.flatnonzero(counts)
            self.counts += counts
            C = _condition(C, seen, self.grid.precision[self.counts[seen]])
        self.C = np.asfortranarray(C)
        self.H = np.zeros((0, len(points)))

    def ahead(self, counts: Codes) -> Belief:
        """Compute the belief once the arms have these numbers of readings (K,), the start included; the last are
        imputed.

        C − HᵀH with H = L⁻¹C_s, as in :func:`_conditioned`. It is never a matrix: with many imputed arms that would
        be most of the work, and only its diagonal, a few of its entries and its products are asked for.
        """
        more = np.flatnonzero(counts > self.counts)
        if not len(more):
            return self
        twin = object.__new__(Belief)
        twin.parameters, twin.grid, twin.prior_mean, twin.C = self.parameters, self.grid, self.prior_mean, self.C
        gained = self.grid.precision[counts[more]] - self.grid.precision[self.counts[more]]
        rows = np.array([self._column(arm) for arm in more.tolist()])
        L = cholesky(rows[:, more] + np.diag(1.0 / gained), lower=True)
        twin.H, twin.counts = solve_lower(L, rows), counts
        return twin

    def _column(self, arm: int) -> Array:
        """Return a column of C; only its lower triangle is up to date. Shape (K,)."""
        return np.concatenate([self.C[arm, :arm], self.C[arm:, arm]])

    def spread(self, arms: Codes | slice) -> Array:
        """C_kk: the variances of the asymptotes of some arms."""
        return np.asarray(self.C.diagonal()[arms] - (self.H[:, arms] ** 2).sum(axis=0))

    def covariance(self, arms: Codes) -> Array:
        """The part of C that belongs to some arms, given in ascending order."""
        lower = np.tril(self.C[np.ix_(arms, arms)])
        return np.asarray(lower + np.tril(lower, -1).T - self.H[:, arms].T @ self.H[:, arms])

    def observe(self, arm: int) -> None:
        """Count one more reading of an arm; its value enters with the means. Only C's lower triangle is updated."""
        gain = self.grid.informs[self.counts[arm]] ** 2
        column = self._column(arm)
        dsyr(-gain / (1.0 + gain * column[arm]), column, lower=1, a=self.C, overwrite_a=1)
        self.counts[arm] += 1

    def whiten_with_asymptotes(self, values: Array) -> tuple[Array, Array]:
        """z (K, Q) and μ = m + Cγ (K,), given the readings (K, times)."""
        z = self.grid.whiten(values, self.counts)
        gamma = z @ self.grid.informs - self.grid.precision[self.counts] * self.prior_mean
        return z, self.prior_mean + dsymv(1.0, self.C, gamma, lower=1) - self.H.T @ (self.H @ gamma)

    def asymptotes(self, values: Array) -> Array:
        """μ (K,), given the readings (K, times)."""
        return self.whiten_with_asymptotes(values)[1]

    def means(self, values: Array) -> Array:
        """The expected reading of every arm at every time; without the noise where it was read. (K, times).

        Appendix D: P·y_k + Ω·μ_k. With z the part P·y_k at place s is Σ_{i<q} L_si·z_i.
        """
        z, mu = self.whiten_with_asymptotes(values)
        expected: Array = z @ self.grid.L.T + self.grid.omega[self.counts] * mu[:, None]
        return expected[:, self.grid.first :]

    def variances(self, arms: Codes, places: Codes, ahead: Codes | int = 0) -> Array:
        """Variance of the reading of each arm at a later place (1 is the first time) once it has ``ahead`` more.

        v + Ω²·C_kk, with the C_kk that is left after those readings. A place that is read by then has none.
        """
        before = self.counts[arms]
        after = np.minimum(before + ahead, len(self.grid.u))
        C_kk = self.spread(arms)
        C_kk = C_kk / (1.0 + (self.grid.precision[after] - self.grid.precision[before]) * C_kk)
        at = places - 1 + self.grid.first
        unread = self.grid.variance[after, at] + self.grid.omega[after, at] ** 2 * C_kk
        return np.where(at >= after, unread, 0.0)


def _condition(C: Array, seen: Codes, precision: Array) -> Array:
    """C once the asymptotes of ``seen`` are read with a precision: C − C_s(C_ss + Λ⁻¹)⁻¹C_sᵀ."""
    if not len(seen):
        return C
    L = cholesky(C[np.ix_(seen, seen)] + np.diag(1.0 / precision), lower=True)
    half = solve_lower(L, C[seen])
    return np.asarray(C - half.T @ half)


def log_likelihood(parameters: Parameters, distance: Array, times: Array, values: Array, counts: Codes) -> float:
    """log p(readings) of arms at these distances with the first ``counts`` of ``values`` (K, times) read.

    The readings of an arm given its asymptote, then the asymptotes' estimates f̂_k = Σu·z/λ, which have variance
    1/λ around f. Where curves have a common start it is the likelihood of the readings after it.
    """
    grid = TimeGrid(parameters, times)
    q = counts + grid.first
    z = grid.whiten(values, q)[:, grid.first :]
    informs, precision = grid.informs[grid.first :], grid.precision[q]
    estimates = z @ informs / precision
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.diag(grid.L)[grid.first :]))])[counts]
    own = -0.5 * ((z**2).sum() - (estimates**2 * precision).sum()) - logs.sum() - 0.5 * np.log(precision).sum()
    mean, K_x = parameters.asymptotes(distance)
    L = cholesky(K_x + np.diag(1.0 / precision), lower=True, check_finite=False)
    w = solve_lower(L, estimates - mean)
    return float(own - 0.5 * (w @ w) - np.log(np.diag(L)).sum() - 0.5 * counts.sum() * math.log(2 * math.pi))


class Mixture:
    """Beliefs of the same readings under several sets of parameters, used as one by matching moments."""

    def __init__(self, beliefs: list[Belief]) -> None:
        self.beliefs = beliefs
        self._between: Array | None = None

    @property
    def counts(self) -> Codes:
        """Readings of each arm, without the start. Shape (K,)."""
        return self.beliefs[0].counts - self.beliefs[0].grid.first

    def ahead(self, counts: Codes) -> Mixture:
        """Compute the beliefs once the arms have these numbers of readings (K,), without the start; the last are
        imputed.
        """
        return Mixture([belief.ahead(counts + belief.grid.first) for belief in self.beliefs])

    def observe(self, arm: int) -> None:
        for belief in self.beliefs:
            belief.observe(arm)

    def means(self, values: Array) -> Array:
        """The mean over the beliefs, shape (K, times); their variance between beliefs is kept for the variances."""
        found = [belief.means(values) for belief in self.beliefs]
        if len(found) == 1:
            return found[0]
        self._between = np.var(found, axis=0)
        return np.asarray(np.mean(found, axis=0))

    def variances(self, arms: Codes, places: Codes, ahead: Codes | int = 0) -> Array:
        """The mean of the variances plus the variance of the means."""
        within = sum(belief.variances(arms, places, ahead) for belief in self.beliefs) / len(self.beliefs)
        return np.asarray(within if self._between is None else within + self._between[arms, places - 1])
