"""Lower Cholesky factors of covariances: factorise, solve, and extend by new rows."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf

from shoestring._arrays import Array, enlarge

# Added to the noise: keeps the factorisation stable where two points are almost the same.
JITTER = 1e-8


def factor(K: Array, noise: float) -> Array:
    """L of K plus the noise, with as much jitter as it takes."""
    for jitter in (JITTER, 1e-6, 1e-4, 1e-2):
        L, failed = dpotrf(K + (noise + jitter) * np.eye(len(K)), lower=1, clean=1)
        if not failed:
            return np.asarray(L)
    raise ArithmeticError("the covariance of the observations is not positive; are there NaNs among them?")


def solve(L: Array, b: Array) -> Array:
    """(L Lᵀ)⁻¹ b."""
    return np.asarray(cho_solve((L, True), b, check_finite=False))


def solve_lower(L: Array, b: Array) -> Array:
    """L⁻¹ b."""
    return np.asarray(solve_triangular(L, b, lower=True, check_finite=False))


def solve_upper(L: Array, b: Array) -> Array:
    """L⁻ᵀ b."""
    return np.asarray(solve_triangular(L, b, lower=True, trans="T", check_finite=False))


def append_rows(L: Array, B: Array, C: Array | float, order: Literal["C", "F"]) -> Array:
    """[[L, 0], [B, C]], with B (m, n). The order in memory would change the last bit of a solve."""
    n, m = len(L), len(B)
    extended = enlarge(L, n + m, n + m, order=order)
    extended[n:, :n], extended[n:, n:] = B, C
    return extended
