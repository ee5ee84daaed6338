"""Readings that are expected from running trials, imputed with the posterior mean of a curve process.

They reduce the deviations of the ends and do not change the means. With p an expected reading,

======== ================================================================ =========
symbol   meaning                                                          shape
======== ================================================================ =========
K        the covariance of the expected readings, given the readings      (k, k)
S        R k(readings, p), one row for each p                             (k, n)
C        the covariance of each p with the ends, given the readings       (k, m)
======== ================================================================ =========

A new reading costs O(k·n + k·m), and what they explain O(k²·m), so that many running trials are not added to the
process again at every decision. R, n and m are defined in :mod:`shoestring.models.curve_process`.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from shoestring._arrays import Array, enlarge


class ExpectedReadings:
    """K, S and C, in the order in which the readings became expected; the buffers of S and C have room for more.

    ``at`` (k,) are their log steps, ``points`` (k, d) their configurations, and ``similarity`` is what the process
    needs to compare each of their curves with every column, (2, m) for each.
    """

    def __init__(self, dimensions: int, columns: int) -> None:
        self.keys: list[Hashable] = []
        self.at, self.points = np.zeros(0), np.zeros((0, dimensions))
        self.similarity: list[Array] = []
        self._K = np.zeros((0, 0))
        self._S, self._C = np.zeros((0, 0)), np.zeros((0, columns))

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, key: Hashable, at: float, point: Array, similarity: Array, solved: Array, to_ends: Array) -> None:
        k = len(self)
        self.keys.append(key)
        self.at, self.points = np.append(self.at, at), np.vstack([self.points, point])
        self.similarity.append(similarity)
        self._S, self._C = _grow(self._S, k + 1, len(solved)), _grow(self._C, k + 1, self._C.shape[1])
        self._S[k, : len(solved)], self._C[k] = solved, to_ends

    def relate(self, covariance: Array, n: int) -> None:
        """The prior covariance of the last one with all, itself included; there are n readings."""
        k = len(self)
        S = self._S[:k, :n]
        row = [c - s @ S[-1] for c, s in zip(covariance, S, strict=True)]
        self._K = enlarge(self._K, k, k)
        self._K[-1], self._K[:, -1] = row, row

    def pop(self, key: Hashable, n: int) -> tuple[Array, Array]:
        """Remove one; its rows of S, for n readings, and of C."""
        place = self.keys.index(key)
        rows = self._S[place, :n].copy(), self._C[place].copy()
        for buffer in (self._S, self._C):
            buffer[place : len(self) - 1] = buffer[place + 1 : len(self)]
        del self.keys[place], self.similarity[place]
        self.at, self.points = np.delete(self.at, place), np.delete(self.points, place, axis=0)
        self._K = np.delete(np.delete(self._K, place, axis=0), place, axis=1)
        return rows

    def add_column(self, similarity: Array, covariance: Array, v: Array) -> None:
        """A new end: (2, k) and (k,) between it and the expected readings, and its column of V."""
        k, n = len(self), len(v)
        self.similarity = [np.hstack([old, similarity[:, [i]]]) for i, old in enumerate(self.similarity)]
        self._C = enlarge(self._C, len(self._C), self._C.shape[1] + 1)
        # Row by row, here and below, so that what else is expected changes no rounding.
        self._C[:k, -1] = [c - s[:n] @ v for c, s in zip(covariance, self._S[:k], strict=True)]

    def take_in(self, covariance: Array, solved: Array, pivot: float, v: Array) -> None:
        """A new reading: its covariance with the expected ones, and its rows of L and V."""
        k, n = len(self), len(solved)
        self._S = _grow(self._S, k, n + 1)
        new = np.array([(c - s[:n] @ solved) / pivot for c, s in zip(covariance, self._S[:k], strict=True)])
        self._S[:k, n] = new
        self._C[:k] -= new[:, None] * v
        self._K -= new[:, None] * new

    def explained_variance(self, noise: Array) -> Array:
        """By how much they reduce the variance of each end; ``noise`` (k,) is the variance of theirs."""
        return self._reduction(noise, self._C[: len(self)])

    def explained_variance_elsewhere(self, noise: Array, covariance: Array, V: Array) -> Array:
        """The same for what has this prior covariance (k, q) with them and these columns of V (n, q)."""
        return self._reduction(noise, covariance - self._S[: len(self), : len(V)] @ V)

    def _reduction(self, noise: Array, C: Array) -> Array:
        from scipy.linalg import solve_triangular  # here because it loads slowly and a single worker never needs it

        K = self._K.copy()
        K[np.diag_indices_from(K)] += noise
        L = np.linalg.cholesky(K)
        half = solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False) @ C  # few rows, many columns
        return np.asarray(np.einsum("ij,ij->j", half, half))


def _grow(buffer: Array, rows: int, columns: int) -> Array:
    """Make a buffer with room for at least this many rows and columns."""
    high, wide = buffer.shape
    if rows <= high and columns <= wide:
        return buffer
    return enlarge(buffer, high if rows <= high else 2 * rows, wide if columns <= wide else 2 * columns)
