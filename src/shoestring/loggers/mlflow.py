"""Readings for MLflow: one run for each trial."""

from __future__ import annotations

from typing import Any

from shoestring.core.history import TrialRecord
from shoestring.core.readings import Reading
from shoestring.loggers.tracking import Runs, import_needed, numbers_of, remarks_of, require

_STATUS = {"finished": "FINISHED", "failed": "FAILED", "lost": "FAILED", "stopped": "KILLED"}


class MLflow:
    """Log each trial as a run of the ``experiment``, which is called like the study if no other name is given.

    ``tracking_uri`` is MLflow's; by default MLflow's own setting is used. A trial that is continued later, also
    by another process, is continued in its run: it is known by its tags. A paused trial has the status SCHEDULED.
    """

    def __init__(self, experiment: str | None = None, tracking_uri: str | None = None) -> None:
        require("mlflow", "MLflow")
        self._experiment, self._uri = experiment, tracking_uri
        self._client: Any = None
        self._place = ""
        self._runs: Runs[str] = Runs(self._start)

    def _connect(self, study: Any) -> Any:
        if self._client is None:
            self._client = import_needed("mlflow", "MLflow", "mlflow").MlflowClient(self._uri)
            name = self._experiment or study.name
            found = self._client.get_experiment_by_name(name)
            self._place = found.experiment_id if found else self._client.create_experiment(name)
        return self._client

    def _start(self, study: Any, trial: TrialRecord) -> str:
        client = self._connect(study)
        # The seed tells studies of the same name apart: it follows from the study's own.
        values = {"study": study.name, "trial": trial.index, "seed": trial.seed}
        tags = {f"shoestring.{name}": str(value) for name, value in values.items()}
        wanted = " and ".join(f"tags.`{name}` = '{_quote(value)}'" for name, value in tags.items())
        if found := client.search_runs([self._place], wanted, max_results=1):
            client.update_run(found[0].info.run_id, status="RUNNING")
            return str(found[0].info.run_id)
        run = str(client.create_run(self._place, tags=tags, run_name=f"trial-{trial.index}").info.run_id)
        for name, value in trial.config.items():
            client.log_param(run, name, value)
        return run

    def on_reading(self, study: Any, trial: TrialRecord, step: int, reading: Reading) -> None:
        run = self._runs.of(study, trial)
        for name, number in numbers_of(reading).items():
            self._client.log_metric(run, name, number, step=step)

    def on_trial_end(self, study: Any, trial: TrialRecord) -> None:
        self._end(self._runs.close(study, trial), trial, _STATUS[trial.state])

    def on_study_end(self, study: Any) -> None:
        for trial, run in self._runs.close_all(study):
            self._end(run, trial, "SCHEDULED")

    def _end(self, run: str, trial: TrialRecord, status: str) -> None:
        for name, text in remarks_of(trial).items():
            self._client.set_tag(run, name, text)
        if trial.message:
            self._client.set_tag(run, "shoestring.message", trial.message)
        self._client.set_terminated(run, status)


def _quote(value: str) -> str:
    return value.replace("'", "\\'")
