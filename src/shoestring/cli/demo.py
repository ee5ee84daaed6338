"""``shoestring demo``: a real model on a fixed budget, compared with random search on the same budget.

One seed may be lucky, so both are run with several seeds, and the report (``demo_report.py``) is about all of them.
"""

from __future__ import annotations

import re
import shlex
import shutil
import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TimeElapsedColumn

from shoestring.cli.arguments import interruptible
from shoestring.cli.demo_report import Pair, report
from shoestring.cli.digits import SPACE, train
from shoestring.errors import StorageError
from shoestring.logs import open_log
from shoestring.objectives.trial import Trial
from shoestring.study import Study
from shoestring.tuning import tune
from shoestring.views.states import condition

STORAGE = "sqlite:///shoestring-demo.db"
EPOCHS = 300
MOST_EPOCHS = 27
SEEDS = 3
# How the studies of a method are named, before the seed.
_OURS, _RIVAL = "digits", "digits-random"


@click.command(epilog="\b\nExample:\n  shoestring demo --seed 3 --seeds 2")
@click.option("--storage", default=STORAGE, show_default=True, help="The file that stores the studies.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The first seed.")
@click.option("--seeds", type=click.IntRange(min=1), default=SEEDS, show_default=True, help="How many seeds.")
@click.option("--fresh", is_flag=True, help="Start over instead of continuing.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def demo(storage: str, seed: int, seeds: int, fresh: bool, quiet: bool) -> None:
    """Tune a neural network on handwritten digits with 300 epochs in all, and compare with random search.

    Each is run with three seeds, which takes about a minute in total. Interrupt it with Ctrl-C and run it again: it
    continues. The same seed gives the same study.
    """
    if fresh:
        _remove(storage)
    with interruptible(_command(storage, seed, seeds)):
        click.secho(f"{EPOCHS} epochs for each study, at most {MOST_EPOCHS} for one network", bold=True, err=True)
        with _progress(quiet) as progress, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Training interrupted by user")  # scikit-learn's, at Ctrl-C
            pairs = [_pair(storage, each, progress) for each in range(seed, seed + seeds)]
    report(pairs, EPOCHS, storage)


def _command(storage: str, seed: int, seeds: int) -> str:
    """The command that continues this demo."""
    given = {"--storage": (storage, STORAGE), "--seed": (seed, 0), "--seeds": (seeds, SEEDS)}
    changed = [(option, str(value)) for option, (value, default) in given.items() if value != default]
    return shlex.join(["shoestring", "demo", *(word for option in changed for word in option)])


def _remove(storage: str) -> None:
    """Delete the demo's storage, unless it holds other studies."""
    path = Path(storage.removeprefix("sqlite:///"))
    if not path.exists():
        return
    log = open_log(storage)
    others = [name for name in log.studies() if not re.fullmatch(rf"({_OURS}|{_RIVAL})-\d+", name)]
    if others:
        raise StorageError(f"{storage} holds other studies too ({', '.join(sorted(others))}); give another --storage")
    shutil.rmtree(log.directory(), ignore_errors=True)
    for ending in ("", "-wal", "-shm", "-turn"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def _progress(quiet: bool) -> Progress:
    """A line for each study: six displays of single studies would fill the screen."""
    columns = "{task.description}", BarColumn(), "{task.completed} epochs", "best error {task.fields[best]:.2%}"
    return Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), disable=quiet)


def _pair(storage: str, seed: int, progress: Progress) -> Pair:
    ours = _study(storage, f"{_OURS}-{seed}", "auto", seed, progress)
    return Pair(seed, ours, _study(storage, f"{_RIVAL}-{seed}", "random", seed, progress))


def _study(storage: str, name: str, method: str, seed: int, progress: Progress) -> Study:
    """The study of a method, run to its end; a finished one is only loaded."""
    line = progress.add_task(f"{method}, seed {seed}", total=EPOCHS, best=1.0)
    if name in open_log(storage).studies():
        study = Study.load(storage, name)
        _show(progress, line, study)
        if condition(study) == "finished":
            progress.update(line, description=f"{method}, seed {seed} (finished before)")
            return study
    study = tune(
        _watch(progress, line), SPACE, budget=f"{EPOCHS} steps", max_resource=MOST_EPOCHS, method=method, seed=seed,
        storage=storage, name=name, progress=False,
    )  # fmt: skip
    _show(progress, line, study)
    return study


def _show(progress: Progress, line: TaskID, study: Study) -> None:
    best = study.history.best()
    progress.update(line, completed=study.spent["steps"], best=best.value if best else 1.0)


def _watch(progress: Progress, line: TaskID) -> Callable[[Trial], Iterator[float]]:
    """The objective, which also moves the line of its study."""

    @wraps(train)  # the log records where ``train`` is defined, so that ``shoestring resume`` finds it
    def train_and_show(trial: Trial) -> Iterator[float]:
        for error in train(trial):
            best = min(error, progress.tasks[line].fields["best"])
            progress.update(line, advance=1, best=best)
            yield error

    return train_and_show
