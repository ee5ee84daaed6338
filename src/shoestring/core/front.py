"""The front of a study with several objectives: its feasible readings that no other one dominates.

The front is kept in the fold, updated by every reading, so that the checkpoints of its members can be kept. Of equal
readings the one of the earlier trial counts, and within a trial the later one, which was trained for longer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoestring._arrays import Array
from shoestring._other_names import ExplainsNames
from shoestring._tables import ShownAsTable
from shoestring.core.goals import Goals
from shoestring.core.pareto import dominates, hypervolume, scalarise, unit_scaled
from shoestring.errors import EverythingFailed, MethodError, brief
from shoestring.spaces.codec import deep_copy

if TYPE_CHECKING:
    from shoestring.core.history import History, TrialRecord


class FrontPoint(NamedTuple):
    """A reading that is not dominated: the losses of a trial at a step."""

    losses: tuple[float, ...]
    trial: TrialRecord
    step: int


@dataclass(frozen=True)
class FrontMember(ShownAsTable, ExplainsNames):
    """A configuration on the front: its ``values`` by objective, at the ``step`` of the ``trial`` that has them.

    ``study.directory(member)`` holds the checkpoint.
    """

    arm: int
    trial: int
    config: dict[str, Any]
    values: dict[str, float]
    step: int

    def _pairs(self) -> tuple[str, dict[str, Any]]:
        at = {"step": self.step, "trial": self.trial, "configuration": self.arm}
        return "Member of the front", {**self.values, **at, **self.config}


def update_front(front: list[FrontPoint], new: FrontPoint) -> list[FrontPoint]:
    """The front with a further reading."""
    for old in front:
        if old.losses == new.losses:
            return [new if one is old and one.trial is new.trial else one for one in front]
        if dominates(old.losses, new.losses):
            return front
    return sorted(
        [old for old in front if not dominates(new.losses, old.losses)] + [new],
        key=lambda one: (one.losses, one.trial.index),
    )


def member_of(point: FrontPoint, goals: Goals) -> FrontMember:
    values = {name: sign * loss for name, sign, loss in zip(goals.names, goals.signs, point.losses, strict=True)}
    return FrontMember(point.trial.arm, point.trial.index, deep_copy(point.trial.config), values, point.step)


def members(history: History) -> tuple[FrontMember, ...]:
    """The front from the best to the worst value of the first objective."""
    return tuple(member_of(point, history.goals) for point in history.front)


def weighted_best(history: History, weights: Mapping[str, float] | None = None) -> FrontPoint | None:
    """The point of the front whose largest weighted loss is smallest, each on a scale from 0 to 1 over the front.

    Without weights all objectives count alike. None if the front is empty.
    """
    if not history.front:
        return None
    w = _normalise(weights, history.goals)
    z = unit_scaled(np.array([point.losses for point in history.front]))
    return history.front[int(scalarise(z, w).argmin())]


def _normalise(weights: Mapping[str, float] | None, goals: Goals) -> Array:
    given = dict.fromkeys(goals.names, 1.0) if weights is None else weights
    unknown = sorted(given.keys() - set(goals.names))
    if unknown:
        raise MethodError(f"{unknown[0]!r} is not an objective of this study; they are {', '.join(goals.names)}")
    for name, weight in given.items():
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < float("inf"):
            raise MethodError(f"the weight of {name!r} is {brief(weight)}; it must be a number from 0")
    w = np.array([float(given.get(name, 0.0)) for name in goals.names])
    if not w.sum() > 0:
        raise MethodError(f"give the weight of at least one objective, such as {goals.names[0]}=1")
    return np.asarray(w / w.sum())


def hypervolume_of(history: History, reference: Mapping[str, float] | None = None) -> float:
    """The volume that the front dominates below a reference point, in the units of the objectives.

    By default the reference is the worst value of each objective among all feasible readings.
    """
    _refuse_one_objective(history.goals)
    if not history.front:
        return 0.0
    return hypervolume(np.array([point.losses for point in history.front]), reference_point(history, reference))


def _refuse_one_objective(goals: Goals) -> None:
    if not goals.several:
        raise MethodError("this study has one objective, so there is no front: study.best is what it recommends")


def reference_point(history: History, given: Mapping[str, float] | None) -> Array:
    """The losses of a reference point. Shape (k,)."""
    goals = history.goals
    if given is None:
        return np.max([losses for _, _, losses in feasible_losses(history)], axis=0)  # type: ignore[no-any-return]
    if not isinstance(given, Mapping) or given.keys() != set(goals.names):
        raise MethodError(
            f"the reference is {brief(given)}; it must have a value for each objective: {', '.join(goals.names)}"
        )
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise MethodError(f"the reference of {name!r} is {brief(value)}; it must be a finite number")
    return np.array([sign * float(given[name]) for sign, name in zip(goals.signs, goals.names, strict=True)])


def feasible_losses(history: History) -> Sequence[tuple[TrialRecord, int, tuple[float, ...]]]:
    """The feasible readings in log order: trial, step, and the losses of all objectives."""
    return [
        (trial, step, history.goals.losses(trial.readings[step]))
        for trial, step, _ in history.readings
        if trial.is_feasible(step)
    ]


def require_front(history: History) -> tuple[FrontMember, ...]:
    """The front; an error that says why if it is empty."""
    _refuse_one_objective(history.goals)
    found = members(history)
    if not found:
        raise EverythingFailed(describe_misses(history) if history.readings else "there is no reading yet")
    return found


def describe_misses(history: History) -> str:
    """Say that no reading is feasible, and by how much the closest one misses the constraints.

    Violations of several constraints are compared by their share of the largest ones that occurred.
    """
    constraints = history.goals.constraints
    found = [(trial, step, trial.violations[step]) for trial, step, _ in history.readings]
    largest = np.max([violations for _, _, violations in found], axis=0)
    shares = [float((np.array(v) / np.where(largest > 0, largest, 1.0)).sum()) for _, _, v in found]
    trial, step, violations = found[int(np.argmin(shares))]
    by = " and ".join(
        f"{constraint} by {violation:.4g}"
        for constraint, violation in zip(constraints, violations, strict=True)
        if violation
    )
    return (
        f"none of the {len(found)} readings fulfils the constraints; trial {trial.index} at step {step} comes closest, "
        f"and misses {by}: {trial.config}"
    )
