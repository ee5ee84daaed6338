"""Table 1 and Figures 3, A3 and A4 (2020: Table A3, Figures A4 to A6) in kind: schedules of a self-tuning network.

The network and its training are those of ``examples/self_tuning_network.py``, on small images, with half of the paper's
epochs and a learning rate that decays at the same shares of them. Static schedules tune in one round of n; the
switching one tunes in every round and, in the last third, in every second. Grid search runs the static schedules and
takes the best by its validation loss, so its time is that of all of them. Bandits look by chance.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import new_figure, saved
from benchmarks.harness.recorded import DATA

# The numbers of training and validation images, and their pixels a side; epochs, and those after which the rate decays.
SETTING = {"most": 800, "valid": 1000, "size": 14, "epochs": 75, "decay": "30,50,60"}
TUNED = "static: tune in one round of 1"
SCHEDULES = {
    TUNED: "always",
    "static: tune in one round of 2": "every:2",
    "static: tune in one round of 4": "every:4",
    "static: never tune": "never",
    "switching": "switching",
    **{f"{name}, Ber({p})": f"{short}:{p}" for p in (0.1, 0.2) for name, short in (
        ("EXP3.R", "exp3r"), ("ε-greedy", "greedy"), ("Softmax", "softmax"), ("UCB", "ucb"), ("GP-UCB", "bernoulli")
    )},
    "GP-UCB, full feedback": "full",
    "GP-UCB, Ber(0.5)": "bernoulli:0.5",
    "GP-UCB, Exactly(half)": "exactly:37",
    "CE-GP-UCB, κ=0.7": "kappa:0.7",
    "CE-GP-UCB, κ=0.8": "kappa:0.8",
}  # fmt: skip
STATIC = [name for name in SCHEDULES if name.startswith("static")]
WHAT = ("validation loss", "validation accuracy", "test loss", "test accuracy", "seconds", "looks", "tuned")
SHOWN = (TUNED, "switching", "GP-UCB, Ber(0.2)", "CE-GP-UCB, κ=0.8")
DENSE = ("static: never tune", "switching", "CE-GP-UCB, κ=0.7", "CE-GP-UCB, κ=0.8")
DIFFERENCES = ("validation loss", "test loss", "test accuracy")
CURVES = ("validation loss", "dropout 1", "dropout 2", "rotation", "brightness", "noise")


@cache
def example() -> Any:
    """The example as a module; it needs torch."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    import self_tuning_network
    import torch

    torch.set_num_threads(1)
    return self_tuning_network


def played(name: str, seed: int) -> dict[str, Any]:
    """The numbers of ``WHAT`` at the end, and in every fifth round those of ``CURVES``."""
    options = example().Options(data=str(DATA / "images" / "fashion_mnist_small.npz"), **SETTING)
    training, valid, test = example().training(options, SCHEDULES[name], seed)
    curve, seconds = list[list[float]](), 0.0
    for done in range(5, options.epochs + 1, 5):
        started = time.process_time()
        training.run(done)
        seconds += time.process_time() - started  # the evaluation for the curve is not part of the method
        hyper = training.rounds[-1].hyper
        curve.append([training.evaluate(valid)[0], *(hyper[what] for what in CURVES[1:])])
    rounds = training.rounds
    looks, tuned = sum(line.looked for line in rounds), sum(line.tuned for line in rounds) / len(rounds)
    values = [*training.evaluate(valid), *training.evaluate(test), seconds, looks, tuned]
    return {**dict(zip(WHAT, values, strict=True)), "curve": curve}


def table(options: Options) -> list[Row]:
    """Table 1: a self-tuning network under fixed, switching and online schedules; time over that of never tuning"""
    names = list(SCHEDULES)[:: 7 if options.quick else 1]
    seeds = range(1 if options.quick else options.seeds)
    found = _all(names, seeds)
    if not options.quick:
        found["grid search"] = [_grid([found[name][i] for name in STATIC]) for i in range(len(seeds))]
        _draw(found, options)
    plain = np.mean([run["seconds"] for run in found.get("static: never tune", found[names[0]])])
    rows = []
    for name, results in found.items():
        for what in WHAT:
            scale = 1 / plain if what == "seconds" else 1.0
            rows.append(row(f"{name}: {what}", [float(scale * run[what]) for run in results]))
        if name != TUNED and not options.quick:
            pairs = zip(results, found[TUNED], strict=True)
            rows.append(
                row(f"{name} − always: test accuracy", [a["test accuracy"] - b["test accuracy"] for a, b in pairs])
            )
    return rows


def _all(names: Sequence[str], seeds: range) -> dict[str, list[dict[str, Any]]]:
    """The numbers of schedules by name and seed; finished runs are kept."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for seed in seeds:  # the outer loop, so that a run that is cut short has whole seeds
        for name in names:
            place = key("self-tuning network with decay", seed, name, **SETTING)
            found[name].append(runs().get(place, lambda: played(name, seed)))  # noqa: B023
    return found


def dense(options: Options) -> list[Row]:
    """Is dense tuning sub-optimal: fewer schedules with more seeds; differences to tuning in every round, paired"""
    names, seeds = DENSE[: 2 if options.quick else None], range(1 if options.quick else options.seeds)
    found = _all([TUNED, *names], seeds)
    rows = [row(f"{name}: {what}", [run[what] for run in each]) for name, each in found.items() for what in WHAT]
    for name in names:
        for what in DIFFERENCES:
            pairs = zip(found[name], found[TUNED], strict=True)
            rows.append(row(f"{name} − always: {what}", [one[what] - other[what] for one, other in pairs]))
    return rows


def _grid(results: list[dict[str, Any]]) -> dict[str, Any]:
    best = min(results, key=lambda run: run["validation loss"])
    return {**best, "seconds": sum(run["seconds"] for run in results)}


def _draw(found: dict[str, list[dict[str, Any]]], options: Options) -> None:
    figure, panels = new_figure(2, 3, (3.6, 2.8))
    for name in SHOWN:
        mean = np.mean([run["curve"] for run in found[name]], axis=0)
        for panel, values, title in zip(panels.flat, mean.T, CURVES, strict=True):
            panel.plot(5 * np.arange(1, len(values) + 1), values, marker="o", ms=2, label=name)
            panel.set(title=title, xlabel="round")
    panels[0, 0].legend(fontsize=6)
    saved(figure, "costly_feedback_figure_3", options, dpi=80)
