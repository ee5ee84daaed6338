"""Plots of studies: ``plots.curves(study)`` is a figure, ``plots.curves.data(study)`` the record of what it shows.

Everything is read from the log, so it works on a study that runs, that has ended or that is stored. ``backend`` is
"matplotlib", "plotly" or "svg", which needs no library; ``width`` is in pixels::

    figure = ss.plots.curves(study, backend="plotly", width=1200)
"""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.plots.comparison import pareto as pareto, regret as regret
    from shoestring.plots.forecast_fans import forecast as forecast
    from shoestring.plots.fronts import front as front, volume as volume
    from shoestring.plots.learning_curves import curves as curves
    from shoestring.plots.metric_readings import metrics as metrics
    from shoestring.plots.others import online as online, pairs as pairs
    from shoestring.plots.parallel_coordinates import parallel as parallel
    from shoestring.plots.parameter_effects import contour as contour, importance as importance, slices as slices
    from shoestring.plots.schedule import rungs as rungs, workers as workers
    from shoestring.plots.spending import burn_down as burn_down, history as history, shares as shares

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "comparison": "pareto regret",
        "forecast_fans": "forecast",
        "fronts": "front volume",
        "learning_curves": "curves",
        "metric_readings": "metrics",
        "others": "online pairs",
        "parallel_coordinates": "parallel",
        "parameter_effects": "contour importance slices",
        "spending": "burn_down history shares",
        "schedule": "rungs workers",
    },
)
