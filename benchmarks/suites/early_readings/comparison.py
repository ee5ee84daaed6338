"""The tables and figures of the surrogate: regrets, runs that ended far from the best, ranks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from benchmarks.harness.common import Options
from benchmarks.harness.comparison import critical_difference
from benchmarks.harness.kept import Missing
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.pictures import critical_differences, new_figure, saved
from benchmarks.suites.early_readings import ours, peers
from benchmarks.tasks.yahpo_lcbench import Array, names, references

TRAININGS = (2, 5, 10, 20, 30)
FAR = 0.3
# A run takes much longer than those of the others: seeds that these are played with.
FEW_SEEDS = {"Syne Tune MOBSTER": 3, "SMAC3 multi-fidelity": 3}
# A method with a model and the same without it, and one next to its published implementation.
PAIRS = (
    ("bohb", "hyperband"), ("boss", "boss without model"), ("boss-mss", "boss-mss without model"),
    ("asha-tpe", "asha"), ("bohb as published", "hyperband"), ("bohb", "HpBandSter BOHB"),
)  # fmt: skip
QUICK_METHODS = ("random", "asha", "auto", "Optuna TPE + SHA", "stop at epoch 5")
SHOWN = ("auto", "gp", "hyperband", "bohb", "random", *peers.ELSEWHERE, "Optuna TPE + Hyperband", "stop at epoch 5")


@dataclass(frozen=True)
class Found:
    """Regrets of the shape (tasks, seeds, methods, budgets), NaN where a method was not played."""

    methods: Sequence[str]
    trainings: Sequence[int]
    regrets: Array

    def of(self, method: str, budget: int) -> Array:
        """Regrets of the shape (tasks, seeds), of those seeds that the method has."""
        found = self.regrets[:, :, list(self.methods).index(method), budget]
        return np.asarray(found[:, ~np.isnan(found).any(axis=0)])

    def played(self, budget: int) -> list[str]:
        """The methods that were played with a budget."""
        return [method for method in self.methods if self.of(method, budget).size]

    def shared(self, budget: int) -> list[int]:
        """The seeds that all methods have that were played with a budget."""
        whole = np.asarray(~np.isnan(self.regrets[:, :, :, budget]).any(axis=0))
        return [int(seed) for seed in np.flatnonzero(whole[:, whole.any(axis=0)].all(axis=1))]

    def difference(self, one: str, other: str, budget: int) -> Array:
        """How much larger the mean regret of one method is than that of another, by seeds that both have."""
        pair = self.regrets[:, :, [list(self.methods).index(name) for name in (one, other)], budget].mean(axis=0)
        differences = pair[:, 0] - pair[:, 1]
        return np.asarray(differences[~np.isnan(differences)])


def found(unit: str, options: Options) -> Found:
    """Play what was not kept, seed by seed, so that what is stopped early holds whole seeds."""
    tasks, trainings, asked = names(), TRAININGS, (*ours.names(unit), *peers.PEERS)
    if options.quick:
        tasks, trainings, asked = tasks[::9], TRAININGS[:2], QUICK_METHODS
    left_out = set(peers.PEERS) - set(peers.available([name for name in asked if name in peers.PEERS]))
    methods = [name for name in asked if name not in left_out]
    regrets = np.full((len(tasks), options.seeds, len(methods), len(trainings)), np.nan)
    for seed in range(options.seeds):
        for m, method in enumerate(methods):
            if seed < FEW_SEEDS.get(method, options.seeds):
                play = (peers if method in peers.PEERS else ours).errors
                for t, task in enumerate(tasks):
                    for b, n in enumerate(trainings):
                        with suppress(Missing):
                            (error,) = play(method, task, seed, unit, [n])
                            regrets[t, seed, m, b] = references()[task].regret(error)
        print(f"{unit}: seed {seed} of {options.seeds} is played", file=sys.stderr)
    return Found(methods, trainings, regrets)


def epochs(options: Options) -> list[Row]:
    """YAHPO's LCBench, budgets in epochs: regret, share of runs above .3, ranks."""
    return _rows(found("epochs", options))


def seconds(options: Options) -> list[Row]:
    """YAHPO's LCBench, budgets in seconds of median trainings: regret, share of runs above .3, ranks."""
    return _rows(found("seconds", options))


def _rows(all_found: Found) -> list[Row]:
    return [line for budget, n in enumerate(all_found.trainings) for line in _budget_rows(all_found, budget, n)]


def _budget_rows(all_found: Found, budget: int, trainings: int) -> list[Row]:
    """Errors are over seeds: the first configurations of a seed are the same on all tasks."""
    rows, label, methods = [], f"{trainings} trainings", all_found.played(budget)
    for method in methods:
        regrets = all_found.of(method, budget)
        rows.append(row(f"{method}, {label}: regret", regrets.mean(axis=0).tolist()))
        rows.append(row(f"{method}, {label}: share above {FAR:g}", (regrets > FAR).mean(axis=0).tolist()))
    for one, other in (*(("auto", method) for method in methods if method != "auto"), *PAIRS):
        differences = all_found.difference(one, other, budget) if {one, other} <= set(methods) else ()
        if len(differences):
            rows.append(row(f"{one} - {other}, {label}", list(differences)))
    ranks = mean_ranks(all_found, budget)
    rows += [row(f"{method}, {label}: rank", by_seed.tolist()) for method, by_seed in ranks.items()]
    if not ranks:
        return rows
    critical = critical_difference(len(ranks), len(all_found.regrets))
    return [*rows, Row(f"{label}: critical difference of ranks", critical, n=len(all_found.regrets))]


def mean_ranks(all_found: Found, budget: int) -> dict[str, Array]:
    """Mean ranks over tasks by seed, by the seeds that all methods have; 1 is best."""
    methods, seeds = all_found.played(budget), all_found.shared(budget)
    places = [list(all_found.methods).index(method) for method in methods]
    regrets = all_found.regrets[:, seeds][:, :, places, budget]
    ranks = np.apply_along_axis(rankdata, 2, regrets).mean(axis=0)
    return {method: ranks[:, m] for m, method in enumerate(methods) if seeds}


def figure_regret(options: Options) -> list[Row]:
    """Regret against the budget, in epochs and in seconds."""
    figure, axes = new_figure(1, 2, (5.2, 4.0), sharey=True)
    rows = []
    for axis, unit in zip(axes[0], ("epochs", "seconds"), strict=True):
        all_found = found(unit, options)
        for method in (name for name in all_found.methods if name in SHOWN):
            budgets = [b for b in range(len(all_found.trainings)) if method in all_found.played(b)]
            at = [all_found.trainings[b] for b in budgets]
            lines = [
                row(f"{unit}: {method}, {n} trainings", all_found.of(method, b).mean(axis=0).tolist())
                for b, n in zip(budgets, at, strict=True)
            ]
            width = 2.4 if method == "auto" else 1.1
            axis.plot(at, [line.measured for line in lines], "o-", ms=3, lw=width, label=method)
            rows += lines
        axis.set(xlabel=f"budget in trainings, counted in {unit}", xscale="log", ylim=(-0.05, 1.0))
        axis.set_xticks(all_found.trainings, [str(n) for n in all_found.trainings])
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("mean regret of the best reading")
    axes[0, 1].legend(fontsize=7)
    saved(figure, "early_readings_regret", options, dpi=80)
    return rows


def figure_ranks(options: Options) -> list[Row]:
    """Mean ranks in epochs; methods that a bar joins do not differ by the critical difference."""
    all_found = found("epochs", options)
    chosen = [(b, n) for b, n in enumerate(all_found.trainings) if n in (2, 10, 30) and all_found.shared(b)]
    figure, axes = new_figure(len(chosen), 1, (8.4, 2.9))
    rows = []
    for axis, (budget, n) in zip(axes[:, 0], chosen, strict=True):
        ranks = {method: float(of.mean()) for method, of in mean_ranks(all_found, budget).items()}
        critical = critical_difference(len(ranks), len(all_found.regrets))
        critical_differences(axis, f"{n} trainings", ranks, critical)
        rows += [Row(f"{method}, {n} trainings", rank) for method, rank in ranks.items()]
    saved(figure, "early_readings_ranks", options, dpi=80)
    return rows
