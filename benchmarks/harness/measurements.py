"""Rows of numbers, and the data files that keep them: ``benchmarks/data/NAME.json``, one for each benchmark.

A data file maps each table to its rows and to what produced them (``provenance.py``): the command, the version, the
commit, the date and the installed packages. Results that were stored before the last three were noted say "unknown",
and ``stored`` is the commit that brought them into the data file. The result pages are rendered from these files by
``render.py``, so no number is typed twice.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"
UNKNOWN = {"commit": "unknown", "date": "unknown", "packages": "unknown"}


@dataclass(frozen=True)
class Row:
    """One number: the mean of ``n`` runs, its standard error, the published value, and the limits it should keep."""

    name: str
    measured: float
    error: float | None = None
    n: int = 1
    paper: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    @property
    def met(self) -> bool | None:
        """Return whether the limits are kept; None if there are none."""
        if self.at_least is None and self.at_most is None:
            return None
        low = -math.inf if self.at_least is None else self.at_least
        return low <= self.measured <= (math.inf if self.at_most is None else self.at_most)

    @property
    def required(self) -> str:
        """The limits as text."""
        if self.at_least is not None and self.at_most is not None:
            one = self.at_least == self.at_most
            return f"{self.at_least:g}" if one else f"{self.at_least:g} to {self.at_most:g}"
        limits = {"≥": self.at_least, "≤": self.at_most}
        return "".join(f"{sign} {limit:.3g}" for sign, limit in limits.items() if limit is not None)


def row(name: str, values: Sequence[float], **known: float | None) -> Row:
    """The mean of some runs and its standard error; ``known`` is ``paper``, ``at_least`` and ``at_most``."""
    n = len(values)
    error = statistics.stdev(values) / math.sqrt(n) if n > 1 else None
    return Row(name, statistics.fmean(values), error, n, **known)


Tables = dict[str, dict[str, Any]]


def load(name: str, folder: Path = DATA) -> Tables:
    """All tables of a benchmark, with their rows as :class:`Row` by name; empty if nothing was stored."""
    path = folder / f"{name}.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {
        table: {
            **UNKNOWN,
            **entry,
            "rows": {row_name: Row(row_name, **fields) for row_name, fields in entry["rows"].items()},
        }
        for table, entry in stored.items()
    }


def store(name: str, table: str, rows: Sequence[Row], provenance: Mapping[str, Any], folder: Path = DATA) -> None:
    """Replace one table of a benchmark's data file; every row is a line, so that changes are easy to review."""
    by_name = {line.name: line for line in rows}
    if len(by_name) != len(rows):
        twice = sorted({line.name for line in rows if by_name[line.name] is not line})
        raise ValueError(f"rows of the table {table!r} share the names {twice}; give each row its own")
    tables = {**load(name, folder), table: {**provenance, "rows": by_name}}
    folder.mkdir(parents=True, exist_ok=True)
    blocks = [f"{json.dumps(key, ensure_ascii=False)}: {_block(tables[key])}" for key in sorted(tables)]
    (folder / f"{name}.json").write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


def _block(entry: Mapping[str, Any]) -> str:
    known = {key: value for key, value in entry.items() if key != "rows" and value != "unknown"}
    head = json.dumps(known, ensure_ascii=False)
    lines = [f"  {json.dumps(line.name, ensure_ascii=False)}: {_fields(line)}" for line in entry["rows"].values()]
    return f'{head[:-1]}, "rows": {{\n' + ",\n".join(lines) + "\n}}"


def _fields(line: Row) -> str:
    """List the known fields of a row, to six digits."""
    known = {key: value for key, value in asdict(line).items() if key != "name" and value is not None}
    return json.dumps({key: float(f"{value:.6g}") if key != "n" else value for key, value in known.items()})
