"""Other libraries on the same problems: Optuna's samplers, which train to the end, and Syne Tune's MOASHA.

MOASHA runs in an environment of its own, whose Python SHOESTRING_SYNE_TUNE names:

    python -m venv /tmp/syne && /tmp/syne/bin/pip install "syne-tune[gpsearchers]==0.13.0"
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.harness.common import Unavailable
from benchmarks.peers import environments
from benchmarks.peers.optuna_sampling import suggested
from shoestring.spaces.codec import Codec

MOASHA = "Syne Tune MOASHA"
SAMPLERS = ("Optuna NSGA-II", "Optuna TPE")
CONSTRAINED = ("Optuna NSGA-II with constraints", "Optuna TPE with constraints")
COSTLY = ("Optuna GP", "Optuna GP with constraints")
ALL = (*SAMPLERS, *CONSTRAINED, *COSTLY, MOASHA)
_ELSEWHERE = "SHOESTRING_SYNE_TUNE", "syne-tune"
_SCRIPT = "syne_tune_objectives.py"


def version(name: str) -> str:
    """A peer with its version, for the keys of its runs."""
    if name == MOASHA:
        return f"{name}, {environments.version(*_ELSEWHERE)}, {environments.digest(_SCRIPT)}"
    import optuna

    return f"{name}, {optuna.__version__}"


def available(names: Sequence[str]) -> list[str]:
    """Those that are installed; a line says which are left out."""
    found = []
    for name in names:
        try:
            version(name)
            found.append(name)
        except (Unavailable, ModuleNotFoundError) as why:
            print(f"{name} is left out: {why}", file=sys.stderr)
    return found


def play(name: str, problem: Any, seed: int, budget: int) -> dict[str, Any]:
    """Play a peer until the budget is spent; of a trial that is trained step by step all readings are kept."""
    return _spoken(name, problem, seed, budget) if name == MOASHA else _optuna(name, problem, seed, budget)


def _spoken(name: str, problem: Any, seed: int, budget: int) -> dict[str, Any]:
    """A peer in a process of its own: it asks for trainings until the budget is spent."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = environments.command(*_ELSEWHERE, _SCRIPT)
    with tempfile.TemporaryFile("w+") as complaints, subprocess.Popen(
        command, **pipes, stderr=complaints, text=True
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        space = [
            {"name": one, "kind": "int" if type(own).__name__.endswith("IntegerHyperparameter") else "float",
             "low": own.lower, "high": own.upper, "log": own.log}
            for one, own in dict[str, Any](problem.space).items()
        ]  # fmt: skip
        said: Any = {"seed": seed, "epochs": problem.last, "space": space, "metrics": problem.names}
        values, trained = list[list[float]](), dict[str, int]()
        try:
            while len(values) < budget:
                print(json.dumps(said), file=process.stdin, flush=True)
                asked = json.loads(process.stdout.readline() or "null")
                if asked is None:
                    process.wait()
                    complaints.seek(0)
                    raise RuntimeError(f"{name} ended before its budget: {complaints.read()[-800:]}")
                config, until = asked["config"], asked["until"]
                known = trained.get(json.dumps(config), 0)
                trained[json.dumps(config)] = until
                values += [list(problem.values(config, step)) for step in range(known + 1, until + 1)]
                said = list(problem.values(config, until))
        finally:
            process.kill()
    return {"values": values[:budget], "ms": None}


def _optuna(name: str, problem: Any, seed: int, budget: int) -> dict[str, Any]:
    """A sampler of Optuna."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    warnings.filterwarnings("ignore", message=".*constraints_func", category=FutureWarning)
    constrained = name.endswith("with constraints")
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

    given: dict[str, Any] = {"seed": seed}
    if name.endswith("with constraints"):
        bound = problem.bound
        given["constraints_func"] = lambda trial: (trial.user_attrs["second"] - bound,)
    if name.startswith("Optuna NSGA-II"):
        return optuna.samplers.NSGAIISampler(**given)
    if name.startswith("Optuna GP"):
        return optuna.samplers.GPSampler(deterministic_objective=True, **given)
    return optuna.samplers.TPESampler(multivariate=True, **given)


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
