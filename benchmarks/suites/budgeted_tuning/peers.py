"""SMAC3, a baseline of the paper, on the pools of Figure 2. It stops nothing early, so every choice is a full training.

SHOESTRING_SMAC names a Python that has it, in an environment of its own:

    python -m venv /tmp/smac && /tmp/smac/bin/pip install smac==2.4.1
    SHOESTRING_SMAC=/tmp/smac/bin/python python benchmarks/budgeted_tuning.py --table smac --seeds 10
"""

from __future__ import annotations

import json
import subprocess

import numpy as np
from scipy.stats import ttest_rel

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.peers.environments import command
from benchmarks.suites.budgeted_tuning.pools import METHODS, OWN, TASKS, TRAININGS, pool, regret

BESIDE = (OWN, "gp-ei", "random")


def _trained(jobs: list[tuple[str, int]], trainings: int) -> list[list[int]]:
    """For each task and seed, the rows of its pool in the order in which SMAC trains them."""
    started = command("SHOESTRING_SMAC", "smac", "smac_pool.py")
    asked = []
    for task, seed in jobs:
        table = pool(task, seed)
        X, losses = table.space.meta["rows"], _best_readings(task, seed)
        losses = losses if table.mode == "min" else 1 - losses  # accuracies as errors, which SMAC takes the log of
        asked.append({"X": [list(map(float, x)) for x in X], "losses": losses.tolist(), "trainings": trainings,
                      "seed": seed})  # fmt: skip
    done = subprocess.run(started, input=json.dumps(asked), capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


def _best_readings(task: str, seed: int) -> np.ndarray:
    table = pool(task, seed)
    best = np.min if table.mode == "min" else np.max
    return np.asarray(best(table._Y, axis=1))


def smac(options: Options) -> list[Row]:
    """SMAC3 on the pools of Figure 2: normalised regret, next to three methods of ours with the same seeds."""
    seeds, totals = (1, TRAININGS[:1]) if options.quick else (min(options.seeds, 10), TRAININGS)
    jobs = [(task, seed) for task in TASKS for seed in range(seeds)]
    found: dict[tuple[str, int], list[float]] = {}
    for (task, seed), order in zip(jobs, _trained(jobs, totals[-1]), strict=True):
        readings, table = _best_readings(task, seed), pool(task, seed)
        for total in totals:
            seen = readings[order[:total]]
            best = float(seen.min() if table.mode == "min" else seen.max())
            found.setdefault(("SMAC3", total), []).append(table.normalised_regret(best))
            for name in BESIDE:
                found.setdefault((name, total), []).append(regret(task, METHODS[name], total, seed))
    rows = [row(f"{name}, {total} trainings", values) for (name, total), values in found.items()]
    for total in totals:
        for name in BESIDE:
            gap = np.subtract(found["SMAC3", total], found[name, total])
            rows.append(row(f"SMAC3 − {name}, {total} trainings", gap.tolist()))
            if gap.any() and len(gap) > 1:
                t = float(ttest_rel(found["SMAC3", total], found[name, total]).statistic)
                rows.append(Row(f"SMAC3 − {name}, {total} trainings: t", t, n=len(gap)))
    return rows
