"""BudgetSearchCV is a scikit-learn search: its checks pass, and its results have the form that users know."""

import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GroupKFold, RandomizedSearchCV, cross_val_score, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import shoestring as ss
from shoestring.errors import MethodError, SpaceError
from shoestring.integrations.sklearn import BudgetSearchCV
from shoestring.online.domains import as_domain

# Most searches here are as small as they can be.
pytestmark = pytest.mark.filterwarnings("ignore:The budget paid for no candidate in full")
X, Y = load_iris(return_X_y=True)
SPACE = {"C": ss.log(1e-2, 1e2), "gamma": ss.log(1e-4, 1.0)}


@pytest.mark.parametrize(
    "search",
    [
        BudgetSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": (1, 5)}, budget=2, cv=2),
        BudgetSearchCV(Ridge(), {"alpha": ss.log(1e-2, 1e2)}, budget=2, cv=2, resource="n_samples", method="asha"),
    ],
    ids=["classifier", "regressor"],
)
def test_the_checks_of_scikit_learn_pass(search):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = check_estimator(search, on_skip=None)
    assert {one["status"] for one in done} <= {"passed", "skipped"}
    skipped = [one for one in done if one["status"] == "skipped" and "array_api" not in one["check_name"]]
    assert all("does not have" in str(one["exception"]) for one in skipped), "a check was skipped"


def test_the_results_are_those_of_a_search():
    ours = BudgetSearchCV(SVC(), SPACE, budget=8, cv=3, random_state=0).fit(X, Y)
    theirs = RandomizedSearchCV(SVC(), {"C": stats.loguniform(1e-2, 1e2), "gamma": [0.1, 1.0]}, n_iter=3, cv=3).fit(
        X, Y
    )
    results = ours.cv_results_
    assert results.keys() - theirs.cv_results_.keys() == {"n_resources"}
    assert theirs.cv_results_.keys() <= results.keys()
    assert {len(column) for column in results.values()} == {len(ours.study_.trials)}
    whole = results["n_resources"] == 3
    scores = np.array([results[f"split{split}_test_score"] for split in range(3)]).T
    assert np.isnan(scores[~whole]).any(axis=1).all()
    assert np.allclose(scores[whole].mean(axis=1), results["mean_test_score"][whole])
    assert ours.best_score_ == results["mean_test_score"][whole].max()
    assert results["rank_test_score"][ours.best_index_] == 1
    assert results["rank_test_score"][whole].max() < results["rank_test_score"][~whole].min()
    assert ours.best_params_ == results["params"][ours.best_index_]
    assert np.isclose(cross_val_score(SVC(**ours.best_params_), X, Y, cv=3).mean(), ours.best_score_)
    assert ours.score(X, Y) == SVC(**ours.best_params_).fit(X, Y).score(X, Y)
    assert ours.study_.verify()


class Counting(KNeighborsClassifier):
    """Counts its fits and their samples."""

    fits, samples = 0, 0

    def fit(self, X, y):
        Counting.fits += 1
        Counting.samples += len(X)
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")  # 30 neighbours among 4 samples
@pytest.mark.parametrize("resource", ["folds", "n_samples"])
def test_a_budget_pays_for_as_many_fits_as_a_random_search(resource):
    Counting.fits = Counting.samples = 0
    space = {"n_neighbors": (1, 30), "p": (1, 3)}
    search = BudgetSearchCV(Counting(), space, budget=6, cv=3, resource=resource, refit=False, random_state=0)
    search.fit(X, Y)
    assert Counting.samples <= 6 * 3 * 100 * 1.1  # shares of the samples are rounded up
    assert Counting.fits == 18 or resource == "n_samples"
    assert len(search.study_.trials) > 6
    assert not hasattr(search, "best_estimator_")


@pytest.mark.parametrize(
    ("estimator", "space", "options"),
    [
        (
            RandomForestClassifier(random_state=0),
            {"max_depth": (1, 5)},
            {"resource": "n_estimators", "max_resource": 9},
        ),
        (SGDClassifier(random_state=0), {"alpha": ss.log(1e-6, 1.0)}, {"resource": "partial_fit", "max_resource": 9}),
        (SVC(), SPACE, {"resource": "n_samples"}),
        (SVC(), SPACE, {"method": "random", "budget": "5 evaluations"}),
        (SVC(), SPACE, {"method": "hyperband", "budget": ss.Budget(steps=20)}),
    ],
    ids=["n_estimators", "partial_fit", "n_samples", "random", "hyperband"],
)
def test_resources(estimator, space, options):
    search = BudgetSearchCV(estimator, space, **{"budget": 3, "cv": 3, "random_state": 0, **options}).fit(X, Y)
    assert search.study_.verify()
    assert search.score(X, Y) > 0.5
    if options.get("resource") == "n_estimators":
        assert search.best_estimator_.n_estimators == 9
    if options.get("resource") == "partial_fit":
        passes = int(search.cv_results_["n_resources"][search.best_index_])
        assert search.best_estimator_.t_ == 1 + passes * len(X)


def test_in_a_pipeline_and_of_a_pipeline():
    inner = make_pipeline(StandardScaler(), SVC())
    space = {"standardscaler": [StandardScaler(), MinMaxScaler(), "passthrough"], "svc__C": ss.log(1e-2, 1e2)}
    search = BudgetSearchCV(inner, space, budget=6, cv=3, random_state=0)
    outer = Pipeline([("first", StandardScaler()), ("search", search)]).fit(X, Y)
    assert outer.score(X, Y) > 0.9
    chosen = outer["search"].best_params_["standardscaler"]
    assert chosen == "passthrough" or isinstance(chosen, (StandardScaler, MinMaxScaler))
    outer.set_params(search__budget=2, search__estimator__svc__kernel="linear").fit(X, Y)
    assert outer["search"].best_estimator_["svc"].kernel == "linear"


@pytest.mark.parametrize(
    "space",
    [
        {"C": stats.loguniform(1e-2, 1e2), "gamma": [0.1, 1.0]},
        {"C": np.logspace(-2, 2, 9), "kernel": ["rbf", "linear"]},
        ss.space(
            ss.when("gamma", kernel="rbf"), C=ss.log(1e-2, 1e2), kernel=["rbf", "linear"], gamma=ss.log(1e-3, 1.0)
        ),
    ],
    ids=["scipy", "lists", "conditions"],
)
def test_spaces(space):
    search = BudgetSearchCV(SVC(), space, budget=4, cv=3, random_state=0).fit(X, Y)
    assert search.best_score_ > 0.8
    names = {name for params in search.cv_results_["params"] for name in params}
    assert {f"param_{name}" for name in names} <= search.cv_results_.keys()


def test_several_jobs_and_pickles():
    one, two = (BudgetSearchCV(SVC(), SPACE, budget=3, cv=3, n_jobs=jobs, random_state=0).fit(X, Y) for jobs in (1, 2))
    assert two.study_.spent.steps == one.study_.spent.steps == 9
    again = pickle.loads(pickle.dumps(two))
    assert (again.predict(X) == two.predict(X)).all()
    assert not hasattr(again, "study_")


def test_the_same_seed_gives_the_same_search():
    first, second = (BudgetSearchCV(SVC(), SPACE, budget=3, cv=3, random_state=7).fit(X, Y) for _ in range(2))
    assert first.cv_results_["params"] == second.cv_results_["params"]
    other = BudgetSearchCV(SVC(), SPACE, budget=3, cv=3, random_state=8).fit(X, Y)
    assert first.cv_results_["params"] != other.cv_results_["params"]


def test_groups_weights_and_scoring():
    A, b = make_regression(60, 4, noise=1.0, random_state=0)
    groups = np.arange(60) // 10
    search = BudgetSearchCV(
        Ridge(), {"alpha": ss.log(1e-3, 1e3)}, budget=3, cv=GroupKFold(3), scoring="neg_mean_squared_error"
    )
    search.fit(A, b, groups=groups, sample_weight=np.ones(60))
    assert search.best_score_ < 0


CLASSIFIER = LogisticRegression(max_iter=5000)
SCORING = {"accuracy": "accuracy", "cost": "neg_log_loss"}


def split_scores(search, name, row):
    return np.array([search.cv_results_[f"split{split}_test_{name}"][row] for split in range(search.n_splits_)])


@pytest.mark.parametrize(
    ("estimator", "space", "options"),
    [
        (CLASSIFIER, {"C": ss.log(1e-4, 1e2)}, {"method": "asha"}),
        (CLASSIFIER, {"C": ss.log(1e-4, 1e2)}, {"n_jobs": 2, "scoring": list(SCORING.values())}),
        (CLASSIFIER, {"C": ss.log(1e-4, 1e2)}, {"resource": "n_samples"}),
        (
            SGDClassifier(loss="log_loss", random_state=0),
            {"alpha": ss.log(1e-6, 1.0)},
            {"resource": "partial_fit", "max_resource": 9, "method": "asha"},
        ),
    ],
    ids=["folds", "jobs", "n_samples", "partial_fit"],
)
def test_several_scorers_have_the_columns_of_a_random_search(estimator, space, options):
    scoring = options.get("scoring", SCORING)
    names, tuned = list(scoring), list(scoring)[1]
    arguments = {"budget": 6, "cv": 3, "random_state": 0, "scoring": scoring, "refit": tuned, **options}
    ours = BudgetSearchCV(estimator, space, **arguments).fit(X, Y)
    theirs = RandomizedSearchCV(
        LogisticRegression(max_iter=5000),
        {"C": [0.1, 1.0]},
        n_iter=2,
        cv=3,
        scoring=scoring,
        refit=tuned,
        random_state=0,
    ).fit(X, Y)
    results, whole = ours.cv_results_, ours.cv_results_["n_resources"].max()
    parts = {key for key in results if "_test_" in key}
    assert parts == {key for key in theirs.cv_results_ if "_test_" in key}
    assert ours.multimetric_
    assert ours.scorer_.keys() == theirs.scorer_.keys()
    for name in names:
        means = [np.nanmean(split_scores(ours, name, row)) for row in range(len(results["params"]))]
        assert np.allclose(means, results[f"mean_test_{name}"])
        complete = np.flatnonzero(results["n_resources"] == whole)
        first = complete[np.argmax(results[f"mean_test_{name}"][complete])]
        assert results[f"rank_test_{name}"][first] == 1
    assert ours.best_index_ == int(np.argmin(results[f"rank_test_{tuned}"]))
    assert ours.best_score_ == results[f"mean_test_{tuned}"][ours.best_index_] < 0
    assert np.isclose(ours.score(X, Y), ours.scorer_[tuned](ours.best_estimator_, X, Y))
    assert ours.study_.best.value == max(value for _, _, value in readings_of(ours.study_))
    assert ours.study_.verify()


def readings_of(study):
    return [(trial.index, step, reading.value) for trial in study.trials for step, reading in trial.readings.items()]


def test_a_candidate_that_is_paused_and_resumed_keeps_the_scores_of_all_its_folds():
    """Every fold, and every mean in the study, is that of one uninterrupted cross-validation."""
    search = BudgetSearchCV(
        CLASSIFIER, {"C": ss.log(1e-4, 1e2)}, budget=6, cv=4, method="asha", random_state=0,
        scoring=SCORING, refit="accuracy",
    ).fit(X, Y)  # fmt: skip
    grants = Counter(grant.trial for grant in search.study_.history.grants)
    resumed = [row for row, trial in enumerate(search.study_.trials) if trial.step == 4 and grants[trial.index] > 1]
    assert resumed
    for row in resumed:
        model = LogisticRegression(max_iter=5000, **search.cv_results_["params"][row])
        expected = cross_validate(model, X, Y, cv=4, scoring=SCORING)
        for name in SCORING:
            assert np.allclose(split_scores(search, name, row), expected[f"test_{name}"])
        readings = search.study_.trials[row].readings
        for step in range(1, 5):
            assert np.isclose(readings[step].value, expected["test_accuracy"][:step].mean())
            assert np.isclose(readings[step].metrics["mean_test_cost"], expected["test_cost"][:step].mean())


def test_a_scorer_that_fails_leaves_its_score_out_unless_it_is_tuned():
    def scarce(model, A, b):
        if model.C < 0.1:
            raise ValueError("too little")
        return 1.0

    arguments = {"budget": 4, "cv": 2, "method": "random", "random_state": 0}
    scoring = {"accuracy": "accuracy", "scarce": scarce}
    search = BudgetSearchCV(CLASSIFIER, {"C": ss.log(1e-3, 1e2)}, scoring=scoring, refit="accuracy")
    with pytest.warns(UserWarning, match="'scarce' failed: ValueError: too little; its score is NaN"):
        search.set_params(**arguments).fit(X, Y)
    missing = np.array([params["C"] < 0.1 for params in search.cv_results_["params"]])
    assert 0 < missing.sum() < len(missing)
    assert (np.isnan(search.cv_results_["mean_test_scarce"]) == missing).all()
    assert not np.isnan(search.cv_results_["mean_test_accuracy"]).any()
    with pytest.warns(FitFailedWarning, match="'scarce' failed: ValueError: too little"):
        search.set_params(refit="scarce").fit(X, Y)
    failed = [params["C"] < 0.1 for params in search.cv_results_["params"]]
    assert (np.isnan(search.cv_results_["mean_test_accuracy"]) == failed).all()
    with pytest.raises(ValueError, match="too little"):
        search.set_params(error_score="raise").fit(X, Y)


def test_a_function_can_have_several_scores_and_choose_the_best():
    def scores(model, A, b):
        return {"right": model.score(A, b), "small": -model.C}

    arguments = {"budget": 3, "cv": 2, "random_state": 0}
    search = BudgetSearchCV(SVC(), SPACE, scoring=scores, refit="small", **arguments).fit(X, Y)
    assert search.multimetric_
    assert search.best_score_ == -search.best_params_["C"]
    assert search.score(X, Y) == -search.best_params_["C"]
    chosen = BudgetSearchCV(SVC(), SPACE, refit=lambda results: len(results["params"]) - 1, **arguments).fit(X, Y)
    assert chosen.best_params_ == chosen.cv_results_["params"][-1]
    assert chosen.best_params_["C"] == chosen.best_estimator_.C
    assert not hasattr(chosen, "best_score_")


class Fragile(LinearDiscriminantAnalysis):
    def fit(self, X, y):
        if self.tol > 0.5:
            raise ValueError("too tolerant")
        return super().fit(X, y)


def test_failures():
    space = {"tol": (0.0, 1.0)}
    with pytest.warns(FitFailedWarning, match="too tolerant"):
        search = BudgetSearchCV(Fragile(), space, budget=8, cv=2, random_state=0).fit(X, Y)
    failed = np.isnan(search.cv_results_["mean_test_score"])
    assert failed.any()
    assert search.cv_results_["rank_test_score"][failed].min() > search.cv_results_["rank_test_score"][~failed].max()
    with pytest.raises(ValueError, match="too tolerant"):
        BudgetSearchCV(Fragile(), space, budget=8, cv=2, random_state=0, error_score="raise").fit(X, Y)
    with pytest.raises(ValueError, match="too tolerant") as error:
        BudgetSearchCV(Fragile(), {"tol": (0.6, 1.0)}, budget=8, cv=2).fit(X, Y)
    assert "candidates failed" in error.value.__notes__[0]


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"resource": "partial_fit"}, MethodError, "SVC does not have"),
        ({"resource": "epochs"}, MethodError, "'n_samples', 'partial_fit' or a parameter"),
        ({"resource": "kernel"}, MethodError, "max_resource is 'rbf'"),
        ({"scoring": ["accuracy", "f1"]}, MethodError, "scores accuracy, f1, and refit is True: .* refit='accuracy'"),
        ({"scoring": ["accuracy", "f1"], "refit": "f2"}, MethodError, "refit is 'f2'"),
        ({"scoring": {"a": "accuracy"}, "refit": np.argmax}, MethodError, "scores a, and refit is <function argmax"),
        ({"scoring": lambda *_: {"a": 1.0, "b": 2.0}}, MethodError, "scores a, b, and refit is True"),
        ({"scoring": lambda *_: np.nan}, MethodError, "no candidate has a usable score; the first: .*nan"),
        ({"space": {"C": stats.expon()}}, SpaceError, "expon"),
        ({"method": "hyperban"}, MethodError, "hyperband"),
        ({"past": "auto"}, MethodError, "has no storage"),
        ({"guess": {"c": 1.0}}, SpaceError, "guess has 'c'"),
    ],
)
def test_what_cannot_be_says_what_to_do(options, kind, words):
    arguments = {"space": SPACE, "budget": 2, **options}
    with pytest.raises(kind, match=words):
        BudgetSearchCV(SVC(), **arguments).fit(X, Y)


def test_it_learns_from_earlier_searches_and_a_guess():
    scalers = [StandardScaler(), MinMaxScaler()]
    space = {"svc__C": ss.log(1e-2, 1e2), "scale": scalers}
    pipe = Pipeline([("scale", StandardScaler()), ("svc", SVC())])
    first = BudgetSearchCV(pipe, space, budget=6, cv=3, random_state=0).fit(X, Y)
    again = BudgetSearchCV(pipe, space, budget=6, cv=3, past=[first.study_], guess={"scale": scalers[1], "svc__C": 3.0})
    trials = clone(again).fit(X, Y).study_.trials
    assert trials[0].config == {"svc__C": 3.0, "scale": f"1: {scalers[1]}"}
    planned = [entry["config"] for entry in again.fit(X, Y).study_.history.opened.plan if entry["origin"] != "guess"]
    assert planned
    assert all(config in [trial.config for trial in first.study_.trials] for config in planned)


def test_it_is_an_estimator_with_all_its_parameters():
    search = BudgetSearchCV(SVC(), SPACE, budget=2)
    assert isinstance(search, BaseEstimator)
    assert {"space", "budget", "resource", "method", "estimator__C"} <= search.get_params().keys()


def test_small_beginnings_have_all_classes():
    A, b = make_classification(300, weights=[0.95], random_state=0)
    search = BudgetSearchCV(SVC(), SPACE, budget=3, cv=3, resource="n_samples", random_state=0).fit(A, b)
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_what_cannot_be_searched_is_refused():
    forest = RandomForestClassifier()
    with pytest.raises(MethodError, match="'n_estimators' is the resource and a parameter of the space"):
        BudgetSearchCV(forest, {"n_estimators": (2, 50)}, budget=2, cv=2, resource="n_estimators").fit(X, Y)
    with pytest.raises(MethodError, match="budget is 0; it is how many candidates"):
        BudgetSearchCV(forest, {"max_depth": (2, 5)}, budget=0, cv=2).fit(X, Y)


def test_failed_candidates_and_a_budget_that_is_too_small_are_said():
    with pytest.warns(FitFailedWarning, match=r"candidates failed and rank last\. The first: InvalidParameterError"):
        BudgetSearchCV(SVC(), {"C": (-1.0, 1.0)}, budget=8, cv=3, random_state=0).fit(X, Y)
    with pytest.warns(UserWarning, match="no candidate in full: the best with 1 of 3 folds is it"):
        BudgetSearchCV(SVC(), {"C": (0.1, 1.0)}, budget="1 steps", cv=3, random_state=0).fit(X, Y)


RULES = (ss.when("degree", kernel="poly"), ss.forbid(kernel="rbf", C=2))


def test_conditions_and_forbidden_clauses_of_a_space_hold():
    """A ConfigurationSpace is a mapping, and taken apart as one it would lose them."""
    space = ss.space(*RULES, kernel=["rbf", "poly"], degree=(2, 5), C=[1, 2])
    search = BudgetSearchCV(SVC(), space, budget=8, cv=2, method="random", random_state=0).fit(X, Y)
    tried = search.cv_results_["params"]
    assert {params["kernel"] for params in tried} == {"rbf", "poly"}
    assert [params for params in tried if ("degree" in params) != (params["kernel"] == "poly")] == []
    assert [params for params in tried if (params["kernel"], params["C"]) == ("rbf", 2)] == []


def openings(space):
    yield "Study", ss.Study(space, budget="1 evaluations").history.codec.space
    yield "tune", ss.tune(lambda trial: 1.0, space, budget="1 evaluations", method="random").history.codec.space
    yield "BudgetSearchCV", BudgetSearchCV(SVC(), space, budget=2, cv=2).fit(X, Y).study_.history.codec.space
    yield "space", ss.space(space)


def test_everything_that_takes_a_space_keeps_its_rules():
    space = ss.space(*RULES, kernel=["rbf", "poly"], degree=(2, 5), C=[1, 2])
    for name, kept in openings(space):
        assert len(kept.conditions) == len(kept.forbidden_clauses) == 1, name
    arms = as_domain(space, None).configs
    assert [config for config in arms if ("degree" in config) != (config["kernel"] == "poly")] == []
