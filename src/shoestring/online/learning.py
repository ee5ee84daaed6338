"""The prior that a Gaussian-process policy starts from, and learning it online from the readings.

Parameters that are given stay as they are. The others are fitted by maximum likelihood within
bounds, anew whenever the number of looks has grown by a quarter, so that a long run fits
seldom and a short one early.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from shoestring.errors import MethodError
from shoestring.models.kernels import Kernel
from shoestring.models.time_varying import Drift, Forgetting, Looks, Process, Smooth, fit
from shoestring.online.domains import Domain

# A fit on so many of the latest looks takes some tens of milliseconds.
_FITTED_LOOKS = 150
_FIRST_FIT = 5

# Fractions of the coordinates' range, of the readings' mean square, and rounds. A temporal length-scale beyond a
# quarter of the horizon makes the process over-confident: at 1,000 rounds of 2,000 it lost to the plain bandits.
BOUNDS: dict[str, tuple[float, float]] = {
    "lengthscale": (0.05, 2.0),
    "variance": (0.1, 10.0),
    "noise": (1e-4, 1.0),
    "forgetting": (1e-4, 0.3),
    "time_lengthscale": (1.0, 500.0),
}


@dataclass(frozen=True)
class Prior:
    """The parameters as the user gave them; None is to be learned."""

    kernel: str
    lengthscale: float | tuple[float, ...] | None
    variance: float | None
    noise: float | None
    forgetting: float | None
    time_lengthscale: float | None
    smooth: bool
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("variance", "noise", "time_lengthscale"):
            given = getattr(self, name)
            if given is not None and not (given > 0 or (given == 0 and name == "noise")):
                raise MethodError(f"{name} is {given!r}; it must be positive, or left out to be learned")
        if self.forgetting is not None and not 0 <= self.forgetting < 1:
            raise MethodError(f"forgetting is {self.forgetting!r}; it must be at least 0 and below 1, or left out")
        unknown = [name for name in self.bounds if name not in BOUNDS]
        if unknown:
            raise MethodError(f"bounds are given for {unknown[0]!r}; they can be given for {', '.join(BOUNDS)}")

    def free(self) -> list[str]:
        names = ["time_lengthscale" if self.smooth else "forgetting", "noise"]
        if self.kernel != "independent":
            names.append("lengthscale")
        missing = [name for name in names if getattr(self, name) is None]
        # Without the noise the unit of the readings is unknown; with it the paper's unit variance holds.
        return [*missing, "variance"] if self.variance is None and self.noise is None else missing

    def first(self, domain: Domain, horizon: int | None) -> Process:
        """The process before any reading: what was given, and the paper's settings for the rest."""
        drift: Drift
        if self.smooth:
            drift = Smooth(self.time_lengthscale or (horizon or 2000) / 20)
        else:
            drift = Forgetting(0.01 if self.forgetting is None else self.forgetting)
        scale = self.lengthscale or 0.2 * math.sqrt(domain.span.size)
        kernel = Kernel(self.kernel, scale, 1.0 if self.variance is None else self.variance, domain.choices)
        return Process(kernel, drift, 0.1 if self.noise is None else self.noise)

    def informed(self, readings: int) -> bool:
        """Whether the unit of the readings is given, or enough has been read to fit it."""
        return "variance" not in self.free() or readings >= _FIRST_FIT

    def due(self, looks: int, fitted: int) -> bool:
        return bool(self.free()) and (looks < _FIRST_FIT or looks >= 1.25 * fitted)

    def learn(self, process: Process, looks: Looks, horizon: int | None) -> Process:
        """The process with its free parameters fitted to the looks; with very few looks, only the unit is set."""
        free, unit = self.free(), float(np.mean(np.square(looks.values))) or process.kernel.variance
        if len(looks) < _FIRST_FIT:
            guess = {"variance": unit, "noise": 0.1 * unit}
            return process.with_parameters({name: guess[name] for name in free if name in guess})
        bounds = {name: self._bounds(name, unit, looks.points.shape[1], horizon) for name in free}
        start = [_current(process, name) for name in free]
        return fit(process, looks.last(_FITTED_LOOKS), bounds, start)

    def _bounds(self, name: str, unit: float, dimensions: int, horizon: int | None) -> tuple[float, float]:
        low, high = self.bounds.get(name, BOUNDS[name])
        if name in ("variance", "noise"):
            return low * unit, high * unit
        if name == "lengthscale" and name not in self.bounds:
            # Distances grow with the dimension: in eight, a twentieth of the range would make every point a stranger.
            return low * dimensions, high * math.sqrt(dimensions)
        if name == "time_lengthscale" and name not in self.bounds and horizon is not None:
            return low, max(horizon / 4, 2 * low)
        return low, high


def _current(process: Process, name: str) -> float:
    drift = process.drift
    return {
        "lengthscale": float(np.mean(process.kernel.lengthscale)),
        "variance": process.kernel.variance,
        "noise": process.noise,
        "forgetting": max(drift.rate, 1e-6) if isinstance(drift, Forgetting) else 0.01,
        "time_lengthscale": drift.lengthscale if isinstance(drift, Smooth) else 100.0,
    }[name]


def parameters(process: Process) -> dict[str, float]:
    """What :meth:`Process.with_parameters` needs to make this process again."""
    names = ["variance", "noise", "time_lengthscale" if isinstance(process.drift, Smooth) else "forgetting"]
    if isinstance(process.kernel.lengthscale, float):
        names.append("lengthscale")
    values = {name: _current(process, name) for name in names}
    if isinstance(process.drift, Forgetting):
        values["forgetting"] = process.drift.rate
    return values
