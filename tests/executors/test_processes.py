"""Trials in processes of their own: what hangs, dies or cannot travel."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import shoestring as ss
from shoestring.core.events import Adopted
from shoestring.errors import MethodError, ObjectiveError
from shoestring.executors import Processes

from . import objectives, slow_to_load

SPACE = {"x": (0.0, 1.0)}


def run(objective, executor, budget, max_resource=2, **limits):
    study = ss.Study(SPACE, budget=budget, method="random", max_resource=max_resource)
    return study.run(objective, executor=executor, **limits)


def test_a_trial_whose_process_dies_is_lost_and_the_study_goes_on():
    study = run(objectives.dying, Processes(2), "12 evaluations", retries=0)
    lost = [trial for trial in study.trials if trial.state == "lost"]
    assert lost
    assert all(trial.config["x"] < 0.5 and "code 3" in trial.message and trial.step == 1 for trial in lost)
    assert study.spent["steps"] == 24


def test_a_trial_whose_process_dies_is_tried_once_more_by_default():
    study = run(objectives.dying, Processes(2), "6 evaluations")
    lost = [trial for trial in study.trials if trial.state == "lost"]
    adopted = [event for event in study.events() if isinstance(event, Adopted)]
    assert sorted((e.trial, e.attempt, e.start, e.steps) for e in adopted) == [(t.index, 1, 0, 1) for t in lost]
    assert all("code 3" in event.message for event in adopted)
    # Of a lost trial, the first step is run twice and the second is lost twice.
    assert study.spent["steps"] == 12 + 2 * len(lost)


def test_a_reading_that_cannot_travel_is_a_number_all_the_same():
    study = run(objectives.unpicklable_reading, Processes(2), "3 evaluations", max_resource=1)
    assert all(trial.readings[1].value == trial.config["x"] for trial in study.trials)


def test_an_objective_that_cannot_travel_is_refused_before_anything_is_spent():
    lock = threading.Lock()
    study = ss.Study(SPACE, budget="3 evaluations", method="random")
    with pytest.raises(ObjectiveError, match=r"cannot pickle '_thread.lock'.* inside the objective"):
        study.run(lambda trial: lock.locked(), executor=Processes(2))
    assert study.spent["evaluations"] == 0


def test_lambdas_and_closures_travel():
    shift = 2.0
    study = run(lambda trial: trial.config["x"] + shift, Processes(2), "3 evaluations", max_resource=None)
    assert all(trial.readings[1].value == trial.config["x"] + 2 for trial in study.trials)


# What scripts do at their top level, and what must not happen again in each worker.
SCRIPT = """
import argparse, shutil, sys
from pathlib import Path
import shoestring as ss

Path("study.db").unlink(missing_ok=True)
with open("runs.txt", "a") as file:
    file.write("run\\n")
parser = argparse.ArgumentParser()
parser.add_argument("shift", type=float)
shift = parser.parse_args().shift
import reads_arguments

class Model:
    def value(self, x):
        return x + shift + reads_arguments.shift

def train(trial):
    yield Model().value(trial.config["x"])

try:
    ss.tune(train, {"x": (0.0, 1.0)}, budget="6 evaluations", max_resource=1, workers=2, storage="study.db")
finally:
    shutil.rmtree("out")
"""


def test_a_script_without_a_guard_runs_once(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "reads_arguments.py").write_text("import sys\nshift = float(sys.argv[1])\n")
    done = subprocess.run([sys.executable, "script.py", "3"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs.txt").read_text() == "run\n"
    study = ss.Study.load(tmp_path / "study.db")
    assert len(study.trials) == 6
    assert all(trial.readings[1].value == trial.config["x"] + 6 for trial in study.trials)


def test_what_was_typed_at_a_prompt_travels(tmp_path):
    program = """
import shoestring as ss
def loss(trial): return trial.config["x"]
study = ss.tune(loss, {"x": (0.0, 1.0)}, budget="4 evaluations", workers=2, method="random")
print(len(study.trials))
"""
    done = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "4", done.stderr


CACHES = """
import functools, os
import shoestring as ss

loads = []

@functools.cache
def load_data():
    loads.append(os.getpid())
    return [1, 2, 3]

@functools.lru_cache(maxsize=64, typed=True)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

class Settings:
    @functools.cached_property
    def depth(self):
        return len(load_data())

    @functools.cache
    def width(self, n):
        return fibonacci(n)

def train(trial):
    settings = Settings()
    assert (settings.depth, settings.width(20)) == (3, 6765)
    assert fibonacci.cache_parameters() == {"maxsize": 64, "typed": True}
    return ss.Reading(trial.config["x"], here=float(loads.count(os.getpid())))

if __name__ == "__main__":
    load_data()  # of no use to the workers
    ss.tune(train, {"x": (0.0, 1.0)}, budget="6 evaluations", method="random", workers=2, storage="study.db")
"""


@pytest.mark.parametrize("how", ["script", "command line"])
def test_functions_with_a_cache_travel_and_are_called_once_in_each_worker(tmp_path, how):
    (tmp_path / "script.py").write_text(CACHES + 'space = {"x": (0.0, 1.0)}\n')
    options = ["--name", "study", "--workers", "2", "--storage", "study.db", "--budget", "6 evaluations"]
    command = ["script.py"] if how == "script" else ["-m", "shoestring", "run", "script.py:train", *options]
    done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    trials = ss.Study.load(tmp_path / "study.db").trials
    assert [trial.message for trial in trials] == [""] * 6
    assert [dict(trial.readings[1].metrics)["here"] for trial in trials] == [1.0] * 6


def test_what_cannot_be_sent_is_named():
    lock = threading.Lock()

    def train(trial):
        with lock:
            return trial.config["x"]

    study = ss.Study(SPACE, budget="2 evaluations", method="random")
    with pytest.raises(
        ObjectiveError, match=r"refers to lock, something that cannot be pickled .*inside the objective"
    ):
        study.run(train, workers=2)
    assert not study.trials


def test_timeouts_do_not_count_loading():
    study = ss.Study(SPACE, budget="6 evaluations", method="random", max_resource=2)
    study.run(slow_to_load.sometimes_hanging, executor=Processes(1), trial_timeout=1.5)
    assert {trial.state for trial in study.trials} == {"failed", "finished"}


def placed(trial):
    gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "-1")
    time.sleep(0.05)
    yield ss.Reading(trial.config["x"], worker=trial.worker, device=trial.device, gpu=int(gpu), pid=os.getpid())
    if trial.config["x"] < 0.2:
        os._exit(3)
    yield 1.0


@pytest.mark.parametrize("kind", ["gpus", "devices"])
def test_each_worker_has_a_device_and_they_share_them_in_turn(kind, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    study = ss.Study(SPACE, budget="15 evaluations", method="random", max_resource=2)
    study.run(placed, workers=3, retries=0, **{kind: [4, 5]})
    seen = {tuple(trial.readings[1].metrics[name] for name in ("worker", "device", "gpu")) for trial in study.trials}
    assert {(worker, device) for worker, device, _ in seen} == {(0, 4), (1, 5), (2, 4)}
    assert all(gpu == (device if kind == "gpus" else 7) for _, device, gpu in seen)
    assert "lost" in {trial.state for trial in study.trials}, "no worker was replaced"


def test_a_device_is_given_also_to_one_worker():
    study = ss.Study(SPACE, budget="2 evaluations", method="random", max_resource=1).run(placed, gpus=["1"], retries=0)
    assert {trial.readings[1].metrics["gpu"] for trial in study.trials} == {1}


@pytest.mark.parametrize("options", [{"gpus": []}, {"gpus": 2}, {"devices": "cuda"}, {"gpus": [0], "devices": [0]}])
def test_bad_devices(options):
    with pytest.raises(MethodError, match=r"gpus|devices"):
        Processes(2, **options)
    with pytest.raises(MethodError, match="give them to the executor"):
        ss.Study(SPACE, budget="2 evaluations").run(placed, executor=Processes(2), gpus=[0])


class KilledWhileLoading:
    """An objective that kills the processes that load it, as long as there is a file of this name with a number."""

    def __init__(self, place):
        self.place = place

    def __setstate__(self, state):
        self.__dict__ = state
        left = int(self.place.read_text())
        if left:
            self.place.write_text(str(left - 1))
            os.kill(os.getpid(), signal.SIGKILL)

    def __call__(self, trial):
        return trial.config["x"]


def test_a_worker_that_is_killed_while_it_loads_is_replaced_and_an_objective_that_kills_them_all_is_refused(tmp_path):
    place = tmp_path / "left"
    study = ss.Study(SPACE, budget="2 evaluations", method="random")
    place.write_text("9")
    with pytest.raises(ObjectiveError, match="code -9 while it was loading"):
        study.run(KilledWhileLoading(place), executor=Processes(1))
    place.write_text("2")
    assert len(study.run(KilledWhileLoading(place), executor=Processes(1)).trials) == 2
