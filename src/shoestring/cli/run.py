"""``run`` and ``resume``: the commands that spend a budget."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from shoestring.cli.arguments import (
    DEFAULT_STORAGE,
    interruptible,
    json_option,
    limit_options,
    load_module,
    load_study,
    locate,
    pick,
    study_arguments,
)
from shoestring.cli.output import echo, print_json
from shoestring.cli.space_options import guess_for, param_option, read_space, study_options, value_option
from shoestring.cli.status import show_status, summary
from shoestring.cli.stored_command import confirm_command, has_command, yes_option
from shoestring.errors import BudgetError, ObjectiveError
from shoestring.exchange.sweep_file import read_sweep
from shoestring.objectives.command.definition import Command
from shoestring.running.retention import DEFAULT_KEEP
from shoestring.study import Study
from shoestring.tuning import tune
from shoestring.views.formatting import shell_arguments

# Programs that run a script: a study is not named after them, even if they are given with their path.
_INTERPRETER = re.compile(r"(python|pypy|bash|sh|zsh|Rscript|julia|node|perl|ruby|uv|env|torchrun)[\d.]*(\.exe)?")
_PACKAGE = Path(__file__).parents[1]  # the objective of the demo is there

_quiet = click.option("--quiet", is_flag=True, help="Show no live display.")
_keep = click.option(
    "--keep",
    type=click.IntRange(min=0),
    default=DEFAULT_KEEP,
    show_default=True,
    help="How many ended trials keep their files, the best ones.",
)
_workers = click.option("--workers", default=1, show_default=True, help="How many processes run trials.")


class _WithCommand(click.Command):
    """A command line that may end with another one, after two dashes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            args, ctx.params["command"] = args[:at], args[at + 1 :]
            return super().parse_args(ctx, args)
        program = next((word for word in args if _INTERPRETER.fullmatch(Path(word).name)), None)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError:
            if program is None:
                raise
            raise click.UsageError(
                f"write two dashes before the command that is tuned: shoestring run OPTIONS -- {program} ...", ctx
            ) from None


@click.command(
    cls=_WithCommand,
    epilog="\b\nExample:\n"
    "  shoestring run train.py:train --budget '300 steps' --max-resource 27\n"
    "  shoestring run --budget 2h --param lr=log:1e-4:1 -- python train.py --lr {lr}\n"
    "  shoestring run --budget 2h --param lr=log:1e-4:1 --max-resource 27 -- \\\n"
    "    python train.py --lr {lr} --epochs {until} --checkpoint {directory}\n"
    "  shoestring run sweep.yaml --budget '300 steps'",
)
@click.argument("place", metavar="[FILE:OBJECTIVE | SWEEP.yaml | -- COMMAND...]", required=False)
@click.option("--budget", help="The total to spend: '300 steps', '50 evaluations', '2h', or a mix.")
@click.option(
    "--space", "space_name", help="The name of the space in FILE; FILE:SPACE for a command.  [default: space]"
)
@param_option
@value_option
@click.option("--value-file", "file", metavar="PATH", help="The file with the value of a command, if not its output.")
@click.option("--every", type=int, help="Start a command again after this many steps, to save its checkpoint.")
@study_options
@_workers
@_keep
@limit_options
@click.option("--name", help="The study's name; by default made of FILE and OBJECTIVE, or of the command.")
@click.option("--accept-objective", is_flag=True, help="Continue with another objective than the study started with.")
@_quiet
@json_option
def run(
    place: str | None,
    space_name: str | None,
    parameters: tuple[str, ...],
    name: str | None,
    quiet: bool,
    as_json: bool,
    command: list[str] | None = None,
    value: str | None = None,
    file: str | None = None,
    every: int | None = None,
    **options: Any,
) -> None:
    """Tune OBJECTIVE, a function in FILE, or a COMMAND, or do what SWEEP.yaml says.

    FILE is imported as a module, so its own calls of tune belong under
    `if __name__ == "__main__":`. FILE defines the space.

    A COMMAND is any program that prints its value, or with --max-resource one value for each step.
    In its arguments, {lr} stands for the parameter lr, {until} for the step to train to and
    {directory} for a folder for its checkpoint; also {start}, {seed} and {trial}. No shell is used.

    SWEEP.yaml is a sweep file of Weights & Biases, or of shoestring; options that are given here
    count instead of those in it.

    Running the same command again continues the study to the same total; with a larger --budget it
    continues to that.
    """
    objective: Any
    is_sweep = command is None and place is not None and Path(place).suffix in (".yaml", ".yml")
    if is_sweep:
        _refuse_options_of_commands(place, parameters=parameters, value=value, file=file, every=every)
        objective, space, options = _sweep(str(place), space_name, options)
        name = name or options["name"] or Path(str(place)).stem
    elif command is not None:
        objective = _command(place, command, value, file, every, options["max_resource"])
        space, name = read_space(parameters, space_name), name or _name_for(command)
    else:
        _refuse_options_of_commands(place, parameters=parameters, value=value, file=file, every=every)
        module, wanted = load_module(str(place))
        objective, space = pick(module, wanted, "objective"), pick(module, space_name or "space", "space")
        name = name or f"{Path(str(module.__file__)).stem}-{wanted}"
    if not options["budget"]:
        in_file = f", or budget: in {place}" if is_sweep else ""
        raise BudgetError(f"say how much may be spent: --budget '300 steps', '50 evaluations', '2h', or a mix{in_file}")
    again = f"shoestring resume {shell_arguments(options['storage'], name)}"
    with interruptible(again, lambda: Study.load(options["storage"], name)):
        given = {**options, "name": name, "guess": guess_for(space, options["guess"])}
        study = tune(objective, space, **given, progress=False if quiet else None)
    _report(study, options["storage"], as_json)


def _sweep(place: str, space_name: str | None, options: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The objective, the space and the options of a sweep file; options that were typed count instead of its own."""
    sweep = read_sweep(Path(place))
    source = click.get_current_context().get_parameter_source
    typed = {name: value for name, value in options.items() if source(name) is ParameterSource.COMMANDLINE}
    options = {**options, "name": None, **sweep.options, **typed}
    objective, space = sweep.objective, space_name or sweep.space
    if isinstance(objective, str):
        module, wanted = load_module(objective)
        objective, space = pick(module, wanted, "objective"), pick(module, "space", "space") if space is None else space
    return objective, read_space((), space) if isinstance(space, str) else space, options


def _command(
    place: str | None,
    command: list[str],
    value: str | None,
    file: str | None,
    every: int | None,
    max_resource: int | None,
) -> Command:
    if place is not None:
        raise ObjectiveError(f"both {place!r} and a command after -- are given; give one of them")
    found = Command(command, value, file, every=every)
    return found if found.iterative or max_resource is None else Command(command, value, file, steps=max_resource)


def _name_for(command: list[str]) -> str:
    """Name a study of a command after its script or module, such as train for python train.py."""
    words = command[1:] if _INTERPRETER.fullmatch(Path(command[0]).name) else command
    script = next((word for word in words if Path(word).is_file()), None)
    if script is None and "-m" in words[:-1]:
        return words[words.index("-m") + 1].rpartition(".")[2]
    return Path(script or command[0]).stem


def _refuse_options_of_commands(place: str | None, **given: object) -> None:
    if place is None:
        raise ObjectiveError("there is nothing to tune: give FILE:OBJECTIVE, a sweep file, or a command after --")
    for name, option in {"parameters": "param", "value": "value", "file": "value-file", "every": "every"}.items():
        if given[name]:
            raise ObjectiveError(
                f"--{option} is for a command after --; {place} defines its space and returns its value"
            )


@click.command(epilog="\b\nExample:\n  shoestring resume shoestring.db digits --budget '600 steps'")
@study_arguments
@click.option("--budget", help="A new total, such as '600 steps', which includes what is spent already.")
@click.option("--objective", "place", metavar="FILE:OBJECTIVE", help="Where the objective is, if it has moved.")
@yes_option
@_workers
@_keep
@limit_options
@_quiet
@json_option
def resume(
    storage: str,
    name: str | None,
    budget: str | None,
    place: str | None,
    yes: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Continue a stored study to the end of its budget, or of a new one.

    The objective is loaded from where it was when the study started. A storage can name any file:
    one outside of the current directory is only run if you name it yourself, with --objective. If
    the objective is a command, it is shown, and run if you agree.
    """
    study = Study.load(storage, name)
    named = place is not None
    if place is None and has_command(study):
        objective: Any = confirm_command(study, yes)
    else:
        objective = _recorded_function(study, place)
    _ = study.state  # an unknown method is refused before anything is written
    if budget is not None:
        study.budget = budget
    with interruptible(f"shoestring resume {shell_arguments(storage, study.name)}", lambda: study):
        study.run(objective, progress=False if quiet else None, accept_objective=named, **options)
    _report(study, storage, as_json)


@click.command(epilog="\b\nExample:\n  shoestring release digits 7 --storage shoestring.db")
@click.argument("name", metavar="STUDY")
@click.argument("trial", type=int)
@click.option("--storage", default=DEFAULT_STORAGE, show_default=True, help="The file that holds the study.")
def release(name: str, trial: int, storage: str) -> None:
    """Free a TRIAL that a process holds which does not answer, without waiting for its lease to expire.

    Any process that runs the study takes it over. `shoestring status` shows who holds what.
    """
    study = load_study(storage, name)
    study.release(trial)
    echo(f"trial {trial} of {name} is free: the next process that runs the study takes it over")


def _recorded_function(study: Study, place: str | None) -> Any:
    place = place or _recorded_place(study)
    file, wanted = locate(place)
    echo(f"{study.name}: running {wanted} of {file}", err=True)
    return pick(*load_module(place), "objective")


def _recorded_place(study: Study) -> str:
    """The FILE:OBJECTIVE that the log names, if it is one that a log may have run."""
    place = study.history.opened.objective
    if place is None or not re.fullmatch(r".*\.py:[^\W\d]\w*", place):
        raise ObjectiveError(
            f"the study {study.name!r} does not say where its objective is; give --objective FILE:OBJECTIVE"
        )
    file = Path(place.rpartition(":")[0]).resolve()
    if not any(file.is_relative_to(trusted.resolve()) for trusted in (Path.cwd(), _PACKAGE)):
        raise ObjectiveError(
            f"the storage says that the objective is {place!r}, outside of the current directory; "
            f"if that is what you want to run, name it: --objective {shlex.quote(place)}"
        )
    return place


def _report(study: Study, storage: str, as_json: bool) -> None:
    if as_json:
        print_json(summary(study))
        return
    show_status(study)
    echo(f"\nSee the trials with: shoestring trials {shell_arguments(storage, study.name)}")
