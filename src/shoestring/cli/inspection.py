"""The commands that read a stored study and change nothing."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import click

from shoestring.cli.arguments import json_option, load_module, study_arguments
from shoestring.core.history import TrialRecord
from shoestring.core.leases import WorkerRecord
from shoestring.core.readings import Reading
from shoestring.core.workers import BY_HAND
from shoestring.errors import MethodError, ReadingError, StorageError
from shoestring.executors.disk import disk_use
from shoestring.logs import open_log
from shoestring.plots.trace import trace_of
from shoestring.study import Study
from shoestring.ui.formatting import (
    STATES,
    amount,
    best_line,
    count_states,
    duration,
    method_name,
    number,
    one_line,
    settings,
    short_path,
    size,
    states,
    study_state,
)
from shoestring.ui.selection import selected
from shoestring.ui.trends import trend_rows


@click.command(epilog="\b\nExample:\n  shoestring status shoestring.db")
@study_arguments
@json_option
def status(storage: str, name: str | None, as_json: bool) -> None:
    """Show how far a study is: what was spent, what is left, the best so far, what is running.

    Without NAME it shows all studies of the storage; --json then prints a list if there are several.
    """
    names = [name] if name else open_log(storage, create=False).studies()
    studies = [Study.load(storage, each) for each in names] or [Study.load(storage, None)]
    for study in studies:
        study._journal.still = True  # all that is shown is of one moment, while others go on
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
    """Show the best configuration so far, its step, and the folder with the checkpoint of that step."""
    study = Study.load(storage, name)
    found, folder = study.best, checkpoint(study)
    if as_json:
        print_json(_best_record(study))
        return
    click.echo(best_line(found, study.history))
    for key, value in found.config.items():
        click.echo(f"  {key} = {value!r}")
    click.echo("no checkpoint was saved" if folder is None else f"checkpoint: {short_path(folder)}")


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
    the parameters.
    """
    study = Study.load(storage, name)
    known = [trial for trial in study.trials if state in (None, trial.state)]
    chosen = selected(known, study.history.sign, where, sort)[-(last or 0) :]
    if as_json:
        print_json([trial_record(trial) for trial in chosen])
        return
    if known and not chosen:
        click.echo(f"none of the {len(known)} trials fulfils {where}", err=True)
    heads = ["trial", "arm", "state", "step", "value", "recommended", "configuration"]
    for line in table(heads, [_trial_row(trial, study.history.sign) for trial in chosen]):
        click.echo(line)


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
    text = _as_csv(study.rows()) if kind == "csv" else _as_json(everything) + "\n"
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
@click.option("--objective", "place", metavar="FILE:OBJECTIVE", help="A file that registers a method of your own.")
@json_option
@click.pass_context
def verify(ctx: click.Context, storage: str, name: str | None, place: str | None, as_json: bool) -> None:
    """Replay the log and check every decision of the method.

    The exit code is 1 if a decision differs; the first such event is named.
    """
    if place is not None:
        load_module(place)
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
    """Print a study in a few lines."""
    history = study.history
    ledger, found = history.ledger, history.best()
    rows = [("method", method_name(history.opened.method))]
    for unit, limit in ledger.budget.limits().items():
        rows.append((unit, f"{amount(unit, ledger.spent()[unit])} of {amount(unit, limit)} spent"))
    if history.budget_from:
        rows.append(("", f"this budget was given by {_process(history.budget_from)}"))
    rows.append(("trials", f"{len(history.trials)}: {states(history.trials)}"))
    rows.append(("best", "no reading yet" if found is None else best_line(found, history)))
    if found is not None:
        rows.append(("", settings(found.config)))
        if (folder := checkpoint(study)) is not None:
            rows.append(("checkpoint", short_path(folder)))
    if used := disk_use(study._journal.files()):
        rows.append(("disk", f"{size(used)} in {short_path(study._journal.files())}"))
    rows += trend_rows(trace_of(study))
    for trial in history.running.values():
        rows.append(("running", f"trial {trial.index}, step {trial.step} of {trial.until}, {settings(trial.config)}"))
    rows += [("worker", _worker_line(worker)) for worker in study.workers()]
    if history.stopped:
        rows.append(("stopped", history.stopped))
    click.echo(f"{study.name}: {condition(study)}")
    for label, text in rows:
        click.echo(f"  {label:<12}{text}")


def _worker_line(worker: WorkerRecord) -> str:
    sign = "" if worker.seconds is None else f", last sign of life {duration(max(round(worker.seconds), 0))} ago"
    holds = f", runs trial {', '.join(map(str, worker.trials))}" if worker.trials else ", runs nothing"
    if worker.name == BY_HAND:
        return f"asked by hand{holds}"
    lost = f", {worker.conflicts} conflicts" if worker.conflicts else ""
    if "/" not in worker.name:
        return f"nobody holds trial {', '.join(map(str, worker.trials))}"
    return f"{_process(worker.name)} ({worker.state}{sign}{holds}{lost})"


def _process(worker: str) -> str:
    """A worker in words, if it is a process; its name is host@place/pid/start/number."""
    place, _, rest = worker.partition("/")
    return f"process {rest.partition('/')[0]} on {place.rpartition('@')[0]}" if rest else worker


def condition(study: Study) -> str:
    """The state of a study. The method, which takes longer, is asked only if the log alone does not say it."""
    found = study_state(study.history, study.workers())
    return found or _without_trials(study)


def _without_trials(study: Study) -> str:
    """The state of a study that runs nothing, and has budget left."""
    try:
        over = study.state == "finished"
    except MethodError:  # a method of the user's own, which the log cannot rebuild
        over = False
    if not over:
        return "paused, can be resumed"
    return "finished" if study.history.stopped else f"finished, {study.reason}"


def checkpoint(study: Study) -> Path | None:
    """The folder with the checkpoint of the best, if its trial saved one."""
    try:
        return study.directory(best=True)
    except ReadingError:
        return None


def _best_record(study: Study) -> dict[str, Any]:
    folder = checkpoint(study)
    return {**vars(study.best), "directory": None if folder is None else str(folder)}


def summary(study: Study) -> dict[str, Any]:
    """A study as plain values."""
    history = study.history
    return {
        "name": study.name,
        "state": condition(study).partition(",")[0],
        "method": method_name(history.opened.method),
        "mode": history.opened.mode,
        "max_resource": history.max_resource,
        "seed": history.seed,
        "recommend": history.opened.recommend,
        "budget": history.ledger.budget.limits(),
        "budget_from": history.budget_from or None,
        "spent": study.spent,
        "remaining": study.remaining,
        "trials": count_states(history.trials),
        "disk_bytes": disk_use(study._journal.files()),
        "best": _best_record(study) if history.readings else None,
        "running": [trial_record(trial) for trial in history.running.values()],
        "workers": [vars(worker) for worker in study.workers()],
        "stopped": history.stopped or None,
    }


def trial_record(trial: TrialRecord) -> dict[str, Any]:
    """A trial as plain values."""
    names = ("arm", "replicate", "config", "seed", "state", "step", "until", "message")
    readings = [_reading_record(step, reading) for step, reading in trial.readings.items()]
    return {"trial": trial.index, **{name: getattr(trial, name) for name in names}, "readings": readings}


def _reading_record(step: int, reading: Reading) -> dict[str, Any]:
    metrics = dict(reading.metrics) or None
    optional = {"low": reading.low, "high": reading.high, "cost": reading.cost, "metrics": metrics}
    return {"step": step, "value": reading.value, **{k: v for k, v in optional.items() if v is not None}}


def print_json(value: object) -> None:
    click.echo(_as_json(value))


def _as_json(value: object) -> str:
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    """The value with NaN and infinities as text: JSON has no numbers for them."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Lines with aligned columns under their heads."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (heads, *rows)
    ]


def _trial_row(trial: TrialRecord, sign: float) -> list[str]:
    last, found = trial.readings.get(trial.step), trial.recommended
    value = "-" if last is None else number(last.value)
    recommended = "-" if found is None else f"{number(sign * found.loss)} at step {found.step}"
    described = settings(trial.config) + (f"  ({one_line(trial.message)})" if trial.message else "")
    return [str(trial.index), str(trial.arm), trial.state, str(trial.step), value, recommended, described]


def _as_csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
