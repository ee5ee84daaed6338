"""Points of the unit cube as numeric columns whose Euclidean distances are meaningful.

====== ========= ==========================================================================
d, D   ()        axes of the space, and columns that they become
x      (m, d)    points; NaN is an inactive coordinate
Z      (m, D)    their columns
axis   (D,)      which axis a column belongs to
====== ========= ==========================================================================

An ordered axis is its own column. A choice is one-hot encoded, so that any two different values are at distance 1.
An axis that can be inactive has one more column that says so; where it is inactive its other columns are 0.5 (0 for
a choice). Trees and Gaussian processes read the same columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoestring._arrays import Array, Codes, Mask

_HALF = 0.5**0.5


@dataclass(frozen=True, eq=False)
class Embedding:
    """The mapping from axes to columns: ``choices`` (d,) counts unordered values, 0 for an ordered axis.

    >>> import numpy as np
    >>> embed = Embedding(np.array([0, 2]), np.array([False, False]))
    >>> embed(np.array([[0.3, 0.75]])).round(3), embed.axis
    (array([[0.3  , 0.   , 0.707]]), array([0, 1, 1]))
    """

    choices: Codes
    optional: Mask

    @cached_property
    def axis(self) -> Codes:
        widths = np.maximum(self.choices, 1) + self.optional
        return np.repeat(np.arange(len(widths)), widths)

    @cached_property
    def _starts(self) -> Codes:
        """The first column of each axis."""
        return np.asarray(np.searchsorted(self.axis, np.arange(len(self.choices))))

    @cached_property
    def ordered(self) -> Codes:
        """The columns of the ordered axes, in the order of the axes."""
        return np.asarray(self._starts[self.choices == 0])

    @cached_property
    def _marks(self) -> tuple[Codes, Codes, Codes]:
        """The one-hot columns of choices, the value that each encodes, and the columns that mark "inactive"."""
        place = np.arange(len(self.axis)) - self._starts[self.axis]
        chosen = np.flatnonzero(place < self.choices[self.axis])
        last = np.diff(self.axis, append=len(self.choices)) > 0
        return chosen, place[chosen], np.flatnonzero(self.optional[self.axis] & last)

    def __call__(self, points: Array) -> Array:
        x = points[:, self.axis]
        off = np.isnan(x)
        columns = np.where(off, 0.5, x)
        chosen, value, inactive = self._marks
        if len(chosen):
            values = self.choices[self.axis[chosen]]
            cell = np.clip(columns[:, chosen] * values, 0, values - 1).astype(int)
            columns[:, chosen] = np.where(~off[:, chosen] & (cell == value), _HALF, 0.0)
        if len(inactive):
            columns[:, inactive] = np.where(off[:, inactive], _HALF, 0.0)
        return columns

    def points(self, columns: Array) -> Array:
        """The inverse, to points that are active everywhere: of a choice's columns the largest wins."""
        starts = self._starts
        result = columns[:, starts].copy()
        for axis in np.flatnonzero(self.choices):
            own = columns[:, starts[axis] : starts[axis] + self.choices[axis]]
            result[:, axis] = (own.argmax(axis=1) + 0.5) / self.choices[axis]
        return result
