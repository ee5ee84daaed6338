"""Playing methods on tasks, ours and Optuna's, and keeping what was played.

With SHOESTRING_RUNS set to a file, every run is appended to it as a line of JSON and not played again.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ConfigSpace import CategoricalHyperparameter, OrdinalHyperparameter

import shoestring as ss
from batch_optimisation_parts.tasks import Task
from shoestring.core.decisions import Method
from shoestring.problems import Contest
from shoestring.spaces.codec import Codec

ROUNDS, BATCH = 20, 5


@dataclass(frozen=True)
class Run:
    """What one method found on one task with one seed, and the CPU seconds that it took to decide."""

    method: str
    task: str
    seed: int
    result: float
    cpu: float


class _UntilFound:
    """A study that ends when the best is found: what follows could not change the result."""

    def __init__(self, study: ss.Study, contest: Contest, task: Task) -> None:
        self._study, self._contest, self._task = study, contest, task

    @property
    def history(self) -> Any:
        return self._study.history

    def tell(self, grant: Any, readings: Any) -> None:
        self._study.tell(grant, readings)

    def ask(self) -> Any:
        history = self._study.history
        over = not self._task.noisy and not history.running and history.trials
        if over and abs(self._contest.result(history) - self._task.best) < 1e-12:
            return None
        return self._study.ask()


def play_ours(task: Task, method: Method, seed: int, contest: Contest | None = None) -> float:
    contest = contest or Contest.preliminary(task)
    study = ss.Study(
        contest.space, budget=contest.budget, method=method, mode=contest.mode, max_resource=contest.max_resource,
        seed=seed,
    )  # fmt: skip
    contest.play(_UntilFound(study, contest, task))
    return contest.result(study.history)


def play_optuna(task: Task, sampler: str, seed: int) -> float:
    """The same rounds with one of Optuna's samplers. Ordered values are whole numbers to it, and what is
    inactive is suggested all the same and left out, since its GP cannot learn of parameters that come and go."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    made = {
        "Optuna TPE": lambda: optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True),
        "Optuna GP": lambda: optuna.samplers.GPSampler(seed=seed, deterministic_objective=not task.noisy),
        "Optuna CMA-ES": lambda: optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False),
    }[sampler]()
    direction = "minimize" if task.mode == "min" else "maximize"
    study = optuna.create_study(direction=direction, sampler=made)
    codec, sign = Codec(task.space), 1.0 if task.mode == "min" else -1.0
    best, found = float("inf"), sign * float("inf")
    for _ in range(ROUNDS):
        trials = [study.ask() for _ in range(BATCH)]
        configs = [_suggested(trial, task, codec) for trial in trials]
        for trial, config in zip(trials, configs, strict=True):
            reading = task.reading(config, 1, 1000 * seed + trial.number)
            study.tell(trial, reading)
            if sign * reading < best:
                best, found = sign * reading, task.value(config)
        if not task.noisy and abs(found - task.best) < 1e-12:
            break
    return found


def _suggested(trial: Any, task: Task, codec: Codec) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, own in task.space.items():
        if isinstance(own, CategoricalHyperparameter):
            values[name] = trial.suggest_categorical(name, list(own.choices))
        elif isinstance(own, OrdinalHyperparameter):
            values[name] = own.sequence[trial.suggest_int(name, 0, len(own.sequence) - 1)]
        elif type(own).__name__.endswith("IntegerHyperparameter"):
            values[name] = trial.suggest_int(name, own.lower, own.upper, log=own.log)
        else:
            values[name] = trial.suggest_float(name, own.lower, own.upper, log=own.log)
    # Through the codec, so that what is inactive is left out.
    return codec.decode(codec.encode(values))


class Store:
    """Runs by method, task and seed; those of a file are not played again."""

    def __init__(self) -> None:
        given = os.environ.get("SHOESTRING_RUNS")
        self._path = Path(given) if given else None
        self.runs: dict[tuple[str, str, int], Run] = {}
        if self._path and self._path.exists():
            for line in self._path.read_text().splitlines():
                run = Run(**json.loads(line))
                self.runs[run.method, run.task, run.seed] = run

    def run(self, name: str, method: Method | None, task: Task, seed: int) -> Run:
        """A run of ours, or of Optuna's sampler of this name if no method is given."""
        key = (name, task.name, seed)
        if key not in self.runs:
            before = time.process_time()
            result = play_optuna(task, name, seed) if method is None else play_ours(task, method, seed)
            self.runs[key] = Run(*key, result, round(time.process_time() - before, 4))
            if self._path:
                with self._path.open("a") as file:
                    file.write(json.dumps(vars(self.runs[key])) + "\n")
        return self.runs[key]


def played(methods: Mapping[str, Method | None], tasks: Iterable[Task], seeds: int) -> dict[str, dict[str, list[Run]]]:
    """Method to task to runs; seeds are outermost, so that what is stopped early holds whole seeds."""
    store, tasks = Store(), list(tasks)
    for seed in range(seeds):
        for task in tasks:
            for name, method in methods.items():
                store.run(name, method, task, seed)
    return {
        name: {task.name: [store.runs[name, task.name, seed] for seed in range(seeds)] for task in tasks}
        for name in methods
    }
