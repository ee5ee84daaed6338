"""The resources at which arms are compared and promoted, shared by the schedulers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from shoestring.core.decisions import Continue, Decision, Done, Replicate, Start
from shoestring.core.history import Arm, History, TrialRecord
from shoestring.errors import MethodError


def check_rungs(eta: float, min_resource: int) -> None:
    if not eta > 1:
        raise MethodError(f"eta is {eta!r}; it is how much stricter each rung is, a number above 1 such as 3")
    if not isinstance(min_resource, int) or min_resource < 1:
        raise MethodError(f"min_resource is {min_resource!r}; it is the first rung, a whole number from 1")


def top_resource(history: History, what: str, min_resource: int, own: int | None = None) -> int:
    """The study's ``max_resource``, or the scheduler's own if that is less; an error if none fits."""
    if history.max_resource is None:
        raise MethodError(f"{what} needs max_resource: say how many steps a trial can have at most, max_resource=...")
    top = min(history.max_resource, own or history.max_resource)
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
    """A trial that the end of the budget left on its way goes on first, once there is more; the earliest one."""
    places = tuple(rungs)
    cut = history.cached(("cut", places), lambda: _Cut(places)).update(history)
    if not cut:
        return None
    trial = min(cut, key=lambda trial: trial.index)
    until = max(trial.goal, next(rung for rung in rungs if rung > trial.step))
    return Continue(trial.index, until, "it was cut short when the budget ran out")


class _Cut:
    """Trials that paused short of where they were sent, kept up to date."""

    def __init__(self, rungs: tuple[int, ...]) -> None:
        self._rungs = set(rungs)
        self._seen = 0
        self._cut: set[TrialRecord] = set()

    def update(self, history: History) -> set[TrialRecord]:
        for trial, step, _ in history.readings[self._seen :]:
            if step == trial.until and self._short(trial):
                self._cut.add(trial)
        self._seen = len(history.readings)
        if self._cut:
            self._cut = {trial for trial in self._cut if self._short(trial)}
        return self._cut

    def _short(self, trial: TrialRecord) -> bool:
        return trial.state == "paused" and (trial.step not in self._rungs or trial.step < trial.goal)


class Arrivals:
    """Who reached which rung, in log order; each arrival and failure is told once."""

    def __init__(self, rungs: Sequence[int], replicate: str) -> None:
        self._rungs = rungs
        self._level = {rung: level for level, rung in enumerate(rungs)}
        self._resumes = replicate == "resume"
        self._read = self._closed = 0

    def new(self, history: History) -> Iterator[tuple[int, TrialRecord]]:
        """Rung and trial. A fresh trial passes lower rungs on its way; only where it was sent counts."""
        new, self._read = history.readings[self._read :], len(history.readings)
        for trial, step, _ in new:
            level = self._level.get(step)
            if level is not None and (self._resumes or step == trial.goal):
                yield level, trial

    def failures(self, history: History) -> Iterator[tuple[int, TrialRecord]]:
        """The rung that a failed trial was on its way to, and the trial."""
        new, self._closed = history.closings[self._closed :], len(history.closings)
        for trial in new:
            level = next((level for level, rung in enumerate(self._rungs) if rung >= trial.goal), None)
            if level is not None and trial.state != "finished":
                yield level, trial


def waits_at(arm: Arm, rung: int, replicate: str) -> bool:
    """Whether an arm stands on a rung and can be promoted from there."""
    trial = arm.trials[-1]
    if replicate == "resume":
        return trial.state == "paused" and trial.step == rung
    return trial.step == rung == trial.goal and trial.state in ("paused", "finished")


def promotion(arm: Arm, rungs: Sequence[int], level: int, replicate: str, rank: int, among: int) -> Decision:
    """Carry an arm to the next rung: on with its trial, or with a fresh one."""
    goal = rungs[level + 1]
    reason = f"number {rank + 1} of the {among} that reached step {rungs[level]}, on to {goal}"
    if replicate == "resume":
        return Continue(arm.trials[-1].index, goal, reason)
    return Replicate(arm.index, goal, f"{reason}, from a fresh start")


def otherwise(rungs: Sequence[int], may_start: bool) -> Decision:
    """Nobody can be promoted: a new arm, if there is one."""
    if may_start:
        return Start(rungs[0], "nothing to promote, so a new arm")
    return Done("nothing left to promote or to start")
