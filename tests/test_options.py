"""The options of ``tune`` and ``Study.run`` are one list, and names of other libraries are explained."""

import inspect

import numpy as np
import pytest

import shoestring as ss
from shoestring.running.options import DEFAULTS, RunOptions

SPACE = {"x": (0.0, 1.0)}


def square(trial):
    return trial.config["x"] ** 2


def test_every_option_has_a_default_and_is_shown():
    assert RunOptions.__annotations__.keys() == DEFAULTS.keys()
    for function in (ss.tune, ss.Study.run):
        shown = inspect.signature(function).parameters
        assert {name: shown[name].default for name in DEFAULTS} == DEFAULTS
        assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in shown.values())
    assert "step_timeout" in ss.Study.run.__doc__


@pytest.mark.parametrize(
    ("option", "written"),
    [
        ({"n_trials": 100}, 'budget="100 evaluations"'),
        ({"direction": "maximize"}, 'mode="min" or mode="max"'),
        ({"timeout": 60}, 'budget="2h"'),
        ({"n_jobs": 2}, "workers="),
        ({"warm_start": None}, "initial=[ss.warm_start(study)]"),
        ({"max_resorce": 2}, "did you mean 'max_resource'"),
        ({"what": 2}, "tune() has no option 'what'"),
    ],
)
def test_options_of_other_libraries_are_explained(option, written):
    with pytest.raises(TypeError, match=r"tune\(\) has no option") as error:
        ss.tune(square, SPACE, **option)
    assert written in str(error.value)


def test_so_are_those_of_a_study_and_of_a_run():
    with pytest.raises(TypeError, match=r"Study\(\) has no option 'study_name'; write name="):
        ss.Study(SPACE, study_name="digits")
    with pytest.raises(TypeError, match=r"Study.run\(\) has no option 'n_trials'; write budget="):
        ss.Study(SPACE, budget="3 evaluations").run(square, n_trials=3)


@pytest.mark.parametrize(
    ("name", "written"),
    [("best_params", "study.best.config"), ("best_value", "study.best.value"), ("optimize", "study.run(objective)")],
)
def test_attributes_of_an_optuna_study_are_explained(name, written):
    study = ss.Study(SPACE, budget="3 evaluations")
    with pytest.raises(AttributeError) as error:
        getattr(study, name)
    assert written in str(error.value)
    assert not hasattr(study, "something_else")


def test_so_are_those_of_a_trial_and_of_the_module():
    def suggesting(trial):
        return trial.suggest_float("x", 0, 1)

    with pytest.raises(ss.errors.EverythingFailed, match=r"a Trial has no 'suggest_float'; write trial.config"):
        ss.tune(suggesting, SPACE, budget="2 evaluations")
    with pytest.raises(AttributeError, match=r"has no 'create_study'; write ss.tune"):
        ss.create_study  # noqa: B018


@pytest.mark.parametrize(
    ("suggest", "written"),
    [
        (lambda trial: trial.suggest_float("lr", 1e-4, 1, log=True), "lr=ss.log(0.0001, 1.0) in the space"),
        (lambda trial: trial.suggest_float("p", 0, 1), "p=(0.0, 1.0) in the space"),
        (lambda trial: trial.suggest_float("p", 0, 1, step=0.5), "p=np.arange(0.0, 1.0 + 0.5 / 2, 0.5) in the space"),
        (lambda trial: trial.suggest_int("n", 1, 8), "n=(1, 8) in the space"),
        (lambda trial: trial.suggest_int("n", 2, 8, step=2), "n=ss.ints(2, 8, step=2) in the space"),
        (lambda trial: trial.suggest_categorical("act", ("relu", "tanh")), "act=['relu', 'tanh'] in the space"),
    ],
)
def test_a_suggestion_is_answered_with_the_parameter_to_write(suggest, written):
    with pytest.raises(ss.errors.EverythingFailed) as error:
        ss.tune(suggest, SPACE, budget="2 evaluations", method="random")
    assert written in str(error.value)
    form = written.partition("=")[2].removesuffix(" in the space")
    assert len(ss.space(x=eval(form, {"ss": ss, "np": np}))) == 1


def test_what_is_missing_is_named():
    with pytest.raises(TypeError, match=r"tune\(\) needs budget=, .*300 steps"):
        ss.tune(square, SPACE)
    with pytest.raises(TypeError, match=r"tune\(\) needs budget="):
        ss.tune(square, SPACE, "10 steps")
    with pytest.raises(TypeError, match=r"Study\(\) needs space=, .*ss\.space"):
        ss.Study(budget="3 evaluations")
    with pytest.raises(ss.errors.BudgetError, match="10 was given; write a text, such as '300 steps'"):
        ss.tune(square, SPACE, budget=10)


def test_so_are_those_of_a_result():
    study = ss.tune(square, SPACE, budget="2 evaluations", method="random")
    with pytest.raises(AttributeError, match=r"a Best has no 'params'; write \.config"):
        study.best.params  # noqa: B018
    with pytest.raises(AttributeError, match=r"a TrialRecord has no 'number'; write \.index"):
        study.trials[0].number  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'TPE'"):
        ss.samplers.TPESampler  # noqa: B018
