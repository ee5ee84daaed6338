"""Recorded learning curves, (a) of the user suite: as continuous problems, and with rows as arms."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchmarks.harness.play import Task
from benchmarks.harness.recorded import FAMILIES, UNTRAINED_FIRST, tables
from shoestring.problems import CurveTable


@cache
def snapped() -> tuple[Task, ...]:
    """The tables of lcbench, in sorted order: any configuration of the ranges is trained as the nearest row."""
    return tuple(_task(path, snap=True) for path in tables(["lcbench"]))


@cache
def rows() -> tuple[Task, ...]:
    """All recorded curves with their rows as the only configurations, as ``budgeted_tuning.py`` plays them."""
    return tuple(_task(path, snap=False) for path in tables(FAMILIES))


def _task(path: Path, snap: bool) -> Task:
    table = CurveTable.load(path, skip=int(path.parent.name in UNTRAINED_FIRST), snap=snap)
    kind = "continuous" if snap else "rows"
    return Task(
        f"{path.parent.name}/{path.stem}, {kind}", table.space, table.max_resource, table, table.mode,
        table.normalised_regret,
    )  # fmt: skip
