"""Sweep files: what Weights & Biases' say and ours, with real programs; what has no counterpart is refused by name."""

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import shoestring as ss
from shoestring.cli import main
from shoestring.errors import ShoestringError
from shoestring.exchange.sweep_file import read_sweep
from shoestring.exchange.wandb_space import space_of
from shoestring.exchange.wandb_sweep import from_wandb

pytest.importorskip("yaml", reason="sweep files need PyYAML: pip install 'shoestring[sweeps]'")

PROGRAM = """
import argparse, ast, json, os
parser = argparse.ArgumentParser()
for name in ("lr", "act", "nesterov", "epochs", "optimizer"):
    parser.add_argument("--" + name)
given = parser.parse_args()
optimizer = ast.literal_eval(given.optimizer)
assert given.nesterov in ("True", "False")
assert optimizer["name"] in ("sgd", "adam") and optimizer["betas"] == [0.9, 0.99]
for epoch in range(1, int(given.epochs) + 1):
    loss = (float(given.lr) - 0.01) ** 2 + optimizer["decay"] + 1 / epoch
    print(json.dumps({"step": epoch, "loss": loss, "lr": float(given.lr)}), flush=True)
"""

WANDB = """
program: train.py
project: digits
method: bayes
metric: {name: loss, goal: minimize}
early_terminate: {type: hyperband, max_iter: 9, s: 2, eta: 3}
run_cap: 9
parameters:
  lr: {distribution: log_uniform_values, min: 1e-4, max: 1e-1}
  act: {values: [relu, tanh]}
  nesterov: {values: [true, false]}
  epochs: {value: 9}
  optimizer:
    parameters:
      name: {values: [sgd, adam]}
      betas: {value: [0.9, 0.99]}
      decay: {distribution: q_uniform, min: 0, max: 0.1, q: 0.01}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def shoestring(*words):
    return CliRunner().invoke(main, words)


def run(text, *words):
    Path("sweep.yaml").write_text(text)
    done = shoestring("run", "sweep.yaml", "--quiet", *words)
    assert done.exit_code == 0, done.output
    return ss.Study.load("shoestring.db", "sweep")


def test_a_sweep_of_wandb_runs_its_program(folder):
    study = run(WANDB)
    assert [trial.message for trial in study.trials if trial.message] == []
    assert study.spent.evaluations == 9
    assert study.history.max_resource == 9
    assert (study.history.opened.method["class"], study.history.opened.mode) == ("Composed", "min")
    assert study.history.opened.method["scheduler"]["min_resource"] == 1
    assert {grant.until for grant in study.history.grants} <= {1, 3, 9}
    assert any(grant.until > 1 for grant in study.history.grants)
    assert set(study.trials[0].config) == {"lr", "act", "nesterov", "optimizer.name", "optimizer.decay"}
    assert study.trials[0].readings[1].metrics["lr"] == study.trials[0].config["lr"]
    assert study.verify().ok


def test_running_the_file_again_continues_and_options_that_are_typed_count(folder):
    run(WANDB)
    study = run(WANDB, "--budget", "12 evaluations")
    assert study.spent.evaluations == 12
    assert shoestring("resume", "shoestring.db", "--budget", "13 evaluations", "--yes", "--quiet").exit_code == 0
    run(WANDB.replace("bayes", "random"), "--storage", "other.db", "--seed", "3", "--name", "n")
    assert ss.Study.load("other.db", "n").history.seed == 3


def test_a_sweep_of_our_own_trains_from_checkpoint_to_checkpoint(folder):
    (folder / "train.py").write_text(
        "import sys, pathlib\n"
        "lr, until, folder = float(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])\n"
        "file = folder / 'state'\n"
        "start, error = map(float, file.read_text().split()) if file.exists() else (0, 1.0)\n"
        "for _ in range(int(start), until):\n"
        "    error *= 1 - lr * (1 - lr)\n"
        "    print(error, flush=True)\n"
        "file.write_text(f'{until} {error}')\n"
    )
    study = run(f"""
command: [{json.dumps(sys.executable)}, train.py, "{{lr}}", "{{until}}", "{{directory}}"]
space:
  lr: 0.0:1.0
budget: 60 steps
max_resource: 9
method: asha
seed: 1
""")
    assert study.spent.steps == 60 == sum(trial.step for trial in study.trials)
    assert any(grant.start for grant in study.history.grants)
    assert study.history.seed == 1


def test_a_sweep_of_our_own_may_name_a_function(folder):
    (folder / "own.py").write_text("space = {'x': (0.0, 1.0)}\ndef f(trial):\n    return trial.config['x']\n")
    assert len(run("objective: own.py:f\nbudget: 5 evaluations\nmethod: random\n").trials) == 5
    ranges = "space:\n  x: {float: [0, 1]}\n  layers: 1:4\n  width: log:16:256\n  act: relu,tanh\n  k: [1, 2]\n"
    run(f"{ranges}objective: own.py:f\nbudget: 5 evaluations\nname: other\n", "--name", "typed")
    first = ss.Study.load("shoestring.db", "typed").trials[0].config
    assert {name: type(value) for name, value in first.items()} == {
        "x": float, "layers": int, "width": int, "act": str, "k": int,
    }  # fmt: skip
    learnt = "past: auto\nguess: {k: 2, layers: 3}\nseed: 1\n"
    run(f"{ranges}{learnt}objective: own.py:f\nbudget: 5 evaluations\nname: learnt\n")
    study = ss.Study.load("shoestring.db", "learnt")
    assert (study.trials[0].config["k"], study.trials[0].config["layers"]) == (2, 3)
    assert {entry["origin"] == "guess" for entry in study.history.opened.plan} == {True, False}


def config_space(**spec):
    return space_of([("x", spec)], as_text=True)["x"]


@pytest.mark.parametrize(
    ("spec", "low", "high", "log"),
    [
        ({"min": 1, "max": 4}, 1, 4, False),
        ({"min": 0.0, "max": 4}, 0.0, 4.0, False),
        ({"distribution": "uniform", "min": 0, "max": 4}, 0.0, 4.0, False),
        ({"distribution": "log_uniform", "min": -2, "max": 0}, 0.1353, 1.0, True),
        ({"distribution": "log_uniform_values", "min": 0.1, "max": 1}, 0.1, 1.0, True),
        ({"distribution": "inv_log_uniform", "min": 0, "max": 2}, 0.1353, 1.0, True),
        ({"distribution": "inv_log_uniform_values", "min": 0.1, "max": 1}, 0.1, 1.0, True),
        ({"distribution": "normal", "mu": 1.0, "sigma": 0.5}, -0.5, 2.5, False),
    ],
)
def test_ranges_of_wandb(spec, low, high, log):
    found = config_space(**spec)
    assert (found.lower, found.upper) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))
    assert getattr(found, "log", False) == log
    assert ("Integer" in type(found).__name__) == (type(low) is int)


def test_choices_and_steps_of_wandb():
    assert config_space(values=[1, 2]).choices == (1, 2)
    assert config_space(values=[True, False, None]).choices == ("True", "False", "None")
    weighed = config_space(values=["a", "b"], probabilities=[0.25, 0.75])
    assert weighed.probabilities.tolist() == [0.25, 0.75]
    assert config_space(distribution="q_uniform", min=0, max=10, q=5).sequence == (0, 5, 10)
    assert config_space(distribution="q_uniform", min=0.0, max=0.3, q=0.1).sequence == (0, 0.1, 0.2, 0.3)
    assert config_space(distribution="q_log_uniform_values", min=32, max=96, q=32).sequence == (32, 64, 96)


SMALL = {"program": "t.py", "metric": {"name": "loss"}, "parameters": {"lr": {"min": 0.1, "max": 1.0}}, "run_cap": 3}


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        (["${env}", "${interpreter}", "${program}", "${args}"], ("python", "t.py", "--lr={lr}")),
        (["a", "${args_no_hyphens}"], ("a", "lr={lr}")),
        (["a", "${args_no_equals}"], ("a", "--lr", "{lr}")),
        (["a", "${args_override_hydra}"], ("a", "++lr={lr}")),
        (["a", "${args_append_hydra}"], ("a", "+lr={lr}")),
        (["a", "${args_no_boolean_flags}"], ("a", "--lr={lr}")),
        (["a", "${args_json}"], ("a", '{{"lr": {lr}}}')),
        (["a", "--out=${envvar:FOLDER}/{x}", "${args}"], ("a", "--out=/here/{{x}}", "--lr={lr}")),
    ],
)
def test_macros_of_wandb(command, argv, monkeypatch):
    monkeypatch.setenv("FOLDER", "/here")
    assert from_wandb({**SMALL, "command": command}).objective.argv == argv


def test_json_of_wandb_has_texts_booleans_and_groups():
    parameters = {
        "act": {"values": ["relu", "tanh"]}, "fast": {"values": [True, False]}, "n": {"value": {"a": None}},
        "inner": {"parameters": {"x": {"min": 0.5, "max": 1.0}}},
    }  # fmt: skip
    found = from_wandb({**SMALL, "command": ["a", "${args_json}"], "parameters": parameters})
    filled = found.objective.argv[1]
    for name, value in {"act": "relu", "fast": "true", "inner.x": "0.7"}.items():
        filled = filled.replace(f"{{{name}}}", value)
    filled = filled.replace("{{", "{").replace("}}", "}")
    assert json.loads(filled) == {"act": "relu", "fast": True, "n": {"a": None}, "inner": {"x": 0.7}}
    assert found.space["fast"].choices == (True, False)


def test_what_a_grid_of_wandb_costs_follows_from_its_values():
    parameters = {"a": {"values": [1, 2, 3]}, "b": {"values": [1, 2]}, "c": {"value": 5}}
    given = {**SMALL, "method": "grid", "parameters": parameters}
    del given["run_cap"]
    assert from_wandb(given).options["budget"] == "6 evaluations"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"controller": {}}, "'controller' of a sweep has no counterpart"),
        ({"method": "custom"}, "no method 'custom'"),
        ({"method": "forecast", "early_terminate": {"type": "hyperband", "min_iter": 1}}, "stops trials by itself"),
        ({"method": "random", "early_terminate": {"type": "envelope"}}, "hyperband"),
        ({"method": "random", "early_terminate": {"type": "hyperband", "min_iter": 1, "strict": True}}, "'strict'"),
        ({"method": "random", "early_terminate": {"type": "hyperband"}}, "neither min_iter nor max_iter"),
        ({"method": "random", "early_terminate": {"type": "hyperband", "min_iter": "1"}}, "min_iter"),
        ({"method": "random", "early_terminate": {"type": "hyperband", "min_iter": 1}}, "has no max_iter"),
        ({"method": ["random"]}, "no method"),
        ({"metric": {"name": "loss", "goal": ["minimize"]}}, "minimize or maximize"),
        ({"parameters": {"x": {"distribution": ["beta"]}}}, "of the parameter x"),
        ({"metric": {"name": "loss", "impute": "worst"}}, "'impute' of metric"),
        ({"metric": {"name": "loss", "goal": "best"}}, "minimize or maximize"),
        ({"metric": None}, "the sweep has no metric"),
        ({"program": None}, "program is None"),
        ({"command": "python t.py"}, "it must be a list"),
        ({"command": ["a", "${args_json_file}"]}, "args_json_file"),
        ({"command": ["a", "${args_no_boolean_flags}"], "parameters": {"x": {"values": [True, False]}}}, "boolean"),
        ({"parameters": {"x": {"distribution": "beta", "min": 0, "max": 1}}}, "'beta' of the parameter x"),
        ({"parameters": {"x": {"distribution": "uniform", "min": 0}}}, "which needs 'max'"),
        ({"parameters": {"x": {"distribution": "uniform", "min": "a", "max": 1}}}, "cannot be uniform"),
        ({"parameters": {"x": {"distribution": "q_uniform", "min": 0, "max": 1, "q": 0}}}, "q must be above 0"),
        ({"parameters": {"x": {"min": 0}}}, "write value:, values:, or min: and max:"),
        ({"parameters": {"x": {"step": 3}}}, "'step' of the parameter x"),
        ({"parameters": {"x": {"values": "ab"}}}, "values: is a list"),
        ({"parameters": {"x": 3}}, "the parameter x is 3"),
        ({"parameters": {"x y": {"min": 0, "max": 1}}}, "must be a text without spaces"),
        ({"parameters": {"x": {"value": 3}}}, "nothing to tune"),
        ({"parameters": {"o": {"parameters": {"x": {"values": ["it's", "b"]}}}}}, "between quotes"),
        ({"parameters": {"o": {"parameters": {"x": {"values": ["a", 1]}}}}}, "mixes texts"),
        ({"parameters": {}}, "parameters is {}"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(change, named):
    with pytest.raises(ShoestringError, match=named.replace("(", "[(]")):
        from_wandb({**SMALL, **change})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a: [", "cannot be read"),
        ("!!python/object/apply:os.system [ls]", "cannot be read"),
        ("- a", "is not a sweep"),
        ("command: [a, '{x}']\nspace: {x: 0.0:1.0}\nbudgets: 3 steps", "'budgets' of a sweep"),
        ("command: [a, '{x}']\nobjective: a.py:f", "one of them"),
        ("space: {x: 1:4}", "one of them"),
        ("objective: a.py:f\nvalue: loss", "value: is for a command"),
        ("command: [a, '{x}']\nspace: 3", "space is 3"),
        ("command: [a, '{x}']\nspace: {x: {float: 3}}", "the parameter 'x'"),
    ],
)
def test_a_file_that_is_not_a_sweep_is_refused(text, named, tmp_path):
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(ShoestringError, match=named):
        read_sweep(tmp_path / "s.yaml")


def test_the_command_line_says_what_is_missing(folder):
    assert "there is no file sweep.yaml" in shoestring("run", "sweep.yaml").output
    Path("sweep.yaml").write_text("objective: own.py:f\n")
    Path("own.py").write_text("space = {'x': (0.0, 1.0)}\ndef f(trial):\n    return 1.0\n")
    assert "--budget" in shoestring("run", "sweep.yaml").output
    assert "--param is for a command" in shoestring("run", "sweep.yaml", "--param", "x=1:2").output


def test_numbers_are_those_of_yaml_1_2(tmp_path):
    text = "command: [a, '{x}']\nspace: {x: 1:4, y: 1e-4, z: [1e-3, 0.5, -.5, 7]}\n"
    (tmp_path / "s.yaml").write_text(text)
    assert read_sweep(tmp_path / "s.yaml").space == {"x": (1, 4), "y": 1e-4, "z": [1e-3, 0.5, -0.5, 7]}


def test_the_files_of_the_page_run(folder):
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
    theirs, ours = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (folder / "train.py").write_text(re.search(r"```py\n(.*?)```", page, re.DOTALL)[1])
    study = run(theirs)
    assert study.spent.evaluations == 12
    assert [trial.message for trial in study.trials if trial.message] == []
    (folder / "ours.yaml").write_text(ours)
    assert set(read_sweep(folder / "ours.yaml").space) == {"lr", "layers", "act", "width"}
