"""The command line: studies as in the Python API, printed for a person or as JSON."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from shoestring import __version__
from shoestring.errors import ShoestringError

# The module of each command. It is loaded when the command is called, so that status need not wait for what run needs.
_MODULES = {
    **dict.fromkeys(("run", "resume"), "run"),
    **dict.fromkeys(("status", "best", "trials", "export", "verify"), "inspection"),
    "demo": "demo",
    "augment": "augmenting",
}


class _OneLineError(click.ClickException):
    """An error of ours, in one line and without a traceback."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"shoestring: {' '.join(self.message.splitlines())}", err=True)


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _MODULES:
            return None
        command: click.Command = getattr(import_module(f"shoestring.cli.{_MODULES[name]}"), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ShoestringError as error:
            raise _OneLineError(str(error)) from error


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: shoestring demo",
)
@click.version_option(__version__, message="shoestring %(version)s")
def main() -> None:
    """Hyper-parameter tuning on a budget.

    A study spends a fixed budget on trials of an objective and logs everything that happens.
    It can be interrupted at any time and resumed.
    """
