"""Trials on a real Ray cluster of three nodes on this machine: the contract, lost nodes, Ctrl-C and kill -9."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

import shoestring as ss
from shoestring.core.events import Adopted
from shoestring.errors import MethodError, ObjectiveError
from shoestring.executors import Ray
from shoestring.testing import check_executor

from . import objectives

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'shoestring[ray]'")
from ray.cluster_utils import Cluster

pytestmark = pytest.mark.filterwarnings("default")  # Ray has some of its own
SPACE = {"x": (0.0, 1.0)}


@pytest.fixture(scope="module")
def cluster():
    """A head with four CPUs and two pretended GPUs, and two nodes that can be removed."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 4, "num_gpus": 2, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=2, resources={"spare": 2})
    ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def run(objective, executor, budget, max_resource=2, **limits):
    study = ss.Study(SPACE, budget=budget, method="random", max_resource=max_resource)
    return study.run(objective, executor=executor, **limits)


@pytest.fixture(autouse=True)
def clean(cluster):
    """Every test leaves the cluster with all of its resources free."""
    yield
    assert_free()


def assert_free():
    until = time.monotonic() + 30
    while ray.available_resources().get("CPU") != ray.cluster_resources()["CPU"]:
        assert time.monotonic() < until, f"only {ray.available_resources()} are free of {ray.cluster_resources()}"
        time.sleep(0.05)


@pytest.mark.parametrize("executor", [Ray(3), Ray(2, alive=1, shared=False)], ids=repr)
def test_contract(executor):
    check_executor(executor)


def test_a_trial_whose_worker_dies_is_tried_once_more_by_default():
    study = run(objectives.dying, Ray(2), "6 evaluations")
    lost = [trial for trial in study.trials if trial.state == "lost"]
    assert lost
    assert all("worker" in trial.message for trial in lost)
    adopted = [event for event in study.events() if isinstance(event, Adopted)]
    assert sorted((e.trial, e.attempt, e.start, e.steps) for e in adopted) == [(t.index, 1, 0, 1) for t in lost]
    assert study.spent["steps"] == 12 + 2 * len(lost)


def test_more_workers_than_there_is_room_for_run_as_many_as_there_is():
    study = run(objectives.slow, Ray(30, resources={"CPU": 2}), "12 evaluations")
    assert {trial.state for trial in study.trials} == {"finished"}


def test_resources_decide_how_many_run_and_on_which_device():
    def placed(trial):
        time.sleep(0.05)
        return ss.Reading(trial.config["x"], device=int(trial.device), gpu=int(os.environ["CUDA_VISIBLE_DEVICES"]))

    study = run(placed, Ray(resources={"GPU": 1}), "12 evaluations", max_resource=None)
    seen = {(trial.readings[1].metrics["device"], trial.readings[1].metrics["gpu"]) for trial in study.trials}
    assert seen == {(0, 0), (1, 1)}


@pytest.mark.parametrize("workers", [None, 2])
def test_what_no_node_has_is_refused_with_what_there_is(workers):
    study = ss.Study(SPACE, budget="2 evaluations", method="random", max_resource=2)
    with pytest.raises(MethodError, match=r"'TPU': 1.*'GPU': 2"):
        study.run(objectives.slow, executor=Ray(workers, resources={"TPU": 1}, wait=0.5))
    assert study.spent["evaluations"] == 0


@pytest.mark.parametrize("options", [{"workers": 0}, {"resources": {}}, {"resources": {"CPU": 0}}, {"shared": True}])
def test_bad_options(options):
    with pytest.raises(MethodError, match=next(iter(options))):
        Ray(**options)


def test_an_objective_that_cannot_be_loaded_ends_the_run():
    class Unloadable:
        def __reduce__(self):
            return int, ("not a number",)

        def __call__(self, trial):
            return 1.0

    with pytest.raises(ObjectiveError, match="not a number"):
        run(Unloadable(), Ray(2), "2 evaluations", max_resource=None)


def saving(trial):
    """It notes its steps in its files, and takes a moment for each."""
    for step in range(trial.start + 1, 21):
        time.sleep(0.05)
        before = (trial.directory / "steps").read_text() if step > 1 else ""
        (trial.directory / "steps").write_text(before + f"{step} ")
        yield trial.config["x"] + 1 / step


@pytest.mark.parametrize("shared", [None, False])
def test_a_node_is_removed_and_its_trials_go_on_from_their_files(cluster, tmp_path, shared):
    node = cluster.add_node(num_cpus=2, resources={"spare": 2})

    def remove(study):
        nonlocal node
        if node and study.spent["steps"] > 30:
            cluster.remove_node(node)
            node = None

    study = ss.Study(SPACE, budget="160 steps", method="random", max_resource=20, storage=tmp_path / "study.db")
    study.run(
        saving, executor=_Watched(Ray(6, resources={"spare": 1}, shared=shared), lambda: remove(study)), keep=None
    )
    assert node is None
    adopted = [event for event in study.events() if isinstance(event, Adopted)]
    assert adopted, "no trial was on the node"
    assert all(event.start == study_step for event, study_step in zip(adopted, _steps_at(study, adopted), strict=True))
    assert study.spent["steps"] == 160
    assert study.verify().ok
    for trial in study.trials:
        if trial.state == "finished":
            files = study.directory(trial.index)
            assert (files / "steps").read_text().split() == [str(step) for step in range(1, 21)]


def _steps_at(study, adopted):
    """For each event of adoption, the last step of the trial that the log had then."""
    known, found = Counter(), []
    for event in study.events():
        if event in adopted:
            found.append(known[event.trial])
        elif event.kind == "reported":
            known[event.trial] = event.step
    return found


class _Watched:
    """An executor that calls something after every report."""

    def __init__(self, executor, then):
        self._executor, self._then = executor, then

    def open(self, objective, directory):
        session, then = self._executor.open(objective, directory), self._then

        class Session:
            def __getattr__(self, name):
                return getattr(session, name)

            def collect(self, until):
                then()
                return session.collect(until)

        return Session()


SCRIPT = """
import sys, time
import shoestring as ss

def train(trial):
    for step in range(trial.start + 1, 11):
        time.sleep(0.1)
        (trial.directory / "step").write_text(str(step))
        print("step", flush=True)
        yield trial.config["x"]

ss.tune(train, {"x": (0.0, 1.0)}, budget="40 steps", max_resource=10, method="random", storage="study.db",
        executor=ss.executors.Ray(2, address=sys.argv[1]), progress=False)
"""


def _spent(storage):
    """The steps of a study that a script is about to create."""
    try:
        return ss.Study.load(storage).spent["steps"] if storage.exists() else 0
    except ss.errors.StudyNotFound:
        return 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_script_leaves_the_cluster_clean_and_can_be_continued(cluster, tmp_path, how):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "script.py", cluster.address]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as script:
        try:
            until = time.monotonic() + 60
            while _spent(tmp_path / "study.db") < 5:
                assert script.poll() is None
                assert time.monotonic() < until
                time.sleep(0.1)
            script.send_signal(how)
            script.wait(timeout=60)
        finally:
            script.kill()
    assert_free()
    spent = ss.Study.load(tmp_path / "study.db").spent["steps"]
    assert 5 <= spent < 40
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    study = ss.Study.load(tmp_path / "study.db")
    assert study.spent["steps"] == 40
    assert study.verify().ok
    assert sum(trial.step for trial in study.trials) >= 38  # steps that were lost with the process are charged
