"""What every executor must hold to: the same study, whatever runs it.

The objectives are at the top level of this module so that other processes can load them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoestring.core.budget import Budget
from shoestring.core.composition import compose
from shoestring.executors import Executor, Trial
from shoestring.samplers import Random
from shoestring.schedulers import ASHA, Full
from shoestring.study import Study

SPACE = {"x": (0.0, 1.0)}


def descending(trial: Trial) -> Iterator[float]:
    """The reading tells the step, and the files tell whether it was taken up rightly."""
    step = trial.start
    if step:
        assert int((trial.directory / "step").read_text()) == step
    while True:
        step += 1
        (trial.directory / "step").write_text(str(step))
        yield trial.config["x"] + 1 / step


def returning(trial: Trial) -> float:
    return float(trial.config["x"])


def breaking(trial: Trial) -> Iterator[float]:
    yield trial.config["x"]
    if trial.config["x"] < 0.5:
        raise ValueError("too small")
    yield trial.config["x"] / 2
    if trial.config["x"] < 0.75:
        yield float("nan")
    yield trial.config["x"] / 4


def ending_early(trial: Trial) -> Iterator[float]:
    yield 2.0
    yield 1.0


def check_executor(executor: Executor) -> None:
    """Readings arrive in order, paused trials go on where they were, failures are kept apart."""
    study = _study(Budget(steps=120), ASHA(), 9).run(descending, executor=executor)
    assert study.spent["steps"] == 120, "the budget was not spent exactly"
    for trial in study.trials:
        for step, reading in trial.readings.items():
            assert abs(reading.value - trial.config["x"] - 1 / step) < 1e-12, "a paused trial went on elsewhere"

    study = _study(Budget(evaluations=10), Full(), None).run(returning, executor=executor)
    assert len(study.trials) == 10
    assert all(trial.state == "finished" for trial in study.trials)

    study = _study(Budget(steps=60), Full(), 5).run(breaking, executor=executor)
    _check_failures(study)

    study = _study(Budget(evaluations=4), Full(), 5).run(ending_early, executor=executor)
    assert all(t.state == "finished" and t.step == 2 for t in study.trials), "an early end is not a failure"


def _check_failures(study: Study) -> None:
    for trial in study.trials:
        if trial.config["x"] < 0.5 and trial.state != "paused":
            assert trial.state == "failed", f"a trial that raised is {trial.state}"
            assert "too small" in trial.message
            assert trial.step == 1
        elif trial.config["x"] < 0.75 and trial.state != "paused":
            assert trial.state == "failed", f"a trial that gave NaN is {trial.state}"
            assert "nan" in trial.message


def _study(budget: Budget, scheduler: Any, max_resource: int | None) -> Study:
    return Study(SPACE, budget=budget, method=compose(Random(), scheduler), max_resource=max_resource)
