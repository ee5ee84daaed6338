"""Readings in a CSV file, one row each, as they come."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoestring.core.history import TrialRecord
from shoestring.core.readings import Reading
from shoestring.errors import StorageError

_COLUMNS = ("trial", "arm", "replicate", "seed", "state", "step", "value", "low", "high", "cost", "metrics", "message")


@dataclass(frozen=True)
class CSV:
    """Append every reading to the file ``path``, and a row without a value for each failed, stopped or lost trial.

    A study that is continued is continued in the same file. ``metrics`` is a column of JSON; parameters that are called
    like a column of ours are called ``config.NAME``.

    >>> import shoestring as ss
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     study = ss.tune(lambda trial: trial.config["x"], {"x": (0.0, 1.0)}, budget="3 evaluations",
    ...                     method="random", callbacks=[ss.loggers.CSV(f"{folder}/readings.csv")])
    ...     print(Path(f"{folder}/readings.csv").read_text()[:13])
    trial,arm,rep
    """

    path: str | Path

    def on_reading(self, study: Any, trial: TrialRecord, step: int, reading: Reading) -> None:
        numbers = {"value": reading.value, "low": reading.low, "high": reading.high, "cost": reading.cost}
        metrics = json.dumps(dict(reading.metrics)) if reading.metrics else ""
        self._write(study, trial, {"step": step, **numbers, "metrics": metrics})

    def on_trial_end(self, study: Any, trial: TrialRecord) -> None:
        if trial.state != "finished":
            self._write(study, trial, {"step": trial.step, "message": trial.message})

    def _write(self, study: Any, trial: TrialRecord, values: dict[str, Any]) -> None:
        names = {name: f"config.{name}" if name in _COLUMNS else name for name in study.history.codec.space}
        header = [*_COLUMNS, *names.values()]
        own = {name: getattr(trial, name) for name in ("arm", "replicate", "seed", "state")}
        config = {names[name]: value for name, value in trial.config.items()}
        path = Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+", newline="", encoding="utf-8") as file:
            file.seek(0)
            there = next(csv.reader(file), None)
            if there not in (None, header):
                raise StorageError(f"{path} has other columns than this study: give another file, or remove it")
            writer = csv.DictWriter(file, header)
            if there is None:
                writer.writeheader()
            writer.writerow({"trial": trial.index, **own, **values, **config})
