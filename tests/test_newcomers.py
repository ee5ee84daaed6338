"""Mistakes of the first hour, and the messages that they give: what was given, what is allowed, what to write."""

import math
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

import shoestring as ss
from shoestring.cli import main
from shoestring.errors import (
    BudgetError,
    EverythingFailed,
    MethodError,
    ObjectiveError,
    ReadingError,
    SpaceError,
    StorageError,
    StudyMismatch,
)

SPACE = {"x": (0.0, 1.0), "width": (1, 8)}


def one(trial):
    return trial.config["x"]


def tune(objective=one, space=SPACE, **options):
    return ss.tune(objective, space, **{"budget": "3 evaluations", **options})


@pytest.mark.parametrize("given", [ss.log(1e-3, 1.0), (0.0, 1.0), 0.5])
def test_a_rule_with_a_range_in_place_of_a_name(given):
    with pytest.raises(SpaceError, match=r"where the name of a parameter belongs.*svc_c=ss\.log"):
        ss.space(ss.when(given, classifier="SVC"), classifier=["SVC", "MLP"])


def test_a_rule_in_place_of_a_range():
    with pytest.raises(SpaceError, match=r"'svc_c' is a rule.*ss\.space\(ss\.when\('svc_c', \.\.\.\)"):
        ss.space(classifier=["SVC", "MLP"], svc_c=ss.when("svc_c", classifier="SVC"))


@pytest.mark.parametrize("reading", [{"loss": 1.0, "accuracy": 0.5}, (1.0, 0.5), [1.0, 0.5]])
def test_a_dictionary_or_a_tuple_as_reading(reading):
    with pytest.raises(EverythingFailed, match=r"not a number.*ss\.Reading\(|has no value.*ss\.Reading\("):
        tune(lambda trial: reading)


def test_an_objective_that_forgets_to_return():
    with pytest.raises(EverythingFailed, match=r"the reading is None.*must return, yield or report its loss"):
        tune(lambda trial: None)


def goes_on(trial):
    while True:
        yield trial.config["x"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"budget": 100}, BudgetError, r"100 was given; write a text, such as '300 steps', '50 evaluations' or '2h'"),
        ({"budget": "lots"}, BudgetError, r"'lots' cannot be read: write a number and a unit, such as '500 steps'"),
        ({"budget": "0 steps"}, BudgetError, "steps=0.0 is not a budget: a positive, finite number is needed"),
        ({"objective": goes_on}, ObjectiveError, r"say how many steps a trial can have, max_resource=\.\.\."),
        ({"objective": goes_on("trial")}, ObjectiveError, r"already called: pass the function itself, without \(\)"),
        ({"objective": 0.3}, ObjectiveError, "the objective is 0.3; it must be a function of a trial"),
        ({"max_resource": 9}, ObjectiveError, r"max_resource is 9, but the objective returns once: call trial\.report"),
        ({"max_resource": "9"}, MethodError, "max_resource is '9'; it must be the most steps a trial can have, a"),
        ({"max_resource": 9.5}, MethodError, r"max_resource is 9\.5; it must be the most steps a trial can have, a"),
        ({"mode": "maximize"}, MethodError, "mode is 'maximize'; it must be 'min' or 'max'"),
        ({"n_trials": 9}, TypeError, r"no option 'n_trials'; write budget=\"100 evaluations\", or budget="),
        ({"direction": "maximize"}, TypeError, r"no option 'direction'; write mode=\"min\" or mode=\"max\""),
        ({"n_jobs": 4}, TypeError, "no option 'n_jobs'; write workers="),
        ({"workers": "4"}, MethodError, "workers is '4'; it is how many trials run at once, a whole number from 1"),
        ({"executor": "ray"}, MethodError, r"'ray'; it must be an object such as shoestring\.executors\.Proc"),
        ({"callbacks": print}, MethodError, r"it must be a list, such as \[ss\.loggers\.CSV\('readings\.csv'\)\]"),
        ({"space": {"x": (1.0, 0.0)}}, SpaceError, "the low end must be below the high end.*write .low, high., ss.log"),
        ({"space": {"x": ss.log(0, 1.0)}}, SpaceError, "the low end of a logarithmic scale must be above 0"),
        ({"space": {"x": (1, 2, 3)}}, SpaceError, "a pair of numbers was expected; choices are a list"),
        ({"space": {"x": 0.1}}, SpaceError, r"a constant: there is nothing to tune; write a range such as lr="),
        ({"space": ["x"]}, SpaceError, r"a search space was expected, \['x'\] was given; write ss\.space\(lr="),
        ({"initial": [{"x": 5.0, "width": 2}]}, SpaceError, r"parameter 'x' is 5\.0, outside of 0\.0 to 1\.0"),
        ({"storage": "mysql://host/a", "name": "a"}, StorageError, "scheme 'mysql', which is not known; give None"),
        ({"storage": "/", "name": "a"}, StorageError, "/ is a folder; a storage is a file"),
    ],
)  # fmt: skip
def test_an_option_in_a_form_of_another_library(options, error, words):
    with pytest.raises(error, match=words):
        tune(**options)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda trial: "0.5", r"the reading is '0\.5', not a number; convert it with float\(\.\.\.\)"),
        (lambda trial: np.zeros(3), r"the reading is array\(.*not a number; give one number, such as its mean"),
        (lambda trial: math.nan, "the reading is nan; only finite numbers can be compared"),
        (lambda trial: trial.config.x, r"no attribute 'x' \(test_newcomers\.py:\d+\); write trial\.config\['x'\]"),
        (lambda trial: trial.params["x"], r"a Trial has no 'params'; write trial\.config"),
        (lambda trial: trial.should_prune(), r"write nothing: yield a reading after each step, or call trial\.report"),
    ],
)
def test_an_objective_in_a_form_of_another_library(given, words):
    with pytest.raises(EverythingFailed, match=words):
        tune(given)


def test_a_stored_study_with_other_arguments(tmp_path):
    stored = {"storage": tmp_path / "a.db", "name": "a"}
    study = tune(**stored)
    for options, error, words in (
        ({"space": {"x": (0.0, 2.0), "width": (1, 8)}}, StudyMismatch, "'a' differs.*'x'.*give it another name"),
        ({"method": "random"}, StudyMismatch, r"method\.sampler was 'GaussianProcess' and is now 'Random'"),
        ({"budget": "2 evaluations"}, BudgetError, "already spent or committed 3 evaluations.* give more, or look"),
    ):
        with pytest.raises(error, match=words):
            tune(**stored, **options)
    with pytest.raises(AttributeError, match=r"a Study has no 'best_params'; write study\.best\.config"):
        _ = study.best_params
    with pytest.raises(StorageError, match=r"there is no storage .*b\.db; give the file that holds the study"):
        ss.Study.load(tmp_path / "b.db", "a")


def test_a_rule_with_a_value_that_is_not_a_choice():
    with pytest.raises(SpaceError, match=r"gives the parameter 'opt' the value 'sgd', outside of 'adam', 'adamw'$"):
        ss.space(ss.when("lr", opt="sgd"), lr=ss.log(1e-4, 1.0), opt=["adam", "adamw"])


def test_an_objective_that_computes_with_the_trial():
    with pytest.raises(EverythingFailed, match=r"'Trial' and 'int' \(test_newcomers\.py:\d+\); trial\.config has 'w"):
        tune(lambda x: x * 2)


def sized(trial):
    return ss.Reading(trial.config["x"], size=1 - trial.config["x"])


TWO = {"value": "min", "size": "min"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objectives": "loss"}, r"objectives is 'loss'.*: \{'loss': 'min'\}$"),
        ({"objectives": ["value", "size"]}, r"with their mode: \{'value': 'min', 'size': 'min'\}$"),
        ({"objectives": 2}, r"objectives is 2.*: \{'error': 'min', 'speed': 'max'\}$"),
        ({"objectives": {"value": "minimise"}}, "mode 'minimise'; it must be 'min' or 'max'"),
        ({"objectives": TWO, "mode": "max"}, r"mode is 'max' and there are objectives"),
        ({"objectives": TWO, "method": "cmaes"}, r"CMAES cannot handle 2 objectives; these methods can: .*\bgp\b"),
        ({"constraints": "size < 0.5"}, r"it must give bounds by name: \{'size': '< 0\.5'\}$"),
        ({"constraints": ["size <= 0.5", "value<1"]}, r"by name: \{'size': '<= 0\.5', 'value': '<1'\}$"),
        ({"constraints": [lambda trial: 1]}, r"by name: \{'memory': '<= 8'\}$"),
        ({"constraints": {"size": 0.5}}, r"on 'size' is 0\.5; write a comparison and a number, such as '<= 8'"),
    ],
)
def test_goals_in_a_form_of_another_library(options, words):
    with pytest.raises(MethodError, match=words):
        tune(sized, **options)


@pytest.mark.parametrize("reading", [(1.0, 0.5), {"value": 1.0}, ss.Reading(1.0, error=0.5)])
def test_a_reading_without_all_objectives(reading):
    with pytest.raises(EverythingFailed, match=r"give ss\.Reading\(value=\.\.\., size=\.\.\.\)"):
        tune(lambda trial: reading, objectives=TWO)


def test_the_best_of_several_objectives():
    study = tune(sized, objectives=TWO)
    with pytest.raises(MethodError, match=r"no single best configuration: study\.front .*study\.knee\(\)"):
        _ = study.best
    with pytest.raises(MethodError, match=r"'speed' is not an objective of this study; they are value, size"):
        study.pick(speed=1)


def test_constraints_that_no_reading_fulfils():
    with pytest.raises(EverythingFailed, match=r"none of the 3 readings fulfils.*misses size <= -1 by 1\."):
        tune(sized, constraints={"size": "<= -1"})


@pytest.mark.parametrize(
    ("past", "error", "words"),
    [
        ("old.db", StorageError, r"there is no storage old\.db; give the file"),
        (3, ReadingError, r"past is 3; give a storage such as 'team\.db', an ss\.Study, 'auto'"),
    ],
)
def test_a_past_that_is_not_there(past, error, words):
    with pytest.raises(error, match=words):
        tune(past=past)


@pytest.mark.parametrize(
    ("guess", "words"),
    [
        ({"lr": 0.1}, r"the guess has 'lr', which is not a parameter that can vary; these are width, x"),
        ({"x": 3.0}, r"the guess of 'x' is 3\.0, outside of 0\.0 to 1\.0$"),
        ({"width": 2.5}, r"the guess of 'width' is 2\.5, outside of the whole numbers 1 to 8$"),
        ([{"x": 0.1}], r"give values by the names of parameters, such as guess=\{'lr': 3e-3\}"),
    ],
)
def test_a_guess_outside_of_the_space(guess, words):
    with pytest.raises(SpaceError, match=words):
        tune(guess=guess)


def test_a_parameter_that_the_space_does_not_have():
    with pytest.raises(EverythingFailed, match=r"KeyError: 'lr' \(test_newcomers\.py:\d+\); trial\.config has '"):
        tune(lambda trial: trial.config["lr"])


def test_a_key_error_of_another_dictionary_that_has_the_name_of_a_parameter_says_nothing_of_the_parameters():
    with pytest.raises(EverythingFailed) as raised:
        tune(lambda trial: {}["x"])
    assert "trial.config has" not in str(raised.value)


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (lambda: 1.0, r"the objective objective\(\) must take one argument, the trial.*trial\.config\['width'\]"),
        (lambda x, width: x, r"objective\(x, width\) must take one argument.*functools\.partial"),
    ],
)
def test_an_objective_that_does_not_take_a_trial(objective, words):
    with pytest.raises(ObjectiveError, match=words):
        tune(objective, {"width": (1, 8)})


def test_an_objective_with_further_arguments_that_have_defaults_is_fine():
    assert tune(lambda trial, factor=2: factor * trial.config["x"]).spent["evaluations"] == 3


@pytest.mark.parametrize(
    ("name", "meant"),
    [("bayes", "gp"), ("Bayesian optimization", "gp"), ("BO", "gp"), ("successive_halving", "sh"), ("cma-es", "cmaes"),
     ("random_search", "random"), ("hyperbnd", "hyperband"), ("TPESampler", "tpe")],
)  # fmt: skip
def test_the_name_of_a_method_in_another_library(name, meant):
    with pytest.raises(MethodError, match=rf"there is no method '{name}'; did you mean '{meant}'.*\? Known are"):
        tune(method=name)


def test_a_class_in_place_of_a_method():
    with pytest.raises(MethodError, match=r"the class RandomSearch: create one, RandomSearch\(\)"):
        tune(method=ss.methods.RandomSearch)


def test_the_place_of_an_error_is_in_your_file():
    with pytest.raises(EverythingFailed, match=r"suggest_float.*\(test_newcomers\.py:\d+\)"):
        tune(lambda trial: trial.suggest_float("x", 0, 1))


def command(*words):
    return CliRunner().invoke(main, words)


@pytest.mark.parametrize(("given", "meant"), [("statsu", "status"), ("tune", "run"), ("ui", "dashboard")])
def test_an_unknown_command(given, meant):
    result = command(given)
    assert result.exit_code == 2
    assert f"there is no command '{given}'; did you mean '{meant}'?" in result.output


def test_an_unknown_command_that_is_like_none():
    assert "there is no command 'xyz'. All commands: shoestring --help" in command("xyz").output


def test_a_script_that_reads_its_arguments_when_it_is_imported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', required=True)\n"
        "options = parser.parse_args()\nspace = {'x': (0.0, 1.0)}\ndef train(trial): return 1.0\n"
    )
    result = command("run", "train.py:train", "--budget", "3 evaluations")
    assert result.exit_code == 2
    assert "train.py ended while it was imported" in result.output
    assert "shoestring run --param lr=log:1e-4:1 -- python train.py --lr {lr}" in result.output


SWEEPS = {
    "misspelt": (
        "objective: train.py:train\nspaces: {x: 0.0:1.0}\n",
        r"'spaces' of a sweep .*; did you mean 'space'\?.* max_resource,",
    ),
    "no budget": (
        "command: [python, -c, 'print({x})']\nspace: {x: 0.0:1.0}\n",
        r"say how much may be spent: --budget '300 steps'.*, or budget: in s\.yaml",
    ),
    "a text": (
        "command: python t.py {x}\nbudget: 9 evaluations\nspace: {x: 0.0:1.0}\n",
        r"give a list of arguments, such as \['python', 't\.py', '\{x\}'\]",
    ),
    "no metric": (
        "program: t.py\nmethod: bayes\nparameters: {x: {min: 0.1, max: 1}}\n",
        r"the sweep has no metric; .*metric: \{name: loss\}",
    ),
    "no program": (
        "program: t.py\nmetric: {name: a}\nparameters: {x: {values: [1, 2]}}\n",
        r"there is no file t\.py in .*, where the command would be run",
    ),
}


@pytest.mark.parametrize("case", SWEEPS)
def test_a_sweep_file_that_cannot_be_run(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, words = SWEEPS[case]
    (tmp_path / "s.yaml").write_text(text)
    result = command("run", "s.yaml", *(() if case == "no budget" else ("--budget", "3 evaluations")))
    assert result.exit_code == 2
    assert re.search(words, result.output)
    assert not (tmp_path / "shoestring.db").exists()


def test_a_command_without_the_dashes_before_it():
    result = command("run", "--budget", "3 evaluations", "--param", "lr=0:1", "python", "train.py", "--lr", "{lr}")
    assert result.exit_code == 2
    assert "write two dashes before the command that is tuned: shoestring run OPTIONS -- python ..." in result.output
    assert "Did you mean '--budget'?" in command("run", "train.py:train", "--budgt", "3").output


SCRIPT = """
import sys, time
import shoestring as ss

def train(trial):
    while True:
        print("step", flush=True)
        time.sleep(float(sys.argv[1]))
        yield trial.config["x"]

study = ss.tune(train, {"x": (0.0, 1.0)}, budget="8 steps", max_resource=2, method="random", STORED)
print("spent", study.spent["steps"])
"""


def interrupted(tmp_path, stored):
    """The output of a script that Ctrl-C ends in its second step."""
    (tmp_path / "train.py").write_text(SCRIPT.replace("STORED", stored))
    process = subprocess.Popen(
        [sys.executable, "train.py", "30"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "step\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C cannot be sent to one process on Windows")
class TestCtrlC:
    def test_ends_a_script_with_one_line_and_the_command_to_continue(self, tmp_path):
        code, errors = interrupted(tmp_path, "storage='a.db', name='a'")
        python = os.path.basename(sys.executable)
        assert errors.strip() == f"Interrupted; no step will be run again. Continue with: {python} train.py 30"
        assert code == -signal.SIGINT
        again = subprocess.run(
            [sys.executable, "train.py", "0"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
        )
        assert again.stdout.endswith("spent 8\n")

    def test_says_that_a_study_in_memory_is_lost(self, tmp_path):
        _, errors = interrupted(tmp_path, "seed=0")
        assert errors.strip().startswith("Interrupted. The study was in memory only; with storage= and name=")
        assert "Traceback" not in errors

    def test_can_still_be_caught_and_is_explained_by_a_note(self):
        def interrupts(trial):
            raise KeyboardInterrupt

        before = sys.excepthook
        try:
            with pytest.raises(KeyboardInterrupt) as raised:
                tune(interrupts)
            assert "in memory only" in raised.value.__notes__[0]
        finally:
            sys.excepthook = before
