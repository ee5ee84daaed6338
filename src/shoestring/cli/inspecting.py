"""The commands that read a stored study and change nothing."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import click

from shoestring.cli.studies import json_option, study_arguments, study_names
from shoestring.core.history import TrialRecord
from shoestring.core.readings import Reading
from shoestring.core.workers import is_alive
from shoestring.errors import MethodError, StorageError
from shoestring.study import Study
from shoestring.ui.formatting import STATES, amount, count_states, method_name, number, settings, states


@click.command(epilog="\b\nExample:\n  shoestring status shoestring.db")
@study_arguments
@json_option
def status(storage: str, name: str | None, as_json: bool) -> None:
    """How far a study is: what was spent, what is left, the best so far, what is running.

    Without NAME it shows all studies of the storage; --json then prints a list if there are several.
    """
    names = [name] if name else study_names(storage)
    studies = [Study.load(storage, each) for each in names] or [Study.load(storage, None)]
    if as_json:
        found = [summary(study) for study in studies]
        print_json(found if len(found) > 1 else found[0])
        return
    for position, study in enumerate(studies):
        if position:
            click.echo()
        show_status(study)


@click.command(epilog="\b\nExample:\n  shoestring best shoestring.db --json")
@study_arguments
@json_option
def best(storage: str, name: str | None, as_json: bool) -> None:
    """The best configuration so far."""
    study = Study.load(storage, name)
    found = study.best
    if as_json:
        print_json(vars(found))
        return
    click.echo(f"{number(found.value)} at step {found.step} (arm {found.arm})")
    for key, value in found.config.items():
        click.echo(f"  {key} = {value!r}")


@click.command(epilog="\b\nExample:\n  shoestring trials shoestring.db --state failed --last 20")
@study_arguments
@click.option("--state", type=click.Choice(STATES), help="Only the trials in this state.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N.")
@json_option
def trials(storage: str, name: str | None, state: str | None, last: int | None, as_json: bool) -> None:
    """The trials in the order they were started."""
    study = Study.load(storage, name)
    chosen = [trial for trial in study.trials if state in (None, trial.state)][-(last or 0) :]
    if as_json:
        print_json([trial_record(trial) for trial in chosen])
        return
    for line in table(
        ["trial", "arm", "state", "step", "value", "configuration"],
        [[_cell(value) for value in _trial_row(trial)] for trial in chosen],
    ):
        click.echo(line)


@click.command(epilog="\b\nExample:\n  shoestring export shoestring.db --format csv --output readings.csv")
@study_arguments
@click.option("--format", "kind", type=click.Choice(["csv", "json"]), default="csv", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A file to write instead of printing.")
def export(storage: str, name: str | None, kind: str, output: Path | None) -> None:
    """All readings: as CSV one row a reading, as JSON the study with its trials."""
    study = Study.load(storage, name)
    text = _as_csv(study.rows()) if kind == "csv" else _as_json(study)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise StorageError(f"{output} cannot be written: {error.strerror}") from None
    click.echo(f"{output}: {len(study.trials)} trials", err=True)


@click.command(epilog="\b\nExample:\n  shoestring verify shoestring.db digits")
@study_arguments
@json_option
@click.pass_context
def verify(ctx: click.Context, storage: str, name: str | None, as_json: bool) -> None:
    """Decide again along the log: every grant must be what the method decides from what came before.

    The exit code is 1 if a grant differs; the first such event is named.
    """
    study = Study.load(storage, name)
    found = study.verify()
    if as_json:
        print_json({"ok": found.ok, **vars(found)})
    elif found.ok:
        click.echo(f"{study.name}: all {found.checked} grants are what the method decides")
    else:
        click.echo(f"{study.name}: event {found.position} (granted) differs: {found.difference}")
    ctx.exit(0 if found.ok else 1)


def show_status(study: Study) -> None:
    """A study in a few lines."""
    history = study.history
    click.echo(f"{study.name}: {condition(study)}")
    rows = [["method", method_name(history.opened.method)]]
    for unit, limit in history.ledger.budget.limits().items():
        spent = history.ledger.spent()[unit]
        rows.append([unit, f"{amount(unit, spent)} of {amount(unit, limit)} spent"])
    rows.append(["trials", f"{len(history.trials)}: {states(history.trials)}"])
    rows.append(["best", _best_words(study)])
    for trial in history.running.values():
        rows.append(["running", f"trial {trial.index}, step {trial.step} of {trial.until}, {settings(trial.config)}"])
    for label, words in rows:
        click.echo(f"  {label:<12}{words}")


def condition(study: Study) -> str:
    """How a study stands. The method is asked only where the log does not tell: that takes longer."""
    history = study.history
    if history.running:
        alive = any(is_alive(trial.worker) for trial in history.running.values())
        return "running" if alive else "interrupted, can be resumed"
    return "finished" if history.ledger.exhausted() or _nothing_left(study) else "paused, can be resumed"


def _nothing_left(study: Study) -> bool:
    try:
        return study.state == "finished"
    except MethodError:  # a method of the user's own, which the log cannot rebuild
        return False


def summary(study: Study) -> dict[str, Any]:
    """A study as plain values."""
    history = study.history
    found = history.best()
    return {
        "name": study.name,
        "state": condition(study).partition(",")[0],
        "method": method_name(history.opened.method),
        "mode": history.opened.mode,
        "max_resource": history.max_resource,
        "seed": history.seed,
        "budget": history.ledger.budget.limits(),
        "spent": study.spent,
        "remaining": study.remaining,
        "trials": count_states(history.trials),
        "best": None if found is None else vars(found),
        "running": [trial_record(trial) for trial in history.running.values()],
    }


def trial_record(trial: TrialRecord) -> dict[str, Any]:
    """A trial as plain values."""
    names = ("arm", "replicate", "config", "seed", "state", "step", "until", "message")
    readings = [_reading_record(step, reading) for step, reading in trial.readings.items()]
    return {"trial": trial.index, **{name: getattr(trial, name) for name in names}, "readings": readings}


def _reading_record(step: int, reading: Reading) -> dict[str, Any]:
    optional = {name: getattr(reading, name) for name in ("low", "high", "cost")}
    optional["metrics"] = dict(reading.metrics) or None
    given = {name: value for name, value in optional.items() if value is not None}
    return {"step": step, "value": reading.value, **given}


def print_json(value: object) -> None:
    click.echo(json.dumps(finite(value), indent=2, allow_nan=False))


def finite(value: Any) -> Any:
    """The value with NaN and infinities as text: JSON has no numbers for them."""
    if isinstance(value, dict):
        return {name: finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Lines with the columns under their heads; the last column is as wide as it is."""
    everything = [heads, *rows]
    widths = [max(len(row[column]) for row in everything) for column in range(len(heads) - 1)] + [0]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in everything]
    return ["  ".join(row).rstrip() for row in padded]


def _best_words(study: Study) -> str:
    found = study.history.best()
    if found is None:
        return "no reading yet"
    return f"{number(found.value)} at step {found.step} of arm {found.arm}, {settings(found.config)}"


def _trial_row(trial: TrialRecord) -> list[object]:
    last = trial.readings.get(trial.step)
    words = settings(trial.config) + (f"  ({trial.message})" if trial.message else "")
    return [trial.index, trial.arm, trial.state, trial.step, None if last is None else last.value, words]


def _cell(value: object) -> str:
    return "-" if value is None else number(value)


def _as_csv(rows: list[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _as_json(study: Study) -> str:
    everything = {**summary(study), "trials": [trial_record(trial) for trial in study.trials]}
    return json.dumps(finite(everything), indent=2, allow_nan=False) + "\n"
