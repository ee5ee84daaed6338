"""Readings for Weights & Biases: one run for each trial, grouped by study."""

from __future__ import annotations

from typing import Any

from shoestring.core.history import FAILED, TrialRecord
from shoestring.core.readings import Reading
from shoestring.loggers.tracking import Runs, import_needed, numbers_of, remarks_of, require


class WandB:
    """Log each trial as a run of the ``project``; ``options`` go to ``wandb.init``, such as ``mode="offline"``."""

    def __init__(self, project: str | None = None, **options: Any) -> None:
        require("wandb", "WandB")
        self._options = {"project": project, **options}
        self._runs: Runs[Any] = Runs(self._start)

    def _start(self, study: Any, trial: TrialRecord) -> Any:
        # The seed tells studies of the same name apart; a trial that is continued is continued in its run.
        known = {"group": study.name, "name": f"trial-{trial.index}", "id": f"{study.name}-{trial.index}-{trial.seed}"}
        options = {**known, "resume": "allow", "reinit": "create_new", "config": dict(trial.config), **self._options}
        return import_needed("wandb", "WandB", "wandb").init(**options)

    def on_reading(self, study: Any, trial: TrialRecord, step: int, reading: Reading) -> None:
        self._runs.of(study, trial).log(numbers_of(reading), step=step)

    def on_trial_end(self, study: Any, trial: TrialRecord) -> None:
        self._end(self._runs.close(study, trial), trial)

    def on_study_end(self, study: Any) -> None:
        for trial, run in self._runs.close_all(study):
            self._end(run, trial)

    def _end(self, run: Any, trial: TrialRecord) -> None:
        run.summary["state"] = trial.state
        for name, text in remarks_of(trial).items():
            run.summary[name] = text
        run.finish(exit_code=1 if trial.state in FAILED else 0)
