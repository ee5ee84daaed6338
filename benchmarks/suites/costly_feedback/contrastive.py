"""Table 2 (2020: Table 1) in kind: eight probabilities of a contrastive learner's augmentations, tuned online.

The encoder, its images and the space are those of ``examples/contrastive_augmentation.py``.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from shoestring.online import Always, Bernoulli, Confident, Exactly

ROUNDS = 50
FIXED = "fixed: all at 0.5"
LOOKS: dict[str, Any] = {
    FIXED: Always(),
    "TV-GP-UCB, full feedback": Always(),
    "TV-GP-UCB, Bernoulli(0.5)": Bernoulli(0.5),
    "CE-GP-UCB, κ=0.8": Confident(0.8),
    "CE-GP-UCB, κ=0.7": Confident(0.7),
    "Exactly(25)": Exactly(25),
}


@cache
def example() -> Any:
    """The example as a module; it needs torch."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    import contrastive_augmentation
    import torch

    torch.set_num_threads(1)
    return contrastive_augmentation


def played(name: str, seed: int, rounds: int) -> dict[str, float]:
    result = example().run(seed, rounds, LOOKS[name], example().FIXED if name == FIXED else None)
    looks = 0 if name == FIXED else result.looks
    return {"test accuracy": result.accuracy, "looks": float(looks), "time": result.seconds}


def table(options: Options) -> list[Row]:
    """Table 2: contrastive learning with fixed and with tuned augmentations; time over that of fixed ones"""
    rounds, seeds = 25 if options.quick else ROUNDS, range(1 if options.quick else min(options.seeds, 10))
    found: dict[str, list[dict[str, float]]] = {name: [] for name in LOOKS}
    for seed in seeds:
        for name in LOOKS:
            run = key("contrastive augmentation", seed, name, rounds=rounds)
            found[name].append(runs().get(run, lambda: played(name, seed, rounds)))  # noqa: B023
    plain = float(np.mean([run["time"] for run in found[FIXED]]))
    rows = []
    for name, results in found.items():
        accuracies = [run["test accuracy"] for run in results]
        rows.append(row(f"{name}: test accuracy", accuracies))
        rows.append(row(f"{name}: looks", [run["looks"] for run in results]))
        rows.append(row(f"{name}: time", [run["time"] / plain for run in results]))
        if name != FIXED:
            differences = [a - b["test accuracy"] for a, b in zip(accuracies, found[FIXED], strict=True)]
            rows.append(row(f"{name} − fixed: test accuracy", differences))
    return rows
