"""Names for the arrays that the numerical modules share, and room for more rows and columns."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]


def enlarge(buffer: NDArray[Any], *shape: int, order: Literal["C", "F"] = "C") -> NDArray[Any]:
    """A larger array of zeros with a buffer in its first corner."""
    larger = np.zeros(shape, dtype=buffer.dtype, order=order)
    larger[tuple(slice(size) for size in buffer.shape)] = buffer
    return larger
