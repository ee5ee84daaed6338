"""``shoestring watch``: a study that runs elsewhere, live in the terminal."""

from __future__ import annotations

import time

import click
from rich.console import Console
from rich.live import Live

from shoestring.cli.arguments import study_arguments
from shoestring.cli.output import echo
from shoestring.display.watch_screen import frame
from shoestring.logs import open_log
from shoestring.study import Study
from shoestring.views.following import Followed


@click.command(epilog="\b\nExample:\n  shoestring watch shoestring.db digits")
@study_arguments
@click.option("--every", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds between looks.")
@click.option("--once", is_flag=True, help="Print the study once and end.")
def watch(storage: str, name: str | None, every: float, once: bool) -> None:
    """Watch a study that another process runs, until its budget is spent or Ctrl-C is pressed.

    It only reads the log.
    """
    followed = Followed(open_log(storage, create=False), Study.load(storage, name).name)
    console = Console()
    if once:
        console.print(frame(followed.trace))
        return
    try:
        with Live(frame(followed.trace), console=console, auto_refresh=False) as live:
            while not _is_over(followed):
                time.sleep(every)
                if followed.update():
                    live.update(frame(followed.trace), refresh=True)
    except KeyboardInterrupt:
        echo("Stopped watching; the study is not affected.", err=True)


def _is_over(followed: Followed) -> bool:
    history = followed.trace.history
    return not history.running and history.ledger.exhausted_unit() is not None
