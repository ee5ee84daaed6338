"""The steps at which trials pause, and how far a new configuration is trained first."""

from __future__ import annotations

from functools import lru_cache

from shoestring.core.history import History
from shoestring.core.planned import planned_so_far
from shoestring.methods.learning_curves import remaining_steps, steps_are_free

# A budget of this many full trainings is a long one.
_MANY_TRAININGS = 20
# With this many steps for each of the first configurations, a plan comes on top of them.
_ROOMY = 4
# No configuration gets more than this part of what is left before it is compared with others.
_PARTS = 40


@lru_cache
def milestones(last: int, first: int = 1) -> tuple[int, ...]:
    """List the steps where trials pause: the Fibonacci numbers up to the last step, from the first one that is trusted.

    >>> from shoestring.methods.forecast.milestones import milestones
    >>> milestones(50)
    (1, 2, 3, 5, 8, 13, 21, 34, 50)
    """
    found, following = [1], 2
    while following < last:
        found.append(following)
        following += found[-2]
    return tuple(m for m in (*found, last) if m >= first) if last > 1 else (1,)


def next_milestone(last: int, step: int) -> int:
    """The first milestone after a step, or the last one."""
    return next((m for m in milestones(last) if m > step), last)


def is_long(history: History, last: int) -> bool:
    """Return whether the whole budget, with what is spent, pays for many full trainings."""
    return _all_steps(history) >= _MANY_TRAININGS * last


def count_first(history: History, startup: float) -> int:
    """Count the configurations so far, of which the first ``startup`` are random.

    Those of a plan come on top of these, unless the budget is so small that little would be left to finish one.
    """
    roomy = _all_steps(history) >= _ROOMY * startup
    return len(history.arms) - (planned_so_far(history) if roomy else 0)


def _all_steps(history: History) -> float:
    """Return the steps of the whole budget: those that are left and those that are spent."""
    return remaining_steps(history) + history.ledger.steps + history.ledger.committed_steps


def first_step(history: History, last: int, startup: float, trusted: int) -> int:
    """Return how far the next new configuration is trained first; ``startup`` is the number of random ones.

    To the first milestone that is ``trusted``, as the next decision can continue it. Once the evaluations are spent no
    trial continues, so the last new configuration gets all of its steps at once.
    """
    if steps_are_free(history) or history.ledger.free("evaluations") <= 1:
        return last
    return max(_further(history, last) if 2 * count_first(history, startup) < startup else 1, trusted)


def first_step_compared(history: History, last: int, trusted: int) -> int:
    """Return how far a configuration is trained first whose first reading must tell it from others.

    That is a planned one and the random ones that it is compared with, and with a long budget one that the second
    process proposes: it is among others that were read early, so that one more early reading says little.
    """
    if steps_are_free(history) or history.ledger.free("evaluations") <= 1:
        return last
    return max(_further(history, last), trusted)


def _further(history: History, last: int) -> int:
    """Return how far half of the random configurations go, so that something can contradict early readings that
    mislead.

    A ninth of a full training but at least two steps, and at most a fixed share of what is left: all of them together
    get about an eighth of the budget at most.
    """
    most = min(max(2, last / 9), remaining_steps(history) / _PARTS) if last > 4 else 1
    return max((m for m in milestones(last) if m <= most), default=1)
