"""Figures of the benchmarks."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.common import Options

FIGURES = Path(__file__).parents[1] / "figures"


def new_figure(rows: int, columns: int, size: tuple[float, float] = (4.2, 3.2), **options: Any) -> tuple[Any, Any]:
    """A figure and its panels, shape (rows, columns); ``size`` is that of one panel in inches."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    whole = size[0] * columns, size[1] * rows
    return pyplot.subplots(rows, columns, figsize=whole, squeeze=False, layout="constrained", **options)


def band(axis: Any, name: str, curves: list[NDArray[np.float64]]) -> None:
    """The mean of curves, each extended by its last value, and the range between them in a lighter shade."""
    length = max(map(len, curves))
    stacked = np.array([np.pad(curve, (0, length - len(curve)), mode="edge") for curve in curves])
    at = np.arange(1, length + 1)
    (line,) = axis.plot(at, stacked.mean(axis=0), label=name, linewidth=1.2)
    axis.fill_between(at, stacked.min(axis=0), stacked.max(axis=0), color=line.get_color(), alpha=0.1, linewidth=0)


def saved(figure: Any, name: str, options: Options, dpi: int = 64) -> None:
    figure.savefig(place(name, options), dpi=dpi)


def place(name: str, options: Options) -> Path:
    """Return where a figure is saved: with the committed ones if the run is kept, else in the temporary folder."""
    folder = FIGURES if options.write else Path(tempfile.gettempdir())
    print(f"figure: {folder / name}.png", file=sys.stderr)
    return folder / f"{name}.png"


def critical_differences(axis: Any, title: str, ranks: Mapping[str, float], critical: float) -> None:
    """Mean ranks on a line, the best on the left. Bars join those that differ by less than the critical difference.

    Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR, 2006.
    """
    names = sorted(ranks, key=lambda name: ranks[name])
    low, high, half = 1, len(names), (len(names) + 1) // 2
    axis.set(xlim=(low - 0.35 * high, high * 1.35), ylim=(-half - 2.5, 2.2))
    axis.axis("off")
    axis.hlines(0, low, high, color="black", lw=1)
    for rank in range(low, high + 1):
        axis.vlines(rank, 0, 0.2, color="black", lw=0.8)
        axis.text(rank, 0.35, str(rank), ha="center", fontsize=7)
    axis.hlines(1.5, low, low + critical, color="black", lw=2)
    axis.text(low + critical + 0.2, 1.5, f"critical difference {critical:.1f}; {title}", va="center", fontsize=8)
    for place, name in enumerate(names):
        left = place < half
        depth, end = -2.2 - (place if left else high - 1 - place), low - 0.2 if left else high + 0.2
        axis.plot([ranks[name], ranks[name], end], [0, depth, depth], color="black", lw=0.6)
        text, side = f"{name} {ranks[name]:.1f}", "right" if left else "left"
        axis.text(end + (-0.1 if left else 0.1), depth, text, ha=side, va="center", fontsize=7)
    for depth, (first, last) in enumerate(_alike([ranks[name] for name in names], critical)):
        axis.hlines(-0.35 - 0.25 * depth, first - 0.05, last + 0.05, color="tab:red", lw=2)


def _alike(ranks: Sequence[float], critical: float) -> list[tuple[float, float]]:
    """The ends of the longest runs of rising ranks that lie within the critical difference."""
    found: list[tuple[float, float]] = []
    for first in ranks:
        last = max(rank for rank in ranks if rank <= first + critical)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
