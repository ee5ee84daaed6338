"""Table 4.1 as a picture."""

from __future__ import annotations

import numpy as np
from common import Options
from measurements import Row, row
from pictures import new_figure, saved

from batch_optimisation_parts.columns import COLUMNS, found_4_1, scores, tasks_of


def columns(options: Options) -> list[Row]:
    """The columns of Table 4.1 as bars, the thesis's numbers as marks."""
    found, tasks = found_4_1(options), tasks_of(options)
    rows = [row(name, values, paper=COLUMNS[name][1]) for name, values in scores(found, tasks).items()]
    figure, axes = new_figure(1, 1, (8.4, 3.6))
    axis, at = axes[0, 0], np.arange(len(rows))
    axis.bar(at, [line.measured for line in rows], yerr=[line.error or 0.0 for line in rows], width=0.6, capsize=2)
    published = [(place, line.paper) for place, line in zip(at, rows, strict=True) if line.paper is not None]
    axis.plot(*zip(*published, strict=True), "k_", markersize=16, label="thesis, on other tables")
    axis.set_xticks(at, [line.name for line in rows], rotation=35, ha="right", fontsize=8)
    axis.set_ylabel("mean contest score, 34 tasks")
    axis.legend()
    saved(figure, "batch_optimisation_4_1", options)
    return rows
