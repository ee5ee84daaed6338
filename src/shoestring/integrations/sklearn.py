"""Search for the parameters of a scikit-learn estimator within a budget.

``BudgetSearchCV`` has the interface of ``RandomizedSearchCV``. It adds a *resource*: a candidate is first
evaluated with a part of it, and only those that do well get more.

============== ============================================================= ==================================
resource       one step                                                      a candidate that gets more
============== ============================================================= ==================================
folds          one fold of the cross-validation                              is fitted on more folds
partial_fit    one pass over the training data of every fold                 is trained further
n_samples      1/27 of the training data                                     is fitted again, on more samples
any parameter  1/27 of its largest value, such as ``n_estimators``           is fitted again, with a larger value
============== ============================================================= ==================================
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state, get_tags, indexable
from sklearn.utils.validation import _check_method_params

from shoestring.core.budget import Budget
from shoestring.core.decisions import Method
from shoestring.core.grants import Grant
from shoestring.core.readings import Reading
from shoestring.core.workers import ticks
from shoestring.errors import MethodError
from shoestring.integrations.sklearn_evaluation import (
    ONLY_SCORE,
    PARTS,
    Evaluation,
    Fit,
    fit_and_score,
    train_estimator,
)
from shoestring.integrations.sklearn_results import cv_results
from shoestring.spaces.configspace import ConfigSpace
from shoestring.study import Study

# After this many failures without a success, the search ends.
_MOST_FAILURES = 10


class BudgetSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search for the parameters of an estimator within a budget, by cross-validation.

    ``space`` is a space of shoestring, a ConfigSpace, or a mapping of lists and SciPy distributions, with ``__`` in the
    names for the parts of a pipeline. A ``budget`` of 60 pays for as many fits as ``RandomizedSearchCV(n_iter=60)``
    makes; a :class:`~shoestring.Budget` or a text such as ``"10min"`` is used unchanged. ``resource`` is "folds",
    "partial_fit", "n_samples" or a parameter of the estimator, whose largest value is ``max_resource`` (by default the
    one that the estimator has). ``n_jobs`` fits run at once. ``method`` is the same as for :class:`~shoestring.Study`;
    ``cv``, ``scoring``, ``refit``, ``random_state``, ``error_score`` and ``verbose`` are the same as for
    ``RandomizedSearchCV``. ``past`` are earlier studies, such as ``[search.study_]`` or a storage, and ``guess`` has
    values that have worked before, as for :func:`~shoestring.tune`.

    Of several scorers, a list or a mapping, ``refit`` names the one that is tuned; the others are in ``cv_results_``,
    and in the readings of the study as ``mean_test_NAME``. With one scorer ``refit`` can be a function of
    ``cv_results_`` that returns the row of the best candidate.

    After ``fit`` there are ``best_params_``, ``best_score_``, ``best_estimator_`` and ``cv_results_`` as scikit-learn
    has them, and ``study_``, the study. A candidate that did not get the whole resource ranks after those that did;
    the column ``n_resources`` says how much it got, and the scores of folds that it was not fitted on are NaN.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> import shoestring as ss
    >>> space = {"C": ss.log(1e-2, 1e2), "kernel": ["rbf", "linear"]}
    >>> search = ss.BudgetSearchCV(SVC(), space, budget=10, random_state=0)
    >>> search.fit(*load_iris(return_X_y=True)).best_score_ > 0.95
    True
    """

    _required_parameters = ("estimator", "space")

    def __init__(
        self,
        estimator: Any,
        space: ConfigSpace.ConfigurationSpace | Mapping[str, Any],
        *,
        budget: float | Budget | str = 20,
        resource: str = "folds",
        max_resource: int | None = None,
        method: str | Method = "auto",
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        random_state: Any = None,
        error_score: float | str = np.nan,
        verbose: int = 0,
        past: Any = None,
        guess: Mapping[str, Any] | None = None,
    ) -> None:
        self.space = space
        self.budget = budget
        self.resource = resource
        self.max_resource = max_resource
        self.method = method
        self.random_state = random_state
        self.past = past
        self.guess = guess
        super().__init__(
            estimator=estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, error_score=error_score,
            verbose=verbose,
        )  # fmt: skip

    def fit(self, X: Any, y: Any = None, **params: Any) -> BudgetSearchCV:
        """Search, and fit the best estimator to all data. ``params`` are routed as in ``RandomizedSearchCV``."""
        scorer, _ = self._get_scorers()
        # Of several scorers this is one object that shares their predictions, and users expect a dict.
        self.scorer_ = getattr(scorer, "_scorers", scorer)
        X, y = indexable(X, y)
        routed = self._get_routed_params_for_fit(_check_method_params(X, params=params))
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(cv.split(X, y, **routed.splitter.split))
        self.n_splits_ = len(splits)
        evaluation = Evaluation(
            clone(self.estimator), X, y, splits, scorer, self.refit, dict(routed.estimator.fit),
            dict(routed.scorer.score), self.resource, self._largest(), _seed(self.random_state),
        )  # fmt: skip
        self._search(evaluation)
        self._refit(X, y, routed.estimator.fit)
        return self

    def _check_refit_for_multimetric(self, scores: Iterable[str]) -> None:
        """Refuse several scores without the name of the one that is tuned. scikit-learn calls this."""
        names = list(scores)
        if isinstance(self.refit, str) and self.refit in names:
            return
        raise MethodError(
            f"scoring has the scores {', '.join(names)}, and refit is {self.refit!r}: one of them is tuned, "
            f"so give its name, such as refit={names[0]!r}"
        )

    def _largest(self) -> int:
        """The largest value of the resource; for folds and passes, the number of steps."""
        known = self.estimator.get_params()
        if self.resource == "partial_fit" and not hasattr(self.estimator, "partial_fit"):
            raise MethodError(f"resource is 'partial_fit', which {type(self.estimator).__name__} does not have")
        if self.resource in ("folds", "n_samples"):
            return self.n_splits_ if self.resource == "folds" else PARTS
        if self.resource != "partial_fit" and self.resource not in known:
            raise MethodError(
                f"resource is {self.resource!r}; it is 'folds', 'n_samples', 'partial_fit' or a parameter of the "
                f"estimator, such as 'n_estimators'; it has {', '.join(sorted(known))}"
            )
        largest = self.max_resource or (PARTS if self.resource == "partial_fit" else known[self.resource])
        if not isinstance(largest, (int, np.integer)) or isinstance(largest, bool) or largest < 1:
            raise MethodError(f"max_resource is {largest!r}; it is the largest {self.resource}, a whole number from 1")
        return int(largest)

    def _search(self, evaluation: Evaluation) -> None:
        space, values = _name_choices(self.space)
        if self.past == "auto":
            raise MethodError("past is 'auto', and this search has no storage: name one, or give [other_search.study_]")
        if self.resource in space:
            raise MethodError(f"{self.resource!r} is the resource and a parameter of the space: leave it out of one")
        self.study_ = Study(
            space, budget=self._budget(evaluation), method=self.method, mode="max",
            max_resource=evaluation.steps if evaluation.steps > 1 else None, seed=evaluation.seed,
            past=self.past, guess=_name_guess(self.guess, values),
        )  # fmt: skip
        jobs = effective_n_jobs(self.n_jobs)
        batch = max(1, jobs if self.resource == "folds" else math.ceil(jobs / self.n_splits_))
        candidates: dict[int, list[Fit]] = {}
        self.multimetric_ = isinstance(self.scorer_, dict)
        with Parallel(n_jobs=self.n_jobs) as parallel:
            while grants := self.study_.ask(batch):
                tasks = [task for grant in grants for task in evaluation.tasks(grant, _decode(grant.config, values))]
                done = parallel(delayed(fit_and_score)(*task) for task in tasks)
                self._check_scores(done)
                for grant in grants:
                    fits = [fit for fit in done if fit.trial == grant.trial]
                    self._tell(grant, fits, evaluation, candidates.setdefault(grant.trial, []))
                if not self.study_.history.readings and len(self.study_.history.closings) >= _MOST_FAILURES:
                    break
        self._check_success(candidates)
        self._warn()
        trials = self.study_.trials
        configs = [_decode(trial.config, values) for trial in trials]
        scores = next(fit.scores for fits in candidates.values() for fit in fits if fit.scores)
        self.cv_results_ = cv_results(trials, configs, candidates, self.n_splits_, evaluation.amount, list(scores))
        self.best_index_ = int(self._select_best_index(self.refit, self._tuned, self.cv_results_))
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        if not callable(self.refit):
            self.best_score_ = float(self.cv_results_[f"mean_test_{self._tuned}"][self.best_index_])

    @property
    def _tuned(self) -> str:
        """The name of the score that is tuned."""
        return str(self.refit) if self.multimetric_ else ONLY_SCORE

    def _check_scores(self, done: Iterable[Fit]) -> None:
        """A function that is given as ``scoring`` shows only now whether it has several scores."""
        for fit in done:
            if fit.several and not self.multimetric_:
                self._check_refit_for_multimetric(fit.scores)
                self.multimetric_ = True

    def _budget(self, evaluation: Evaluation) -> Budget | str:
        if isinstance(self.budget, (Budget, str)):
            return self.budget
        if not isinstance(self.budget, (int, float, np.number)) or not self.budget > 0:
            what = "how many candidates it pays for, a number above 0, or a text such as '10min'"
            raise MethodError(f"budget is {self.budget!r}; it is {what}")
        if evaluation.refits:
            return Budget(cost=float(self.budget))
        return Budget(steps=max(int(self.budget * evaluation.steps), 1))

    def _tell(self, grant: Grant, fits: list[Fit], evaluation: Evaluation, so_far: list[Fit]) -> None:
        """Report what came of a grant; the value of a step is the mean over the folds until then."""
        failure = next((fit.error for fit in fits if fit.error is not None), None)
        if failure is not None:
            if self.error_score == "raise":
                raise failure
            self.study_.fail(grant, failure)
            so_far += fits
            return
        if self.resource == "folds":
            so_far += fits
            steps = range(grant.start + 1, len(so_far) + 1)
            self.study_.tell(grant, [self._mean_reading(so_far[:step]) for step in steps])
            return
        so_far[:] = fits
        evaluation.states.update({(fit.trial, fit.fold): fit.state for fit in fits if fit.state is not None})
        cost = grant.until / evaluation.steps if evaluation.refits else None
        self.study_.tell(grant, self._mean_reading(fits, cost))

    def _mean_reading(self, fits: Sequence[Fit], cost: float | None = None) -> Reading:
        """The mean of the tuned score over folds, with those of the other scores."""
        means = {name: float(np.mean([fit.scores[name] for fit in fits])) for name in fits[0].scores}
        value = means.pop(self._tuned)
        others = {f"mean_test_{name}": mean for name, mean in means.items() if not math.isnan(mean)}
        return Reading(value, cost=cost, **others)

    def _check_success(self, candidates: Mapping[int, Sequence[Fit]]) -> None:
        if self.study_.history.readings:
            return
        errors = [fit.error for fits in candidates.values() for fit in fits if fit.error is not None]
        messages = [trial.message for trial in self.study_.trials if trial.state == "failed"]
        if not errors and messages:
            raise MethodError(f"no candidate has a usable score; the first: {messages[0]}")
        if not errors:
            raise MethodError(f"the budget {self.budget!r} does not pay for one fit")
        errors[0].add_note(f"This is the first error: all {len(candidates)} candidates failed.")
        raise errors[0]

    def _warn(self) -> None:
        """Say what the results do not show at a glance."""
        trials = self.study_.trials
        failed = [trial for trial in trials if trial.state == "failed"]
        if failed:
            words = f"{len(failed)} of {len(trials)} candidates failed and rank last. The first: {failed[0].message}"
            warnings.warn(words, FitFailedWarning, stacklevel=3)
        most = max(trial.step for trial in trials)
        if self.resource == "folds" and most < self.n_splits_:
            words = f"The budget paid for no candidate in full: the best with {most} of {self.n_splits_} folds is it."
            warnings.warn(words, UserWarning, stacklevel=3)

    def _refit(self, X: Any, y: Any, fit_params: Mapping[str, Any]) -> None:
        if not self.refit:
            return
        best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        if self.resource not in ("folds", "n_samples", "partial_fit"):
            best.set_params(**{self.resource: self._largest()})
        began = ticks()
        passes = int(self.cv_results_["n_resources"][self.best_index_]) if self.resource == "partial_fit" else 0
        self.best_estimator_ = train_estimator(best, X, y, y, passes, fit_params)
        self.refit_time_ = ticks() - began
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        """Those that every search has, and what else the estimator allows in its data."""
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.target_tags.multi_output, tags.input_tags.allow_nan = (
            own.target_tags.multi_output,
            own.input_tags.allow_nan,
        )
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the study, which belongs to its process."""
        return {name: value for name, value in super().__getstate__().items() if name != "study_"}


def _seed(random_state: Any) -> int:
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1)) if random_state is not None else 0


def _name_choices(space: Any) -> tuple[Any, dict[str, dict[str, Any]]]:
    """The space with names for choices that a log cannot hold, such as estimators, and what each name stands for."""
    values: dict[str, dict[str, Any]] = {}
    if isinstance(space, ConfigSpace.ConfigurationSpace) or not isinstance(space, Mapping):
        return space, values  # a ConfigurationSpace is a mapping too, and has conditions and forbidden clauses
    named = dict(space)
    for name, spec in space.items():
        if isinstance(spec, (list, tuple)) and any(_is_object(one) for one in spec):
            values[name] = {f"{number}: {one}": one for number, one in enumerate(spec)}
            named[name] = list(values[name])
    return named, values


def _name_guess(guess: Any, values: Mapping[str, Mapping[str, Any]]) -> Any:
    """The guess with the names of such choices; a clone of the search has copies of them, which print the same."""
    if not isinstance(guess, Mapping):
        return guess
    texts = {name: {str(value): each for each, value in own.items()} for name, own in values.items()}
    return {name: texts.get(name, {}).get(str(value), value) for name, value in guess.items()}


def _is_object(value: Any) -> bool:
    plain = value is None or isinstance(value, (bool, int, float, str, np.generic))
    return not plain and not (isinstance(value, (list, tuple)) and not any(map(_is_object, value)))


def _decode(config: Mapping[str, Any], values: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: values[name][value] if name in values else value for name, value in config.items()}
