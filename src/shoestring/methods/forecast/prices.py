"""The cost of the next milestone of each column, in the unit that limits the budget."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from shoestring._arrays import Array
from shoestring.core.history import History, TrialRecord
from shoestring.methods.forecast.columns import Columns
from shoestring.methods.forecast.milestones import milestones
from shoestring.models.embedding import Embedding
from shoestring.models.linear import linear, ridge_regression

# The penalty of the regression, and how many trials say something about prices.
_RIDGE, _ENOUGH = 0.1, 8


def shares_left(history: History) -> dict[str, float]:
    """Per unit of the budget, the share that is left."""
    return {unit: history.ledger.free(unit) / limit for unit, limit in history.ledger.budget.limits().items()}


def scarcest(history: History) -> str:
    """The unit of the budget of which the smallest share is left, "steps" unless it is cost or seconds."""
    shares = shares_left(history)
    unit = min(shares, key=shares.__getitem__)
    return unit if unit in ("cost", "seconds") else "steps"


def measured_prices(trials: Mapping[int, TrialRecord], unit: str) -> dict[int, float]:
    """By column, what a step of each started configuration has cost; nothing if steps limit the budget."""
    if unit == "steps":
        return {}
    prices = {column: _total(trial, unit) / trial.step for column, trial in trials.items() if trial.step}
    return {column: price for column, price in prices.items() if price > 0}


def _total(trial: TrialRecord, unit: str) -> float:
    return trial.seconds if unit == "seconds" else sum(reading.cost or 0.0 for reading in trial.readings.values())


def step_prices(measured: Mapping[int, float], columns: Columns, steps: Array, embed: Embedding, once: bool) -> Array:
    """Per column, the price of each of its next ``steps``, from what was measured and a log-linear model.

    Sizes, depths and batch sizes multiply what a step costs. With ``once``, something is paid once, as loading the data
    is: the mean price of the first n steps is exp(zβ + γ / n) with γ ≥ 0, so that of later ones is exp(zβ). The model
    is kept within the observed prices.
    """
    if len(measured) < _ENOUGH:
        return np.ones(len(columns.points))
    Z, started, logs = embed(columns.points), np.array(list(measured)), np.log(list(measured.values()))
    done = np.array([columns.trial(column).step for column in measured])
    beta, gamma = ridge_regression(Z[started], logs, _RIDGE), 0.0
    if once:
        *slopes, slope = ridge_regression(np.column_stack([Z[started], 1 / done]), logs, _RIDGE)
        beta, gamma = (np.array(slopes), slope) if slope > 0 else (beta, gamma)
    later = logs - gamma / done
    prices = np.exp(np.clip(linear(beta, Z), later.min(), later.max()) + gamma / steps)
    prices[started] = np.exp(later)
    return np.asarray(prices)


def steps_to_buy(columns: Columns, last: int, first: int, per_evaluation: float) -> Array:
    """Per column, the steps to its next milestone, the ``first`` one that is trusted or a later one.

    A new configuration also costs an evaluation; where these are limited, it is worth its share of the steps left.
    """
    stops, step = milestones(last, first), columns.step
    following: Array = np.array([*stops, math.inf])
    steps = np.asarray(following[np.searchsorted(stops, step, side="right")] - step + columns.again, dtype=np.float64)
    if 0 < per_evaluation < math.inf:
        steps[step == 0] = np.maximum(steps[step == 0], per_evaluation)
    return steps


def prices_in_words(measured: Mapping[int, float]) -> str:
    """Return how far the prices of steps are apart, in words; empty if they are alike."""
    low, high = min(measured.values(), default=1.0), max(measured.values(), default=1.0)
    return f" (a step took {low:.3g} to {high:.3g})" if high >= 5 * low else ""
