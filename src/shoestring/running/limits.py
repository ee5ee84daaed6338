"""The options of a run: when to give up a trial, and when to stop the study before its budget is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from shoestring.core.budget import Budget, as_budget
from shoestring.core.history import History
from shoestring.core.journal import RETRIES
from shoestring.errors import BudgetError, MethodError, brief


@dataclass(frozen=True)
class Limits:
    """``retries`` is how often a trial is run again after the same step was lost with its process or raised.

    None is once for a lost process and never for an exception. ``trial_timeout`` and ``step_timeout`` are seconds.
    ``target`` is the value that ends the study, ``patience`` the budget after which it ends if no reading was better.
    """

    retries: int | None = None
    trial_timeout: float | None = None
    step_timeout: float | None = None
    target: float | None = None
    patience: Budget | str | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        retries = self.retries
        if retries is not None and (not isinstance(retries, int) or isinstance(retries, bool) or retries < 0):
            raise MethodError(f"retries is {brief(retries)}; it is how often a trial runs again, a whole number from 0")
        for name in ("trial_timeout", "step_timeout"):
            seconds = getattr(self, name)
            if seconds is not None and not (_is_number(seconds) and seconds > 0):
                raise MethodError(f"{name} is {brief(seconds)}; it must be a positive number of seconds")
        if self.target is not None and not _is_number(self.target):
            raise MethodError(f"target is {brief(self.target)}; it must be the value to reach, a finite number")
        if self.patience is not None:
            object.__setattr__(self, "patience", _patience(self.patience))

    def check_for(self, objectives: int) -> None:
        """Refuse limits that are about one value where there are several."""
        for name in ("target", "patience"):
            if objectives > 1 and getattr(self, name) is not None:
                raise MethodError(f"{name} is about one value, and the study has {objectives} objectives: leave it out")

    @property
    def has_timeout(self) -> bool:
        return self.trial_timeout is not None or self.step_timeout is not None

    def seconds_for(self, took: float) -> float:
        """Return how long the next step of a trial may take, given the seconds of its steps so far."""
        of_trial = math.inf if self.trial_timeout is None else self.trial_timeout - took
        return min(of_trial, self.step_timeout or math.inf)

    def describe_timeout(self, took: float, step: int) -> str:
        """Return which limit a trial that took too long has reached."""
        if self.step_timeout is not None and self.seconds_for(took) >= self.step_timeout:
            return f"step {step} took longer than step_timeout={self.step_timeout:g} s"
        return f"it took longer than trial_timeout={self.trial_timeout:g} s"

    def retries_after(self, how: str) -> int:
        """Return how often a step is tried again that was "lost" with its process, or "failed"."""
        if self.retries is None:
            return RETRIES if how == "lost" else 0
        return self.retries

    def reason_to_stop(self, history: History) -> str:
        """Return why the study is to stop now; empty if it is to go on."""
        if history.lowest is None:
            return ""
        trial, step, loss = history.lowest
        if self.target is not None and loss <= history.sign * self.target:
            value = trial.readings[step].value
            return f"the target {self.target:g} was reached: trial {trial.index} had {value:g} at step {step}"
        if isinstance(self.patience, Budget):
            spent = history.ledger.spent()
            for unit, limit in self.patience.limits().items():
                if spent[unit] - history.spent_then[unit] >= limit:
                    return f"the best value has not improved for {limit:g} {unit}"
        return ""


def _patience(given: object) -> Budget:
    try:
        if isinstance(given, (Budget, str, Mapping)):
            return as_budget(given)
    except BudgetError as error:
        raise MethodError(f"patience is {given!r}, which is a budget: {error}") from None
    raise MethodError(f"patience is {given!r}; it must have a unit, such as '50 steps'")


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond all floating-point numbers
        return False
