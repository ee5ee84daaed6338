"""The command line: the same study as the Python API, told to a person."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from shoestring import __version__
from shoestring.errors import ShoestringError

# Each command is loaded when it is called: looking at a study must not wait for what runs one.
_HOMES = {
    "run": "running",
    "resume": "running",
    "status": "inspecting",
    "best": "inspecting",
    "trials": "inspecting",
    "export": "inspecting",
    "verify": "inspecting",
    "demo": "demo",
    "augment": "augmenting",
}


class _Refusal(click.ClickException):
    """An error of ours, in one line and without a traceback."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"shoestring: {' '.join(self.message.splitlines())}", err=True)


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_HOMES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _HOMES:
            return None
        command: click.Command = getattr(import_module(f"shoestring.cli.{_HOMES[name]}"), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ShoestringError as error:
            raise _Refusal(str(error)) from error


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with: shoestring demo",
)
@click.version_option(__version__, message="shoestring %(version)s")
def main() -> None:
    """Hyper-parameter tuning on a budget.

    A study spends a fixed budget on trials of an objective, and writes down all that happens.
    It can be interrupted at any time and resumed.
    """
