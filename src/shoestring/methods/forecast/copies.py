"""Configurations that repeat another one, so that training them further teaches nothing.

*Neighbours* are drawn near a good configuration; most of them are near copies of it. *Duplicates* have the very
readings of another configuration: a parameter has no effect, a range is rounded to a few values, or rows of a table
are equal.
"""

from __future__ import annotations

from collections.abc import Callable

# With fewer readings that differ, two trials may be equal by chance: shares of a few correct answers often are, and
# trainings that have not learned anything yet.
_ENOUGH = 3
_Shown = tuple[int, float, tuple[float, ...]]


class Neighbours:
    """The configurations that were drawn near a good one, their parent, and whether they are better than that so far.

    The two are compared at the last milestone that both reached; what violates a constraint there, as ``misses`` says
    of an arm and a step, is worse than what does not. A neighbour that is behind is not continued: while
    its parent is ahead, nothing can be learned from a near copy that trails it.
    """

    def __init__(self, curves: dict[int, dict[int, float]], misses: Callable[[int, int], bool]) -> None:
        self.parent: dict[int, int] = {}
        self._curves, self._misses = curves, misses

    def behind(self, index: int) -> bool:
        """Return whether a configuration is a neighbour that is not better than its parent."""
        parent = self._curves.get(self.parent.get(index, -1), {})
        own = self._curves.get(index, {})
        common = parent.keys() & own.keys()
        if not common:
            return False
        step = max(common)
        mine, theirs = self._misses(index, step), self._misses(self.parent[index], step)
        return not (mine, own[step]) < (theirs, parent[step])

    def within_quota(self, started: int) -> bool:
        """Whether neighbours have had less than their share of the configurations that were chosen by the model.

        The share is that of the neighbours which are better than their parents, a third before there are any.
        """
        known = [index for index in self.parent if index in self._curves]
        better = sum(not self.behind(index) for index in known)
        return len(self.parent) < (better + 1) / (len(known) + 3) * (started + 1)


class Duplicates:
    """Configurations whose readings at all milestones are those of another one that was there earlier.

    What one of them would show further on is what the other one shows.
    """

    def __init__(self) -> None:
        # Steps, losses and violations: a trial that was added to the study may have no reading at some milestones.
        self._readings: dict[int, tuple[_Shown, ...]] = {}
        self._first: dict[tuple[_Shown, ...], int] = {}

    def take_in(self, index: int, step: int, loss: float, violations: tuple[float, ...] = ()) -> None:
        """Add the reading of a configuration at its next milestone."""
        readings = self._readings[index] = (*self._readings.get(index, ()), (step, loss, violations))
        self._first.setdefault(readings, index)

    def is_copy(self, index: int) -> bool:
        """Return whether a configuration has the readings of an earlier one, even if only a few."""
        return self._first.get(self._readings.get(index, ()), index) != index

    def is_duplicate(self, index: int) -> bool:
        readings = self._readings.get(index, ())
        return len({loss for _, loss, _ in readings}) >= _ENOUGH and self._first[readings] != index
