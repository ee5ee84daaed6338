"""``ask``, ``tell`` and ``fail``: a study whose trials a shell script runs."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from shoestring.cli.arguments import DEFAULT_STORAGE, json_option, load_study
from shoestring.cli.output import echo, print_json
from shoestring.cli.space_options import guess_for, param_option, read_space, study_options, value_option
from shoestring.core.grants import Grant
from shoestring.core.readings import readings_by_step
from shoestring.errors import BudgetError, ReadingError, SpaceError, StorageError, StudyNotFound
from shoestring.objectives.command.definition import as_argument
from shoestring.objectives.command.output import parse, printable
from shoestring.study import Study

# Exit codes of ``ask`` without a grant: the study is over, or it waits for a trial that is running.
_OVER, _WAITING = 3, 4
_POLL = 0.5

_storage = click.option("--storage", default=DEFAULT_STORAGE, show_default=True, help="The file that holds the study.")


@click.command(
    epilog="\b\nExample:\n"
    "  shoestring ask digits --budget '300 steps' --max-resource 27 --param lr=log:1e-4:1\n"
    "In a script:\n"
    "  while grant=$(shoestring ask digits)\n"
    '  do eval "$grant"\n'
    '     ./train --lr "$ss_lr" --epochs "$ss_until" --folder "$ss_directory" > out.txt\n'
    '     shoestring tell digits "$ss_trial" - < out.txt\n'
    "  done"
)
@click.argument("name", metavar="STUDY")
@click.option("--budget", help="The total to spend; needed to create the study.")
@param_option
@click.option("--space", "place", metavar="FILE:SPACE", help="Where the space is, instead of --param.")
@study_options
@click.option("--wait", is_flag=True, help="Wait for running trials, if there is nothing to start before.")
@json_option
@click.pass_context
def ask(
    ctx: click.Context,
    /,
    name: str,
    budget: str | None,
    parameters: tuple[str, ...],
    place: str | None,
    wait: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the next trial of STUDY: its configuration, and until which step to train it.

    The study is created with --budget and --param if it does not exist. The output is for eval of a
    shell: ss_trial, ss_start, ss_until, ss_seed, ss_directory, and ss_NAME for every parameter. With
    --json it is JSON.

    The trial is yours until you tell or fail it. If you lose it, `shoestring release STUDY TRIAL`
    lets the next ask give it out again. The exit code is 3 if the study is over, and 4 if nothing can
    be started before something is told.
    """
    if budget is None:
        study = _existing(options["storage"], name)
        _refuse_unused(ctx, {"parameters", "place", *options} - {"storage"})
    else:
        space = read_space(parameters, place)
        options["guess"] = guess_for(space, options["guess"])
        study = Study(space, name=name, budget=budget, **options)
    grant = _next(study, wait)
    if grant is None:
        over = study.state == "finished"
        echo(f"{study.name}: {study.state}: {study.reason}", err=True)
        raise click.exceptions.Exit(_OVER if over else _WAITING)
    directory = str(study.detached.folder(grant.trial).resolve())
    if as_json:
        print_json({**vars(grant), "config": dict(grant.config), "directory": directory})
    else:
        click.echo(_assignments(grant, directory, list(study.history.codec.space)))  # for eval, unchanged


def _existing(storage: str, name: str) -> Study:
    try:
        return Study.load(storage, name)
    except (StudyNotFound, StorageError) as error:
        if type(error) not in (StudyNotFound, StorageError):  # it is there, but cannot be read
            raise
        raise BudgetError(f"{error}; give --budget and --param to create it") from None


def _refuse_unused(ctx: click.Context, names: set[str]) -> None:
    """Options that describe a study are compared with the stored one; without --budget they would be ignored."""
    for option in ctx.command.params:
        if option.name in names and ctx.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE:
            raise BudgetError(f"{option.opts[0]} describes a study, as --budget does: give both, or leave both out")


def _next(study: Study, wait: bool) -> Grant | None:
    while (grant := study.detached.ask()) is None and wait and study.state == "waiting":
        time.sleep(_POLL)
    return grant


def _assignments(grant: Grant, directory: str, names: Sequence[str]) -> str:
    """A grant as assignments for a shell; a parameter that is not active is unset."""
    own = {"trial": grant.trial, "start": grant.start, "until": grant.until, "seed": grant.seed, "directory": directory}
    for name in names:
        if name in own or not re.fullmatch(r"\w+", name, re.ASCII):
            raise SpaceError(f"the parameter {name!r} cannot be a variable of a shell here; use --json")
    set_ = [f"ss_{name}={shlex.quote(as_argument(value))}" for name, value in {**own, **grant.config}.items()]
    return "\n".join([*set_, *(f"unset ss_{name}" for name in names if name not in grant.config)])


@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog="\b\nExample:\n  shoestring tell digits 7 0.25\n  ./train | shoestring tell digits 7 - --value loss",
)
@click.argument("name", metavar="STUDY")
@click.argument("trial", type=int)
@click.argument("values", nargs=-1, required=True)
@value_option
@_storage
@json_option
def tell(name: str, trial: int, values: tuple[str, ...], value: str | None, storage: str, as_json: bool) -> None:
    """Report the VALUES of a TRIAL that was asked for.

    One value is for the last step; several are for the steps since the last one that was
    told. A value is a number or JSON, such as '{"step": 3, "loss": 0.2}'; with - they are read from
    standard input, and lines that hold none are ignored.
    """
    study = load_study(storage, name)
    grant = study.detached.grant_of(trial)
    lines = sys.stdin.read().splitlines() if values == ("-",) else values
    readings = _readings(grant, lines, value, strict=values != ("-",))
    study.detached.save(grant, readings)
    study.tell(grant, readings)
    study.detached.tidy(trial)
    _say(study, trial, as_json)


def _readings(grant: Grant, lines: Sequence[str], key: str | None, strict: bool) -> Mapping[int, object]:
    found = [(line, parse(line, key)) for line in lines]
    for line, reading in found:
        if reading is None and strict:
            wanted = f"JSON with {key!r}" if key else "a number or JSON, such as 0.25"
            raise ReadingError(f"the value {printable(line)} is not {wanted}")
    good = [reading for _, reading in found if reading is not None]
    if any(line.step is not None for line in good):
        if not all(line.step is not None for line in good):
            raise ReadingError("some values name their step, and some do not")
        by_step = {line.step: line.reading for line in good if line.step is not None and line.step > grant.start}
        return readings_by_step(grant.start, grant.until, by_step)
    told = [line.reading for line in good]
    return readings_by_step(grant.start, grant.until, told[0] if len(told) == 1 else told)


@click.command(epilog="\b\nExample:\n  shoestring fail digits 7 'out of memory'")
@click.argument("name", metavar="STUDY")
@click.argument("trial", type=int)
@click.argument("message")
@_storage
@json_option
def fail(name: str, trial: int, message: str, storage: str, as_json: bool) -> None:
    """Report that a TRIAL which was asked for could not be run, and why."""
    study = load_study(storage, name)
    study.fail(study.detached.grant_of(trial), message)
    _say(study, trial, as_json)


def _say(study: Study, trial: int, as_json: bool) -> None:
    record = study.trials[trial]
    reading = record.readings.get(record.step)
    value = None if reading is None else reading.value
    if as_json:
        known = {"state": record.state, "step": record.step, "value": value, "message": record.message}
        print_json({"trial": trial, **known})
        return
    at = "" if value is None else f", {value:g} at step {record.step}"
    echo(f"trial {trial}: {record.state}{at}" + (f" ({record.message})" if record.message else ""))
