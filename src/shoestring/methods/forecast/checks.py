"""The check: do early readings say something about the end of a training?

All methods that stop early assume it. The trials that were trained to their end because they looked good early cannot
tell: all of them are good, or all of them are bad. The *check* is a trial in the worse half at the first milestone that
counts, which is trained to its end as well. If it ends better than all that looked good, early readings mislead, and
only the ends of trainings count from there on. On recorded curves and real trainings that is rare:
``benchmarks/results/defaults.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

# By arm, the best loss so far at each milestone.
Curves = Mapping[int, Mapping[int, float]]


def ends_of(curves: Curves, last: int) -> dict[int, float]:
    """The losses of the arms that were trained to their end."""
    return {arm: curve[last] for arm, curve in curves.items() if last in curve}


def worse_half(curves: Curves, step: int) -> list[int]:
    """The arms whose reading at a step is in the worse half, in the order of their first readings."""
    firsts = {arm: curve[step] for arm, curve in curves.items() if step in curve}
    middle = sorted(firsts.values())[len(firsts) // 2] if firsts else 0.0
    return [arm for arm, loss in firsts.items() if loss >= middle]


def early_readings_mislead(ends: Mapping[int, float], checked: int, by_ends: Collection[int]) -> bool:
    """Return whether the arm of the check ended better than all that looked good early.

    ``by_ends`` are those that were trained whatever their early readings, because these mislead.
    """
    looked_good = [loss for arm, loss in ends.items() if arm != checked and arm not in by_ends]
    return checked in ends and bool(looked_good) and ends[checked] < min(looked_good)
