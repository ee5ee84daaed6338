"""Whole trainings: what early readings would not have chosen.

All methods that stop early assume that early readings say something about the end. The trials that were trained to
their end because they looked good early cannot tell: all of them are good, or all of them are bad. So where the budget
has room for it, a share of the steps goes to *whole* trainings, which are chosen from the ends of trainings alone: the
first ones at random, later ones as the method "gp" proposes. They show what early readings hide. A large learning rate
learns fast and ends worse, for example, and then the best end is soon one of theirs. While it is, half of the steps go
to them. Where early readings are honest, the best end is soon one of the others, which choose among many more
configurations for the same steps.

After ten trainings' worth of steps, half of the later ones go to whole trainings in any case. By then the others have
found what early readings can find, and where ends are smooth in the parameters, more ends improve on it.
"""

from __future__ import annotations

import math

import numpy as np

from shoestring.core.decisions import Proposal, Start
from shoestring.core.history import History
from shoestring.core.observations import observe
from shoestring.methods.forecast.milestones import is_long
from shoestring.methods.forecast.proposals import random_start
from shoestring.methods.forecast.state import DecidedBy, ForecastState
from shoestring.methods.learning_curves import remaining_steps
from shoestring.samplers.gp import GaussianProcess
from shoestring.samplers.training import TrainingSet

RULE = "whole"
# A few trainings must be left to act on what whole ones show.
_LEFT_TO_ACT = 3
# The share of the steps while the best end is that of a whole training, and of those after this many trainings.
_HALF, _HALF_AFTER = 0.5, 10
# With fewer ends than this, configurations are random.
_FEWEST_ENDS = 4


def whole_training(history: History, rng: np.random.Generator, state: ForecastState, least: float) -> Start | None:
    """Start a whole training, if these have had less than their share of the steps.

    That is ``least`` of the first ones and half of those after ten trainings.
    """
    left, spent = remaining_steps(history), history.ledger.steps + history.ledger.committed_steps
    # Where evaluations are what is scarce, all of them can be trained to their end anyway.
    most = min(left, history.ledger.free("evaluations") * state.last)
    if not least or left < state.last or not is_long(history, state.last) or not left <= most < math.inf:
        return None
    ahead, half = _are_ahead(state), max(least, _HALF)
    first = min(spent, _HALF_AFTER * state.last)
    due = half * spent if ahead else least * first + half * (spent - first)
    if state.granted.steps[RULE] >= due or not (ahead or left >= _LEFT_TO_ACT * state.last):
        return None
    why = f"at least {due / spent:.0%} of the steps do not depend on early readings"
    if ahead:
        why = f"the best end is not one that early readings chose, so {half:.0%} of the steps do not depend on these"
    proposal = _by_ends(history, rng, state) if len(state.ends) >= _FEWEST_ENDS else None
    if proposal is not None:
        reason = f"a whole training, {proposal.reason}; {why}"
        return Start(state.last, reason, proposal.config, proposal.explanation, DecidedBy(RULE))
    return random_start(history, rng, state.last, f"a whole training, as {why}", DecidedBy(RULE))


def _are_ahead(state: ForecastState) -> bool:
    """Return whether the best feasible end so far is that of a whole training; not before there is another end."""
    own = set(state.granted.arms.get(RULE, []))
    ends = {arm: loss for arm, loss in state.ends.items() if not state.misses(arm, state.last)}
    best = min((loss for arm, loss in ends.items() if arm in own), default=math.inf)
    return best < min((loss for arm, loss in ends.items() if arm not in own), default=-math.inf)


def _by_ends(history: History, rng: np.random.Generator, state: ForecastState) -> Proposal | None:
    """Propose by a Gaussian process of the ends alone; None if all its candidates were tried."""
    seen, arms = observe(history), np.array(list(state.ends), dtype=np.int64)
    running = [trial.arm for trial in history.running.values() if trial.until == state.last]
    losses = np.array(list(state.ends.values()))
    known = TrainingSet(
        state.last, arms, seen.points[arms], losses, failed=seen.points[seen.failed], pending=seen.points[running]
    )
    return GaussianProcess().propose_by(history, rng, known)
