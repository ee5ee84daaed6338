"""What the benchmarks share: their options, rows of numbers, and how these are shown.

A benchmark is a mapping of names to functions that take :class:`Options` and give rows::

    TABLES = {"speed": speed}

    if __name__ == "__main__":
        main(__doc__, TABLES)
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits


@dataclass(frozen=True)
class Options:
    """How many seeds to run; ``quick`` asks for smaller tasks as well."""

    seeds: int
    quick: bool


@dataclass(frozen=True)
class Row:
    """One number: what a paper gives, what was measured, its standard error over ``n`` runs.

    ``bar`` is what is required, at least if ``sense`` is ">=" and at most if it is "<=".
    """

    name: str
    measured: float
    error: float | None = None
    n: int = 1
    paper: float | None = None
    bar: float | None = None
    sense: str = "<="

    @property
    def met(self) -> bool | None:
        if self.bar is None:
            return None
        return self.measured <= self.bar if self.sense == "<=" else self.measured >= self.bar


def row(
    name: str,
    values: Sequence[float],
    *,
    paper: float | None = None,
    at_most: float | None = None,
    at_least: float | None = None,
) -> Row:
    """The mean of some runs and its standard error, beside what is published or required."""
    n = len(values)
    error = statistics.stdev(values) / math.sqrt(n) if n > 1 else None
    bar, sense = (at_least, ">=") if at_least is not None else (at_most, "<=")
    return Row(name, statistics.fmean(values), error, n, paper, bar, sense)


Part = Callable[[Options], list[Row]]


def main(
    about: str | None,
    tables: Mapping[str, Part],
    figures: Mapping[str, Part] | None = None,
    *,
    seeds: int = 20,
    quick_seeds: int = 3,
) -> None:
    """Run the tables and figures that the command line asks for, all if it asks for none, and show their rows."""
    figures = figures or {}
    arguments = _parser(about, tables, figures, seeds, quick_seeds).parse_args()
    options = Options(arguments.seeds or (quick_seeds if arguments.quick else seeds), arguments.quick)
    asked = [name for name in (arguments.table, arguments.figure) if name] or [*tables, *figures]
    found = []
    with threadpool_limits(1):  # CPU time is compared, and threads that wait in a loop count as busy
        for name in asked:
            part = tables.get(name) or figures[name]
            rows = part(options)
            found += [{"table": name, **asdict(line)} for line in rows]
            if not arguments.json:
                show(f"{name}: {(part.__doc__ or '').strip().splitlines()[0]}", rows)
    if arguments.json:
        print(json.dumps(found, indent=1))


def _parser(
    about: str | None, tables: Mapping[str, Part], figures: Mapping[str, Part], seeds: int, quick_seeds: int
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    parser.add_argument("--table", choices=sorted(tables), help="one table only")
    parser.add_argument("--figure", choices=sorted(figures), help="one figure only")
    parser.add_argument("--seeds", type=int, help=f"how many seeds ({seeds}; with --quick {quick_seeds})")
    parser.add_argument("--quick", action="store_true", help="about a minute: fewer seeds, smaller tasks, same code")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    return parser


def show(title: str, rows: Sequence[Row]) -> None:
    """Print rows as a table; columns that would be empty are left out."""
    columns: dict[str, Callable[[Row], str]] = {
        "": lambda line: line.name,
        "paper": lambda line: _number(line.paper),
        "measured": lambda line: _number(line.measured),
        "±": lambda line: _number(line.error),
        "n": lambda line: str(line.n),
        "required": lambda line: "" if line.bar is None else f"{line.sense} {_number(line.bar)}",
        "met": lambda line: {None: "", True: "yes", False: "NO"}[line.met],
    }
    table = Table(title=title, title_justify="left")
    for name, text in columns.items():
        if any(text(line) for line in rows):
            table.add_column(name, justify="left" if not name else "right")
    for line in rows:
        table.add_row(*(text(line) for name, text in columns.items() if any(text(other) for other in rows)))
    Console(width=None).print(table)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
