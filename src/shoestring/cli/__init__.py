"""The command line: studies as in the Python API, printed for a person or as JSON."""

from __future__ import annotations

import errno
import os
import re
import sys
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from shoestring import __version__
from shoestring._text import one_line
from shoestring.errors import ShoestringError

# The module of each command. It is loaded when the command is called, so that status need not wait for what run needs.
_MODULES = {
    **dict.fromkeys(("run", "resume", "release"), "run"),
    **dict.fromkeys(("ask", "tell", "fail"), "ask"),
    "past": "past",
    "status": "status",
    "best": "best",
    **dict.fromkeys(("trials", "export"), "trials"),
    "import": "imports",
    "verify": "verify",
    "worker": "worker",
    "watch": "watch",
    "plot": "plot",
    "report": "report",
    "dashboard": "dashboard",
    "serve": "serve",
    "mcp": "mcp",
    **dict.fromkeys(("rename", "archive", "delete"), "manage"),
    "repair": "repair",
    "demo": "demo",
    "augment": "augment",
}


# Other words for our commands.
_OTHER_NAMES = {
    **dict.fromkeys(("tune", "start", "optimize", "optimise", "search"), "run"),
    **dict.fromkeys(("continue", "restart"), "resume"),
    **dict.fromkeys(("list", "ls", "show", "studies", "info"), "status"),
    **dict.fromkeys(("ui", "web", "gui"), "dashboard"),
    **dict.fromkeys(("check", "audit"), "verify"),
    **dict.fromkeys(("server", "http"), "serve"),
    **dict.fromkeys(("csv", "dump"), "export"),
    **dict.fromkeys(("rm", "remove"), "delete"),
    **dict.fromkeys(("mv", "move"), "rename"),
    "hide": "archive",
}

# Where a message names an argument of a function that is an option here: at its start, or with its value.
_NAMES = "max_resource|workers|retries|trial_timeout|step_timeout|target|patience|gpus|threads|keep|past|guess"
_ARGUMENT = re.compile(rf"\b({_NAMES})= ?(?:\.\.\.)?|^({_NAMES}) (?=is )")


class _OneLineError(click.ClickException):
    """An error of ours, in one line and without a traceback."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"shoestring: {one_line(' '.join(self.message.splitlines()))}", err=True)


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _MODULES:
            return None
        own = f"{name}_" if iskeyword(name) else name
        command: click.Command = getattr(import_module(f"shoestring.cli.{_MODULES[name]}"), own)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _MODULES and not name.startswith("-"):
            wanted = _OTHER_NAMES.get(name) or next(iter(get_close_matches(name, _MODULES, n=1, cutoff=0.5)), None)
            hint = f"; did you mean {wanted!r}?" if wanted else "."
            raise click.UsageError(f"there is no command {name!r}{hint} All commands: shoestring --help")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                if sys.stdout is not None:  # it is None if the process was started without one
                    sys.stdout.flush()
        except ShoestringError as error:
            raise _OneLineError(_as_options(str(error))) from error
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes the rest when it ends
            raise _OneLineError(f"the output cannot be written: {error.strerror}") from error


def _as_options(message: str) -> str:
    """A message about an argument of a function, in the words of the command line."""
    named = _ARGUMENT.sub(lambda found: f"--{(found[1] or found[2]).replace('_', '-')} ", message)
    # In a list of keys of a file it is not an option.
    return re.sub(r"(?<!, )\bmax_resource\b|\bmax_resource\b(?!, )", "--max-resource", named).strip()


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
