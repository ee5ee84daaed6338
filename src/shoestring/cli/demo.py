"""``shoestring demo``: a real model on a fixed budget, compared with random search on the same budget."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from shoestring.cli.arguments import interruptible, shell_arguments
from shoestring.cli.inspection import condition, table
from shoestring.core.history import Arm
from shoestring.errors import StorageError, StudyMismatch
from shoestring.logs import open_log
from shoestring.study import Study
from shoestring.ui.formatting import count_states, number

STORAGE = "sqlite:///shoestring-demo.db"
STUDY, RIVAL = "digits", "digits-random"
EPOCHS = 300
MOST_EPOCHS = 27
_ROWS = 6
_BAR = 40


@click.command(epilog="\b\nExample:\n  shoestring demo --seed 1 --fresh")
@click.option("--storage", default=STORAGE, show_default=True, help="The file that stores the two studies.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same demonstration.")
@click.option("--fresh", is_flag=True, help="Start over instead of continuing.")
@click.option("--quiet", is_flag=True, help="Show no live display.")
def demo(storage: str, seed: int, fresh: bool, quiet: bool) -> None:
    """Tune a neural network on handwritten digits with 300 epochs in all, then compare with random search.

    Takes about a minute. Interrupt it with Ctrl-C and run it again: it continues.
    """
    if fresh:
        _remove(storage)
    again = "shoestring demo" + ("" if storage == STORAGE else f" --storage {storage}")
    with interruptible(again):
        title = f"{EPOCHS} epochs in all, at most {MOST_EPOCHS} for one network"
        study = _study(storage, STUDY, "auto", seed, quiet, title)
        rival = _study(storage, RIVAL, "random", seed, quiet, f"Random search with {EPOCHS} epochs, to compare")
    _report(study, rival, storage)


def _study(storage: str, name: str, method: str, seed: int, quiet: bool, title: str) -> Study:
    """The study of a method, run to its end; a finished one is only loaded."""
    if name in open_log(storage).studies():
        study = Study.load(storage, name)
        if study.history.seed != seed:
            raise StudyMismatch(
                f"the demo in {storage} has the seed {study.history.seed}, not {seed}: "
                "--fresh starts over, --storage FILE keeps both"
            )
        if condition(study) == "finished":
            click.echo(f"{title}: finished already (--fresh starts over)", err=True)
            return study
        title += " (continued)"
    from shoestring.cli.digits import SPACE, train
    from shoestring.tuning import tune

    click.secho(title, bold=True, err=True)
    return tune(
        train, SPACE, budget=f"{EPOCHS} steps", max_resource=MOST_EPOCHS, method=method, seed=seed,
        storage=storage, name=name, progress=False if quiet else None,
    )  # fmt: skip


def _remove(storage: str) -> None:
    """Delete the demo's storage, unless it holds other studies."""
    path = Path(storage.removeprefix("sqlite:///"))
    if not path.exists():
        return
    log = open_log(storage)
    others = set(log.studies()) - {STUDY, RIVAL}
    if others:
        raise StorageError(f"{storage} holds other studies too ({', '.join(sorted(others))}); give another --storage")
    shutil.rmtree(log.directory(), ignore_errors=True)
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def _report(study: Study, rival: Study, storage: str) -> None:
    ours, theirs = study.best, rival.best
    _heading(f"The best network misreads {ours.value:.2%} of the held-out digits")
    for name, value in ours.config.items():
        click.echo(f"  {name:<12}{number(value)}")
    _heading(f"Where the {study.spent['steps']:g} epochs went")
    for line in _spending(study):
        click.echo(f"  {line}")
    same = "the same " if rival.spent["steps"] == study.spent["steps"] else ""
    _heading(f"Random search with {same}{rival.spent['steps']:g} epochs: {theirs.value:.2%}")
    finished = count_states(rival.trials).get("finished", 0)
    click.echo(f"  It trained {finished} networks to the end. {_verdict(study, rival)}")
    _heading("Continue with")
    arguments = shell_arguments(storage, STUDY)
    click.echo(f"  shoestring resume {arguments} --budget '{2 * EPOCHS} steps'")
    for command in ("status", "trials", "verify"):
        click.echo(f"  shoestring {command} {arguments}")


def _heading(text: str) -> None:
    click.secho(f"\n{text}", bold=True)


def _verdict(study: Study, rival: Study) -> str:
    ours, theirs = study.best.value, rival.best.value
    if ours < theirs:
        return f"Ours started {len(study.history.arms)} and made {1 - ours / theirs:.0%} fewer errors."
    return "With this seed it was better." if ours > theirs else "With this seed the two tie."


def _spending(study: Study) -> list[str]:
    """A table of the configurations that got most epochs, and one row for all others."""
    arms = sorted(study.history.arms, key=lambda arm: (-_epochs(arm), _error(arm)))
    top, others, total = arms[:_ROWS], arms[_ROWS:], study.spent["steps"]
    rows = [[f"configuration {arm.index}", *_row(_epochs(arm), total, _error(arm))] for arm in top]
    if others:
        rest = total - sum(map(_epochs, top))
        rows.append([f"the other {len(others)}", *_row(rest, total, min(map(_error, others)))])
        rows[-1][-1] += f" stopped after {rest / len(others):.1f} epochs on average"
    return table(["", "epochs", "error", "share", ""], rows)


def _row(epochs: float, total: float, error: float) -> list[str]:
    share = epochs / total
    return [f"{epochs:g}", f"{error:.2%}", f"{share:.0%}", "━" * round(_BAR * share)]


def _epochs(arm: Arm) -> int:
    return sum(trial.step for trial in arm.trials)


def _error(arm: Arm) -> float:
    """The last error of a configuration; 1 if it failed before its first reading."""
    trial = arm.trials[0]
    return trial.readings[trial.step].value if trial.step else 1.0
