"""Table 2 (2020: Table 1) in kind: eight probabilities of a contrastive learner's augmentations, tuned online.

The encoder, its training and the settings are those of ``examples/contrastive_augmentation.py``, on small images.
Twenty fixed settings that are drawn once show how much there is to gain; "the best of 20" takes, for each seed, the one
with the best validation accuracy, for the time of all of them. The untrained encoder shows what the training is worth.
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
from benchmarks.harness.recorded import DATA

SETTING = {"size": 14, "valid": 2000, "rounds": 50, "steps": 12}
FIXED = "fixed: all at 0.5"
FULL = "TV-GP-UCB, full feedback"
SETTINGS = {
    "untrained": "untrained",
    FIXED: "fixed",
    "fixed: as the experts": "expert",
    FULL: "full",
    "TV-GP-UCB, Bernoulli(0.6)": "bernoulli:0.6",
    "CE-GP-UCB, κ=0.9": "kappa:0.9",
    "CE-GP-UCB, κ=0.8": "kappa:0.8",
    "CE-GP-UCB, κ=0.7": "kappa:0.7",
}
DRAWN = [f"random:{number}" for number in range(20)]
BEST = "fixed: the best of 20"
READOUTS = ("R10", "R100")
WHAT = (*READOUTS, "validation", "looks")


@cache
def example() -> Any:
    """The example as a module; it needs torch."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    import contrastive_augmentation
    import torch

    torch.set_num_threads(1)
    return contrastive_augmentation


def played(setting: str, seed: int, rounds: int) -> dict[str, float]:
    """The numbers of a setting and a seed; a run that was finished before is read."""

    def run() -> dict[str, float]:
        data = str(DATA / "images" / "fashion_mnist_small.npz")
        return example().run(example().Options(data=data, **{**SETTING, "rounds": rounds}), setting, seed)

    return runs().get(key("contrastive augmentation", seed, setting, **{**SETTING, "rounds": rounds}), run)


def table(options: Options) -> list[Row]:
    """Table 2: contrastive learning with fixed and with tuned augmentations; time over that of fixed ones"""
    rounds, seeds = 5 if options.quick else SETTING["rounds"], range(1 if options.quick else options.seeds)
    drawn = DRAWN[:2] if options.quick else DRAWN
    found: dict[str, list[dict[str, float]]] = {name: [] for name in (*SETTINGS, BEST)}
    for seed in seeds:  # the outer loop, so that a run that is cut short has whole seeds
        for name, setting in SETTINGS.items():
            found[name].append(played(setting, seed, rounds))
        found[BEST].append(_best([played(setting, seed, rounds) for setting in drawn]))
    plain = float(np.mean([run["seconds"] for run in found[FIXED]]))
    rows = []
    for name, results in found.items():
        rows += [row(f"{name}: {what}", [run[what] for run in results]) for what in WHAT]
        rows.append(row(f"{name}: time", [run["seconds"] / plain for run in results]))
        for reference in (FIXED, FULL):
            if name != reference and not (name == FIXED and reference == FULL):
                pairs = list(zip(results, found[reference], strict=True))
                short = reference.partition(":")[0]
                rows += [row(f"{name} − {short}: {what}", [a[what] - b[what] for a, b in pairs]) for what in READOUTS]
    return rows


def _best(results: list[dict[str, float]]) -> dict[str, float]:
    best = max(results, key=lambda run: run["validation"])
    return {**best, "seconds": sum(run["seconds"] for run in results)}
