"""The tasks that batch optimisers are compared on: recorded tables and functions, each with a known best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, EqualsCondition, OrdinalHyperparameter

from benchmarks.harness.common import Unavailable
from benchmarks.harness.kept import key, runs
from benchmarks.harness.recorded import DATA
from shoestring.problems import GridTable, Synthetic, random_reference


@dataclass(frozen=True, eq=False)
class Task:
    """A problem for :class:`shoestring.problems.Contest`, with what random search has after 100 evaluations."""

    name: str
    family: str
    space: ConfigurationSpace
    mode: str
    best: float
    read: Callable[[Mapping[str, Any], int], float]
    value: Callable[[Mapping[str, Any]], float]
    noisy: bool = False
    published: float | None = None

    def reading(self, config: Mapping[str, Any], step: int = 1, seed: int = 0) -> float:
        return self.read(config, seed)

    @property
    def reference(self) -> float:
        return _reference(self) if self.published is None else self.published


@cache
def _reference(task: Task) -> float:
    name = key(task.name, 0, "random search, median of 400 runs")
    return float(runs().get(name, lambda: random_reference(task, repeats=400)))


def _of_table(name: str, family: str, table: GridTable, noisy: bool) -> Task:
    return Task(
        name, family, table.space, table.mode, table.best, lambda c, seed: table.reading(c, 1, seed), table.value, noisy
    )


def contest_table() -> Task:
    """The contest's table: the values along each axis are given, as they were to the contestants."""
    with np.load(DATA / "thpo2021_prelim" / "data-2.npz") as held:
        axes = {str(name): held[f"coords_{i}"].tolist() for i, name in enumerate(held["dims"])}
        task = _of_table("data-2", "contest", GridTable(held["reward"], axes, mode="max"), noisy=False)
        return replace(task, published=float(held["random_median"][99]))


def grid_tables() -> list[Task]:
    found = []
    for family in ("fcnet_hpolib", "hpobench_mlp", "nasbench201"):
        for path in sorted((DATA / family).glob("*.npz")):
            table = GridTable.load(path)
            if family == "fcnet_hpolib":  # losses of very different sizes, on a log scale for everyone
                with np.load(path) as held:
                    table = GridTable(np.log(held["val_loss"]), table.axes)
            found.append(_of_table(path.stem, family, table, noisy=True))
    return found


def svm_tables(count: int = 12) -> list[Task]:
    """The first datasets on which one configuration of the 288 is best: gamma and degree are conditional."""
    with np.load(DATA / "schilling_svm_adaboost" / "svm.npz") as held:
        X, Y, names = held["X"], held["Y"], [str(name) for name in held["datasets"]]
    unique = [i for i in range(len(Y)) if (Y[i] == Y[i].max()).sum() == 1]
    return [_svm(names[i], X, Y[i]) for i in unique[:count]]


_KERNELS = ("rbf", "poly", "linear")


def _svm_key(config: Mapping[str, Any]) -> tuple[Any, ...]:
    return config["kernel"], config["C"], config.get("gamma", 0.0), config.get("degree", 0.0)


def _svm(name: str, X: np.ndarray, y: np.ndarray) -> Task:
    kernels = [_KERNELS[int(row[:3].argmax())] for row in X]
    rows = {(kernel, *map(float, row[3:])): float(v) for kernel, row, v in zip(kernels, X, y, strict=True)}
    space = ConfigurationSpace()
    kernel = CategoricalHyperparameter("kernel", _KERNELS)
    levels = [sorted({key[i] for key in rows} - ({0.0} if i > 1 else set())) for i in (1, 2, 3)]
    if ("rbf", levels[0][0], 0.0, 0.0) in rows:
        levels[1] = sorted([*levels[1], 0.0])  # zero is one of gamma's own values, and not only "unused"
    C, gamma, degree = (OrdinalHyperparameter(n, v) for n, v in zip(("C", "gamma", "degree"), levels, strict=True))
    space.add([kernel, C, gamma, degree])
    space.add([EqualsCondition(gamma, kernel, "rbf"), EqualsCondition(degree, kernel, "poly")])

    def value(config: Mapping[str, Any]) -> float:
        return rows[_svm_key(config)]

    return Task(f"svm {name}", "schilling_svm", space, "max", float(y.max()), lambda c, seed: value(c), value)


def _function(problem: Synthetic, name: str) -> Task:
    return Task(
        name, "functions", problem.space, "min", problem.best, lambda c, seed: problem.reading(c, 1, seed),
        problem.value, problem.noise > 0,
    )  # fmt: skip


def _quantised(task: Task, values: int) -> Task:
    """Every range at this many evenly spaced values; the best is the best of those near the minimum that were found."""
    space = ConfigurationSpace()
    for name, own in dict[str, Any](task.space).items():
        space.add(OrdinalHyperparameter(name, np.linspace(own.lower, own.upper, values).tolist()))
    return replace(task, name=f"{task.name}, {values} values", space=space, best=_best_on_grid(task, space))


def _best_on_grid(task: Task, space: ConfigurationSpace) -> float:
    """Coordinate descent over the grid from many starts; exact where the valley is one."""
    rng, levels = np.random.default_rng(0), {name: list(own.sequence) for name, own in dict[str, Any](space).items()}
    best = np.inf
    for _ in range(60):
        config = {name: values[rng.integers(len(values))] for name, values in levels.items()}
        before, now = np.inf, task.value(config)
        while now < before:
            before = now
            for name, values in levels.items():
                config[name] = min(values, key=lambda v, name=name: task.value({**config, name: v}))
            now = task.value(config)
        best = min(best, now)
    return float(best)


def functions() -> list[Task]:
    """2 to 8 dimensions; quantised, mixed, conditional and noisy ones among them."""
    return [
        _function(Synthetic("branin"), "branin 2"),
        _function(Synthetic("hartmann3"), "hartmann 3"),
        _function(Synthetic("hartmann6"), "hartmann 6"),
        _function(Synthetic("ackley", dimensions=5), "ackley 5"),
        _function(Synthetic("levy", dimensions=8), "levy 8"),
        _function(Synthetic("rosenbrock", dimensions=4), "rosenbrock 4"),
        _quantised(_function(Synthetic("styblinski-tang", dimensions=5), "styblinski-tang 5"), 21),
        _quantised(_function(Synthetic("rastrigin", dimensions=3), "rastrigin 3"), 41),
        _function(Synthetic("mixed"), "mixed"),
        _function(Synthetic("conditional"), "conditional"),
        _function(Synthetic("hartmann3", noise=0.2), "hartmann 3, noise .2"),
        _function(Synthetic("levy", dimensions=4, noise=1.0), "levy 4, noise 1"),
    ]


@cache
def suite() -> tuple[Task, ...]:
    """All tasks, in an order in which every second one makes a half of the same kind."""
    if not DATA.exists():
        raise Unavailable(f"there are no recorded tables in {DATA}; set SHOESTRING_DATA to where they are")
    return (contest_table(), *grid_tables(), *svm_tables(), *functions())
