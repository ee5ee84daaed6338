"""Figure 2: real curves with pools of the paper's sizes, 96 and 50 and 49 configurations, drawn for each seed.

The curves of the paper's FCNet and VAE are open (LC-dataset) but not here, those of its ResNets were not published. The
recorded ones that are nearest: convolutional networks on CIFAR-10 for its
ResNets (96), fully connected networks of lcbench for its FCNet (50), and language models for its VAE (49).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import ttest_rel

from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import new_figure, saved
from benchmarks.harness.recorded import best_seen, played, tables
from shoestring.core.decisions import Method
from shoestring.methods import BHPT, named
from shoestring.problems import CurveTable

# Name: family, table, pool, readings that are skipped.
TASKS = {
    "convnet, CIFAR-10": ("klein_convnet_cifar10", "convnet_cifar10", 96, 0),
    "FCNet, jannis": ("lcbench", "jannis", 50, 1),
    "DeBERTa, MNLI": ("opda_curves", "deberta_base_mnli", 49, 0),
}
TRAININGS = (2, 5, 10)
METHODS: dict[str, Method] = {
    "bhpt-paper": named("bhpt-paper"),
    "bhpt-paper, ε": BHPT.paper(epsilon=0.5),
    "bhpt": named("bhpt"),
    "bhpt-eps": named("bhpt-eps"),
    "forecast": named("forecast"),
    "freeze-thaw": named("freeze-thaw"),
    "fabolas": named("fabolas"),
    "hyperband": named("hyperband"),
    "gp-ei": named("gp-ei"),
    "random": named("random"),
}
OWN = "bhpt-paper"


@cache
def pool(task: str, seed: int) -> CurveTable:
    """This many rows of a table, drawn for this seed."""
    family, name, size, skip = TASKS[task]
    whole = CurveTable.load(next(path for path in tables([family]) if path.stem == name), skip=skip)
    rows = np.random.default_rng(seed).choice(len(whole.space.meta["rows"]), size, replace=False)
    X = [whole.space.meta["rows"][i] for i in rows]
    return CurveTable(X, whole._Y[rows], names=list(whole.space), mode=whole.mode)


def regret(task: str, method: Method, trainings: int, seed: int) -> float:
    """Normalised regret of the best reading within a number of full trainings."""

    def play() -> float:
        table = pool(task, seed)
        events = played(table, method, trainings, seed)
        return table.normalised_regret(best_seen(events, [trainings * table.max_resource], table.mode)[0])

    return float(runs().get(key(f"pool of {task}", seed, method, trainings=trainings), play))


def figure(options: Options) -> list[Row]:
    """Figure 2: normalised regret on pools of the paper's sizes; t of paired differences over tasks and seeds."""
    seeds, totals = (1, TRAININGS[:1]) if options.quick else (min(options.seeds, 10), TRAININGS)
    found = {
        (task, name, total): [regret(task, METHODS[name], total, seed) for seed in range(seeds)]
        for task in TASKS
        for name in METHODS
        for total in totals
    }
    rows = [row(f"{task}: {name}, {total} trainings", values) for (task, name, total), values in found.items()]
    for name in METHODS:
        for total in totals:
            ours, theirs = (np.concatenate([found[task, who, total] for task in TASKS]) for who in (name, OWN))
            rows.append(row(f"all: {name}, {total} trainings", ours.tolist()))
            if name != OWN and seeds > 1:
                t = float(ttest_rel(ours, theirs).statistic) if (ours != theirs).any() else 0.0
                rows.append(Row(f"{name} − {OWN}, {total} trainings: t", t, n=len(ours)))
    if not options.quick:
        _draw(found, options)
    return rows


def _draw(found: dict[tuple[str, str, int], list[float]], options: Options) -> None:
    picture, panels = new_figure(1, len(TASKS), (4.0, 3.2))
    for panel, task in zip(panels[0], TASKS, strict=True):
        for name in METHODS:
            panel.plot(TRAININGS, [np.mean(found[task, name, n]) for n in TRAININGS], marker="o", ms=3, label=name)
        panel.set(xscale="log", xlabel="full trainings", ylabel="normalised regret", title=task)
        panel.set_xticks(TRAININGS, [str(n) for n in TRAININGS])
        panel.minorticks_off()
    panels[0, 0].legend(fontsize=7)
    saved(picture, "budgeted_tuning_2", options, dpi=80)
