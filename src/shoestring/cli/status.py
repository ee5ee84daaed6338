"""``shoestring status``: a study in a few lines, or as JSON."""

from __future__ import annotations

from typing import Any

import click

from shoestring.cli.arguments import json_option, study_arguments
from shoestring.cli.best import best_record, checkpoint
from shoestring.cli.output import echo, print_json
from shoestring.core.heartbeats import WorkerRecord
from shoestring.core.planned import plan_in_words
from shoestring.core.workers import DETACHED
from shoestring.logs import open_log
from shoestring.objectives.folders import disk_use
from shoestring.study import Study, snapshot
from shoestring.views.formatting import amount, best_line, duration, method_name, settings, short_path, size
from shoestring.views.records import trial_record
from shoestring.views.states import condition, count_states, recommendation, states
from shoestring.views.trends import trend_rows


@click.command(epilog="\b\nExample:\n  shoestring status shoestring.db")
@study_arguments
@json_option
def status(storage: str, name: str | None, as_json: bool) -> None:
    """Show the progress of a study: the budget spent and left, the best so far, the running trials.

    Without NAME it shows all studies of the storage; --json then prints a list if there are several.
    """
    names = [name] if name else open_log(storage, create=False).studies()
    studies = [snapshot(storage, each) for each in names] or [snapshot(storage, None)]
    if as_json:
        found = [summary(study) for study in studies]
        print_json(found if len(found) > 1 else found[0])
        return
    for position, study in enumerate(studies):
        if position:
            echo()
        show_status(study)


def show_status(study: Study) -> None:
    """Print a study in a few lines."""
    history = study.history
    ledger, found = history.ledger, recommendation(history)
    rows = [("method", method_name(history.opened.method))]
    if plan := plan_in_words(history):
        rows.append(("plan", plan))
    for unit, limit in ledger.budget.limits().items():
        rows.append((unit, f"{amount(unit, ledger.spent()[unit])} of {amount(unit, limit)} spent"))
    if history.budget_from:
        rows.append(("", f"this budget was given by {_process(history.budget_from)}"))
    state = condition(study)
    over = state.startswith(("finished", "stopped"))
    rows.append(("trials", f"{len(history.trials)}: {states(history, over)}"))
    rows.append(("best", "no reading yet" if found is None else best_line(found, history)))
    if found is not None:
        rows.append(("", settings(found.config)))
        if (folder := checkpoint(study)) is not None:
            rows.append(("checkpoint", short_path(folder)))
    if used := disk_use(study.files):
        rows.append(("disk", f"{size(used)} in {short_path(study.files)}"))
    rows += trend_rows(history)
    for trial in history.running.values():
        rows.append(("running", f"trial {trial.index}, step {trial.step} of {trial.until}, {settings(trial.config)}"))
    rows += [("worker", _worker_line(worker)) for worker in study.workers()]
    if history.stopped:
        rows.append(("stopped", history.stopped))
    echo(f"{study.name}: {state}")
    for label, text in rows:
        echo(f"  {label:<12}{text}")


def _worker_line(worker: WorkerRecord) -> str:
    sign = "" if worker.seconds is None else f", last heartbeat {duration(max(round(worker.seconds), 0))} ago"
    holds = f", runs trial {', '.join(map(str, worker.trials))}" if worker.trials else ", runs nothing"
    if worker.name == DETACHED:
        return f"asked by hand{holds}"
    lost = f", {worker.conflicts} conflicts" if worker.conflicts else ""
    if "/" not in worker.name:
        return f"no process holds trial {', '.join(map(str, worker.trials))}"
    return f"{_process(worker.name)} ({worker.state}{sign}{holds}{lost})"


def _process(worker: str) -> str:
    """A worker in words, if it is a process; its name is host@place/pid/start/number."""
    place, _, rest = worker.partition("/")
    return f"process {rest.partition('/')[0]} on {place.rpartition('@')[0]}" if rest else worker


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
        "objectives": history.opened.objectives,
        "constraints": history.opened.constraints,
        "tags": list(history.tags),
        "note": history.note,
        "budget": history.ledger.budget.limits(),
        "budget_from": history.budget_from or None,
        "spent": study.spent,
        "remaining": study.remaining,
        "trials": count_states(history.trials),
        "disk_bytes": disk_use(study.files),
        "best": best_record(study) if history.best() is not None else None,
        "running": [trial_record(trial) for trial in history.running.values()],
        "workers": [vars(worker) for worker in study.workers()],
        "stopped": history.stopped or None,
    }
