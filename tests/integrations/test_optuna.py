"""Our methods inside an Optuna study: Optuna's own contract tests, restarts, several processes, the pruner's rule."""

import pickle
import subprocess
import sys
import warnings

import pytest

optuna = pytest.importorskip("optuna", reason="optuna is not installed: pip install 'shoestring[optuna]'")
pytestmark = pytest.mark.filterwarnings("ignore:.* is drawn at random:UserWarning")

from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import TrialState

import shoestring as ss
from shoestring.errors import BudgetError, MethodError
from shoestring.integrations.optuna import Pruner, Sampler

optuna.logging.set_verbosity(optuna.logging.ERROR)


class Contract(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """All of Optuna's tests of a sampler, but for the multi-objective ones: a study here has one objective."""


class TestAuto(Contract):
    @pytest.fixture
    def sampler(self):
        return Sampler


class TestTPE(Contract):
    @pytest.fixture
    def sampler(self):
        return lambda: Sampler("tpe")


def train(trial):
    rate, error = trial.suggest_float("rate", 0.01, 1.0, log=True), 1.0
    for epoch in range(27):
        error *= 1 - rate * (1 - rate)
        trial.report(error, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    return error


def square(trial):
    return (trial.suggest_float("x", -1, 1) - 0.3) ** 2 + trial.suggest_int("k", 0, 10, step=5)


def configs(study):
    return [trial.params for trial in study.trials]


@pytest.mark.parametrize("method", ["auto", "gp", "tpe", "random", "bohb", "forecast"])
def test_methods_find_the_minimum_and_repeat_it_with_the_same_seed(method):
    found = []
    for _ in range(2):
        study = optuna.create_study(sampler=Sampler(method, seed=3))
        study.optimize(square, n_trials=25)
        found.append(configs(study))
    assert found[0] == found[1]
    assert study.best_value < (0.05 if method in ("auto", "gp", "tpe") else 10.0)


@pytest.mark.parametrize("objective", [square, train])
def test_a_restarted_process_goes_on_as_if_nothing_had_happened(objective, tmp_path):
    whole = optuna.create_study(sampler=Sampler(seed=1), pruner=Pruner())
    whole.optimize(objective, n_trials=16)
    for _ in range(4):
        study = optuna.create_study(
            storage=f"sqlite:///{tmp_path}/optuna.db", study_name="s", load_if_exists=True, sampler=Sampler(seed=1),
            pruner=Pruner(),
        )  # fmt: skip
        study.optimize(objective, n_trials=4)
    assert configs(study) == configs(whole)
    assert [trial.state for trial in study.trials] == [trial.state for trial in whole.trials]


def test_several_processes_on_one_storage(tmp_path):
    url = f"sqlite:///{tmp_path}/optuna.db"
    optuna.create_study(storage=url, study_name="s")
    program = f"""
import optuna
from shoestring.integrations.optuna import Pruner, Sampler
from tests.integrations.test_optuna import train
optuna.load_study(study_name="s", storage={url!r}, sampler=Sampler(), pruner=Pruner()).optimize(train, n_trials=8)
"""
    running = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    study = optuna.load_study(study_name="s", storage=url)
    assert len(study.trials) == 16
    assert len({trial.params["rate"] for trial in study.trials}) == 16


class AtTheSameMoment(Sampler):
    """While this sampler decides, another process decides about the next trial."""

    other = None

    def _propose(self, history, rng):
        config = super()._propose(history, rng)
        if self.other is not None:
            other, self.other = self.other, None
            self.asked = other.ask()
            self.asked.suggest_float("x", -1, 1)
        return config


def test_two_processes_that_decide_at_the_same_moment_give_different_configurations(tmp_path):
    options = {"storage": f"sqlite:///{tmp_path}/optuna.db", "study_name": "s", "load_if_exists": True}
    sampler = AtTheSameMoment("grid")
    study = optuna.create_study(sampler=sampler, **options)
    study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=1)
    sampler.other = optuna.create_study(sampler=Sampler("grid"), **options)
    first = study.ask().suggest_float("x", -1, 1)
    assert first != sampler.asked.params["x"]


def test_threads_share_one_sampler_and_one_pruner():
    study = optuna.create_study(sampler=Sampler(), pruner=Pruner())
    study.optimize(train, n_trials=24, n_jobs=4)
    assert len({trial.params["rate"] for trial in study.trials}) == 24
    assert all(trial.state.is_finished() for trial in study.trials)


def test_ask_and_tell_in_parallel_proposes_different_configurations():
    study = optuna.create_study(sampler=Sampler())
    space = {"x": optuna.distributions.FloatDistribution(-1, 1)}
    for _ in range(12):
        trial = study.ask(space)
        study.tell(trial, trial.params["x"] ** 2)
    asked = [study.ask(space).params["x"] for _ in range(4)]
    assert len(set(asked)) == 4


def test_a_parameter_that_appears_later_is_drawn_at_random_with_one_warning():
    def objective(trial):
        y = trial.suggest_float("y", 0, 1) + trial.suggest_float("z", 0, 1) if trial.number > 3 else 0.0
        return trial.suggest_float("x", -1, 1) ** 2 + y

    study = optuna.create_study(sampler=Sampler())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.optimize(objective, n_trials=10)
    ours = [str(one.message) for one in caught if "drawn at random" in str(one.message)]
    assert len(ours) == 1
    assert "'y'" in ours[0]
    assert len({trial.params["y"] for trial in study.trials[4:]}) == 6


def test_a_space_with_conditions_can_be_given():
    space = ss.space(ss.when("momentum", opt="sgd"), opt=["sgd", "adam"], momentum=(0.0, 0.99), lr=ss.log(1e-4, 1.0))

    def objective(trial):
        momentum = (
            trial.suggest_float("momentum", 0.0, 0.99)
            if trial.suggest_categorical("opt", ["sgd", "adam"]) == "sgd"
            else 0.5
        )
        return (momentum - 0.9) ** 2 + trial.suggest_float("lr", 1e-4, 1.0, log=True)

    study = optuna.create_study(sampler=Sampler(space=space))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(objective, n_trials=30)
    assert study.best_value < 0.02
    assert study.best_params["opt"] == "sgd"


def test_the_budget_ends_optimize_but_not_ask_and_tell():
    study = optuna.create_study(sampler=Sampler(budget="100 steps"))
    study.optimize(train)
    assert 100 <= sum(len(trial.intermediate_values) for trial in study.trials) < 100 + 27
    study.tell(study.ask(), 1.0)
    assert len(study.trials) == 5


def test_what_cannot_be_is_refused():
    with pytest.raises(MethodError, match="there is no method 'tpee'"):
        Sampler("tpee")
    with pytest.raises(BudgetError, match="timeout="):
        Sampler(budget="2h")
    with pytest.raises(MethodError, match="startup is 0"):
        Pruner(startup=0)
    several = optuna.create_study(directions=["minimize", "maximize"], sampler=Sampler())
    with pytest.raises(MethodError, match="2 directions"):
        several.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 0.0), n_trials=1)


def test_samplers_and_pruners_can_be_pickled_after_use():
    study = optuna.create_study(sampler=Sampler(seed=1), pruner=Pruner())
    study.optimize(train, n_trials=5)
    study.sampler, study.pruner = pickle.loads(pickle.dumps((study.sampler, study.pruner)))
    study.optimize(train, n_trials=5)
    whole = optuna.create_study(sampler=Sampler(seed=1), pruner=Pruner())
    whole.optimize(train, n_trials=10)
    assert configs(study) == configs(whole)


def failing(trial):
    x = trial.suggest_float("x", 0, 1)
    if x < 0.5:
        raise RuntimeError("no")
    return x


def test_failed_trials_are_avoided_and_values_may_be_infinite():
    study = optuna.create_study(sampler=Sampler())
    study.optimize(failing, n_trials=25, catch=RuntimeError)
    assert sum(trial.state == TrialState.FAIL for trial in study.trials[10:]) < 8
    study.optimize(lambda trial: float("inf") if trial.suggest_float("x", 0, 1) > 0.9 else 1.0, n_trials=5)
    assert all(trial.state.is_finished() for trial in study.trials)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("first", [0, 1, 10])
def test_the_pruner_stops_bad_trials_and_no_trial_that_is_best_at_its_step(direction, first):
    sign = 1 if direction == "minimize" else -1
    study = optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler(0), pruner=Pruner())

    def objective(trial):
        level = trial.suggest_float("level", 0, 1)
        for epoch in range(20):
            trial.report(sign * (level + 1 / (epoch + 1)), first + epoch * max(first, 1))
            if trial.should_prune():
                raise optuna.TrialPruned
        return sign * (level + 1 / 20)

    study.optimize(objective, n_trials=30)
    complete = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    pruned = [trial for trial in study.trials if trial.state == TrialState.PRUNED]
    assert study.trials[0] in complete
    assert len(pruned) > 15
    best = 1.0
    for trial in study.trials:
        if trial.params["level"] < best:
            best = trial.params["level"]
            assert trial in complete
    assert study.best_params["level"] == min(trial.params["level"] for trial in study.trials)


def test_the_pruner_waits_for_the_startup_trials_and_prunes_nothing_without_a_chance():
    for options, least in (({"startup": 6}, 6), ({"chance": 0}, 15)):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0), pruner=Pruner(**options))
        study.optimize(train, n_trials=15)
        assert all(trial.state == TrialState.COMPLETE for trial in study.trials[:least])


def test_the_pruner_says_if_there_is_nothing_to_learn_from():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0), pruner=Pruner())

    def objective(trial):
        value = trial.suggest_float(f"x{trial.number}", 0, 1)
        for epoch in range(3):
            trial.report(value, epoch)
            assert not trial.should_prune()
        return value

    with pytest.warns(UserWarning, match="no parameter in common") as caught:
        study.optimize(objective, n_trials=4)
    assert len([one for one in caught if "in common" in str(one.message)]) == 1


@pytest.mark.filterwarnings("ignore")  # what Optuna warns about is its own
def test_optuna_search_cv():
    integration = pytest.importorskip("optuna_integration", reason="optuna-integration is not installed")
    from sklearn.datasets import load_digits
    from sklearn.linear_model import SGDClassifier

    X, y = load_digits(return_X_y=True)
    study = optuna.create_study(direction="maximize", sampler=Sampler(), pruner=Pruner())
    search = integration.OptunaSearchCV(
        SGDClassifier(random_state=0),
        {"alpha": optuna.distributions.FloatDistribution(1e-6, 1.0, log=True)},
        cv=3, n_trials=8, study=study, enable_pruning=True, max_iter=8,
    )  # fmt: skip
    search.fit(X[:300], y[:300])
    assert search.best_score_ > 0.8
    assert len(study.trials) == 8
    assert any(trial.intermediate_values for trial in study.trials)


@pytest.mark.filterwarnings("ignore")  # those of Ray
def test_ray_tune(tmp_path):
    """In a process of its own: Ray leaves sockets and threads behind."""
    pytest.importorskip("ray.tune", reason="Ray Tune is not installed: pip install 'ray[tune]'", exc_type=ImportError)
    program = f"""
import ray
from ray import tune
from ray.tune.search.optuna import OptunaSearch
from shoestring.integrations.optuna import Sampler

def objective(config):
    tune.report({{"loss": (config["x"] - 0.3) ** 2}})

ray.init(num_cpus=2, include_dashboard=False)
search = OptunaSearch(sampler=Sampler(seed=1), metric="loss", mode="min")
options = tune.TuneConfig(search_alg=search, num_samples=16, max_concurrent_trials=2)
run = tune.RunConfig(storage_path={str(tmp_path)!r}, verbose=0)
found = tune.Tuner(objective, param_space={{"x": tune.uniform(-1, 1)}}, tune_config=options, run_config=run).fit()
assert len(found) == 16 and not found.errors
assert found.get_best_result("loss", "min").metrics["loss"] < 0.01
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
