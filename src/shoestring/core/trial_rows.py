"""A trial as plain rows, for data frames and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from shoestring.core.readings import Reading

if TYPE_CHECKING:
    import pandas

    from shoestring.core.history import TrialRecord


def summary_row(trial: TrialRecord) -> dict[str, Any]:
    """One row for the trial; ``value`` and ``step`` are what the study's rule makes of its readings."""
    costs = [reading.cost for reading in trial.readings.values() if reading.cost is not None]
    found = trial.recommended
    row: dict[str, Any] = {
        "trial": trial.index,
        "arm": trial.arm,
        "replicate": trial.replicate,
        "state": trial.state,
        "value": trial.readings[found.step].value if found else None,
        "step": found.step if found else None,
        "steps": trial.step,
        "seconds": trial.seconds,
        "cost": sum(costs) if costs else None,
        "seed": trial.seed,
        "reason": trial.reason,
        "message": trial.message,
    }
    return row | {f"config.{name}" if name in row else name: value for name, value in trial.config.items()}


def reading_rows(trial: TrialRecord) -> Iterator[dict[str, Any]]:
    """One row for each reading; a trial without a reading has one row with an empty value."""
    none: Reading = Reading(None)  # type: ignore[arg-type]
    for step, reading in trial.readings.items() or [(0, none)]:
        row: dict[str, Any] = {
            "trial": trial.index,
            "arm": trial.arm,
            "replicate": trial.replicate,
            "state": trial.state,
            "step": step,
            "value": reading.value,
            "cost": reading.cost,
            "seed": trial.seed,
        }
        for kind, values in (("metric", reading.metrics), ("config", trial.config)):
            row |= {f"{kind}.{name}" if name in row else name: value for name, value in values.items()}
        yield row


def frame(rows: list[dict[str, Any]], need: str) -> pandas.DataFrame:
    """Rows as a data frame; ``need`` says what to do without pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError(need) from None
    return pandas.DataFrame(rows)
