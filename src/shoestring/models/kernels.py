"""Spatial kernels: how alike two configurations are.

======== ============================================ =========
symbol   meaning                                      shape
======== ============================================ =========
A, B     points, one row each                         (n, d), (m, d)
ℓ        length-scale, one or one per coordinate      scalar or (d,)
r        scaled distance, √Σ((a−b)/ℓ)²                (n, m)
k        variance · φ(r)                              (n, m)
======== ============================================ =========

A coordinate that is a choice is at distance 1 from every other choice. NaN marks an inactive
parameter: two inactive ones are alike, an active and an inactive one are at distance 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoestring.errors import MethodError

Array = NDArray[np.float64]


def _independent(r: Array) -> Array:
    return np.asarray(r == 0.0, dtype=np.float64)


# φ(r), and φ'(r)/r, whose product with (a−b)/ℓ² is the gradient without a division by a distance of zero.
_PROFILES: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "matern12": (lambda r: np.exp(-r), lambda r: -np.exp(-r) / np.maximum(r, 1e-9)),
    "matern32": (lambda r: (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r), lambda r: -3 * np.exp(-(3**0.5) * r)),
    "matern52": (
        lambda r: (1 + 5**0.5 * r + 5 / 3 * r**2) * np.exp(-(5**0.5) * r),
        lambda r: -5 / 3 * (1 + 5**0.5 * r) * np.exp(-(5**0.5) * r),
    ),
    "squared_exponential": (lambda r: np.exp(-0.5 * r**2), lambda r: -np.exp(-0.5 * r**2)),
    "independent": (_independent, np.zeros_like),
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
        """k at scaled distances that are known."""
        profile, _ = _PROFILES[self.form]
        return self.variance * profile(r)

    def with_gradient(self, A: Array, B: Array) -> tuple[Array, Array]:
        """k, shape (n, m), and its gradient by the rows of A, shape (n, m, d)."""
        profile, slope = _PROFILES[self.form]
        r = self.distance(A, B)
        moved = np.stack([self._moved(A, B, j) for j in range(A.shape[1])], axis=-1)
        return self.variance * profile(r), self.variance * slope(r)[:, :, None] * moved

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

    def _moved(self, A: Array, B: Array, j: int) -> Array:
        """(a−b)/ℓ² where moving a changes the distance; a choice or an inactive parameter does not move."""
        if self.choices and self.choices[j]:
            return np.zeros((len(A), len(B)))
        scale = np.broadcast_to(self.lengthscale, A.shape[1:])[j]
        return np.asarray(np.nan_to_num(A[:, j, None] - B[None, :, j], nan=0.0) / scale**2)
