"""Optuna on the same problems: NSGA-II and TPE, and TPE with constraints. Every trial is trained to its end."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from benchmarks.peers.optuna_sampling import suggested
from shoestring.spaces.codec import Codec

SAMPLERS = ("Optuna NSGA-II", "Optuna TPE")
CONSTRAINED = ("Optuna TPE with constraints",)


@cache
def version() -> str:
    import optuna

    return str(optuna.__version__)


def play(name: str, problem: Any, seed: int, budget: int) -> dict[str, Any]:
    """Play a sampler until the budget is spent; of a trial that is trained step by step all readings are kept."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    constrained = name in CONSTRAINED
    study = optuna.create_study(
        sampler=_sampler(name, problem, seed), directions=["minimize"] * (1 if constrained else len(problem.names))
    )
    codec, decided, values = Codec(problem.space), Stopwatch(), list[list[float]]()
    while len(values) < budget:
        with decided:
            trial = study.ask()
            config = suggested(trial, problem.space, codec)
        for step in range(1, problem.last + 1):
            values.append(list(problem.values(config, step)))
        with decided.more():
            trial.set_user_attr("second", values[-1][1])
            study.tell(trial, values[-1][0] if constrained else values[-1])
    return {"values": values[:budget], "ms": decided.milliseconds()}


def _sampler(name: str, problem: Any, seed: int) -> Any:
    import optuna

    if name == "Optuna NSGA-II":
        return optuna.samplers.NSGAIISampler(seed=seed)
    if name == "Optuna TPE":
        return optuna.samplers.TPESampler(seed=seed, multivariate=True)
    bound = problem.bound

    def violation(trial: Any) -> tuple[float]:
        return (trial.user_attrs["second"] - bound,)

    return optuna.samplers.TPESampler(seed=seed, multivariate=True, constraints_func=violation)


class Stopwatch:
    """CPU time inside blocks, and how many blocks there were; ``more`` adds to the last one."""

    def __init__(self) -> None:
        self._seconds, self._count, self._started = 0.0, 0, 0.0

    def __enter__(self) -> None:
        self._started = time.process_time()

    def __exit__(self, *_: object) -> None:
        self._seconds += time.process_time() - self._started
        self._count += 1

    @contextmanager
    def more(self) -> Iterator[None]:
        started = time.process_time()
        yield
        self._seconds += time.process_time() - started

    def milliseconds(self) -> float:
        return 1000 * self._seconds / max(self._count, 1)
