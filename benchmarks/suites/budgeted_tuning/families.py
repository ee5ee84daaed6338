"""Figure 3: a family of networks that learns fast and ends worse, and one that learns slowly and ends better.

The paper's AlexNets and ResNets were not published. Two recorded families on CIFAR-10 are used instead: the small
networks of naap440 learn fast and end lower, the deep residual networks of baker_nas_curves start slowly and end
higher; their best accuracies cross at about the tenth epoch. 25 and 24 of them are drawn, as in the paper, and 50
epochs are the most that one can have.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import new_figure, saved
from benchmarks.harness.recorded import tables
from shoestring.executors import Simulated
from shoestring.methods import named
from shoestring.problems import CurveTable

EPOCHS = 50
BUDGETS = (25, 50, 100, 200, 400, 800)
METHODS = ("bhpt-paper", "bhpt", "bhpt-eps", "bhpt-kgm", "forecast", "hyperband")
FAST, SLOW = "small", "residual"
Values = dict[tuple[str, int], list[float]]


def two_families(seed: int) -> CurveTable:
    """25 small networks and 24 residual ones, with their size and learning rate."""
    rng = np.random.default_rng(seed)
    with np.load(_path("naap440")) as fast, np.load(_path("baker_nas_curves", "deep_resnets_cifar10")) as slow:
        few = rng.choice(len(fast["Y"]), 25, replace=False)
        many = rng.choice(len(slow["Y"]), 24, replace=False)
        sizes = [list(fast["hp_names"]).index("NumParams"), list(slow["hp_names"]).index("num_params")]
        rates = np.log10(slow["X"][many, list(slow["hp_names"]).index("lr")].astype(float))
        rows = [[FAST, float(np.log10(x)), -1.0] for x in fast["X"][few, sizes[0]].astype(float)]
        rows += [
            [SLOW, float(np.log10(x)), float(rate)]
            for x, rate in zip(slow["X"][many, sizes[1]].astype(float), rates, strict=True)
        ]
        Y = np.vstack([fast["Y"][few, :EPOCHS], slow["Y"][many, :EPOCHS]])
    mixed = rng.permutation(len(rows))  # a method that takes equal candidates in order must not meet one family first
    return CurveTable([rows[i] for i in mixed], Y[mixed], names=["family", "log_size", "log_rate"], mode="max")


def _path(family: str, name: str | None = None) -> Path:
    return next(path for path in tables([family]) if name is None or path.stem == name)


def share_of_slow(method: str, budget: int, seed: int) -> tuple[float, float]:
    """The share of the steps that the slow family got, and the regret."""
    table = two_families(seed)
    study = ss.Study(
        table.space, budget=ss.Budget(steps=budget), method=named(method), mode="max", max_resource=EPOCHS, seed=seed
    )
    study.run(table, executor=Simulated(1))
    slow = sum(trial.step for trial in study.trials if trial.config["family"] == SLOW)
    best = max(reading.value for trial in study.trials for reading in trial.readings.values())
    reachable = table._Y[:, : min(budget, EPOCHS)].max()
    return slow / sum(trial.step for trial in study.trials), float(reachable - best)


def figure(options: Options) -> list[Row]:
    """Figure 3: the share of the budget that the slow and better family gets, and the accuracy lost."""
    methods, budgets = (("bhpt",), BUDGETS[::2]) if options.quick else (METHODS, BUDGETS)
    rows, shares, lost = [], {}, {}
    for method in methods:
        for budget in budgets:
            found = [share_of_slow(method, budget, seed) for seed in range(min(options.seeds, 20))]
            shares[method, budget], lost[method, budget] = (list(column) for column in zip(*found, strict=True))
            rows.append(row(f"{method}, {budget} epochs: share of the slow family", shares[method, budget]))
            rows.append(row(f"{method}, {budget} epochs: accuracy lost", lost[method, budget]))
    if not options.quick:
        _draw(shares, lost, options)
    return rows


def _draw(shares: Values, lost: Values, options: Options) -> None:
    picture, panels = new_figure(1, 2, (4.5, 3.4))
    titles = ("share of the budget on the slow, better family", "accuracy lost to the best that can be reached")
    for panel, values, title in zip(panels[0], (shares, lost), titles, strict=True):
        for method in METHODS:
            means = np.array([np.mean(values[method, budget]) for budget in BUDGETS])
            errors = np.array([np.std(values[method, b], ddof=1) / len(values[method, b]) ** 0.5 for b in BUDGETS])
            panel.errorbar(BUDGETS, means, errors, label=method, capsize=2)
        panel.set(xscale="log", xlabel="budget in epochs", title=title)
        panel.set_xticks(BUDGETS, [str(budget) for budget in BUDGETS])
        panel.minorticks_off()
        panel.title.set_fontsize(9)
    panels[0, 0].legend(fontsize=8)
    saved(picture, "budgeted_tuning_3", options, dpi=90)
