"""The order of configurations after the first epochs: early readings against later ones."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row
from benchmarks.harness.pictures import new_figure, saved
from benchmarks.tasks.yahpo_lcbench import EPOCHS, SPACE, Problem, names
from shoestring.core.randomness import generator
from shoestring.spaces.codec import Codec

EARLY, LATER = (1, 2), 5
SHOWN = 100


def figure(options: Options) -> list[Row]:
    """A task's readings after 1 and 2 epochs against those after 5, and the rank correlations on all tasks."""
    codec, rng = Codec(SPACE), generator(0, 0, "orders")
    configs = [codec.sample(rng) for _ in range(SHOWN)]
    curves = {task: np.array([Problem(task).curve(config)[0] for config in configs]) for task in names()}
    shown = names()[-1]
    drawn, axes = new_figure(1, len(EARLY), (4.2, 3.4), sharey=True)
    rows = []
    for axis, early in zip(axes[0], EARLY, strict=True):
        found = {task: _correlation(of, early, LATER) for task, of in curves.items()}
        axis.scatter(curves[shown][:, early - 1], curves[shown][:, LATER - 1], s=12)
        axis.set(xlabel=f"error after epoch {early}, %", title=f"rank correlation {found[shown]:.2f}")
        rows += [Row(f"{task}: epoch {early} with {LATER}", value, n=SHOWN) for task, value in found.items()]
        of_ends = [_correlation(of, early, EPOCHS) for of in curves.values()]
        rows.append(Row(f"all tasks: epoch {early} with {EPOCHS}", float(np.mean(of_ends)), n=SHOWN * len(of_ends)))
    axes[0, 0].set_ylabel(f"error after epoch {LATER}, %")
    saved(drawn, "early_readings_orders", options, dpi=80)
    return rows


def _correlation(curves: np.ndarray, early: int, later: int) -> float:
    """Spearman's coefficient of the best errors so far."""
    lowest = np.minimum.accumulate(curves, axis=1)
    return float(spearmanr(lowest[:, early - 1], lowest[:, later - 1]).statistic)
