"""The resources at which trials are compared and promoted, shared by the schedulers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

from shoestring.core.decisions import Continue, Decision, Done, Replicate, Start
from shoestring.core.history import Arm, Cursor, History, TrialRecord
from shoestring.core.options import check_choices, check_number, check_whole
from shoestring.errors import MethodError

# A configuration is evaluated again by carrying its trial on, or by a new trial from another initialisation.
Replication = Literal["resume", "fresh"]


def check_options(scheduler: Any) -> None:
    """The options that the schedulers share, as far as this one has them."""
    check_choices(scheduler)
    check_number(scheduler, "eta", "how much stricter each rung is, a number above 1 such as 3", 1, ends="()")
    check_whole(scheduler, "the first rung, a whole number", min_resource=1)
    for name in ("arms", "brackets", "iterations"):
        if hasattr(scheduler, name):
            check_whole(scheduler, "how many there are, a whole number", **{name: 1})
    if hasattr(scheduler, "beta"):
        check_number(scheduler, "beta", "how much an unexplored arm is preferred, a number from 0; try 0.1", 0)


def top_resource(history: History, what: str, min_resource: int = 1) -> int:
    """The study's ``max_resource``; an error if there is none, or the first rung is above it."""
    top = history.max_resource
    if top is None:
        raise MethodError(f"{what} needs max_resource: say how many steps a trial can have at most, max_resource=...")
    if top < min_resource:
        raise MethodError(f"{what} starts at min_resource={min_resource}, above max_resource={top}")
    return top


@lru_cache
def ladder(min_resource: int, max_resource: int, eta: float) -> tuple[int, ...]:
    """Rungs from the first to the top, each ``eta`` times the one below, rounded down.

    >>> from shoestring.schedulers.rungs import ladder
    >>> ladder(1, 81, 3), ladder(2, 50, 3)
    ((1, 3, 9, 27, 81), (2, 6, 18, 50))
    """
    rungs: list[int] = []
    exact = float(min_resource)
    while exact < max_resource - 1e-9:
        if not rungs or int(exact + 1e-9) > rungs[-1]:
            rungs.append(int(exact + 1e-9))
        exact *= eta
    return (*rungs, max_resource)


def cut_short(history: History, rungs: Sequence[int]) -> Continue | None:
    """The earliest trial that the end of the budget stopped before its goal: it goes on first, once there is more."""
    places = tuple(rungs)
    cut = history.cached(("cut short", places), lambda: _CutShort(places)).update(history)
    if not cut:
        return None
    trial = min(cut, key=lambda trial: trial.index)
    until = max(trial.goal, next(rung for rung in rungs if rung > trial.step))
    return Continue(trial.index, until, "it was cut short when the budget ran out")


class _CutShort:
    """Trials that paused before their goal, kept up to date."""

    def __init__(self, rungs: tuple[int, ...]) -> None:
        self._rungs = set(rungs)
        self._readings = Cursor()
        self._cut: set[TrialRecord] = set()

    def update(self, history: History) -> set[TrialRecord]:
        new = (trial for trial, step, _ in self._readings.new(history.readings) if step == trial.until)
        self._cut.update(trial for trial in new if self._is_short(trial))
        if self._cut:
            self._cut = {trial for trial in self._cut if self._is_short(trial)}
        return self._cut

    def _is_short(self, trial: TrialRecord) -> bool:
        paused = trial.state == "paused" and not trial.foreign  # trials from elsewhere are not ours to finish
        return paused and (trial.step not in self._rungs or trial.step < trial.goal)


class Arrivals:
    """The arrivals of trials at rungs, in log order; each arrival and failure is given once."""

    def __init__(self, rungs: Sequence[int], replicate: Replication) -> None:
        self._rungs = rungs
        self._level = {rung: level for level, rung in enumerate(rungs)}
        self._resumes = replicate == "resume"
        self._readings, self._closings = Cursor(), Cursor()

    def new(self, history: History) -> Iterator[tuple[int, TrialRecord]]:
        """Rung and trial. A fresh trial passes lower rungs on its way; only its goal counts."""
        for trial, step, _ in self._readings.new(history.readings):
            level = self._level.get(step)
            if level is not None and (self._resumes or step == trial.goal):
                yield level, trial

    def failures(self, history: History) -> Iterator[tuple[int, TrialRecord]]:
        """The rung that a failed trial was on its way to, and the trial."""
        for trial in self._closings.new(history.closings):
            level = next((level for level, rung in enumerate(self._rungs) if rung >= trial.goal), None)
            if level is not None and trial.state != "finished":
                yield level, trial


def waits_at(arm: Arm, rung: int, replicate: Replication) -> bool:
    """Return whether a configuration has reached a rung and can be promoted from there."""
    trial = arm.trials[-1]
    if replicate == "resume":
        return trial.state == "paused" and trial.step == rung
    return trial.step == rung == trial.goal and trial.state in ("paused", "finished")


# From a rung's level, and whether any arm may be promoted: the arm, its rank on that rung, and of how many.
Promotable = Callable[[int, bool], "tuple[int, int, int] | None"]


def promote_or_start(
    history: History, rungs: Sequence[int], replicate: Replication, may_start: bool, promotable: Promotable
) -> Decision:
    """The best that can be promoted, the highest rung first; a new configuration if there is none."""
    # With no new configurations to be had, the best that wait go on although they are not in the top share.
    anyone = not may_start and not history.running
    for level in range(len(rungs) - 2, -1, -1):
        found = promotable(level, anyone)
        if found is not None:
            arm, rank, among = found
            goal = rungs[level + 1]
            reason = f"number {rank + 1} of the {among} that reached step {rungs[level]}{history.weighed}, on to {goal}"
            if replicate == "resume":
                return Continue(history.arms[arm].trials[-1].index, goal, reason)
            return Replicate(arm, goal, f"{reason}, from a fresh start")
    if may_start:
        return Start(rungs[0], "nothing to promote, so a new configuration")
    return Done("nothing left to promote or to start")
