"""Input warping: stretches the part of an axis where the function is steep, so that it is equally smooth everywhere.

Snoek, Swersky, Zemel and Adams, Input warping for Bayesian optimization of non-stationary functions, ICML 2014, with
the Kumaraswamy distribution function in place of the beta distribution's, because it has a closed form.

======  ======  =======================================================================
symbol  shape   meaning
======  ======  =======================================================================
z       (n, w)  coordinates in [0, 1]
a, b    (w,)    the shape of each axis: a < 1 stretches it at 0, b < 1 at 1; 1 and 1 is the identity
u       (n, w)  1 − (1 − zᵃ)ᵇ, the warped coordinates
======  ======  =======================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoestring._arrays import Array, Codes

# Coordinates keep this distance from 0 and 1, where the slope may be infinite.
_EDGE = 1e-3


@dataclass(frozen=True, eq=False)
class Warp:
    """The warped columns, and their warping.

    >>> import numpy as np
    >>> warp = Warp(np.array([1]), np.array([0.5]), np.array([1.0]))
    >>> warp(np.array([[0.04, 0.04], [0.25, 0.25]])).round(2)
    array([[0.04, 0.2 ],
           [0.25, 0.5 ]])
    """

    columns: Codes
    a: Array
    b: Array

    def __call__(self, Z: Array) -> Array:
        """Z (n, D) with its columns warped."""
        warped = Z.copy()
        warped[:, self.columns] = 1 - (1 - self._inner(Z) ** self.a) ** self.b
        return warped

    def slope(self, Z: Array) -> Array:
        """Compute the derivative of each warped column by its column of Z; 1 where not warped. Shape (n, D)."""
        z, slope = self._inner(Z), np.ones(Z.shape)
        rest = 1 - z**self.a
        slope[:, self.columns] = (1 - 2 * _EDGE) * self.a * self.b * z ** (self.a - 1) * rest ** (self.b - 1)
        return slope

    def by_shape(self, Z: Array) -> tuple[Array, Array]:
        """The derivatives of the warped coordinates by log a and by log b. Shapes (n, w)."""
        z = self._inner(Z)
        power = z**self.a
        rest = 1 - power
        by_a = self.a * self.b * rest ** (self.b - 1) * power * np.log(z)
        return by_a, -self.b * rest**self.b * np.log(rest)

    def _inner(self, Z: Array) -> Array:
        return np.asarray(_EDGE + (1 - 2 * _EDGE) * np.clip(Z[:, self.columns], 0.0, 1.0))


NO_WARP = Warp(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
