"""Readings for TensorBoard: one run for each trial, with its configuration as hyper-parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoestring.core.history import TrialRecord
from shoestring.core.readings import Reading
from shoestring.core.workers import now
from shoestring.loggers.tracking import Runs, import_needed, numbers_of, remarks_of, require


class TensorBoard:
    """Write to ``folder/STUDY/trial-N``; look at it with ``tensorboard --logdir folder``. Needs tensorboard alone."""

    def __init__(self, folder: str | Path = "runs") -> None:
        require("tensorboard", "TensorBoard")
        self._folder = Path(folder)
        self._runs: Runs[Any] = Runs(self._start)

    def _start(self, study: Any, trial: TrialRecord) -> Any:
        writers = import_needed("tensorboard.summary.writer.event_file_writer", "TensorBoard", "tensorboard")
        hparams = import_needed("tensorboard.plugins.hparams.summary_v2", "TensorBoard", "tensorboard")
        writer = writers.EventFileWriter(str(self._folder / study.name / f"trial-{trial.index}"))
        plain = (bool, int, float, str)
        config = {name: value if isinstance(value, plain) else str(value) for name, value in trial.config.items()}
        _add(writer, hparams.hparams_pb(config, trial_id=f"{study.name}-{trial.index}"), 0)
        return writer

    def on_reading(self, study: Any, trial: TrialRecord, step: int, reading: Reading) -> None:
        protos = import_needed("tensorboard.compat.proto.summary_pb2", "TensorBoard", "tensorboard")
        numbers = numbers_of(reading).items()
        values = [protos.Summary.Value(tag=name, simple_value=number) for name, number in numbers]
        _add(self._runs.of(study, trial), protos.Summary(value=values), step)

    def on_trial_end(self, study: Any, trial: TrialRecord) -> None:
        self._end(self._runs.close(study, trial), trial)

    def on_study_end(self, study: Any) -> None:
        for trial, writer in self._runs.close_all(study):
            self._end(writer, trial)

    def _end(self, writer: Any, trial: TrialRecord) -> None:
        texts = import_needed("tensorboard.plugins.text.summary_v2", "TensorBoard", "tensorboard")
        for name, text in remarks_of(trial).items():
            _add(writer, texts.text_pb(name, text), trial.step)
        writer.close()


def _add(writer: Any, summary: Any, step: int) -> None:
    protos = import_needed("tensorboard.compat.proto.event_pb2", "TensorBoard", "tensorboard")
    writer.add_event(protos.Event(wall_time=now(), step=step, summary=summary))
