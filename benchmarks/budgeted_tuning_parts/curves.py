"""Recorded learning curves: what 2, 5, 10, 20 and 50 full trainings buy.

Rows of the table are the pool, one worker, a step is the unit, and continuing costs only the added steps. Methods
that plan with the budget are run once for each; the others once, and looked at as they pass each budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from common import Options, Row, row
from numpy.typing import NDArray
from scipy.stats import rankdata
from sub_sampling_parts.curves import best_seen, played, recorded

from shoestring.method import Method
from shoestring.methods import named
from shoestring.problems import CurveTable

TRAININGS = (2, 5, 10, 20, 50)
FAMILIES = ("lcbench", "taskset_imdb", "opda_curves", "klein_convnet_cifar10", "naap440", "baker_nas_curves")

# The first column of these is the loss before any training: it ranks the rows no better than chance.
UNTRAINED_FIRST = ("lcbench", "taskset_imdb")

UNAWARE: dict[str, Method] = {
    "random": named("random"),
    "Hyperband": named("hyperband"),
    "ASHA": named("asha"),
    "ASHA with TPE": named("asha-tpe"),
    "BOHB": named("bohb"),
}
PLANNING: dict[str, Method] = {
    "Forecast": named("forecast"),
}


def tasks() -> list[Path]:
    return recorded(FAMILIES)


def loaded(path: Path) -> CurveTable:
    """A table without the reading of the untrained model, where the recording begins with it."""
    return CurveTable.load(path, skip=int(path.parent.name in UNTRAINED_FIRST))


def regrets(path: Path, seed: int, method: Method, plans: bool) -> list[float]:
    """Normalised regret of one method at every budget, on one task with one seed."""
    table = loaded(path)
    found = []
    for runs in [(n,) for n in TRAININGS] if plans else [TRAININGS]:
        limits = [n * table.max_resource for n in runs]
        seen = best_seen(played(table, method, runs[-1], seed), limits, table.mode)
        found += [table.normalised_regret(value) for value in seen]
    return found
