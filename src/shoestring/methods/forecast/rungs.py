"""Promotions by rank: at which steps arms are compared, and which one is promoted next."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable
from typing import NamedTuple

from shoestring.methods.forecast.milestones import milestones


def rung_steps(last: int, first: int = 1) -> tuple[int, ...]:
    """Every second milestone from the first one that is trusted, and the last step.

    >>> from shoestring.methods.forecast.rungs import rung_steps
    >>> rung_steps(50)
    (1, 3, 8, 21, 50)
    """
    return (*milestones(last, first)[:-1:2], last)


class Promotion(NamedTuple):
    """The arm to promote, and its place among those that reached the step of a rung."""

    arm: int
    place: int
    among: int
    step: int


class Rungs:
    """Per rung, the arms that reached it, by their best loss so far there."""

    def __init__(self, last: int, first: int) -> None:
        self._steps = rung_steps(last, first)
        self._ranked: list[list[tuple[float, int]]] = [[] for _ in self._steps]

    def add(self, arm: int, step: int, loss: float) -> None:
        """Rank an arm, if the step is one of a rung."""
        if step in self._steps:
            insort(self._ranked[self._steps.index(step)], (loss, arm))

    def add_failed(self, arm: int, until: int) -> None:
        """Rank an arm last on the rung that it was trained for."""
        level = next((i for i, step in enumerate(self._steps) if step >= until), None)
        if level is not None:
            self._ranked[level].append((math.inf, arm))

    def promotion(
        self,
        eta: float,
        ranks: Callable[[int], bool],
        waits_before: Callable[[int, int], bool],
        behind: Callable[[int, int], float] | None = None,
    ) -> Promotion | None:
        """The best arm in the top 1/eta of its rung, the highest rung first.

        ``ranks`` says which arms are counted at all, and ``waits_before(arm, step)`` which ones can be trained now and
        have not reached the step of the next rung. Arms are first ordered by ``behind(arm, step)``, if it is given: how
        far an arm is behind others at the step of its rung. Failed arms come after all others.
        """
        for level in range(len(self._steps) - 2, -1, -1):
            step = self._steps[level]
            ranked = [(loss, arm) for loss, arm in self._ranked[level] if ranks(arm)]
            if behind is not None:
                ranked = _behind_last(ranked, step, behind)
            for place, (_, arm) in enumerate(ranked[: int(len(ranked) / eta)], 1):
                if waits_before(arm, self._steps[level + 1]):
                    return Promotion(arm, place, len(ranked), step)
        return None


def _behind_last(
    ranked: list[tuple[float, int]], step: int, behind: Callable[[int, int], float]
) -> list[tuple[float, int]]:
    """Order arms by how far they are behind, then by their losses; failed ones last: nothing is known of them."""
    return sorted(ranked, key=lambda pair: (pair[0] == math.inf, behind(pair[1], step)))
