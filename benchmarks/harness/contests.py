"""Runs of methods on tasks, ours and Optuna's."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.peers.optuna_sampling import optuna_sampler, suggested
from benchmarks.tasks.black_boxes import Task, suite
from shoestring.core.decisions import Method
from shoestring.problems import Contest, contest_score
from shoestring.spaces.codec import Codec

ROUNDS, BATCH = 20, 5


@dataclass(frozen=True)
class Run:
    """The result of a method on a task with one seed, and the CPU seconds that it took to decide."""

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


def play_ours(task: Task, method: Method | str, seed: int, contest: Contest | None = None) -> float:
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

    direction = "minimize" if task.mode == "min" else "maximize"
    study = optuna.create_study(direction=direction, sampler=optuna_sampler(sampler, seed, task.noisy))
    codec, sign = Codec(task.space), 1.0 if task.mode == "min" else -1.0
    best, found = float("inf"), sign * float("inf")
    for _ in range(ROUNDS):
        trials = [study.ask() for _ in range(BATCH)]
        configs = [suggested(trial, task.space, codec) for trial in trials]
        for trial, config in zip(trials, configs, strict=True):
            reading = task.reading(config, 1, 1000 * seed + trial.number)
            study.tell(trial, reading)
            if sign * reading < best:
                best, found = sign * reading, task.value(config)
        if not task.noisy and abs(found - task.best) < 1e-12:
            break
    return found


def played(
    methods: Mapping[str, Method | str | None], tasks: Iterable[Task], seeds: int
) -> dict[str, dict[str, list[Run]]]:
    """Method to task to runs; seeds are outermost, so that what is stopped early holds whole seeds.

    A method that is None is Optuna's sampler of that name.
    """
    tasks = list(tasks)
    found: dict[str, dict[str, list[Run]]] = {name: {task.name: [] for task in tasks} for name in methods}
    for seed in range(seeds):
        for task in tasks:
            for name, method in methods.items():
                identity = run_key(task.name, seed, name, method, rounds=ROUNDS, batch=BATCH)
                found[name][task.name].append(Run(*runs().get(identity, lambda: _run(name, method, task, seed))))  # noqa: B023
    return found


def run_key(task: str, seed: int, name: str, method: Method | str | None, **settings: int) -> str:
    """Identify a run; a run of Optuna's (a method that is None) does not depend on our code."""
    if method is None:
        peer = f"Optuna {version('optuna')}"
        return key(task, seed, name, code=peer, **settings)
    return key(task, seed, method, **settings)


def _run(name: str, method: Method | str | None, task: Task, seed: int) -> tuple[float, float]:
    before = time.process_time()
    result = play_optuna(task, name, seed) if method is None else play_ours(task, method, seed)
    return result, round(time.process_time() - before, 4)


Found = Mapping[str, Mapping[str, Sequence[Run]]]


def tasks_of(options: Options) -> tuple[Task, ...]:
    """The suite, or every sixth of its tasks."""
    return suite()[::6] if options.quick else suite()


def scores(found: Found, tasks: Sequence[Task]) -> dict[str, list[float]]:
    """Per method, the contest's score of each task over the seeds."""
    return {
        name: [contest_score([run.result for run in runs[task.name]], task.best, task.reference) for task in tasks]
        for name, runs in found.items()
    }
