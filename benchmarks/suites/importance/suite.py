"""Importance of parameters: ours and Optuna's fANOVA on the same trials of functions with known importances.

    python benchmarks/importance.py --table fanova

The functions have main effects in closed form: a linear one, Ishigami's, and Sobol's g.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.harness.common import Options, main
from benchmarks.harness.measurements import Row, row
from shoestring.models.tree_importance import fanova, permutation

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Function:
    """A function of the unit cube, and the share of the variance that each parameter explains by itself."""

    value: Callable[[Array], Array]
    shares: Array


def _ishigami(X: Array) -> Array:
    x, y, z = (2 * np.pi * column - np.pi for column in X.T)
    return np.sin(x) + 7 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)


_WEIGHTS = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
_A = np.array([0.0, 1.0, 3.0, 7.0])


def _g_shares() -> Array:
    parts = 1 / (3 * (1 + _A) ** 2)
    return np.asarray(parts / (np.prod(1 + parts) - 1))


FUNCTIONS = {
    "linear": Function(lambda X: X @ _WEIGHTS, _WEIGHTS**2 / (_WEIGHTS**2).sum()),
    "Ishigami": Function(_ishigami, np.array([0.3139, 0.4424, 0.0])),
    "Sobol's g": Function(lambda X: np.prod((np.abs(4 * X - 2) + _A) / (1 + _A), axis=1), _g_shares()),
}


def compare(options: Options) -> list[Row]:
    """Rank correlations with Optuna's fANOVA and with the truth, and CPU seconds."""
    trials = 200 if options.quick else 500
    rows = []
    for name, function in FUNCTIONS.items():
        found: dict[str, list[float]] = {}
        for seed in range(options.seeds):
            X = np.random.default_rng(seed).random((trials, len(function.shares)))
            y = function.value(X)
            ours, our_time = _timed(lambda X=X, y=y: fanova(X, y).share)
            theirs, their_time = _timed(_optunas(X, y))
            permuted = permutation(X, y).share
            numbers = {
                "rank correlation with Optuna": _ranks(ours, theirs),
                "rank correlation with the truth": _ranks(ours, function.shares),
                "Optuna: rank correlation with the truth": _ranks(theirs, function.shares),
                "permutation: rank correlation with the truth": _ranks(permuted, function.shares),
                "largest error of a share": float(np.abs(ours - function.shares).max()),
                "CPU seconds": our_time,
                "Optuna: CPU seconds": their_time,
            }
            for key, value in numbers.items():
                found.setdefault(key, []).append(value)
        limits = {"rank correlation with Optuna": {"at_least": 0.9}}
        rows += [row(f"{name}: {key}", values, **limits.get(key, {})) for key, values in found.items()]
    return rows


def _ranks(a: Array, b: Array) -> float:
    return float(spearmanr(a, b).statistic)


def _timed(work: Callable[[], Array]) -> tuple[Array, float]:
    start = time.process_time()
    return work(), time.process_time() - start


def _optunas(X: Array, y: Array) -> Callable[[], Array]:
    """Optuna's importances of the same trials; building its study is not timed."""
    import optuna

    names = [f"x{i}" for i in range(X.shape[1])]
    axes = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in names}
    study = optuna.create_study()
    study.add_trials(
        optuna.trial.create_trial(
            params=dict(zip(names, map(float, point), strict=True)), distributions=axes, value=float(value)
        )
        for point, value in zip(X, y, strict=True)
    )
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)

    def importances() -> Array:
        found = optuna.importance.get_param_importances(study, evaluator=evaluator)
        return np.array([found[name] for name in names])

    return importances


def run() -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    main(__doc__, {"fanova": compare}, seeds=10)
