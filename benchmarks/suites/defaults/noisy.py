"""Noisy black boxes: what ``study.best`` is worth without the noise, after 60 evaluations of functions of 2 to 10
parameters.

The standard deviation of the noise is a share of the function's own over random configurations, its *spread*. A loss
is that of the function without the noise, above its minimum; over functions it is averaged as a share of what random
search has there. No choice was made on these functions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, pstdev, stdev
from typing import Any, NamedTuple

import numpy as np

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.contests import run_key
from benchmarks.harness.kept import runs
from benchmarks.harness.measurements import Row, row
from benchmarks.peers.optuna_sampling import optuna_sampler, suggested
from shoestring.core.randomness import generator
from shoestring.problems import Synthetic
from shoestring.spaces.codec import Codec

EVALUATIONS, STARTUP = 60, 8
NOISES = (0.2, 0.5)
OURS = ("auto", "tpe", "random")
# Optuna's GP is slower, and is on the page of batch optimisation.
PEERS = {"Optuna TPE": 5}
_DRAWS = 2000


@dataclass(frozen=True, eq=False)
class NoisyFunction:
    """A function of a configuration, its space and its least value."""

    name: str
    space: Any
    value: Callable[[Mapping[str, Any]], float]
    best: float

    @cached_property
    def spread(self) -> float:
        codec, rng = Codec(self.space), generator(0, 0, f"spread of {self.name}")
        return pstdev(self.value(codec.sample(rng)) for _ in range(_DRAWS))

    def regret(self, config: Mapping[str, Any]) -> float:
        return (self.value(config) - self.best) / self.spread

    def reading(self, config: Mapping[str, Any], noise: float, seed: int, trial: int) -> float:
        """Return a reading; the same trial of two methods has the same noise."""
        return self.value(config) + noise * self.spread * float(generator(seed, trial, "noise").standard_normal())


class Found(NamedTuple):
    """A run: the loss of what is recommended, of the luckiest reading and of the best that was tried; the coordinates
    of a proposal that lie on a bound; CPU seconds.
    """

    best: float
    luckiest: float
    tried: float
    on_bounds: float
    cpu: float


def noisy_functions() -> tuple[NoisyFunction, ...]:
    return (
        _quadratic("quadratic 7", centres=(0.3,) * 7),
        _known("branin 2", Synthetic("branin")),
        _known("hartmann 3", Synthetic("hartmann3")),
        _known("ackley 5", Synthetic("ackley", dimensions=5)),
        _known("levy 8", Synthetic("levy", dimensions=8)),
        _known("styblinski-tang 10", Synthetic("styblinski-tang", dimensions=10)),
    )


def _quadratic(name: str, centres: Sequence[float]) -> NoisyFunction:
    """The sum of squared distances from the centres, in the unit cube."""
    names = [f"x{i}" for i in range(1, len(centres) + 1)]

    def value(config: Mapping[str, Any]) -> float:
        return sum((config[x] - c) ** 2 for x, c in zip(names, centres, strict=True))

    return NoisyFunction(name, ss.space(**dict.fromkeys(names, (0.0, 1.0))), value, 0.0)


def _known(name: str, problem: Synthetic) -> NoisyFunction:
    return NoisyFunction(name, problem.space, problem.value, problem.best)


def table(options: Options) -> list[Row]:
    """Noisy black boxes: the true loss of study.best above the minimum, as a share of random search's."""
    functions = noisy_functions()[:2] if options.quick else noisy_functions()
    return [line for noise in NOISES for line in _rows(functions, noise, options.seeds)]


def _rows(functions: Sequence[NoisyFunction], noise: float, seeds: int) -> list[Row]:
    counts = dict.fromkeys(OURS, seeds) | {name: min(seeds, most) for name, most in PEERS.items()}
    found = {
        name: [[played(function, name, noise, seed) for function in functions] for seed in range(count)]
        for name, count in counts.items()
    }
    units = [fmean(run.best for run in of) for of in zip(*found["random"], strict=True)]
    at = f"noise {noise:g}"
    lines = [
        row(f"{at}, {name}: {kind}", [_share(of, field, units) for of in by_seed])
        for name, by_seed in found.items()
        for kind, field in (("loss", "best"), ("luckiest reading", "luckiest"), ("best tried", "tried"))
    ]
    for name, by_seed in found.items():
        runs_of = [run for of in by_seed for run in of]
        lines.append(row(f"{at}, {name}: coordinates on a bound", [run.on_bounds for run in runs_of]))
        lines.append(row(f"{at}, {name}: CPU s a run", [run.cpu for run in runs_of]))
    for name, limit in (("random", -2.0), ("tpe", 2.0)):
        lines += _differences(f"{at}, auto − {name}", found["auto"], found[name], units, limit)
    return lines + [
        row(f"{at}, {function.name}, {name}", [of[i].best for of in by_seed])
        for i, function in enumerate(functions)
        for name, by_seed in found.items()
    ]


def _share(of: Sequence[Found], field: str, units: Sequence[float]) -> float:
    return fmean(getattr(run, field) / unit for run, unit in zip(of, units, strict=True))


def _differences(
    name: str, one: Sequence[Sequence[Found]], other: Sequence[Sequence[Found]], units: Sequence[float], limit: float
) -> list[Row]:
    """The mean difference over seeds, and how many of its standard errors it is, which must not be above ``limit``."""
    paired = [_share(a, "best", units) - _share(b, "best", units) for a, b in zip(one, other, strict=True)]
    if len(paired) < 2:
        return [row(name, paired)]
    errors = fmean(paired) / (stdev(paired) / math.sqrt(len(paired)))
    return [row(name, paired), Row(f"{name}, in standard errors", errors, n=len(paired), at_most=limit)]


def played(function: NoisyFunction, name: str, noise: float, seed: int) -> Found:
    settings = {"evaluations": EVALUATIONS, "percent": round(100 * noise)}
    identity = run_key(f"noisy: {function.name}", seed, name, None if name in PEERS else name, **settings)
    return Found(*runs().get(identity, lambda: (_optuna if name in PEERS else _ours)(function, name, noise, seed)))


def _ours(function: NoisyFunction, method: str, noise: float, seed: int) -> Found:
    before = time.process_time()
    study = ss.Study(function.space, budget=ss.Budget(evaluations=EVALUATIONS), method=method, seed=seed)
    while (grant := study.ask()) is not None:
        study.tell(grant, function.reading(grant.config, noise, seed, grant.trial))
    best, cpu = study.best.config, time.process_time() - before
    configs = [trial.config for trial in study.trials]
    luckiest = min(study.trials, key=lambda trial: trial.readings[1].value).config
    return _found(function, configs, best, luckiest, cpu)


def _optuna(function: NoisyFunction, sampler: str, noise: float, seed: int) -> Found:
    import optuna

    before = time.process_time()
    study = optuna.create_study(sampler=optuna_sampler(sampler, seed, noisy=True))
    codec, configs = Codec(function.space), []
    for number in range(EVALUATIONS):
        trial = study.ask()
        configs.append(suggested(trial, function.space, codec))
        study.tell(trial, function.reading(configs[-1], noise, seed, number))
    best = configs[study.best_trial.number]
    return _found(function, configs, best, best, time.process_time() - before)


def _found(
    function: NoisyFunction,
    configs: Sequence[dict[str, Any]],
    best: dict[str, Any],
    luckiest: dict[str, Any],
    cpu: float,
) -> Found:
    codec = Codec(function.space)
    proposed = np.array([codec.encode(config) for config in configs[STARTUP:]])
    on_bounds = float(np.isclose(proposed % 1.0, 0.0, atol=1e-9).sum(axis=1).mean())
    tried = min(map(function.regret, configs))
    return Found(function.regret(best), function.regret(luckiest), tried, on_bounds, round(cpu, 4))
