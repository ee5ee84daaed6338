"""Tables 6 and 7: what 32 virtual workers find in the same virtual duration.

The paper's acoustic task is not public; noisy Hartmann-6 with learning curves takes its place. Steps take between 0.8
and 1.2 units of time by configuration. Setting 1 trains for 2 to 54 steps, setting 2 for 5 to 135.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import ttest_rel

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.suites.sub_sampling.utilisation import SETTINGS, WORKERS, Task
from shoestring.core.composition import compose
from shoestring.core.decisions import Method
from shoestring.executors import Simulated
from shoestring.methods import BOHB, BOSS, ParallelBOSS, named
from shoestring.problems import Synthetic, WithCurves
from shoestring.samplers import GaussianProcess
from shoestring.samplers.training import Liar
from shoestring.schedulers import Full

# The duration in full trainings: enough for a few periods of brackets.
FULL_TRAININGS = 6
TOP = 10


def methods(low: int) -> dict[str, Method]:
    return {
        "random": named("random"),
        "TPE": named("tpe"),
        "BOHB, synchronous": BOHB(min_resource=low, overlap=False),
        "BOHB, overlapping brackets": BOHB(min_resource=low),
        "BOSS (ss), synchronous": BOSS(min_resource=low, overlap=False),
        "BOSS (mss), synchronous": BOSS(rule="mss", min_resource=low, overlap=False),
        "parallel BOSS": ParallelBOSS(min_resource=low),
    }


# How a Gaussian process treats what is running; the paper's parallel BOSS has the constant liar.
LIARS: dict[str, Liar] = {
    "no lies": "ignore",
    "posterior mean": None,
    "constant liar, min": "min",
    "mean": "mean",
    "max": "max",
}
BATCHES, BATCH = 12, 5
FUNCTIONS = ("branin", "hartmann3", "hartmann6")


def _regret(function: Synthetic, liar: Liar, seed: int) -> float:
    """Log10 of the regret after batches of five that are asked for before any is told."""
    method = compose(GaussianProcess(liar=liar), Full())
    study = ss.Study(function.space, budget=ss.Budget(evaluations=BATCHES * BATCH), method=method, seed=seed)
    for _ in range(BATCHES):
        grants = [study.ask() for _ in range(BATCH)]
        for grant in filter(None, grants):
            study.tell(grant, function.value(grant.config))
    return math.log10(max(min(function.value(trial.config) for trial in study.trials) - function.best, 1e-9))


def liars(options: Options) -> list[Row]:
    """The constant liar on a Gaussian process: log10 regret after 12 batches of 5"""
    seeds, rows = range(options.seeds or (1 if options.quick else 20)), list[Row]()
    for name in FUNCTIONS[:1] if options.quick else FUNCTIONS:
        found = {who: [_kept_regret(name, liar, seed) for seed in seeds] for who, liar in LIARS.items()}
        rows += [row(f"{name}: {who}", values) for who, values in found.items()]
        for who in ("posterior mean", "constant liar, min"):
            ahead = np.subtract(found[who], found["no lies"]).tolist()
            rows.append(row(f"{name}: {who} − no lies", ahead))
        rows.append(
            row(
                f"{name}: posterior mean − constant liar, min",
                np.subtract(found["posterior mean"], found["constant liar, min"]).tolist(),
            )
        )
    return rows


def _kept_regret(name: str, liar: Liar, seed: int) -> float:
    method = compose(GaussianProcess(liar=liar), Full())
    place = key(f"liars, {name}", seed, method, batches=BATCHES, batch=BATCH)
    return float(runs().get(place, lambda: _regret(Synthetic(name), liar, seed)))


def outcome(method: Method, high: int, seed: int) -> tuple[float, float, float]:
    """True regret of the chosen configuration, mean of the ten best by their readings, and configurations tried."""
    task = Task(WithCurves(Synthetic("hartmann6", noise=0.05, spread=0.3), high))
    study = ss.Study(
        task.curves.space, budget=ss.Budget(seconds=FULL_TRAININGS * high), method=method, max_resource=high, seed=seed
    )
    study.run(task, executor=Simulated(WORKERS))
    furthest = max(step for _, step, _ in study.history.readings)
    means = []
    for arm in study.history.arms:
        losses = [trial.losses[furthest] for trial in arm.trials if furthest in trial.losses]
        if losses:
            means.append((float(np.mean(losses)), arm.index))
    function = task.curves.function
    true = [function.value(study.history.arms[index].config) - function.best for _, index in sorted(means)[:TOP]]
    return true[0], float(np.mean(true)), float(len(study.history.arms))


def table(options: Options) -> list[Row]:
    """Tables 6 and 7: regret after the same virtual duration with 32 workers; t of paired differences to BOHB."""
    settings = {1: SETTINGS[1]} if options.quick else SETTINGS
    seeds, rows = options.seeds or (1 if options.quick else 10), list[Row]()
    for setting, (low, high) in settings.items():
        found = {
            name: np.array([outcome(method, high, seed) for seed in range(seeds)])
            for name, method in methods(low).items()
        }
        for name, values in found.items():
            for column, what in enumerate(("best", "top 10", "configurations")):
                rows.append(row(f"setting {setting}, {name}: {what}", values[:, column].tolist()))
            reference = found["BOHB, overlapping brackets"][:, 0]
            if seeds > 1 and (values[:, 0] != reference).any():
                t = float(ttest_rel(values[:, 0], reference).statistic)
                rows.append(Row(f"setting {setting}, {name} − BOHB: t", t, n=seeds))
    return rows
