"""BudgetSearchCV next to scikit-learn's searches at equal total resource, on bundled data sets.

    python benchmarks/sklearn_search.py --table search

A support vector machine behind a scaler is tuned with three-fold cross-validation on 70 % of the data; the score is
that of the other 30 %. Every search may spend what RandomizedSearchCV(n_iter=20) spends: 60 fits of all training
samples, counted in samples.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingRandomSearchCV, RandomizedSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import shoestring as ss
from benchmarks.harness.common import Options, main
from benchmarks.harness.measurements import Row, row

ITERATIONS, FOLDS, FACTOR = 20, 3, 3
DATA: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
    "diabetes": load_diabetes,
}


def _problem(name: str) -> tuple[Any, dict[str, Any]]:
    model = "svr" if name == "diabetes" else "svc"
    estimator = make_pipeline(StandardScaler(), SVR() if model == "svr" else SVC())
    return estimator, {f"{model}__C": stats.loguniform(1e-3, 1e3), f"{model}__gamma": stats.loguniform(1e-5, 1e1)}


def _random(estimator: Any, space: dict[str, Any], _: int, __: int, seed: int) -> Any:
    return RandomizedSearchCV(estimator, space, n_iter=ITERATIONS, cv=FOLDS, random_state=seed)


def _halving(estimator: Any, space: dict[str, Any], samples: int, classes: int, seed: int) -> Any:
    """As many candidates as the same total of samples pays for, with rungs a factor of three apart."""
    least = max(2 * FOLDS * classes, samples // FACTOR**3)
    rungs = int(math.log(samples / least, FACTOR)) + 1
    candidates = int(ITERATIONS * samples / (rungs * least))
    return HalvingRandomSearchCV(
        estimator, space, n_candidates=candidates, factor=FACTOR, min_resources=least, cv=FOLDS, random_state=seed
    )


def _budget(resource: str, method: str = "auto") -> Callable[..., Any]:
    def make(estimator: Any, space: dict[str, Any], _: int, __: int, seed: int) -> Any:
        return ss.BudgetSearchCV(
            estimator, space, budget=ITERATIONS, resource=resource, method=method, cv=FOLDS, random_state=seed
        )

    return make


SEARCHES: dict[str, Callable[..., Any]] = {
    "RandomizedSearchCV": _random,
    "HalvingRandomSearchCV": _halving,
    "BudgetSearchCV, folds": _budget("folds"),
    "BudgetSearchCV, n_samples": _budget("n_samples"),
}


def _used(search: Any, samples: int) -> float:
    """Count what a search used, in complete evaluations."""
    results = search.cv_results_
    if isinstance(search, RandomizedSearchCV):
        return len(results["params"])
    if isinstance(search, HalvingRandomSearchCV):
        return float(np.sum(results["n_resources"])) / samples
    spent = search.study_.spent
    return float(spent.steps) / FOLDS if search.resource == "folds" else float(spent.cost)


def search(options: Options) -> list[Row]:
    """Held-out score (accuracy, or R² for diabetes) and the resource used, for each data set and search."""
    scores: dict[str, list[float]] = {}
    used: dict[str, list[float]] = {}
    for name in ["iris", "wine"] if options.quick else DATA:
        X, y = DATA[name](return_X_y=True)
        estimator, space = _problem(name)
        classes = 1 if name == "diabetes" else len(np.unique(y))
        for seed in range(options.seeds):
            parts = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=None if classes == 1 else y)
            samples = len(parts[0])
            for label, make in SEARCHES.items():
                found = make(estimator, space, samples, classes, seed)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found.fit(parts[0], parts[2])
                scores.setdefault(f"{name}: {label}", []).append(float(found.score(parts[1], parts[3])))
                used.setdefault(label, []).append(_used(found, samples))
    rows = [row(key, values) for key, values in scores.items()]
    for label in SEARCHES:
        values = [value for key, value in scores.items() if key.endswith(f": {label}")]
        rows.append(row(f"mean of all: {label}", np.mean(values, axis=0).tolist()))
        rows.append(row(f"complete evaluations used: {label}", used[label]))
    return rows


TABLES = {"search": search}


def run() -> None:
    main(__doc__, TABLES, seeds=10, quick_seeds=2)
