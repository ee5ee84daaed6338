"""Code that all problems share: being called as an objective, and draws that follow from the seed."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from shoestring.core.randomness import integer
from shoestring.errors import ReadingError

if TYPE_CHECKING:
    from shoestring.objectives.trial import Trial

NORMAL = NormalDist()


def return_reading(problem: Any, trial: Trial) -> Any:
    """The ``__call__`` of a problem with a single step."""
    return problem.reading(trial.config, 1, trial.seed)


def yield_readings(problem: Any, trial: Trial) -> Iterator[Any]:
    """The ``__call__`` of a problem with several steps."""
    for step in range(trial.start + 1, problem.max_resource + 1):
        yield problem.reading(trial.config, step, trial.seed)


def standard_normal(seed: int, position: int, purpose: str) -> float:
    """A standard normal number by key; a generator for each would cost more than the rest of a step."""
    return NORMAL.inv_cdf((integer(seed, position, purpose) + 0.5) / 2**31)


def check_step(step: int, max_resource: int) -> int:
    """A step that exists: an index below the first would silently give another step's reading."""
    if not 1 <= step <= max_resource:
        raise ReadingError(f"step {step} was asked for, there are {max_resource}: set max_resource={max_resource}")
    return step
