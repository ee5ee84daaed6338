"""The command that a storage names, which is run only if somebody agrees: anybody can write any command into a file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from shoestring.cli.output import echo
from shoestring.errors import ObjectiveError
from shoestring.objectives.command.definition import Command, is_command, recorded_command
from shoestring.study import Study

yes_option = click.option("--yes", is_flag=True, help="Run the command that the storage names, without asking.")


def has_command(study: Study) -> bool:
    return is_command(study.history.opened.objective or "")


def agreed_command(study: Study, agreed: bool) -> Command:
    """The command of a study, after it was shown, and somebody who can be asked wants it to run."""
    command = recorded_command(study.history.opened.objective or "")
    echo(f"{study.name}: running {command} in {Path.cwd()}", err=True)
    if agreed:
        return command
    if not sys.stdin.isatty():
        raise ObjectiveError("the storage names the command, and nobody can be asked whether to run it: give --yes")
    click.confirm("Run it?", abort=True, err=True)
    return command
