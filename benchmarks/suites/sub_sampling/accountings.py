"""BOSS and BOHB on noisy Hartmann-6 in two accountings: ten brackets each, and the same total number of steps.

Huang et al. compare "with the same maximum budget R, not the same total budget": every method has ten brackets
(iterations). BOSS evaluates again from scratch and never drops more than its rule says, so its ten brackets cost more
steps than those of BOHB. Here both are run for ten brackets, then BOHB with the steps that ten brackets of BOSS took in
the same seed, and BOSS with the steps that ten brackets of BOHB take.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, load, row
from benchmarks.suites.sub_sampling.hartmann import TOP, NoisyHartmann, chosen
from shoestring.executors import Simulated
from shoestring.methods import BOHB, BOSS

Brackets = BOHB | BOSS

ITERATIONS = 10
NOISES = (1.0, 3.0)
# More steps than ten brackets of any method take.
_ENOUGH = 10**6
# The first seed of the table that repeats the paper's accounting; the other one was seen before that was decided.
FRESH = 1000
# The first seed of the table that settles σ = 3: its number of seeds was fixed when the first 300 were known.
SETTLING = 2000
METHODS: dict[str, Brackets] = {"BOHB": BOHB(), "boss": BOSS(), "boss-mss": BOSS(rule="mss")}


def play(method: Brackets, sigma: float, steps: int, seed: int) -> tuple[float, float]:
    """Log regret of the chosen arm, and the steps spent."""

    def run() -> list[float]:
        problem = NoisyHartmann(sigma)
        study = ss.Study(
            problem.function.space, budget=ss.Budget(steps=steps), method=method, max_resource=TOP, seed=seed
        )
        study.run(problem, executor=Simulated(1))
        return [problem.log_regret(chosen(study.history)), float(study.spent["steps"])]

    place = key("noisy hartmann, accountings", seed, method, sigma=sigma, steps=steps, top=TOP)
    regret, spent = runs().get(place, run)
    return regret, spent


def table(options: Options) -> list[Row]:
    """BOSS and BOHB on noisy Hartmann-6: ten brackets each, and equal steps; natural log of the true regret"""
    seeds = range(options.seeds or (2 if options.quick else 60))
    noises = NOISES[-1:] if options.quick else NOISES
    return [line for sigma in noises for line in _noise(sigma, seeds)]


def _noise(sigma: float, seeds: range) -> list[Row]:
    by_brackets = {
        name: np.array([play(replace(method, iterations=ITERATIONS), sigma, _ENOUGH, seed) for seed in seeds])
        for name, method in METHODS.items()
    }
    bohb, rows = by_brackets["BOHB"], list[Row]()
    for name, found in by_brackets.items():
        rows.append(row(f"σ={sigma:g}, ten brackets: {name}", found[:, 0].tolist()))
        rows.append(row(f"σ={sigma:g}, ten brackets: {name}, steps", found[:, 1].tolist()))
        if name == "BOHB":
            continue
        rows.append(row(f"σ={sigma:g}, ten brackets: {name} − BOHB", (found[:, 0] - bohb[:, 0]).tolist()))
        longer = np.array([play(METHODS["BOHB"], sigma, int(found[i, 1]), seed)[0] for i, seed in enumerate(seeds)])
        rows.append(row(f"σ={sigma:g}, the steps of {name}: BOHB", longer.tolist()))
        rows.append(row(f"σ={sigma:g}, the steps of {name}: {name} − BOHB", (found[:, 0] - longer).tolist()))
        shorter = np.array([play(METHODS[name], sigma, int(bohb[i, 1]), seed)[0] for i, seed in enumerate(seeds)])
        rows.append(row(f"σ={sigma:g}, the steps of BOHB: {name}", shorter.tolist()))
        rows.append(row(f"σ={sigma:g}, the steps of BOHB: {name} − BOHB", (shorter - bohb[:, 0]).tolist()))
    return rows


def brackets(options: Options) -> list[Row]:
    """The paper's accounting with seeds of its own: BOSS and BOHB, ten brackets each; natural log of the true regret"""
    seeds = range(FRESH, FRESH + (options.seeds or (2 if options.quick else 200)))
    found: dict[tuple[float, str], list[tuple[float, float]]] = {}
    for seed in seeds:  # the outer loop, so that a run that is cut short has whole seeds
        for sigma in NOISES[-1:] if options.quick else NOISES:
            for name, method in METHODS.items():
                one = play(replace(method, iterations=ITERATIONS), sigma, _ENOUGH, seed)
                found.setdefault((sigma, name), []).append(one)
    rows = []
    for (sigma, name), runs_of in found.items():
        regrets, steps = np.array(runs_of).T
        rows.append(row(f"σ={sigma:g}: {name}", regrets.tolist()))
        rows.append(row(f"σ={sigma:g}: {name}, steps", steps.tolist()))
        if name != "BOHB":
            bohb = np.array(found[sigma, "BOHB"])[:, 0]
            rows.append(row(f"σ={sigma:g}: {name} − BOHB", (regrets - bohb).tolist()))
    return rows


def settling(options: Options) -> list[Row]:
    """BOSS and BOHB at σ = 3, ten brackets each, with 500 further seeds; and all seeds of the three tables together"""
    seeds = range(SETTLING, SETTLING + (options.seeds or (2 if options.quick else 500)))
    found: dict[str, list[float]] = {"BOHB": [], "boss": []}
    for seed in seeds:
        for name, regrets in found.items():
            regrets.append(play(replace(METHODS[name], iterations=ITERATIONS), NOISES[-1], _ENOUGH, seed)[0])
    gap = row("boss − BOHB", np.subtract(found["boss"], found["BOHB"]).tolist())
    before = load("sub_sampling")
    known = [
        before["accountings"]["rows"]["σ=3, ten brackets: boss − BOHB"],
        before["brackets"]["rows"]["σ=3: boss − BOHB"],
    ]
    return [*(row(name, regrets) for name, regrets in found.items()), gap, _together([*known, gap])]


def _together(parts: Sequence[Row]) -> Row:
    """The mean of runs that were stored in parts, and its error."""
    n = sum(part.n for part in parts)
    mean = sum(part.n * part.measured for part in parts) / n
    error = math.hypot(*(part.n * (part.error or 0.0) for part in parts)) / n
    return Row("all seeds: boss − BOHB", mean, error, n)
