"""Tables with errors by search: 3.1 with the thesis's mean throughout, 3.5, 3.7, other architectures, fresh seeds.

Every number is a search, or a training seed for what needs no search; a search has one training. So errors include the
variation between searches. Density matching and published policies are next to Table 3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.suites.augment import density, published
from benchmarks.suites.augment.runs import FULL, QUICK, Scale, baseline, trained, with_found
from benchmarks.suites.augment.tables import interval

CIFAR, FASHION, SEARCH = "cifar10", "fashion_mnist", "eop-mean"
FRESH = 100  # the first of the training seeds that no choice was made on
Run = dict[str, float]


def contenders(scale: Scale, network: str = "small") -> dict[str, Callable[[int], Run]]:
    """Accuracy and loss of a training, by seed."""

    def published_policies(text: str) -> Callable[[int], Run]:
        name = f"published {hash_of(text)}"
        return lambda seed: trained(CIFAR, name, lambda: published.policies(text), seed, scale, network)

    def found(part: str) -> Callable[[int], Run]:
        return lambda seed: with_found(CIFAR, SEARCH, seed, seed, part, scale=scale, network=network)

    def matched(seed: int) -> Run:
        return trained(CIFAR, "density", lambda: density.matching(CIFAR, seed, scale.epochs), seed, scale, network)

    names = ("no augmentation", "uniform", "RandAugment")
    rows: dict[str, Callable[[int], Run]] = {name: _baseline(name, scale, network) for name in names}
    rows |= {"AutoAugment, CIFAR-10": published_policies(published.CIFAR10)}
    rows |= {"AutoAugment, SVHN": published_policies(published.SVHN), "density matching": matched}
    return rows | {"found, by mean": found("top 112"), "union, by mean": found("union")}


def _baseline(name: str, scale: Scale, network: str) -> Callable[[int], Run]:
    return lambda seed: baseline(CIFAR, name, seed, scale, network)


def hash_of(text: str) -> int:
    return int(published.policies(text).sum())


def table(options: Options) -> list[Row]:
    """Table 3.1 by search: the thesis's estimate and union, published policies, density matching"""
    return _rows(contenders(QUICK if options.quick else FULL), options.seeds)


def _rows(by_name: dict[str, Callable[[int], Run]], seeds: int) -> list[Row]:
    runs: dict[str, list[Run]] = {name: [play(seed) for seed in range(seeds)] for name, play in by_name.items()}
    rows = []
    for name, results in runs.items():
        rows.append(row(f"{name}: accuracy", [run["accuracy"] for run in results]))
        rows.append(row(f"{name}: loss", [run["loss"] for run in results]))
        if name != "uniform":
            accuracies = ([run["accuracy"] for run in either] for either in (results, runs["uniform"]))
            rows += _difference(f"{name} − uniform: accuracy", *accuracies)
    return rows


def architecture(options: Options) -> list[Row]:
    """Transfer to a second architecture: policies found with the small network train a residual one"""
    chosen = ("no augmentation", "uniform", "found, by mean", "union, by mean")
    every = contenders(QUICK if options.quick else FULL, "residual")
    return _rows({name: every[name] for name in chosen}, options.seeds)


def table_fresh(options: Options) -> list[Row]:
    """The searches of Table 3.1 by search, with training seeds that no choice was made on; three for each"""
    scale, n = (QUICK, 1) if options.quick else (FULL, 3)
    uniform, found = [], []
    for search in range(options.seeds):
        seeds = range(FRESH + n * search, FRESH + n * (search + 1))
        uniform.append(fmean(baseline(CIFAR, "uniform", seed, scale)["accuracy"] for seed in seeds))
        plays = (with_found(CIFAR, SEARCH, search, seed, "top 112", scale=scale) for seed in seeds)
        found.append(fmean(run["accuracy"] for run in plays))
    rows = [row("uniform: accuracy", uniform), row("found: accuracy", found)]
    return [*rows, *_difference("found − uniform", found, uniform)]


def table_3_5(options: Options) -> list[Row]:
    """Transfer between CIFAR-10 and Fashion-MNIST, and direct search"""
    scale, seeds, rows = QUICK if options.quick else FULL, range(options.seeds), list[Row]()
    for data, source in ((FASHION, CIFAR), (CIFAR, FASHION)):
        found = {
            name: [with_found(data, SEARCH, seed, seed, "top 112", origin, scale)["accuracy"] for seed in seeds]
            for name, origin in (("found on it", None), (f"found on {source}", source))
        }
        plain = ("no augmentation", "uniform")
        found |= {name: [baseline(data, name, seed, scale)["accuracy"] for seed in seeds] for name in plain}
        rows += [row(f"{data}: {name}", values) for name, values in found.items()]
        rows += _difference(f"{data}: transferred − direct", found[f"found on {source}"], found["found on it"])
        rows += _difference(f"{data}: direct − uniform", found["found on it"], found["uniform"])
    return rows


def table_3_7(options: Options) -> list[Row]:
    """Pruning of pairs, of policies, and none, at equal steps, with the thesis's estimate"""
    scale = QUICK if options.quick else FULL
    names = {"no pruning": ("none", 78.91), "successive halving": ("sh", 79.23), "EOP": ("eop", 79.61)}
    found = {
        name: [
            with_found(CIFAR, f"{kind}-mean-half", seed, seed, "union", scale=scale)["accuracy"]
            for seed in range(options.seeds)
        ]
        for name, (kind, _) in names.items()
    }
    rows = [row(f"{name}: accuracy", values, paper=names[name][1]) for name, values in found.items()]
    for name in ("no pruning", "successive halving"):
        rows += _difference(f"EOP − {name}", found["EOP"], found[name])
    return rows


def _difference(name: str, one: list[float], other: list[float]) -> list[Row]:
    """Paired by search, with its 95 % confidence interval."""
    values = [a - b for a, b in zip(one, other, strict=True)]
    return [row(name, values), *interval(name, values)]
