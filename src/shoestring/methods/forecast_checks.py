"""The check: whether early readings say something about the end of a training.

All methods that stop early assume it. The trials that were trained to their end because they looked good early cannot
tell: all of them are good, or all of them are bad. The *check* is a trial that looked bad early and is trained to its
end as well. If it ends better than all that looked good, early readings mislead, and only the ends of trainings count
from there on. On recorded curves and real trainings that is rare: ``benchmarks/results/defaults.md``.
"""

from __future__ import annotations

from collections.abc import Mapping


class Check:
    """Which arms were trained to their end, and why.

    ``arm`` is the one that looked bad early, None before there is one. ``by_ends`` are those that were trained whatever
    their early readings, because these mislead. ``curves`` has the best loss so far at each milestone by arm, and
    ``last`` is the last step of a training.
    """

    def __init__(self, curves: Mapping[int, Mapping[int, float]], last: int) -> None:
        self.arm: int | None = None
        self.by_ends: set[int] = set()
        self._curves = curves
        self._last = last

    @property
    def ends(self) -> dict[int, float]:
        """The losses of the arms that were trained to their end."""
        return {arm: curve[self._last] for arm, curve in self._curves.items() if self._last in curve}

    @property
    def failed(self) -> bool:
        """Whether early readings mislead: what looked bad early ended better than all that looked good."""
        if self.arm is None:
            return False
        ends = self.ends
        looked_good = [loss for arm, loss in ends.items() if arm != self.arm and arm not in self.by_ends]
        return self.arm in ends and bool(looked_good) and ends[self.arm] < min(looked_good)

    def looked_bad(self) -> list[int]:
        """The arms whose first reading is in the worse half, in the order of their first readings."""
        firsts = {arm: curve[1] for arm, curve in self._curves.items() if 1 in curve}
        middle = sorted(firsts.values())[len(firsts) // 2] if firsts else 0.0
        return [arm for arm, loss in firsts.items() if loss >= middle]
