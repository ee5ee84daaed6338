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
    """Regret by the number of past studies, and the budget that is needed without them; from the stored tables."""
    stored = load("past")
    if missing := {"yahpo", "longer"} - stored.keys():
        raise Unavailable(f"{min(missing)} is not stored: run benchmarks/past.py --table {min(missing)} --write")
    rows = {**stored["longer"]["rows"], **stored["yahpo"]["rows"]}
    figure, ((left, right),) = new_figure(1, 2)
    counts = [0, *(setting.studies or _ALL for setting in PAST)]
    for amount in TRAININGS:
        names = [f"{label}, {amount} trainings" for label in ("none", *(setting.label for setting in PAST))]
        values = [rows[name].measured for name in names]
        errors = [rows[name].error or 0.0 for name in names]
        left.errorbar(counts, values, errors, marker="o", label=f"{amount} trainings")
    left.set(xlabel="past studies", ylabel="regret", yscale="log")
    left.legend()
    for amount in TRAININGS[:2]:
        factors = [1.0, *(rows[f"{s.label}, {amount} trainings, budget without"].measured for s in PAST)]
        right.plot(counts, factors, marker="o", label=f"{amount} trainings")
    right.set(xlabel="past studies", ylabel="times the budget without a past")
    right.legend()
    save(figure, "past_saved", options)
    return []
