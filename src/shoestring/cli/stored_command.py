"""The command that a storage names. It is run only if the user agrees, because a file can contain any command."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from shoestring.cli.output import echo
from shoestring.errors import ObjectiveError
from shoestring.objectives.command.definition import Command, command_from_log, is_command
from shoestring.study import Study

yes_option = click.option("--yes", is_flag=True, help="Run the command that the storage names, without asking.")


def has_command(study: Study) -> bool:
    return is_command(study.history.opened.objective or "")


def confirm_command(study: Study, agreed: bool) -> Command:
    """Return the command of a study, after showing it and asking the user whether to run it."""
    command = command_from_log(study.history.opened.objective or "")
    echo(f"{study.name}: running {command} in {Path.cwd()}", err=True)
    if agreed:
        return command
    if not sys.stdin.isatty():
        raise ObjectiveError(
            "the storage names the command, and this process has no terminal to ask whether to run it: give --yes"
        )
    click.confirm("Run it?", abort=True, err=True)
    return command
