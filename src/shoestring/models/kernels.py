"""Spatial kernels: the prior covariance of two configurations.

======== ============================================ =========
symbol   meaning                                      shape
======== ============================================ =========
A, B     points, one row each                         (n, d), (m, d)
ℓ        length-scale, one or one per coordinate      scalar or (d,)
r        scaled distance, √Σ((a−b)/ℓ)²                (n, m)
k        variance · φ(r)                              (n, m)
======== ============================================ =========

Two different values of a categorical parameter are at distance 1. NaN marks an inactive parameter: two inactive
values are at distance 0, an active and an inactive one at distance 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoestring._arrays import Array
from shoestring.errors import MethodError


def matern52(r: Array, variance: float = 1.0) -> tuple[Array, Array]:
    """k = variance·(1 + √5 r + 5r²/3)·exp(−√5 r), and G = −k'(r)/r = variance·(5/3)(1 + √5 r)·exp(−√5 r)."""
    # In place: the arrays are large, and creating them costs as much as the arithmetic.
    r = r * 5**0.5
    fall = np.negative(r)
    np.exp(fall, out=fall)
    fall *= variance
    G = r + 1
    G *= fall
    r *= r
    r /= 3
    r *= fall
    r += G
    G *= 5 / 3
    return r, G


def _matern32(r: Array) -> tuple[Array, Array]:
    fall = np.exp(-(3**0.5) * r)
    return (1 + 3**0.5 * r) * fall, 3 * fall


def _matern12(r: Array) -> tuple[Array, Array]:
    fall = np.exp(-r)
    return fall, fall / np.maximum(r, 1e-9)


def _squared_exponential(r: Array) -> tuple[Array, Array]:
    fall = np.exp(-0.5 * r**2)
    return fall, fall


def _independent(r: Array) -> tuple[Array, Array]:
    return (r == 0.0).astype(np.float64), np.zeros_like(r)


KernelName = Literal["matern12", "matern32", "matern52", "squared_exponential", "independent"]

# φ(r), and −φ'(r)/r, whose product with (b−a)/ℓ² is the gradient by a without a division by a distance of zero.
_PROFILES: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "matern12": _matern12,
    "matern32": _matern32,
    "matern52": matern52,
    "squared_exponential": _squared_exponential,
    "independent": _independent,
}
KERNELS = tuple(_PROFILES)


@dataclass(frozen=True)
class Kernel:
    """A stationary kernel with one length-scale, or one per coordinate.

    >>> import numpy as np
    >>> Kernel("squared_exponential", 1.0)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.1353]])
    """

    form: str = "matern32"
    lengthscale: float | tuple[float, ...] = 0.2
    variance: float = 1.0
    choices: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if self.form not in _PROFILES:
            raise MethodError(f"the kernel is {self.form!r}; it can be {', '.join(KERNELS)}")

    def __call__(self, A: Array, B: Array) -> Array:
        return self.at(self.distance(A, B))

    def at(self, r: Array) -> Array:
        """k at scaled distances."""
        return self.variance * _PROFILES[self.form](r)[0]

    def with_gradient(self, A: Array, B: Array) -> tuple[Array, Array]:
        """k, shape (n, m), and its gradient by the rows of A, shape (n, m, d)."""
        k, G = _PROFILES[self.form](self.distance(A, B))
        apart = np.stack([self._apart(A, B, j) for j in range(A.shape[1])], axis=-1)
        return self.variance * k, self.variance * G[:, :, None] * apart

    def distance(self, A: Array, B: Array) -> Array:
        """r, shape (n, m)."""
        scales = np.broadcast_to(self.lengthscale, A.shape[1:])
        squared = np.zeros((len(A), len(B)))
        for j, scale in enumerate(scales):
            squared += np.square(self._difference(A, B, j) / scale)
        return np.asarray(np.sqrt(squared))

    def _difference(self, A: Array, B: Array, j: int) -> Array:
        a, b = A[:, j, None], B[None, :, j]
        if not self.choices:
            return np.asarray(a - b)
        difference = np.where(a != b, 1.0, 0.0) if self.choices[j] else a - b
        off_a, off_b = np.isnan(a), np.isnan(b)
        return np.where(off_a & off_b, 0.0, np.where(off_a | off_b, 1.0, difference))

    def _apart(self, A: Array, B: Array, j: int) -> Array:
        """(b−a)/ℓ² where a can move; 0 for a categorical or inactive parameter."""
        if self.choices and self.choices[j]:
            return np.zeros((len(A), len(B)))
        scale = np.broadcast_to(self.lengthscale, A.shape[1:])[j]
        return np.asarray(np.nan_to_num(B[None, :, j] - A[:, j, None], nan=0.0) / scale**2)
