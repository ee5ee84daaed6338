"""Figure 9: how many of 32 virtual workers are busy, under settings 1 and 2 of Table 6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import new_figure, saved
from shoestring.core.decisions import Method
from shoestring.core.events import Closed, Event, Granted, Reported
from shoestring.core.randomness import integer
from shoestring.executors import Simulated, Trial
from shoestring.logs.memory import MemoryLog
from shoestring.methods import BOSS, ParallelBOSS
from shoestring.problems import Synthetic, WithCurves
from shoestring.schedulers.brackets import hyperband_brackets, ladder_budget
from shoestring.schedulers.halving import quota

WORKERS = 32
PERIODS = 10
SETTINGS = {1: (2, 54), 2: (5, 135)}
ETA = 3


@dataclass(frozen=True)
class Task:
    """Curves whose step takes a unit of time, between 0.8 and 1.2 by configuration."""

    curves: WithCurves

    def __call__(self, trial: Trial) -> Iterator[float]:
        return self.curves(trial)

    def reading(self, config: dict[str, Any], step: int, seed: int) -> float:
        return self.curves.reading(config, step, seed)

    def seconds(self, config: dict[str, Any], step: int, seed: int) -> float:
        return 0.8 + 0.4 * integer(0, 0, repr(sorted(config.items()))) / 2**31


@dataclass(frozen=True)
class Usage:
    """Busy workers from each time on, until the next."""

    times: Sequence[float]
    busy: Sequence[int]

    @property
    def utilisation(self) -> float:
        """Busy worker-time / (workers × makespan)."""
        lengths = np.diff(self.times)
        return float(lengths @ np.array(self.busy[:-1]) / (WORKERS * (self.times[-1] - self.times[0])))


def usage_of(events: Sequence[Event]) -> Usage:
    until: dict[int, int] = {}
    times, busy = [0.0], [0]
    for event in events:
        if isinstance(event, Granted):
            until[event.trial] = event.until
        elif isinstance(event, Closed) or (isinstance(event, Reported) and event.step == until[event.trial]):
            del until[event.trial]
        times.append(event.at)
        busy.append(len(until))
    return Usage(times, busy)


def methods(low: int) -> dict[str, Method]:
    return {
        "BOSS with MSS": BOSS(rule="mss", min_resource=low, overlap=False),
        "BOSS with MSS, overlapping brackets": BOSS(rule="mss", min_resource=low),
        "parallel BOSS": ParallelBOSS(min_resource=low),
    }


def steps_of_a_period(low: int, high: int) -> int:
    """All rounds of all brackets, each evaluation from a fresh start."""
    total = 0
    for bracket in hyperband_brackets(high, low, ETA):
        turn = 0
        while (budget := ladder_budget(bracket, turn, ETA)) is not None:
            total += quota(bracket.arms, turn, ETA) * budget
            turn += 1
    return total


def played(method: Method, low: int, high: int, periods: int, seed: int) -> Usage:
    task = Task(WithCurves(Synthetic("hartmann6", noise=0.05), high))
    budget = ss.Budget(steps=periods * steps_of_a_period(low, high))
    log = MemoryLog()
    study = ss.Study(task.curves.space, budget=budget, method=method, max_resource=high, storage=log, seed=seed)
    study.run(task, executor=Simulated(WORKERS))
    return usage_of(log.read(0, 0))


def figure_9(options: Options) -> list[Row]:
    """Figure 9: per cent of the time of 32 virtual workers that is used, ten periods of brackets."""
    seeds = options.seeds or (1 if options.quick else 5)
    rows = []
    first: dict[tuple[int, str], Usage] = {}
    settings = {1: SETTINGS[1]} if options.quick else SETTINGS
    for setting, (low, high) in settings.items():
        shares: dict[str, list[float]] = {}
        for name, method in methods(low).items():
            runs = [played(method, low, high, PERIODS, seed) for seed in range(seeds)]
            first[setting, name] = runs[0]
            shares[name] = [100 * run.utilisation for run in runs]
            least = 75 if name == "parallel BOSS" else None
            rows.append(row(f"setting {setting}, {name}", shares[name], at_least=least))
        times = np.divide(shares["parallel BOSS"], shares["BOSS with MSS"]).tolist()
        rows.append(row(f"setting {setting}, parallel BOSS / BOSS with MSS", times, at_least=5))
    _picture(first, settings, options)
    return rows


def _picture(usages: dict[tuple[int, str], Usage], settings: dict[int, tuple[int, int]], options: Options) -> None:
    figure, axes = new_figure(1, len(settings))
    for axis, (setting, (_, high)) in zip(axes.flat, settings.items(), strict=True):
        for name in ("BOSS with MSS", "parallel BOSS"):
            usage = usages[setting, name]
            axis.step(usage.times, usage.busy, where="post", label=name, linewidth=0.8)
        axis.set_xlim(0, 8 * high)
        axis.set_title(f"setting {setting}: up to {high} steps")
        axis.set_xlabel("time in steps")
        axis.set_ylabel(f"busy workers of {WORKERS}")
        axis.legend()
    saved(figure, "sub_sampling_9", options)
