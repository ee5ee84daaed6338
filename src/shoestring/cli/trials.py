"""``trials`` and ``export``: the trials and their readings."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import click

from shoestring._text import one_line, printable
from shoestring.cli.arguments import json_option, study_arguments
from shoestring.cli.output import as_json, echo, print_json, table
from shoestring.cli.status import summary
from shoestring.core.history import History, TrialRecord
from shoestring.errors import StorageError
from shoestring.study import Study
from shoestring.views.formatting import number, settings
from shoestring.views.records import trial_record
from shoestring.views.selection import select
from shoestring.views.states import STATES


@click.command(epilog="\b\nExample:\n  shoestring trials shoestring.db --where 'rate<0.1' --sort value")
@study_arguments
@click.option("--state", type=click.Choice(STATES), help="Only the trials in this state.")
@click.option("--where", metavar="CONDITIONS", help="Only trials with such values: 'rate<0.1 and state=failed'.")
@click.option("--sort", metavar="COLUMN", help="In the order of a column; -COLUMN is from large to small.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N.")
@json_option
def trials(
    storage: str,
    name: str | None,
    state: str | None,
    where: str | None,
    sort: str | None,
    last: int | None,
    as_json: bool,
) -> None:
    """List the trials, in the order they were started unless --sort says otherwise.

    Columns are trial, arm, state, step, value (the last reading), recommended, seconds, message and
    the parameters. With several objectives, each one of the last reading is shown, and the steps of
    the trial that are on the front.
    """
    history = Study.load(storage, name).history
    known = [trial for trial in history.trials if state in (None, trial.state)]
    chosen = select(known, history.sign, where, sort)[-(last or 0) :]
    if as_json:
        print_json([trial_record(trial) for trial in chosen])
        return
    if known and not chosen:
        echo(f"none of the {len(known)} trials fulfils {where}", err=True)
    values = [*history.goals.names, "front"] if history.goals.several else ["value", "recommended"]
    rows = [_trial_row(trial, history) for trial in chosen]
    echo("\n".join(table(["trial", "arm", "state", "step", *values, "configuration"], rows)))


@click.command(epilog="\b\nExample:\n  shoestring export shoestring.db --format csv --output readings.csv")
@study_arguments
@click.option("--format", "kind", type=click.Choice(["csv", "json"]), default="csv", show_default=True)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
    help="A file to write instead of printing.",
)  # fmt: skip
def export(storage: str, name: str | None, kind: str, output: Path | None) -> None:
    """Export all readings: as CSV with one row per reading, as JSON the study with its trials."""
    study = Study.load(storage, name)
    everything = {**summary(study), "trials": [trial_record(trial) for trial in study.trials]}
    text = _as_csv(study.rows()) if kind == "csv" else as_json(everything) + "\n"
    if output is None:
        shown = printable(text) if sys.stdout and sys.stdout.isatty() else text  # a program gets the values unchanged
        click.echo(shown, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise StorageError(f"{output} cannot be written: {error.strerror}") from None
    echo(f"{output}: {len(study.trials)} trials", err=True)


def _trial_row(trial: TrialRecord, history: History) -> list[str]:
    values = _objectives_and_front(trial, history) if history.goals.several else _value_and_best(trial, history.sign)
    described = settings(trial.config) + (f"  ({one_line(trial.message)})" if trial.message else "")
    return [str(trial.index), str(trial.arm), trial.state, str(trial.step), *values, described]


def _value_and_best(trial: TrialRecord, sign: float) -> list[str]:
    last, found = trial.readings.get(trial.step), trial.recommended
    value = "-" if last is None else number(last.value)
    return [value, "-" if found is None else f"{number(sign * found.loss)} at step {found.step}"]


def _objectives_and_front(trial: TrialRecord, history: History) -> list[str]:
    """The objectives of the last reading, and the steps that are on the front."""
    last, goals = trial.readings.get(trial.step), history.goals
    values = ["-"] * len(goals.names) if last is None else [number(value) for value in goals.values(last).values()]
    steps = sorted(point.step for point in history.front if point.trial.index == trial.index)
    return [*values, f"at step {', '.join(map(str, steps))}" if steps else "-"]


def _as_csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
