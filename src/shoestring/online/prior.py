"""The prior of a Gaussian-process policy, and learning its parameters online from the readings.

Given parameters are not changed. The others are fitted by maximum likelihood within bounds whenever the
number of readings has grown by a quarter, so that a long run refits rarely and a short one early.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shoestring.errors import MethodError
from shoestring.models.kernels import Kernel
from shoestring.models.time_varying import Drift, Forgetting, Readings, Smooth, TimeVaryingProcess, fit
from shoestring.online.domains import Domain

# A fit to this many of the latest readings takes some tens of milliseconds.
_MOST_FITTED = 150
_FIRST_FIT = 5

# Fractions of the coordinates' range, of the readings' mean square, and rounds.
_BOUNDS = {
    "lengthscale": (0.05, 2.0),
    "variance": (0.1, 10.0),
    "noise": (1e-4, 1.0),
    "forgetting": (1e-4, 0.3),
    "time_lengthscale": (1.0, 500.0),
}


@dataclass(frozen=True)
class Prior:
    """The parameters that the user gave; None means to learn it. A smooth drift's length-scale always is."""

    kernel: str
    lengthscale: float | tuple[float, ...] | None
    variance: float | None
    noise: float | None
    forgetting: float | None
    smooth: bool

    def __post_init__(self) -> None:
        if self.variance is not None and not self.variance > 0:
            raise MethodError(f"variance is {self.variance!r}; it must be positive, or left out to be learned")
        if self.noise is not None and not self.noise >= 0:
            raise MethodError(f"noise is {self.noise!r}; it must be positive or 0, or left out to be learned")
        if self.forgetting is not None and not 0 <= self.forgetting < 1:
            raise MethodError(f"forgetting is {self.forgetting!r}; it must be at least 0 and below 1, or left out")

    def free(self) -> list[str]:
        """The names of the parameters to learn."""
        names = ["time_lengthscale"] if self.smooth else ["forgetting"] if self.forgetting is None else []
        if self.noise is None:
            names.append("noise")
        if self.lengthscale is None and self.kernel != "independent":
            names.append("lengthscale")
        # Without the noise the unit of the readings is unknown; with it the paper's unit variance holds.
        return [*names, "variance"] if self.variance is None and self.noise is None else names

    def first_process(self, domain: Domain, horizon: int | None) -> TimeVaryingProcess:
        """The process before any reading: the given parameters, and the paper's settings for the rest."""
        drift: Drift = Forgetting(0.01 if self.forgetting is None else self.forgetting)
        if self.smooth:
            drift = Smooth((horizon or 2000) / 20)
        scale = self.lengthscale or 0.2 * math.sqrt(domain.span.size)
        kernel = Kernel(self.kernel, scale, 1.0 if self.variance is None else self.variance, domain.choices)
        return TimeVaryingProcess(kernel, drift, 0.1 if self.noise is None else self.noise)

    def scale_known(self, readings: int) -> bool:
        """Return whether the unit of the readings is given, or there are enough of them to fit it."""
        return "variance" not in self.free() or readings >= _FIRST_FIT

    def refit_due(self, readings: int, fitted_at: int) -> bool:
        return bool(self.free()) and (readings < _FIRST_FIT or readings >= 1.25 * fitted_at)

    def refit(self, process: TimeVaryingProcess, readings: Readings, horizon: int | None) -> TimeVaryingProcess:
        """The process with its free parameters fitted; with very few readings, only their unit is set."""
        free, unit = self.free(), float(np.mean(np.square(readings.values))) or process.kernel.variance
        if len(readings) < _FIRST_FIT:
            guess = {"variance": unit, "noise": 0.1 * unit}
            return process.with_parameters({name: guess[name] for name in free if name in guess})
        bounds = {name: _bounds(name, unit, readings.points.shape[1], horizon) for name in free}
        return fit(process, readings.last(_MOST_FITTED), bounds)


def _bounds(name: str, unit: float, dimensions: int, horizon: int | None) -> tuple[float, float]:
    low, high = _BOUNDS[name]
    if name in ("variance", "noise"):
        return low * unit, high * unit
    if name == "lengthscale":
        # Distances grow with the dimension: in eight, a twentieth of the range would make all points independent.
        return low * dimensions, high * math.sqrt(dimensions)
    if name == "time_lengthscale" and horizon is not None:
        # Longer scales make the process over-confident: 1,000 rounds of 2,000 lost to the plain bandits.
        return low, max(horizon / 4, 2 * low)
    return low, high
