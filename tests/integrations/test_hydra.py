"""The sweeper of Hydra: real programs with --multirun, which pause, go on, are killed and are run again."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("hydra", reason="Hydra is not installed: pip install 'shoestring[hydra]'")

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_search_path import ConfigSearchPath

import shoestring as ss
from shoestring.errors import SpaceError, StudyNotFound
from shoestring.integrations.hydra_sweep import as_override, parameters_of
from shoestring.spaces.definition import space

PROGRAM = """
import os, time, hydra, shoestring as ss

@hydra.main(config_path=".", config_name="config", version_base="1.3")
def train(cfg):
    trial = ss.hydra.current_trial()
    error = trial.checkpoint.load() if trial and trial.start else 1.0
    for epoch in range(trial.start if trial else 0, 9):
        time.sleep(float(os.environ.get("STEP", 0)))
        error *= 1 - cfg.model.rate * (1 - cfg.model.rate)
        if trial:
            trial.checkpoint.save(error)
        ss.hydra.report(error, step=epoch + 1, layers=cfg.layers)
    print("trained to the end:", error)
    return error

if __name__ == "__main__":
    train()
"""

CONFIG = """
defaults: [_self_, {override hydra/sweeper: shoestring}]
model: {rate: 0.1}
layers: 2
act: relu
hydra:
  sweeper:
    budget: 40 steps
    max_resource: 9
    method: asha
    params:
      model.rate: interval(0,1)
      layers: {int: [1, 4]}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def run(folder, *words, program="train.py", environment=None):
    command = [sys.executable, program, *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, env={**os.environ, **(environment or {})}
    )


def stored(folder, name="train"):
    return ss.Study.load(folder / "shoestring.db", name)


def test_jobs_are_stopped_early_and_go_on_from_their_checkpoints(folder):
    done = run(folder, "-m", "act=relu,tanh")
    assert done.returncode == 0, done.stderr
    study = stored(folder)
    assert [trial.message for trial in study.trials if trial.message] == []
    assert study.spent.steps == 40 == sum(trial.step for trial in study.trials)
    assert any(grant.start for grant in study.history.grants)
    assert set(study.trials[0].config) == {"model.rate", "layers", "act"}
    assert study.trials[0].readings[1].metrics == {"layers": float(study.trials[0].config["layers"])}
    for trial in study.trials:  # a training that started over would have other values
        rate, error = trial.config["model.rate"], 1.0
        for step in range(1, trial.step + 1):
            error *= 1 - rate * (1 - rate)
            assert trial.readings[step].value == pytest.approx(error)
    results = next(folder.rglob("optimization_results.yaml")).read_text()
    assert "name: shoestring" in results
    assert f"best_value: {study.best.value}" in results
    assert study.verify().ok

    assert run(folder, "-m", "act=relu,tanh", "hydra.sweeper.budget=50 steps").returncode == 0
    assert stored(folder).spent.steps == 50
    assert stored(folder).verify().ok

    again = "hydra.sweeper.name=again", "hydra.sweeper.past=[shoestring.db]", "+hydra.sweeper.guess.layers=3"
    done = run(folder, "-m", "act=relu,tanh", "hydra.sweeper.seed=1", *again)
    assert done.returncode == 0, done.stderr
    assert stored(folder, "again").trials[0].config["layers"] == 3
    assert {entry["origin"] == "guess" for entry in stored(folder, "again").history.opened.plan} == {True, False}


def test_the_program_trains_once_without_multirun(folder):
    done = run(folder, "model.rate=0.5")
    assert done.returncode == 0, done.stderr
    assert "trained to the end" in done.stdout
    assert not (folder / "shoestring.db").exists()


def test_a_sweep_that_is_killed_goes_on_when_it_is_run_again(folder):
    command = [sys.executable, "train.py", "-m", "hydra.sweeper.seed=3"]
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, "STEP": "0.05"}, stdout=subprocess.DEVNULL)
    spent = 0.0
    while process.poll() is None and spent <= 9:
        time.sleep(0.05)
        with suppress(StudyNotFound):  # the file is there before its first study is
            spent = stored(folder).spent.steps if (folder / "shoestring.db").exists() else 0.0
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert stored(folder).spent.steps < 40
    done = run(folder, "-m", "hydra.sweeper.seed=3")
    assert done.returncode == 0, done.stderr
    study = stored(folder)
    assert study.spent.steps == 40
    assert study.verify().ok


@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_two_jobs_at_once_in_a_launcher(folder, launcher):
    plugin = f"hydra_plugins.hydra_{launcher.partition('_')[0]}_launcher"
    pytest.importorskip(plugin, reason=f"the launcher {launcher} is not installed")
    done = run(folder, "-m", f"hydra/launcher={launcher}", "hydra.sweeper.workers=2", "hydra.sweeper.budget=24 steps")
    assert done.returncode == 0, done.stderr
    study = stored(folder)
    assert [trial.message for trial in study.trials if trial.message] == []
    assert study.spent.steps == 24 == sum(trial.step for trial in study.trials)
    assert any(grant.start for grant in study.history.grants)


BLACK_BOX = """
import hydra

@hydra.main(config_path=".", config_name="config", version_base="1.3")
def measure(cfg):
    if cfg.x < -4:
        raise RuntimeError("no such place")
    assert cfg.text in ("a b", "it's", "null"), cfg.text
    assert cfg.model.name in ("small", "large")
    return (cfg.x - 1) ** 2 + (cfg.model.name == "large")

measure()
"""


def test_a_function_that_returns_its_value_and_configuration_groups(folder):
    (folder / "train.py").write_text(BLACK_BOX)
    config = "defaults: [model: small, _self_, {override hydra/sweeper: shoestring}]\nx: 0\ntext: a b\n"
    (folder / "config.yaml").write_text(f"{config}hydra: {{sweeper: {{method: random, budget: 30 evaluations}}}}\n")
    (folder / "model").mkdir()
    for name in ("small", "large"):
        (folder / "model" / f"{name}.yaml").write_text(f"name: {name}\n")
    words = ["x=interval(-5,5)", "model=small,large", r"text='a b','it\'s','null'", "hydra.sweeper.name=box"]
    done = run(folder, "-m", *words)
    assert done.returncode == 0, done.stderr
    study = stored(folder, "box")
    assert study.spent.evaluations == 30
    failed = [trial for trial in study.trials if trial.state == "failed"]
    assert all("no such place" in trial.message and trial.config["x"] < -4 for trial in failed)
    assert {trial.config["model"] for trial in study.trials} == {"small", "large"}
    assert {trial.config["text"] for trial in study.trials} == {"a b", "it's", "null"}
    assert study.best.config["model"] == "small"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is nothing to tune"),
        (["model.rate=interval(0,1)", "hydra.sweeper.budget=null"], "hydra.sweeper.budget"),
        (["model.rate=interval(0,1)", "hydra.sweeper.method=tpee"], "no method 'tpee'"),
        (["nothing=interval(0,1)"], "nothing"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(folder, words, message):
    (folder / "config.yaml").write_text(CONFIG.partition("    params")[0])
    done = run(folder, "-m", *words)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "shoestring.db").exists() or not stored(folder).trials


@pytest.fixture
def loader():
    from hydra._internal.config_search_path_impl import ConfigSearchPathImpl

    path: ConfigSearchPath = ConfigSearchPathImpl()
    return ConfigLoaderImpl(config_search_path=path)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("x=interval(-5,5)", "Float -5.0 5.0 False"),
        ("x=int(interval(1,4))", "Integer 1 4 False"),
        ("x=tag(log,interval(0.1,1))", "Float 0.1 1.0 True"),
        ("x=tag(log,int(interval(1,100)))", "Integer 1 100 True"),
        ("x=range(1,5)", "Integer 1 4 False"),
        ("x=range(16,65,step=16)", "sequence (16, 32, 48, 64)"),
        ("x=range(0.0,1.0,step=0.25)", "sequence (0.0, 0.25, 0.5, 0.75)"),
        ("x=log:1e-4:1", "Float 0.0001 1.0 True"),
        ("x=1:4", "Integer 1 4 False"),
        ("x=0.0:0.5", "Float 0.0 0.5 False"),
        ("x=a,b", "choices ('a', 'b')"),
        ("x=choice(2,2.5,true,nulls)", "choices (2, 2.5, True, 'nulls')"),
        ("x=1,null", "choices (1, None)"),
        ("x=[1,2],[3]", "choices ([1, 2], [3])"),
        ("+x=a,b", "choices ('a', 'b')"),
    ],
)
def test_overrides_are_parameters(loader, override, expected):
    varied, fixed = parameters_of({}, [override, "y=3", "z='a b'"], loader)
    own = space({"x": next(iter(varied.values()))})["x"]
    found = f"{type(own).__name__.removeprefix('Uniform').removesuffix('Hyperparameter')} "
    if hasattr(own, "choices"):
        found = f"choices {tuple(own.choices)}"
    elif hasattr(own, "sequence"):
        found = f"sequence {tuple(own.sequence)}"
    else:
        found += f"{own.lower} {own.upper} {own.log}"
    assert found == expected
    assert fixed == ["y=3", "z='a b'"]
    assert next(iter(varied)) == override.partition("=")[0]


def test_what_is_typed_counts_instead_of_the_configuration(loader):
    params = {"x": "interval(0,1)", "y": [1, 2], "z": {"choice": ["a", "b"]}, "w": 3, "v": "log:1e-3:1"}
    varied, fixed = parameters_of(params, ["x=5", "+y=4,5"], loader)
    assert (varied.keys(), fixed) == ({"+y", "z", "v"}, ["w=3", "x=5"])
    with pytest.raises(SpaceError, match="is a dictionary"):
        parameters_of({}, ["x={a:1},{b:2}"], loader)
    with pytest.raises(SpaceError, match="the parameter 'x'"):
        parameters_of({"x": {"float": 3}}, [], loader)


@pytest.mark.parametrize("value", [
    0.1, 1e-7, -3, True, None, "a", "true", "null", "1", "a b", "it's", "a,b", "", "${x}", [1, "a b", [None]], "a=b",
    "x/y.z", "ä", "back\\slash", 'quo"te',
])  # fmt: skip
def test_values_survive_an_override(loader, value):
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parsed = OverridesParser.create(config_loader=loader).parse_override(f"x={as_override(value)}")
    assert parsed.value() == value
    assert not parsed.is_sweep_override()


def test_the_script_of_the_page_runs(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "hydra.md").read_text()
    (tmp_path / "train.py").write_text(re.search(r"```py\n(.*?)```", page, re.DOTALL)[1])
    (tmp_path / "config.yaml").write_text(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    done = run(tmp_path, "-m")
    assert done.returncode == 0, done.stderr
    assert stored(tmp_path).spent.steps == 60
