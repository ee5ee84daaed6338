"""Other libraries with the same past studies, or the same guesses, on the surrogate.

None of them knows how large the budget is, so one run gives the result of every budget. Syne Tune and NePS run in
environments of their own, whose Python an environment variable names:

    python -m venv /tmp/syne && /tmp/syne/bin/pip install "syne-tune[gpsearchers]==0.13.0" scikit-learn xgboost
    python -m venv /tmp/neps && /tmp/neps/bin/pip install neural-pipeline-search==0.17.0
    export SHOESTRING_SYNE_TUNE=/tmp/syne/bin/python SHOESTRING_NEPS=/tmp/neps/bin/python

Optuna with the winners of the past enqueued is what one can do there without a library for it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any, NoReturn

import numpy as np

from benchmarks.harness.common import Unavailable
from benchmarks.harness.kept import key, runs
from benchmarks.peers.spoken import Peer, described, speak
from benchmarks.suites.past.families import Task
from benchmarks.suites.past.settings import PAST, log_of, others, published
from shoestring.core.history import History

OPTUNA = {"Optuna TPE + Hyperband": 0, "Optuna, 10 winners enqueued": 10}
_SYNE_TUNE = Peer("SHOESTRING_SYNE_TUNE", "syne-tune", "syne_tune_transfer.py")
_NEPS = Peer("SHOESTRING_NEPS", "neural-pipeline-search", "neps_priorband.py")
TRANSFER: dict[str, Peer | None] = {
    **dict.fromkeys(OPTUNA),
    "Syne Tune RUSH": _SYNE_TUNE,
}
ZERO_SHOT: dict[str, Peer | None] = {"Syne Tune ZeroShotTransfer": _SYNE_TUNE}
GUESSING: dict[str, Peer | None] = {f"NePS PriorBand: {kind}": _NEPS for kind in ("good", "medium", "bad")}
_ELSEWHERE = {**TRANSFER, **ZERO_SHOT, **GUESSING}


def available(names: Mapping[str, Peer | None]) -> list[str]:
    """Those that are installed; a line says which are left out."""
    found = []
    for name in names:
        try:
            _code(name)
            found.append(name)
        except (Unavailable, ModuleNotFoundError) as why:
            print(f"{name} is left out: {why}", file=sys.stderr)
    return found


def regrets(name: str, tasks: Sequence[Task], task: Task, seed: int, amounts: Sequence[int]) -> list[float]:
    """The regret of a peer's best reading after these numbers of trainings: kept, or played now."""
    identity = key(f"yahpo {task.name}", seed, name, code=_code(name), most=max(amounts))
    found = runs().get(identity, lambda: _played(name, tasks, task, seed, max(amounts)))
    return [task.regret({}, found[amount - 1]) for amount in amounts]


def _code(name: str) -> str:
    peer = _ELSEWHERE[name]
    return f"Optuna {version('optuna')}" if peer is None else peer.code()


class _Spent(Exception):
    """The budget is spent."""


class _Readings:
    """The best error after every whole training; training a configuration further costs the added epochs only."""

    def __init__(self, task: Task, most: int) -> None:
        self._task, self._most = task, most
        self._spent, self._best = 0, np.inf
        self._trained: dict[str, int] = {}
        self.found: list[float] = []

    def train(self, config: Mapping[str, Any], until: int) -> list[float]:
        """The errors after each epoch up to this one."""
        identity = json.dumps(config, sort_keys=True)
        errors = [self._task.objective.reading(config, step) for step in range(1, until + 1)]
        for error in errors[self._trained.get(identity, 0) :]:
            self._best, self._spent = min(self._best, error), self._spent + 1
            if not self._spent % self._task.max_resource:
                self.found.append(self._best)
            if len(self.found) == self._most:
                raise _Spent
        self._trained[identity] = max(until, self._trained.get(identity, 0))
        return errors


def _played(name: str, tasks: Sequence[Task], task: Task, seed: int, most: int) -> list[float]:
    readings, peer = _Readings(task, most), _ELSEWHERE[name]
    with suppress(_Spent):
        if peer is None:
            _optuna(_past(tasks, task, seed, OPTUNA[name]), task, readings, seed)
        given = {"peer": name, "seed": seed, "epochs": task.max_resource, "space": described(task.space)}
        if name in GUESSING:
            given["guess"] = published(task, name.split(": ")[1])
        else:
            given["past"] = [_as_table(history, task.max_resource) for history in _past(tasks, task, seed, 10)]
        speak(peer, given, readings.train)
    return readings.found


def _past(tasks: Sequence[Task], task: Task, seed: int, studies: int) -> Iterator[History]:
    """The studies of the past, the same as those of our own runs."""
    for other in others(tasks, task, seed, studies):
        history = History()
        for event in log_of(tasks, other, PAST[2], seed):
            history.apply(event)
        yield history


def _as_table(history: History, last: int) -> dict[str, Any]:
    """The configurations of a study, and the best error so far of each after every epoch."""
    trials = [trial for trial in history.trials if trial.losses]
    return {
        "configs": [dict(trial.config) for trial in trials],
        "errors": [
            np.minimum.accumulate([trial.losses[min(step, trial.step)] for step in range(1, last + 1)]).tolist()
            for trial in trials
        ],
    }


def _optuna(past: Iterator[History], task: Task, readings: _Readings, seed: int) -> NoReturn:
    """TPE with Hyperband's pruner, after the best configurations of the past studies."""
    import optuna

    from shoestring.exchange.optuna_space import distributions_of

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True),
        pruner=optuna.pruners.HyperbandPruner(1, task.max_resource, 3),
    )
    for history in past:
        winner = history.best("best")
        assert winner is not None
        study.enqueue_trial(dict(winner.config))
    while True:
        trial = study.ask(distributions_of(task.space)[0])
        value, state = np.inf, optuna.trial.TrialState.COMPLETE
        for step in range(1, task.max_resource + 1):
            value = readings.train(trial.params, step)[-1]
            trial.report(value, step)
            if trial.should_prune():
                state = optuna.trial.TrialState.PRUNED
                break
        study.tell(trial, value if state.name == "COMPLETE" else None, state=state)
