"""``shoestring report``: a study in one HTML file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from shoestring import web
from shoestring.cli.arguments import study_arguments
from shoestring.cli.output import echo
from shoestring.errors import MethodError, StorageError
from shoestring.study import Study


@click.command(epilog="\b\nExample:\n  shoestring report shoestring.db digits -o report.html")
@study_arguments
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default=Path("report.html"), show_default=True
)
@click.option("--no-verify", is_flag=True, help="Do not replay the decisions, which takes a while for some methods.")
@click.option("--interactive", is_flag=True, help="Put plotly.js into the file, to hover and zoom; adds 5 MB.")
def report(storage: str, name: str | None, output: Path, no_verify: bool, interactive: bool) -> None:
    """Write a report of a study: one HTML file that needs no network.

    It has the best configurations, plots, failures, the account of the budget, and the result of
    verifying the decisions.
    """
    if find_spec("jinja2") is None:
        raise MethodError("the report needs jinja2: pip install 'shoestring[report]'")
    study = Study.load(storage, name)
    content = web.report.report(study, storage=storage, verify=not no_verify, interactive=interactive)
    try:
        output.write_text(content, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{output} cannot be written: {error.strerror}") from None
    echo(f"{output}: {len(content.encode()) / 1e3:,.0f} kB", err=True)
