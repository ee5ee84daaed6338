"""New configurations by a second process, fitted to the forecast ends of the started ones.

The process of the curves has one length for all axes, fitted to recorded tables, and chooses from a pool. Where ends
are smooth in the configuration, a process that learns a length for each axis and climbs its acquisition
(``samplers/surrogate.py``) finds better ones. Where a configuration is rounded to a recorded or coarse one, what it
finds are copies of good ones. So its share of the new configurations falls with the share of copies among its own:
configurations with the very readings of another one.
"""

from __future__ import annotations

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.core.history import History
from shoestring.methods.forecast.forecasts import Forecasts
from shoestring.methods.forecast.proposals import New
from shoestring.methods.forecast.state import ForecastState
from shoestring.models.maximise import snap
from shoestring.samplers.candidates import first_free, latin
from shoestring.samplers.gp import margin_now
from shoestring.samplers.surrogate import Surrogate, ascending
from shoestring.samplers.training import TrainingSet

# The process is fitted to at most this many configurations, from at least so few.
_MOST_FITTED, _FEWEST = 60, 4
# Candidates, and as many near the best; and the margin of every second proposal, as in the method "gp".
_CANDIDATES, _MARGIN = 200, 0.05
# The ends change with every reading, so nothing of the fit can be kept: a decision may cost milliseconds.
_CLIMBERS, _ITERATIONS = 2, 8


def has_its_turn(state: ForecastState, forecasts: Forecasts, most: float) -> bool:
    """Return whether the second process can be fitted, and has had less than its share of the new configurations.

    The share is ``most`` while none of its own is a copy. It knows nothing of failures, so it has none after the first.
    """
    if state.failed_at or len(_known(state, forecasts)) < _FEWEST:
        return False
    started, arms = state.granted.started, state.granted.arms.get("gp", [])
    known = [arm for arm in arms if arm in state.curves]
    own = sum(not state.duplicates.is_copy(arm) for arm in known)
    share = most * (own + 1) / (len(known) + 1)
    return started["gp"] < share * (started["gp"] + started["model"] + 1)


def by_second_process(
    history: History, rng: np.random.Generator, state: ForecastState, forecasts: Forecasts
) -> New | None:
    """The configuration with the largest expected improvement by the second process; None if all were tried."""
    columns, codec = state.columns, history.codec
    started = _known(state, forecasts)
    fitted = started[_spread_out(columns.points[started], forecasts.order[started])]
    none = columns.points[:0]
    known = TrainingSet(state.last, fitted, columns.points[fitted], forecasts.mean[fitted], failed=none, pending=none)
    margin = margin_now(history, _MARGIN)
    feasibility = None if forecasts.feasibility is None else forecasts.feasibility.among(fitted)
    surrogate = Surrogate(
        history, known, "none", "log-ei", warp=True, margin=margin, learn="quick", feasibility=feasibility
    )
    wide = snap(latin(rng, _CANDIDATES, codec.dimensions), codec)
    near = surrogate.near_best(rng, _CANDIDATES)
    points, scores = surrogate.searched(np.vstack([wide, near]), _CLIMBERS, _ITERATIONS)
    chosen = first_free(points, ascending(-scores), history)
    if chosen is None:
        return None
    return New(codec.decode(points[chosen]), float(forecasts.at(points[[chosen]])[0][0]))


def _known(state: ForecastState, forecasts: Forecasts) -> Codes:
    """The started columns; with constraints those with a reading at a milestone, so that their levels are known."""
    if forecasts.feasibility is not None:
        return forecasts.feasibility.started
    return np.array(list(state.columns.arm_at), dtype=np.int64)


def _spread_out(points: Array, means: Array) -> Codes:
    """Choose what the process is fitted to: the best half, and those of the others that are furthest apart."""
    if len(means) <= _MOST_FITTED:
        return np.arange(len(means))
    order, best = ascending(means), _MOST_FITTED // 2
    kept, rest = order[:best].tolist(), order[best:]
    known = np.nan_to_num(points, nan=0.5)  # an inactive parameter is as far from all its values
    away = np.full(len(rest), np.inf)
    for column in kept:
        away = np.minimum(away, ((known[rest] - known[column]) ** 2).sum(axis=1))
    while len(kept) < _MOST_FITTED:
        furthest = rest[int(away.argmax())]
        kept.append(int(furthest))
        away = np.minimum(away, ((known[rest] - known[furthest]) ** 2).sum(axis=1))
    return np.sort(np.array(kept))
