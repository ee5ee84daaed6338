"""Optuna with the winners of the same past studies enqueued: what one can do there without a library for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version

import numpy as np

from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.suites.past.families import Task
from benchmarks.suites.past.settings import PAST, TASKS, Setting, drawn, log_of, others
from shoestring.core.history import History

_TEN = PAST[2]


def rows(tasks: Sequence[Task], seeds: Sequence[int], amounts: Sequence[int], count: int = TASKS) -> Iterable[Row]:
    """The regret of TPE with Hyperband's pruner, without a past and with the best of ten studies."""
    code = f"Optuna {version('optuna')}"
    for label, studies in (("Optuna TPE + Hyperband", 0), ("Optuna, 10 winners enqueued", _TEN.studies)):
        for amount in amounts:
            found = [
                [_regret(tasks, task, studies, amount, seed, code) for task in drawn(tasks, seed, count)]
                for seed in seeds
            ]
            yield row(f"{label}, {amount} trainings", np.mean(found, axis=1).tolist())


def _regret(tasks: Sequence[Task], task: Task, studies: int | None, amount: int, seed: int, code: str) -> float:
    name = key(f"yahpo {task.name}", seed, "Optuna TPE + Hyperband", code=code, studies=studies, amount=amount)
    return float(runs().get(name, lambda: _played(tasks, task, studies, amount, seed)))


def _winner(events: Sequence[object]) -> dict[str, object]:
    history = History()
    for event in events:
        history.apply(event)  # type: ignore[arg-type]
    best = history.best("best")
    assert best is not None
    return dict(best.config)


def _played(tasks: Sequence[Task], task: Task, studies: int | None, amount: int, seed: int) -> float:
    import optuna

    from shoestring.exchange.optuna_space import distributions_of

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True),
        pruner=optuna.pruners.HyperbandPruner(1, task.max_resource, 3),
    )
    past = Setting("", "past", studies)
    for other in others(tasks, task, seed, studies) if studies else ():
        study.enqueue_trial(_winner(log_of(tasks, other, past, seed)))
    left, best = amount * task.max_resource, np.inf
    while left:
        trial = study.ask(distributions_of(task.space)[0])
        state = optuna.trial.TrialState.COMPLETE
        value = np.inf
        for step in range(1, min(left, task.max_resource) + 1):
            value = task.objective.reading(trial.params, step)
            best, left = min(best, value), left - 1
            trial.report(value, step)
            if trial.should_prune():
                state = optuna.trial.TrialState.PRUNED
                break
        study.tell(trial, value if state.name == "COMPLETE" else None, state=state)
    return task.regret({}, float(best))
