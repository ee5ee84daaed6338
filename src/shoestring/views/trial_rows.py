"""Trials as plain rows, for data frames and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from shoestring._tables import with_own_names
from shoestring.core.history import TrialRecord
from shoestring.core.journal import Journal
from shoestring.core.readings import Reading

if TYPE_CHECKING:
    import pandas


class HasTables:
    """The part of a study that gives its trials and readings as rows and data frames."""

    _journal: Journal

    def rows(self) -> list[dict[str, Any]]:
        """The readings as plain rows, each with the notes and attributes of its trial; a trial without a reading has
        one row with an empty value.
        """
        history = self._journal.history
        with self._journal.lock:
            self._journal.sync()
            return [row for trial in history.trials for row in reading_rows(trial)]

    def frame(self) -> pandas.DataFrame:
        """The readings as a pandas DataFrame, one row per reading (needs pandas)."""
        return frame(self.rows(), "study.frame() needs pandas: pip install pandas, or use study.rows()")

    def trials_frame(self) -> pandas.DataFrame:
        """The trials as a pandas DataFrame, one row per trial, with notes, metrics, configuration and attributes.
        ``value`` is what the study's rule makes of the readings, at ``step``; metrics are of that step (needs pandas).
        """
        history = self._journal.history
        with self._journal.lock:
            self._journal.sync()
            rows = [summary_row(trial) for trial in history.trials]
        return frame(rows, "study.trials_frame() needs pandas: pip install pandas, or use study.trials")


def summary_row(trial: TrialRecord) -> dict[str, Any]:
    """One row for the trial; a parameter called like a column of ours gets a longer name."""
    return with_own_names({"trial": trial.index}, "config", trial.facts())


def reading_rows(trial: TrialRecord) -> Iterator[dict[str, Any]]:
    """One row for each reading; a trial without a reading has one row with an empty value."""
    none: Reading = Reading()
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
        row = with_own_names(with_own_names(row, "metric", reading.metrics), "config", trial.config)
        said = {"notes": "\n".join(trial.notes)} if trial.notes else {}
        yield with_own_names(with_own_names(row, "trial", said), "attribute", trial.attributes)


def frame(rows: list[dict[str, Any]], need: str) -> pandas.DataFrame:
    """Rows as a data frame; ``need`` says what to do without pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError(need) from None
    return pandas.DataFrame(rows)
