"""Table 3.1 with the thesis's mean throughout, published policies and density matching; and another architecture.

Every number is a search, or a training seed for what needs no search; a search has one training. So errors include the
variation between searches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from common import Options
from measurements import Row, row

from augment_parts import density, published
from augment_parts.runs import FULL, QUICK, Scale, baseline, trained, with_found

CIFAR, SEARCH = "cifar10", "eop-mean"
Run = dict[str, float]
NO_SEARCH = ("no augmentation", "uniform", "RandAugment", "AutoAugment, CIFAR-10", "AutoAugment, SVHN")


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


def without_search(options: Options) -> list[Row]:
    """What needs no search: uniform policies, like RandAugment, and the policies that AutoAugment published"""
    every = contenders(QUICK if options.quick else FULL)
    return _rows({name: every[name] for name in NO_SEARCH}, options.seeds)


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
            pairs: Any = zip(results, runs["uniform"], strict=True)
            rows.append(row(f"{name} − uniform: accuracy", [a["accuracy"] - b["accuracy"] for a, b in pairs]))
    return rows


def architecture(options: Options) -> list[Row]:
    """Transfer to a second architecture: policies found with the small network train a residual one"""
    chosen = ("no augmentation", "uniform", "found, by mean", "union, by mean")
    every = contenders(QUICK if options.quick else FULL, "residual")
    return _rows({name: every[name] for name in chosen}, options.seeds)
