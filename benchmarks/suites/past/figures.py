"""The budget that a past saves, by the number of its studies."""

from __future__ import annotations

from benchmarks.harness.common import Options, Unavailable
from benchmarks.harness.measurements import Row, load
from benchmarks.harness.pictures import new_figure, saved as save
from benchmarks.suites.past.settings import PAST
from benchmarks.suites.past.tables import TRAININGS

# How many studies "all" of them are, for the axis.
_ALL = 16


def saved(options: Options) -> list[Row]:
    """Regret by the number of past studies; and the budget that is needed without them, if "longer" was played."""
    stored = load("past")
    if "yahpo" not in stored:
        raise Unavailable("yahpo is not stored: run benchmarks/past.py --table yahpo --write")
    rows = stored["yahpo"]["rows"]
    figure, (panels,) = new_figure(1, 2 if "longer" in stored else 1)
    counts = [0, *(setting.studies or _ALL for setting in PAST)]
    for amount in TRAININGS:
        names = [f"{label}, {amount} trainings" for label in ("none", *(setting.label for setting in PAST))]
        values = [rows[name].measured for name in names]
        errors = [rows[name].error or 0.0 for name in names]
        panels[0].errorbar(counts, values, errors, marker="o", label=f"{amount} trainings")
    panels[0].axhline(0, color="0.8", zorder=0)
    panels[0].set(xlabel="past studies", ylabel="regret")
    panels[0].legend()
    for amount in TRAININGS[:2] if "longer" in stored else ():
        longer = stored["longer"]["rows"]
        factors = [1.0, *(longer[f"{s.label}, {amount} trainings, budget without"].measured for s in PAST)]
        panels[1].plot(counts, factors, marker="o", label=f"{amount} trainings")
        panels[1].set(xlabel="past studies", ylabel="times the budget without a past")
        panels[1].legend()
    save(figure, "past_saved", options)
    return []
