"""The resources at which trials are compared, shared by halving and ASHA."""

from __future__ import annotations

from collections.abc import Sequence

from shoestring.errors import MethodError
from shoestring.history import History, TrialRecord
from shoestring.method import Continue


def check_rungs(eta: float, min_resource: int) -> None:
    if not eta > 1:
        raise MethodError(f"eta is {eta!r}; it is how much stricter each rung is, a number above 1 such as 3")
    if not isinstance(min_resource, int) or min_resource < 1:
        raise MethodError(f"min_resource is {min_resource!r}; it is the first rung, a whole number from 1")


def top_resource(history: History, what: str, min_resource: int) -> int:
    """The study's ``max_resource``; an error if there is none, or none that fits."""
    top = history.max_resource
    if top is None:
        raise MethodError(f"{what} needs max_resource: say how many steps a trial can have at most, max_resource=...")
    if top < min_resource:
        raise MethodError(f"{what} starts at min_resource={min_resource}, above max_resource={top}")
    return top


def ladder(min_resource: int, max_resource: int, eta: float) -> list[int]:
    """Rungs from the first to the top, each ``eta`` times the one below, rounded down.

    >>> from shoestring.schedulers.rungs import ladder
    >>> ladder(1, 81, 3), ladder(2, 50, 3)
    ([1, 3, 9, 27, 81], [2, 6, 18, 50])
    """
    rungs: list[int] = []
    exact = float(min_resource)
    while exact < max_resource - 1e-9:
        if not rungs or int(exact + 1e-9) > rungs[-1]:
            rungs.append(int(exact + 1e-9))
        exact *= eta
    return [*rungs, max_resource]


def cut_short(history: History, rungs: Sequence[int]) -> Continue | None:
    """A trial that the end of the budget left between two rungs goes on first, once there is more."""
    places = tuple(rungs)
    for trial in history.cached(("cut", places), lambda: _Cut(places)).update(history):
        until = next(rung for rung in rungs if rung > trial.step)
        return Continue(trial.index, until, "it was cut short when the budget ran out")
    return None


class _Cut:
    """Trials that paused away from the rungs, kept up to date."""

    def __init__(self, rungs: tuple[int, ...]) -> None:
        self._rungs = set(rungs)
        self._seen = 0
        self._cut: list[TrialRecord] = []

    def update(self, history: History) -> list[TrialRecord]:
        new = (trial for trial, step, _ in history.readings[self._seen :] if step == trial.until)
        self._seen = len(history.readings)
        self._cut = [t for t in [*self._cut, *new] if t.state == "paused" and t.step not in self._rungs]
        return self._cut
