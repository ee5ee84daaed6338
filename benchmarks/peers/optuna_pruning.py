"""Optuna on the tasks of the user suite: the same objective, the same steps, its own pruners.

A configuration is asked for, the objective's generator is advanced, every reading is reported, and the trial is stopped
where the pruner says so. A trial that raises or yields a number that is not finite is told as failed; the step in which
it failed is paid for. The run ends when the steps are used up, in the middle of a trial if need be. Samplers and
pruners have their defaults, except that TPE models all parameters together, as in ``batch_optimisation.py``.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import optuna
from optuna.pruners import HyperbandPruner, MedianPruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import GPSampler, TPESampler

import shoestring as ss
from benchmarks.harness.play import Curve, Result, Task, TimedObjective, result
from benchmarks.peers.optuna_sampling import suggested
from shoestring.core.randomness import integer
from shoestring.core.readings import check_reading
from shoestring.integrations.optuna import Pruner, Sampler
from shoestring.objectives.job import Job
from shoestring.objectives.trial_files import files_of
from shoestring.spaces.codec import Codec

PEERS: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "Optuna TPE + Hyperband": lambda seed, last: {"sampler": _tpe(seed), "pruner": HyperbandPruner(1, last, 3)},
    "Optuna TPE + SHA": lambda seed, last: {"sampler": _tpe(seed), "pruner": SuccessiveHalvingPruner()},
    "Optuna TPE + median": lambda seed, last: {"sampler": _tpe(seed), "pruner": MedianPruner()},
    "Optuna TPE + our pruner": lambda seed, last: {"sampler": _tpe(seed), "pruner": Pruner()},
    "our sampler + our pruner": lambda seed, last: {"sampler": Sampler(seed=seed), "pruner": Pruner()},
    "Optuna GP": lambda seed, last: {"sampler": GPSampler(seed=seed), "pruner": NopPruner()},
    "Optuna TPE": lambda seed, last: {"sampler": _tpe(seed), "pruner": NopPruner()},
}


def _tpe(seed: int) -> TPESampler:
    return TPESampler(seed=seed, multivariate=True)


def version() -> str:
    return f"Optuna {installed('optuna')}"


def played(task: Task, peer: str, trainings: int, seed: int) -> Result:
    """The result of a peer, by its name."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    objective = TimedObjective(task.objective)
    before = time.process_time()
    direction = "minimize" if task.mode == "min" else "maximize"
    study = optuna.create_study(direction=direction, **PEERS[peer](seed, task.max_resource))
    codec, left, curves = Codec(task.space), trainings * task.max_resource, []
    with tempfile.TemporaryDirectory() as folder:
        while left:
            trial = study.ask()
            curves.append(Curve(suggested(trial, task.space, codec)))
            _run(study, trial, curves[-1], objective(_trial(trial, curves[-1], seed, Path(folder))), task, left)
            left -= curves[-1].steps
    cpu = time.process_time() - before - objective.cpu
    best = _best(task, curves)
    value, test = (best.values[-1], best.tests[-1]) if best else (None, None)
    return result(task, curves, value, test, cpu)


def _best(task: Task, curves: Sequence[Curve]) -> Curve | None:
    """Find ``study.best_trial``: the complete trial with the best last reading. Any other if none is complete."""
    living = [curve for curve in curves if curve.values and not curve.failed]
    complete = [curve for curve in living if curve.steps == task.max_resource]
    return min(complete or living, key=lambda curve: task.sign * curve.values[-1], default=None)


def _trial(trial: Any, curve: Curve, seed: int, folder: Path) -> ss.Trial:
    """Make the trial that an objective gets, as our executors make it."""
    number = trial.number
    job = Job(number, number, 0, curve.config, integer(seed, number, "Optuna"), start=0, until=0, known=0)
    return ss.Trial(job, files_of(folder, number))


def _run(study: Any, trial: Any, curve: Curve, readings: Iterator[Any], task: Task, left: int) -> None:
    """Train one trial until it ends, fails, is pruned, or the steps are used up, and tell the study."""
    states = optuna.trial.TrialState
    while curve.steps < min(task.max_resource, left):
        try:
            reading = check_reading(next(readings))
        except StopIteration:
            break
        except Exception:  # an error of the objective, or a reading that is not a finite number
            curve.failed = True
            curve.steps += 1
            study.tell(trial, state=states.FAIL)
            return
        curve.steps += 1
        curve.values.append(reading.value)
        curve.tests.append(reading.metrics.get("test"))
        trial.report(reading.value, curve.steps)
        if curve.steps < task.max_resource and trial.should_prune():
            study.tell(trial, state=states.PRUNED)
            return
    if curve.values:
        study.tell(trial, curve.values[-1])
    else:
        study.tell(trial, state=states.FAIL)
