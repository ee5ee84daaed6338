"""Callbacks: objects of the user's that are told what happens while a study runs.

They are called in the process that runs the study, after the event is in the log, and only for the trials that this
process runs. An error in one is logged and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from shoestring.core.history import TrialRecord
from shoestring.errors import MethodError
from shoestring.objectives.failures import error_line

_logger = logging.getLogger("shoestring")

HOOKS = ("on_reading", "on_trial_end", "on_study_end")


def check_callbacks(given: object) -> None:
    """Refuse what cannot be a list of callbacks."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise MethodError(f"callbacks is {given!r}; it must be a list, such as [ss.loggers.CSV('readings.csv')]")
    for callback in given:
        known = callable(callback) or any(callable(getattr(callback, hook, None)) for hook in HOOKS)
        if isinstance(callback, type) or not known:
            raise MethodError(
                f"{callback!r} is not a callback; it must be an object with on_reading(study, trial, step, reading), "
                "on_trial_end(study, trial) or on_study_end(study), or a function(study, trial) that is called at the "
                "end of each trial"
            )


class Callbacks:
    """The callbacks of one run."""

    def __init__(self, study: Any = None, given: Iterable[Any] = ()) -> None:
        self._study = study
        self._given = list(given)
        self._failed: set[tuple[int, str]] = set()

    def reading(self, trial: TrialRecord, step: int) -> None:
        """The reading of a step is in the log."""
        if self._given and step in trial.readings:
            self._call("on_reading", trial, step, trial.readings[step])

    def trial_end(self, trial: TrialRecord) -> None:
        """A trial has finished, failed, was stopped or lost; one that is paused has not ended."""
        self._call("on_trial_end", trial)

    def study_end(self) -> None:
        """Called when the run is over, even if it was interrupted."""
        self._call("on_study_end")

    def _call(self, hook: str, *arguments: Any) -> None:
        for number, callback in enumerate(self._given):
            plain = callback if hook == "on_trial_end" and callable(callback) else None
            function = getattr(callback, hook, plain)
            if function is None:
                continue
            try:
                function(self._study, *arguments)
            except Exception as error:
                level = logging.INFO if (number, hook) in self._failed else logging.WARNING
                self._failed.add((number, hook))
                name = getattr(callback, "__qualname__", type(callback).__name__)
                _logger.log(level, "the callback %s failed in %s, and the study goes on: %s",
                            name, hook, error_line(error))  # fmt: skip
