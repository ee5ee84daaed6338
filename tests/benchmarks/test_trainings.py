"""The trainings of the user suite: every one can be played, repeats by its seed and can be resumed."""

import math
from itertools import islice
from types import SimpleNamespace

import pytest
from threadpoolctl import threadpool_limits

import shoestring as ss
from benchmarks.tasks.trainings import trainings

TASKS = trainings()
each = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


@pytest.fixture(autouse=True)
def one_thread():
    """Several threads only get in each other's way with matrices this small."""
    with threadpool_limits(1):
        yield


def trial(task, seed=1, start=0, **changes):
    config = dict(task.space.get_default_configuration()) | changes
    return SimpleNamespace(config=config, seed=seed, start=start)


def readings(task, count, **given):
    return list(islice(task.objective(trial(task, **given)), count))


def test_names_differ():
    assert len({task.name for task in TASKS}) == len(TASKS) >= 8


@each
def test_readings_are_finite_and_have_a_test_value(task):
    for reading in readings(task, 3):
        assert math.isfinite(reading.value)
        assert math.isfinite(reading.metrics["test"])


@each
def test_the_seed_decides(task):
    assert readings(task, 3) == readings(task, 3)
    assert readings(task, 3) != readings(task, 3, seed=2)


@each
def test_a_resumed_training_goes_on_as_if_it_had_not_been_interrupted(task):
    assert readings(task, 2, start=2) == readings(task, 4)[2:]


@each
def test_trainings_are_independent_of_each_other(task):
    first, second = task.objective(trial(task)), task.objective(trial(task, seed=2))
    pairs = list(islice(zip(first, second, strict=False), 3))
    assert [one for one, _ in pairs] == readings(task, 3)


@each
def test_a_study_runs_it(task):
    study = ss.tune(
        task.objective, task.space, budget=ss.Budget(steps=12), max_resource=task.max_resource, method="asha",
        mode=task.mode, progress=False,
    )  # fmt: skip
    assert study.spent.steps == 12
    assert all("test" in reading.metrics for trial in study.trials for reading in trial.readings.values())


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("random features", {"rate": 10.0, "averaged": False}),
        ("factorised ratings", {"rate": 0.3, "momentum": 0.9}),
        ("network with dropout", {"rate": 3.0, "momentum": 0.95, "init": 3.0}),
    ],
)
def test_large_learning_rates_give_readings_that_are_not_finite(name, changes):
    task = task_of(name)
    assert not all(math.isfinite(reading.value) for reading in readings(task, task.max_resource, **changes))


def test_scikit_learn_raises_when_a_network_diverges():
    task = task_of("network on friedman")
    with pytest.raises(ValueError, match="non-finite"):
        readings(task, task.max_resource, rate=1.0, alpha=10.0, momentum=0.9, activation="tanh")


def task_of(name):
    (task,) = (task for task in TASKS if task.name == name)
    return task
