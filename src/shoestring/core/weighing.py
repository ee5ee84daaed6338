"""One loss for each reading, for methods that know a single loss: how they see several objectives and constraints.

A method, or each part of a composed one, says in ``judges`` how it uses losses:

======== ============================================================================================================
nothing  it uses none
by part  its parts say it
weighted it models their size. At every decision it sees the losses of all objectives as one: tamed, put on [0, 1],
         weighted at random, and scalarised (Knowles, ParEGO, 2006), so that in the long run it finds the whole front
ranked   it compares trials at the same step. It sees their ranks there by domination, ties by the part of the
         hypervolume that a reading alone adds; these do not depend on weights
======== ============================================================================================================

A reading that violates a constraint is seen as worse than all feasible ones, the more the more it violates (Deb, An
efficient constraint handling method for genetic algorithms, 2000), unless the method has ``models_constraints``: then
it is left as it is, and the method reads ``goals.constraints`` and the readings.

What a method sees is a history like any other, made for one decision: its losses, rungs and caches cannot disagree. The
weights are drawn from the study's seed and the number of grants, so decisions stay a function of the log.

======== ======= ====================================================
symbol   shape   meaning
======== ======= ====================================================
n, k             the number of readings, and of objectives
losses   (n, k)  of all readings, in log order
z        (n, k)  the same, tamed and on [0, 1]
w        (k,)    weights with sum 1, uniform on the simplex
======== ======= ====================================================
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Literal

import numpy as np

from shoestring._arrays import Array
from shoestring.core.goals import Constraint, Goals, number_of
from shoestring.core.history import Cursor, History, TrialRecord
from shoestring.core.pareto import contribution_ranks, scalarise, unit_scaled
from shoestring.core.randomness import generator
from shoestring.core.scores import tame

# How a component uses the losses of trials.
Judges = Literal["nothing", "weighted", "ranked", "by part"]
# How far the least violation is above the worst feasible loss, on the scale of the losses.
_GAP = 0.1


def unable_part(method: object) -> object | None:
    """The part of a method that cannot handle several objectives or constraints; None if all can.

    Readings of several trials of a configuration would have to be averaged before they are compared, which none can.
    """
    if not hasattr(method, "judges") or getattr(method, "replicate", None) == "fresh":
        return method
    parts = [getattr(method, name) for name in ("sampler", "scheduler") if hasattr(method, name)]
    return next((part for part in parts if unable_part(part) is not None), None)


def view_for(history: History, component: object) -> History:
    """The history as a component sees it at this decision: itself, if it has one loss for each reading already."""
    goals = history.goals
    judges: Judges = getattr(component, "judges", "nothing")
    modelled = bool(getattr(component, "models_constraints", False))
    if judges in ("nothing", "by part") or not (goals.several or (goals.constraints and not modelled)):
        return history
    view: _LastView = history.cached(("seen", judges, modelled), _LastView)
    return view.at(history, judges, modelled)


class _LastView:
    """The view of the latest position of the log: a decision asks for it several times."""

    def __init__(self) -> None:
        self._position = -1
        self._view: History | None = None

    def at(self, history: History, judges: Judges, modelled: bool) -> History:
        if self._view is None or self._position != history.position:
            self._view, self._position = _view(history, judges, modelled), history.position
        return self._view


def _view(history: History, judges: Judges, modelled: bool) -> History:
    table = history.cached("losses of all objectives", _Table).update(history)
    kept = history.goals.constraints if modelled else ()
    if judges == "ranked":
        losses, words = table.ranks(), " by domination" if history.goals.several else ""
    else:
        w = weights(history)
        losses, words = table.weigh(w), _weights_in_words(history.goals, w)
    if history.goals.constraints and not modelled:
        losses = table.with_violations(losses) if judges == "weighted" else losses
        words += " within the constraints"
    view = with_losses(history, losses, Goals(("value",), (1.0,), kept, named=False))
    view.weighed, view.unweighed = words, history
    return view


def weights(history: History) -> Array:
    """The weights of the next decision, uniform on the simplex. Shape (k,)."""
    drawn = generator(history.seed, len(history.grants), "weights").exponential(size=len(history.goals.names))
    return np.asarray(drawn / drawn.sum())


def _weights_in_words(goals: Goals, w: Array) -> str:
    if not goals.several:
        return ""
    return f" for {', '.join(f'{name} {weight:.2f}' for name, weight in zip(goals.names, w.tolist(), strict=True))}"


def with_losses(history: History, losses: Array, goals: Goals) -> History:
    """A copy of the history in which every reading has this loss of one objective, without caches."""
    view, sign = copy(history), goals.signs[0]
    opened = replace(history.opened, mode="min" if sign > 0 else "max", objectives=None, constraints=None)
    vars(view).update(opened=opened, goals=goals, sign=sign, front=[], _caches={})
    view.trials = [copy(trial) for trial in history.trials]
    for trial in view.trials:
        trial.losses = {}
    for (trial, step, _), loss in zip(history.readings, losses.tolist(), strict=True):
        view.trials[trial.index].losses[step] = loss
    view.readings = [
        (view.trials[trial.index], step, loss)
        for (trial, step, _), loss in zip(history.readings, losses.tolist(), strict=True)
    ]
    view.arms = [copy(arm) for arm in history.arms]
    for arm in view.arms:
        arm.trials = [view.trials[trial.index] for trial in arm.trials]
    view.closings = [view.trials[trial.index] for trial in history.closings]
    view.running = {index: view.trials[index] for index in history.running}
    view.lowest = min(view.readings, key=lambda one: one[2], default=None)
    return view


class _Table:
    """The losses and violations of all readings, in log order, kept up to date."""

    def __init__(self) -> None:
        self._new = Cursor()
        self._losses: list[tuple[float, ...]] = []
        self._violations: list[tuple[float, ...]] = []
        self._by_step: dict[int, list[int]] = {}
        self._ranked: dict[int, tuple[int, Array]] = {}

    def update(self, history: History) -> _Table:
        for trial, step, _ in self._new.new(history.readings):
            self._by_step.setdefault(step, []).append(len(self._losses))
            self._losses.append(history.goals.losses(trial.readings[step]))
            self._violations.append(trial.violations.get(step, ()))
        return self

    def weigh(self, w: Array) -> Array:
        """The readings scalarised with these weights; of a single objective they are its losses. Shape (n,)."""
        losses = np.array(self._losses).reshape(-1, len(w))
        if len(w) == 1 or not len(losses):
            return np.asarray(losses.reshape(-1))
        return scalarise(unit_scaled(np.column_stack([tame(column) for column in losses.T])), w)

    def with_violations(self, losses: Array) -> Array:
        """The losses with those of infeasible readings beyond the worst feasible one. Shape (n,)."""
        violated = _shares(np.array(self._violations))
        if not violated.any():
            return losses
        feasible = losses[violated == 0]
        spread = float(np.ptp(feasible)) if len(feasible) else 0.0
        worst = float(feasible.max()) if len(feasible) else 0.0
        return np.where(violated > 0, worst + (spread or 1.0) * (_GAP + violated), losses)

    def ranks(self) -> Array:
        """The place of each reading among those of its step, from 0 to 1. Shape (n,)."""
        found = np.zeros(len(self._losses))
        for step, places in self._by_step.items():
            known = self._ranked.get(step)
            if known is None or known[0] != len(places):
                known = self._ranked[step] = len(places), self._ranks_at(places)
            found[places] = known[1]
        return found

    def _ranks_at(self, places: list[int]) -> Array:
        losses = np.array([self._losses[place] for place in places])
        violated = _shares(np.array([self._violations[place] for place in places]))
        order = contribution_ranks(losses, violated)
        return np.asarray(order / len(places))


def _shares(violations: Array) -> Array:
    """One number for the violations of each reading: their shares of the largest that occurred. Shape (n,)."""
    if not violations.size:
        return np.zeros(len(violations))
    largest = violations.max(axis=0)
    return np.asarray((violations / np.where(largest > 0, largest, 1.0)).sum(axis=1))


def level(constraint: Constraint, trial: TrialRecord, step: int) -> float:
    """The number that a constraint is on, small is good: at a step, or the worst until then. NaN if there is none."""
    if step not in trial.readings:
        return np.nan
    steps = [s for s in trial.readings if s <= step] if constraint.always else [step]
    return float(max(constraint.sign * number_of(trial.readings[s], constraint.name) for s in steps))
