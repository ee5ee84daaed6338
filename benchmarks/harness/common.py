"""The command line that all benchmarks share.

A benchmark is a mapping of names to functions that take :class:`Options` and return rows::

    TABLES = {"speed": speed}

    def run() -> None:
        main(__doc__, TABLES)
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.harness.measurements import Row, store
from benchmarks.harness.provenance import provenance

# The quick form starts no table after this time, so that all benchmarks take less than ten minutes on two cores.
QUICK_SECONDS = 30.0


@dataclass(frozen=True)
class Options:
    """The number of seeds to run; ``quick`` asks for smaller tasks as well, ``write`` for the committed data and
    figures.
    """

    seeds: int
    quick: bool
    write: bool = False


Parts = Mapping[str, Callable[[Options], list[Row]]]


class Unavailable(Exception):
    """Something that a table needs is missing: recorded data, or a library."""


def main(
    about: str | None, tables: Parts, figures: Parts | None = None, *, seeds: int = 20, quick_seeds: int = 3
) -> None:
    """Run the tables and figures that the command line asks for (by default all) and show their rows.

    The quick form starts no further one after ``QUICK_SECONDS``, and says which ones are left out.
    """
    figures = figures or {}
    parser = _parser(about, tables, figures, seeds, quick_seeds)
    arguments = parser.parse_args()
    if arguments.write and arguments.quick:
        parser.error("--write stores the numbers that the result pages show; --quick is too small for that")
    count = arguments.seeds or (quick_seeds if arguments.quick else seeds)
    options = Options(count, arguments.quick, arguments.write)
    parts = {("table", name): part for name, part in tables.items()}
    parts |= {("figure", name): part for name, part in figures.items()}
    asked = {("table", arguments.table), ("figure", arguments.figure)} & parts.keys() or parts.keys()
    found, skipped, start = [], False, time.monotonic()
    with threadpool_limits(1):  # CPU time is compared, and threads that wait in a loop count as busy
        for kind, name in (key for key in parts if key in asked):
            part, title = parts[kind, name], name if kind == "table" else f"figure {name}"
            if options.quick and found and time.monotonic() - start > QUICK_SECONDS:
                print(f"{title} is left out of the quick form; to run it: --quick --{kind} {name}", file=sys.stderr)
                continue
            try:
                rows = part(options)
            except (Unavailable, ModuleNotFoundError) as why:
                print(f"{title} is skipped: {why}", file=sys.stderr)
                skipped = True
                continue
            found += [{"table": title, **asdict(line)} for line in rows]
            if not arguments.json:
                about_part, _, _ = (part.__doc__ or "").partition("\n")
                show(f"{title}: {about_part}", rows)
            if arguments.write:
                script = Path(sys.argv[0])
                command = f"python benchmarks/{script.name} --{kind} {name}"
                command += f" --seeds {arguments.seeds}" if arguments.seeds else ""
                store(script.stem, title, rows, provenance(command))
    if arguments.json:
        print(json.dumps(found, indent=1))
    if skipped and not options.quick:
        raise SystemExit(1)


def _parser(about: str | None, tables: Parts, figures: Parts, seeds: int, quick_seeds: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    parser.add_argument("--table", choices=sorted(tables), help="one table only")
    parser.add_argument("--figure", choices=sorted(figures), help="one figure only")
    default = f"{seeds}; with --quick {quick_seeds}" if seeds else "each table has its own default"
    parser.add_argument("--seeds", type=int, help=f"how many seeds ({default})")
    parser.add_argument(
        "--quick", action="store_true", help="about a minute: fewer seeds, smaller tasks, as many tables as fit"
    )
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--write", action="store_true", help="store rows and figures for the result pages")
    return parser


def show(title: str, rows: Sequence[Row]) -> None:
    """Print rows as a table; empty columns are left out."""
    columns: dict[str, Callable[[Row], str]] = {
        "": lambda line: line.name,
        "paper": lambda line: _number(line.paper),
        "measured": lambda line: _number(line.measured),
        "±": lambda line: _number(line.error),
        "n": lambda line: str(line.n),
        "required": lambda line: line.required,
        "met": lambda line: {None: "", True: "yes", False: "NO"}[line.met],
    }
    filled = {name: text for name, text in columns.items() if any(text(line) for line in rows)}
    table = Table(title=title, title_justify="left")
    for name in filled:
        table.add_column(name, justify="left" if not name else "right")
    for line in rows:
        table.add_row(*(text(line) for text in filled.values()))
    Console(width=None).print(table)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
