"""Readings for Weights & Biases: one run for each trial, grouped by study."""

from __future__ import annotations

from typing import Any

from shoestring.core.history import TrialRecord
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
        run = self._runs.close(study, trial)
        run.summary["state"] = trial.state
        for name, text in remarks_of(trial).items():
            run.summary[name] = text
        run.finish(exit_code=0 if trial.state in ("finished", "stopped") else 1)

    def on_study_end(self, study: Any) -> None:
        for run in self._runs.close_all():
            run.finish()
