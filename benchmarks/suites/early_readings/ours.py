"""Our methods on the surrogate, through the public API: one study for each budget, as the budget is known to them."""

from __future__ import annotations

from collections.abc import Sequence

import shoestring as ss
from benchmarks.harness.kept import key, runs
from benchmarks.tasks.yahpo_lcbench import EPOCHS, SPACE, Problem, model_version, references
from shoestring.core.decisions import Method
from shoestring.executors import Simulated

METHODS = (
    "auto", "gp", "bhpt", "asha", "asha-tpe", "hyperband", "bohb", "boss", "boss-mss", "random", "tpe",
)  # fmt: skip
WITHOUT_MODEL = ("boss without model", "boss-mss without model", "bohb as published")
IN_SECONDS = ("auto", "gp", "asha", "hyperband", "bohb", "random")
# The same brackets with random configurations (those of bohb and asha-tpe are hyperband and asha), the published
# settings of bohb, and the default blind to what steps cost.
VARIANTS: dict[str, Method] = {
    "boss without model": ss.methods.BOSS(sampler=ss.samplers.Random()),
    "boss-mss without model": ss.methods.BOSS(rule="mss", sampler=ss.samplers.Random()),
    "bohb as published": ss.methods.BOHB.paper(),
    "blind to prices": ss.methods.Forecast(prices="alike"),
}


def names(unit: str) -> tuple[str, ...]:
    """The methods that are played with budgets in a unit."""
    return (*METHODS, *WITHOUT_MODEL) if unit == "epochs" else IN_SECONDS


def errors(method: str, task: str, seed: int, unit: str, trainings: Sequence[int]) -> list[float]:
    """The best error that a study of each budget has seen: kept, or played now."""
    return [_kept(method, task, seed, unit, n) for n in trainings]


def _kept(method: str, task: str, seed: int, unit: str, trainings: int) -> float:
    name = key(task, seed, VARIANTS.get(method, method), surrogate=model_version(), unit=unit, trainings=trainings)
    return float(runs().get(name, lambda: played(method, task, seed, unit, trainings)))


def played(method: str, task: str, seed: int, unit: str, trainings: int) -> float:
    """The best error that a study has seen; a budget in seconds is that of this many median trainings."""
    budget = (
        ss.Budget(steps=trainings * EPOCHS) if unit == "epochs"
        else ss.Budget(seconds=trainings * references()[task].seconds)
    )  # fmt: skip
    study = ss.Study(SPACE, budget=budget, method=VARIANTS.get(method, method), max_resource=EPOCHS, seed=seed)
    study.run(Problem(task), executor=Simulated(1), progress=False)
    return min(reading.value for trial in study.trials for reading in trial.readings.values())
