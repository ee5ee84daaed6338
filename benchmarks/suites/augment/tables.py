"""The thesis's tables at a small scale: accuracy and loss on test images after training with the policies found."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
from scipy import stats

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import place
from benchmarks.suites.augment.runs import FULL, QUICK, Scale, baseline, found_set, with_found
from shoestring.augment import OPERATIONS, PolicySet
from shoestring.augment.plots import draw_heatmaps

CIFAR, FASHION = "cifar10", "fashion_mnist"

Runs = list[dict[str, float]]


def _scale(options: Options) -> Scale:
    return QUICK if options.quick else FULL


def _baseline(options: Options, data: str, name: str) -> Runs:
    scale = _scale(options)
    return [baseline(data, name, seed, scale) for seed in range(options.seeds * scale.trainings)]


def _found(options: Options, kind: str, part: str = "union", data: str = CIFAR, source: str | None = None) -> Runs:
    """Each search's trainings, with the seeds that the baselines have too."""
    scale, n = _scale(options), _scale(options).trainings
    return [with_found(data, kind, seed // n, seed, part, source, scale) for seed in range(options.seeds * n)]


def _of(runs: Runs, what: str) -> list[float]:
    return [run[what] for run in runs]


def _less(one: Runs, other: Runs, what: str) -> list[float]:
    """Differences of runs with the same training seed."""
    return [a[what] - b[what] for a, b in zip(one, other, strict=True)]


def interval(name: str, values: Sequence[float]) -> list[Row]:
    """The ends of the 95 % confidence interval of a mean."""
    if len(values) < 2:
        return []
    half = float(stats.t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return [Row(f"{name}, 95 % from", mean - half, n=len(values)), Row(f"{name}, 95 % to", mean + half, n=len(values))]


def table_3_1(options: Options) -> list[Row]:
    """CIFAR-10: no augmentation, all policies with equal probability, like RandAugment, and the policies found."""
    runs = {name: _baseline(options, CIFAR, name) for name in ("no augmentation", "uniform", "RandAugment")}
    runs["found"] = _found(options, "eop-shrunk", "top 112")
    runs["union"] = _found(options, "eop-shrunk")
    thesis = {"no augmentation": 94.7, "union": 96.46}  # Wide-ResNet-40-2, 4,000 images for the search
    rows = []
    for name, results in runs.items():
        rows.append(row(f"{name}: accuracy", _of(results, "accuracy"), paper=thesis.get(name)))
        rows.append(row(f"{name}: loss", _of(results, "loss")))
    rows.append(
        row("no augmentation − found: loss", _less(runs["no augmentation"], runs["found"], "loss"), at_least=0.8)
    )
    gain = _less(runs["found"], runs["no augmentation"], "accuracy")
    rows.append(row("found − no augmentation: accuracy", gain, at_least=0.0))
    for name in ("found", "union"):
        for other in ("uniform", "RandAugment"):
            difference = _less(runs[name], runs[other], "accuracy")
            rows.append(row(f"{name} − {other}: accuracy", difference, at_least=-1.5))
            rows += interval(f"{name} − {other}", difference)
    return rows


def table_3_6(options: Options) -> list[Row]:
    """The five best and the five worst pairs, at random levels."""
    best, worst = (_found(options, "eop-shrunk", part) for part in ("top 5", "bottom 5"))
    return [
        row("best 5 pairs: accuracy", _of(best, "accuracy"), paper=76.68),
        row("worst 5 pairs: accuracy", _of(worst, "accuracy"), paper=19.58),
        row("best − worst", _less(best, worst, "accuracy"), paper=57.1, at_least=15),
    ]


def table_estimate(options: Options) -> list[Row]:
    """The shrunk estimate and the thesis's mean: the same plays, the union chosen by one or the other."""
    shrunk, mean = _found(options, "eop-shrunk"), _found(options, "eop-shrunk", "union by mean")
    rows = []
    for what in ("accuracy", "loss"):
        difference = _less(shrunk, mean, what)
        rows += [row(f"shrunk: {what}", _of(shrunk, what)), row(f"mean: {what}", _of(mean, what))]
        rows += [row(f"shrunk − mean: {what}", difference), *interval(f"shrunk − mean: {what}", difference)]
    return rows


def _joined(options: Options, data: str) -> PolicySet:
    """All searches of a data set as one."""
    found, *others = (found_set(data, "eop-shrunk", seed, _scale(options)) for seed in range(options.seeds))
    for other in others:
        found = found.merge(other)
    return found


def figure_2(options: Options) -> list[Row]:
    """The heat map of the mean rewards of pairs on CIFAR-10, all searches joined."""
    found = _joined(options, CIFAR)
    draw_heatmaps({CIFAR: found}, place("augment_2", options))
    values, place_of = found.heatmap(), OPERATIONS.index("Invert")
    others = np.delete(np.delete(values, place_of, axis=0), place_of, axis=1)
    inverted = float(np.mean([*values[place_of], *values[:, place_of]]))
    return [
        Row("mean reward of pairs with Invert", inverted, n=options.seeds),
        Row("mean reward of the other pairs", float(others.mean()), n=options.seeds),
    ]


def figure_2_both(options: Options) -> list[Row]:
    """The heat maps of CIFAR-10 and Fashion-MNIST side by side."""
    joined = {data: _joined(options, data) for data in (CIFAR, FASHION)}
    draw_heatmaps(joined, place("augment_2_both", options))
    flat = [found.heatmap().ravel() for found in joined.values()]
    return [Row("rank correlation of the two heat maps", float(stats.spearmanr(*flat).statistic), n=options.seeds)]
