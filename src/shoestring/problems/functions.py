"""Test functions with a known minimum.

The smooth ones come from Surjanovic and Bingham's Virtual Library of Simulation Experiments, with its bounds and
constants. ``mixed`` and ``conditional`` are ours: small, with the kinds of parameters that real spaces have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from shoestring.spaces.definition import space
from shoestring.spaces.parameters import log

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

Point = Sequence[float]


@dataclass(frozen=True)
class Smooth:
    """A function of real numbers. With ``any_dimensions`` the bounds and the minimiser hold for each coordinate."""

    function: Callable[[Point], float]
    bounds: tuple[tuple[float, float], ...]
    minimiser: tuple[float, ...]
    any_dimensions: bool = False


def branin(x: Point) -> float:
    bowl = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10


_HARTMANN_WEIGHTS = (1.0, 1.2, 3.0, 3.2)
_HARTMANN_3 = (
    ((3.0, 10, 30), (0.1, 10, 35), (3.0, 10, 30), (0.1, 10, 35)),
    ((0.3689, 0.1170, 0.2673), (0.4699, 0.4387, 0.7470), (0.1091, 0.8732, 0.5547), (0.0381, 0.5743, 0.8828)),
)
_HARTMANN_6 = (
    (
        (10, 3, 17, 3.5, 1.7, 8),
        (0.05, 10, 17, 0.1, 8, 14),
        (3, 3.5, 1.7, 10, 17, 8),
        (17, 8, 0.05, 10, 0.1, 14),
    ),
    (
        (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
        (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
        (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
        (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
    ),
)


def hartmann(scales: Sequence[Point], centres: Sequence[Point], x: Point) -> float:
    total = 0.0
    for weight, scale, centre in zip(_HARTMANN_WEIGHTS, scales, centres, strict=True):
        total -= weight * math.exp(-sum(a * (v - p) ** 2 for a, v, p in zip(scale, x, centre, strict=True)))
    return total


def ackley(x: Point) -> float:
    root = math.sqrt(sum(v * v for v in x) / len(x))
    waves = sum(math.cos(2 * math.pi * v) for v in x) / len(x)
    return 20 * (1 - math.exp(-0.2 * root)) + math.e - math.exp(waves)


def rosenbrock(x: Point) -> float:
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in pairwise(x))


def levy(x: Point) -> float:
    w = [1 + (v - 1) / 4 for v in x]
    middle = sum((v - 1) ** 2 * (1 + 10 * math.sin(math.pi * v + 1) ** 2) for v in w[:-1])
    last = (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)
    return math.sin(math.pi * w[0]) ** 2 + middle + last


def rastrigin(x: Point) -> float:
    return sum(v * v + 10 * (1 - math.cos(2 * math.pi * v)) for v in x)


def sphere(x: Point) -> float:
    return sum(v * v for v in x)


def styblinski_tang(x: Point) -> float:
    return sum(v**4 - 16 * v**2 + 5 * v for v in x) / 2


SMOOTH = {
    "branin": Smooth(branin, ((-5.0, 10.0), (0.0, 15.0)), (math.pi, 2.275)),
    "hartmann3": Smooth(partial(hartmann, *_HARTMANN_3), ((0.0, 1.0),) * 3, (0.1145888706, 0.5556488937, 0.8525469854)),
    "hartmann6": Smooth(
        partial(hartmann, *_HARTMANN_6),
        ((0.0, 1.0),) * 6,
        (0.2016895081, 0.1500106888, 0.4768739716, 0.2753324299, 0.3116516190, 0.6573005327),
    ),
    "ackley": Smooth(ackley, ((-32.768, 32.768),), (0.0,), True),
    "rosenbrock": Smooth(rosenbrock, ((-5.0, 10.0),), (1.0,), True),
    "levy": Smooth(levy, ((-10.0, 10.0),), (1.0,), True),
    "rastrigin": Smooth(rastrigin, ((-5.12, 5.12),), (0.0,), True),
    "sphere": Smooth(sphere, ((-5.12, 5.12),), (0.0,), True),
    "styblinski-tang": Smooth(styblinski_tang, ((-5.0, 5.0),), (-2.903534027771177,), True),
}


@dataclass(frozen=True)
class Structured:
    """A function of a configuration, with one that minimises it."""

    function: Callable[[Mapping[str, Any]], float]
    space: Callable[[], ConfigurationSpace]
    minimiser: Mapping[str, Any]


_ACTIVATIONS = {"relu": (0.0, -2.0), "tanh": (0.2, -3.0), "gelu": (0.1, -2.5)}


def mixed(config: Mapping[str, Any]) -> float:
    """A choice, an integer, an on-off switch and a log range; each activation has a best rate of its own."""
    penalty, best_rate = _ACTIVATIONS[config["activation"]]
    depth = 0.02 * float(config["layers"] - 5) ** 2
    return penalty + (math.log10(config["rate"]) - best_rate) ** 2 + depth + (0.0 if config["normalise"] else 0.15)


def _mixed_space() -> ConfigurationSpace:
    return space(activation=list(_ACTIVATIONS), layers=(1, 8), normalise=[True, False], rate=log(1e-5, 1.0))


def conditional(config: Mapping[str, Any]) -> float:
    """Three models, each with parameters of its own that the others do not have."""
    if config["model"] == "svm":
        return 0.1 + 0.05 * (math.log10(config["C"]) - 1) ** 2 + 0.05 * (math.log10(config["gamma"]) + 2) ** 2
    if config["model"] == "forest":
        return 0.12 + 0.01 * abs(float(config["depth"]) - 12)
    return 0.3 + 0.02 * abs(math.log10(config["alpha"]))


def _conditional_space() -> ConfigurationSpace:
    from ConfigSpace import EqualsCondition

    result = space(
        model=["svm", "forest", "linear"],
        C=log(1e-3, 1e3),
        gamma=log(1e-5, 1e1),
        depth=(2, 32),
        alpha=log(1e-4, 1e4),
    )
    owners = {"C": "svm", "gamma": "svm", "depth": "forest", "alpha": "linear"}
    result.add([EqualsCondition(result[name], result["model"], owner) for name, owner in owners.items()])
    return result


STRUCTURED = {
    "mixed": Structured(mixed, _mixed_space, {"activation": "relu", "layers": 5, "normalise": True, "rate": 0.01}),
    "conditional": Structured(conditional, _conditional_space, {"model": "svm", "C": 10.0, "gamma": 0.01}),
}


@cache
def function_of_configurations(name: str, dimensions: int | None) -> Structured:
    """Any of the functions by name; the parameters of a smooth one are x1, x2, …"""
    if name in STRUCTURED:
        return STRUCTURED[name]
    smooth = SMOOTH[name]
    copies = (dimensions or 2) if smooth.any_dimensions else 1
    names = tuple(f"x{i}" for i in range(1, copies * len(smooth.bounds) + 1))
    return Structured(
        lambda config: smooth.function([config[name] for name in names]),
        lambda: space(**dict(zip(names, smooth.bounds * copies, strict=True))),
        dict(zip(names, smooth.minimiser * copies, strict=True)),
    )
