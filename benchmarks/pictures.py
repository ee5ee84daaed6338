"""Figures of the benchmarks."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import Options
from numpy.typing import NDArray

FIGURES = Path(__file__).parent / "figures"


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
    """Where a figure is saved: with the committed ones if the run is to be kept, else in the temporary folder."""
    folder = FIGURES if options.write else Path(tempfile.gettempdir())
    print(f"figure: {folder / name}.png", file=sys.stderr)
    return folder / f"{name}.png"
