"""Studies of Optuna as ours and back: what both can express survives, and what is lost is named."""

import math
import warnings

import pytest
from click.testing import CliRunner

optuna = pytest.importorskip("optuna", reason="optuna is not installed: pip install 'shoestring[optuna]'")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import shoestring as ss
from shoestring.cli import main
from shoestring.errors import MethodError, ReadingError, SpaceError
from shoestring.exchange.optuna_space import distributions_of, own_value, space_of

optuna.logging.set_verbosity(optuna.logging.ERROR)

DISTRIBUTIONS = {
    "real": FloatDistribution(-1.0, 2.5),
    "small": FloatDistribution(1e-7, 1.0, log=True),
    "tenths": FloatDistribution(-1.0, 1.0, step=0.1),
    "whole": IntDistribution(-3, 9),
    "power": IntDistribution(1, 1000, log=True),
    "odd": IntDistribution(1, 9, step=2),
    "choice": CategoricalDistribution(["a", None, 3, 0.5, True]),
    "constant": CategoricalDistribution(["only"]),
}


def optuna_study(first=1, **options):
    """A study with a trial of each state."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(1), study_name="theirs", **options)
    for number in range(6):
        trial = study.ask(DISTRIBUTIONS)
        for step in range(9 if number % 2 else 4):
            trial.report(1 / (number + step + 1), first + step)
        trial.set_user_attr("accuracy", 0.5 + number / 100)
        if number % 2:
            study.tell(trial, 1 / (number + 9))
        else:
            study.tell(trial, state=TrialState.FAIL if number == 4 else TrialState.PRUNED)
    study.enqueue_trial({name: study.trials[0].params[name] for name in DISTRIBUTIONS} | {"real": 0.25})
    return study


def as_told(study, shift=0):
    """List what both libraries can say about the trials; metrics are of a reading, so a failed trial has none here."""
    for trial in study.get_trials(states=[TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL]):
        complete = trial.state == TrialState.COMPLETE
        values = {step + shift: value for step, value in trial.intermediate_values.items()}
        params = {name: own_value(DISTRIBUTIONS[name], value) for name, value in trial.params.items()}
        yield trial.state, params, values, complete and (trial.value, trial.user_attrs["accuracy"])


def test_distributions_survive_the_way_to_a_space_and_back():
    found, lost = distributions_of(space_of(DISTRIBUTIONS))
    assert {name: found[name] for name in DISTRIBUTIONS} == DISTRIBUTIONS
    assert lost == []


def test_values_in_steps_are_exact():
    assert own_value(DISTRIBUTIONS["tenths"], -1.0 + 3 * 0.1) == -0.7
    assert own_value(DISTRIBUTIONS["odd"], 7) == 7


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_an_optuna_study_survives_the_way_here_and_back(first, direction):
    theirs = optuna_study(first, direction=direction)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = ss.Study.from_optuna(theirs, budget="50 steps")
        back = ours.to_optuna()
    assert (ours.name, ours.history.opened.mode, ours.history.max_resource) == ("theirs", direction[:3], 9)
    assert [trial.state for trial in ours.trials] == ["paused", "finished"] * 2 + ["failed", "finished"]
    assert all(trial.foreign for trial in ours.trials)
    assert ours.spent.steps == 0
    assert list(as_told(back)) == list(as_told(theirs, shift=1 - first))
    assert back.directions == theirs.directions
    waiting = [trial.system_attrs["fixed_params"] for trial in back.get_trials(states=[TrialState.WAITING])]
    assert waiting == [theirs.trials[-1].system_attrs["fixed_params"]]


def train(trial):
    for step in range(trial.start, 9):
        if trial.config["rate"] > 0.8:
            raise RuntimeError("too fast")
        yield ss.Reading(trial.config["rate"] / (step + 1), low=-1.0, high=2.0, cost=0.5, accuracy=step / 10)


def test_our_study_survives_the_way_to_optuna_and_back(tmp_path):
    space = ss.space(rate=ss.log(0.01, 1.0), width=ss.ints(16, 64, step=16), act=["relu", "tanh"], depth=3)
    ours = ss.tune(train, space, budget="60 steps", max_resource=9, method="asha", progress=False, name="ours")
    ours.enqueue({"rate": 0.5, "width": 16, "act": "relu"})
    url = f"sqlite:///{tmp_path}/optuna.db"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.to_optuna(url)
        back = ss.Study.from_optuna(url, "ours", budget="60 steps", recommend="best")
    assert back.history.opened.space == ours.history.opened.space
    assert back.history.queue == ours.history.queue
    assert back.history.max_resource == 9
    for one, other in zip(ours.trials, back.trials, strict=True):
        assert (one.config, one.readings, one.message) == (other.config, other.readings, other.message)
        assert one.state == other.state
    assert back.best.value == ours.best.value
    opened = optuna.load_study(study_name="ours", storage=url)
    finished = [trial for trial in ours.trials if trial.state == "finished"]
    assert opened.best_value == min(trial.readings[9].value for trial in finished)
    stamped = opened.trials[0]
    assert stamped.datetime_start <= stamped.datetime_complete
    assert stamped.user_attrs["accuracy"] == ours.trials[0].readings[ours.trials[0].step].metrics["accuracy"]


def test_optunas_plots_and_importance_open_our_study():
    ours = ss.tune(lambda trial: trial.config["x"] ** 2 + trial.config["y"], {"x": (-1.0, 1.0), "y": (0.0, 1.0)},
                   budget="20 evaluations", method="random", progress=False)  # fmt: skip
    theirs = ours.to_optuna()
    assert optuna.importance.get_param_importances(theirs).keys() == {"x", "y"}
    assert len(optuna.visualization.plot_optimization_history(theirs).data[0].y) == 20
    assert theirs.best_params == ours.best.config


def test_what_optuna_cannot_have_is_named():
    space = ss.space(
        ss.when("momentum", opt="sgd"), ss.forbid(opt="adam", size=100), opt=["sgd", "adam"], momentum=(0.0, 1.0),
        size=ss.ints(100, 300, step=100, log=True), shape=[(1, 2), (3,)],
    )  # fmt: skip
    study = ss.Study(space, budget="5 evaluations", method="random")
    for _ in range(3):
        grant = study.ask()
        study.tell(grant, 1.0)
    running = study.ask()
    with pytest.warns(UserWarning, match="more than an Optuna study can hold") as caught:
        theirs = study.to_optuna()
    said = str(caught[0].message)
    for words in ("the condition momentum | opt", "the rule (Forbidden", "the logarithmic scale of 'size'",
                  "the lists among the choices of 'shape'", "running trials: 1"):  # fmt: skip
        assert words in said
    assert len(theirs.trials) == 3
    assert running.trial == 3


def test_what_we_cannot_have_is_named():
    theirs = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))

    def objective(trial):
        trial.set_user_attr("note", "a text")
        trial.report(math.nan, 0)
        if trial.number == 1:
            trial.suggest_float("sometimes", 0, 1)
        return trial.suggest_categorical("x", [1, 2])

    theirs.optimize(objective, n_trials=6)
    theirs.ask()
    with pytest.warns(UserWarning, match="more than a study here can hold") as caught:
        ours = ss.Study.from_optuna(theirs, budget="5 evaluations")
    said = str(caught[0].message)
    for words in ("'sometimes'", "another one exactly: 4", "'note'", "not finite: 6", "outside of the space: 1"):
        assert words in said
    assert len(ours.trials) == 2


def test_a_value_that_differs_from_the_last_report_is_the_reading_and_the_report_a_metric():
    theirs = optuna.create_study()
    trial = theirs.ask({"x": FloatDistribution(0, 1)})
    trial.report(0.5, 1)
    trial.report(0.4, 2)
    theirs.tell(trial, 0.3)
    last = ss.Study.from_optuna(theirs, budget="9 steps").trials[0].readings[2]
    assert (last.value, last.metrics) == (0.3, {"reported": 0.4})


def several_directions():
    sampler = optuna.samplers.RandomSampler(0)
    theirs = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)

    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return x**2 + y, (1 - x) ** 2 + y

    theirs.optimize(objective, n_trials=15)
    return theirs


def test_several_directions_come_as_objectives_and_go_back():
    theirs = several_directions()
    front = {trial.number for trial in theirs.best_trials}
    ours = ss.Study.from_optuna(theirs, budget="20 evaluations", objectives={"error": "min", "speed": "max"})
    assert {member.trial for member in ours.front} == front
    back = ours.to_optuna()
    assert (back.directions, back.metric_names) == (theirs.directions, ["error", "speed"])
    assert {trial.number for trial in back.best_trials} == front
    again = ss.Study.from_optuna(back, budget="20 evaluations")
    assert [trial.readings for trial in again.trials] == [trial.readings for trial in ours.trials]
    assert ss.Study.from_optuna(theirs, budget="1 evaluations").history.goals.names == ("value_0", "value_1")


def test_constraints_come_as_metrics_and_go_as_violations():
    theirs = optuna.create_study()
    for x in (0.2, 0.8):
        attributes = {"constraints": [x - 0.5]}
        theirs.add_trial(optuna.create_trial(value=-x, params={"x": x}, distributions={"x": FloatDistribution(0, 1)},
                                             system_attrs=attributes))  # fmt: skip
    ours = ss.Study.from_optuna(theirs, budget="5 evaluations", constraints={"constraint_0": "<= 0"})
    assert ours.best.config == {"x": 0.2}
    assert [trial.system_attrs["constraints"] for trial in ours.to_optuna().trials] == [[0.0], [pytest.approx(0.3)]]


def test_what_cannot_be_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/optuna.db"
    empty = optuna.create_study(storage=url, study_name="empty")
    with pytest.raises(SpaceError, match="no trial with parameters"):
        ss.Study.from_optuna(empty, budget="9 steps")
    with pytest.raises(ReadingError, match=r"no Optuna study 'other'.*it holds 'empty'"):
        ss.Study.from_optuna(url, "other", budget="9 steps")
    with pytest.raises(MethodError, match="2 directions: name as many objectives"):
        ss.Study.from_optuna(several_directions(), budget="9 steps", objectives={"error": "min"})
    with pytest.raises(ReadingError, match="has an Optuna study 'empty' already"):
        ss.Study({"x": (0.0, 1.0)}, budget="2 steps").to_optuna(url, "empty")


def test_the_command_takes_over_a_study(tmp_path):
    url, storage = f"sqlite:///{tmp_path}/optuna.db", str(tmp_path / "ours.db")
    optuna_study(storage=url).set_user_attr("ignored", 1)
    done = CliRunner().invoke(main, ["import", "optuna", url, "theirs", "--budget", "50 steps", "--storage", storage])
    assert done.exit_code == 0, done.output
    assert "0 of 50" in done.output
    ours = ss.Study.load(storage, "theirs")
    assert [trial.state for trial in ours.trials].count("finished") == 3
    assert ours.spent.steps == 0


@pytest.mark.filterwarnings("ignore:the objective was run once")
def test_a_space_is_recorded_from_one_run_of_an_objective():
    calls = []

    def objective(trial):
        for name, distribution in DISTRIBUTIONS.items():
            trial._suggest(name, distribution)
        for epoch in range(100):
            calls.append(epoch)
            trial.report(1.0, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned
        return 1.0

    assert ss.space_from(objective) == space_of(DISTRIBUTIONS)
    assert calls == [0]


def test_a_recorded_space_says_what_it_may_lack():
    def objective(trial):
        if trial.suggest_categorical("opt", ["sgd", "adam"]) == "sgd":
            return trial.suggest_float("momentum", 0, 1)
        return trial.suggest_float("beta", 0, 1)

    with pytest.warns(UserWarning, match="run once, with opt=.* only with other choices are not in the space"):
        assert len(ss.space_from(objective)) == 2
    with pytest.raises(SpaceError, match="asked for no parameter"):
        ss.space_from(lambda trial: 1.0)
    with pytest.raises(SpaceError, match="failed before it asked for a parameter: KeyError"):
        ss.space_from(lambda trial: {}["x"])
