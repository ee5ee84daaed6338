"""One fit of a candidate of a search: on which data, with how much of the resource, and its scores."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from shoestring.core.grants import Grant
from shoestring.core.workers import ticks

# Into how many parts samples, or the values of a parameter, are divided.
PARTS = 27
# The name of the score of a search that has one, as in the columns of scikit-learn.
ONLY_SCORE = "score"


@dataclass(frozen=True)
class Fit:
    """One fit: its scores by name, how long it took, and the error if it failed.

    ``several`` says whether the scorer gave its scores by name, and ``state`` is an estimator to train further.
    """

    trial: int
    fold: int
    scores: Mapping[str, float] = field(default_factory=dict)
    several: bool = False
    fit_seconds: float = 0.0
    score_seconds: float = 0.0
    error: Exception | None = None
    state: Any = None


@dataclass
class Evaluation:
    """Everything that is needed to evaluate a candidate; ``refit`` names the tuned one of several scores."""

    estimator: Any
    X: Any
    y: Any
    splits: list[tuple[Any, Any]]
    scorer: Any
    refit: Any
    fit_params: dict[str, Any]
    score_params: dict[str, Any]
    resource: str
    largest: int
    seed: int
    states: dict[tuple[int, int], Any] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        return min(self.largest, PARTS) if self.refits else self.largest

    @property
    def refits(self) -> bool:
        """Return whether a candidate that gets more is fitted again, and costs a whole fit."""
        return self.resource not in ("folds", "partial_fit")

    def amount(self, step: int) -> int:
        """Return how much of the resource a step stands for."""
        if self.resource == "n_samples":
            return math.ceil(step / self.steps * min(len(train) for train, _ in self.splits))
        return math.ceil(step / self.steps * self.largest)

    def tasks(self, grant: Grant, params: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
        """The arguments of :func:`fit_and_score` for each fit that a grant needs."""
        one_fold_a_step = self.resource == "folds"
        for fold in range(grant.start, grant.until) if one_fold_a_step else range(len(self.splits)):
            train, test = self.splits[fold]
            estimator, passes = clone(self.estimator).set_params(**clone(dict(params), safe=False)), 0
            if self.resource == "partial_fit":
                estimator, passes = self.states.pop((grant.trial, fold), estimator), grant.until - grant.start
            elif self.resource == "n_samples":
                train = self._order(train)[: self.amount(grant.until)]
            elif not one_fold_a_step:
                estimator.set_params(**{self.resource: self.amount(grant.until)})
            yield grant.trial, fold, estimator, self, train, test, passes

    def _order(self, train: Any) -> Any:
        """Training samples in an order whose every beginning has the classes in their proportions."""
        shuffled = np.random.default_rng(self.seed).permutation(np.asarray(train))
        if not is_classifier(self.estimator):
            return shuffled
        labels = np.asarray(self.y)[shuffled]
        places = np.empty(len(shuffled))
        for label in np.unique(labels):
            own = np.flatnonzero(labels == label)
            places[own] = np.arange(len(own)) / len(own)
        return shuffled[np.argsort(places, kind="stable")]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "states": {}}  # a worker does not need the other candidates


def fit_and_score(
    trial: int, fold: int, estimator: Any, evaluation: Evaluation, train: Any, test: Any, passes: int
) -> Fit:
    """Fit and score one candidate on one fold."""
    began = ticks()
    try:
        X, y = _safe_split(estimator, evaluation.X, evaluation.y, train)
        params = _check_method_params(evaluation.X, params=evaluation.fit_params, indices=train)
        train_estimator(estimator, X, y, evaluation.y, passes, params)
        fitted = ticks()
        X_test, y_test = _safe_split(estimator, evaluation.X, evaluation.y, test, train)
        rest = _check_method_params(evaluation.X, params=evaluation.score_params, indices=test)
        found = evaluation.scorer(estimator, X_test, *([] if y_test is None else [y_test]), **rest)
        several = isinstance(found, Mapping)
        scores = {
            name: _number(name, one, evaluation) for name, one in (found if several else {ONLY_SCORE: found}).items()
        }
    except Exception as error:
        return Fit(trial, fold, fit_seconds=ticks() - began, error=error)
    state = estimator if passes else None
    return Fit(trial, fold, scores, several, fitted - began, ticks() - fitted, state=state)


def _number(name: str, score: Any, evaluation: Evaluation) -> float:
    """A score as a number. One of several scorers that failed gives its traceback instead, and only the tuned one is
    needed.
    """
    if not isinstance(score, str):
        return float(score)
    failure = f"the scorer {name!r} failed: {score.strip().splitlines()[-1]}"
    if name == evaluation.refit:
        raise ValueError(failure)
    warnings.warn(f"{failure}; its score is NaN", UserWarning, stacklevel=2)
    return math.nan


def train_estimator(estimator: Any, X: Any, y: Any, labels: Any, passes: int, params: Mapping[str, Any]) -> Any:
    """Return the estimator after a fit, or after this many passes over the data; ``labels`` has all classes that there
    are.
    """
    target = [] if y is None else [y]
    if not passes:
        return estimator.fit(X, *target, **params)
    for _ in range(passes):
        new = is_classifier(estimator) and not hasattr(estimator, "classes_")
        estimator.partial_fit(X, *target, **({"classes": np.unique(labels)} if new else {}), **params)
    return estimator
