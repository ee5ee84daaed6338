"""What the steps of a configuration cost, in the unit that limits the budget; for ``forecast``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoestring._arrays import Array
from shoestring.core.history import History, TrialRecord
from shoestring.models.linear import linear, ridge_regression
from shoestring.samplers.candidates import embedding

if TYPE_CHECKING:
    from shoestring.methods.forecast_state import ForecastState

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


def step_prices(state: ForecastState, history: History) -> Array:
    """Per column, the price of a step: measured where the configuration was started, else by a log-linear model.

    Sizes, depths and batch sizes multiply what a step costs. The model is kept within the observed prices.
    """
    known = _measured_prices(state, history)
    if len(known) < _ENOUGH:
        return np.ones(len(state.points))
    columns, logs, embed = np.array(list(known)), np.log(list(known.values())), embedding(history)
    beta = ridge_regression(embed(state.points[columns]), logs, _RIDGE)
    prices = np.exp(np.clip(linear(beta, embed(state.points)), logs.min(), logs.max()))
    prices[columns] = np.exp(logs)
    return prices


def price_range(state: ForecastState, history: History) -> str:
    """How far the prices of steps are apart, in words; empty if they are alike."""
    prices = _measured_prices(state, history).values()
    low, high = min(prices, default=1.0), max(prices, default=1.0)
    return f" (a step took {low:.3g} to {high:.3g})" if high >= 5 * low else ""


def _measured_prices(state: ForecastState, history: History) -> dict[int, float]:
    """By column, what a step of each started configuration has cost; nothing if steps limit the budget."""
    unit = scarcest(history)
    if unit == "steps":
        return {}
    trials = {column: arm.trials[0] for column, arm in state.arm_at.items() if arm.trials[0].step}
    prices = {column: _total(trial, unit) / trial.step for column, trial in trials.items()}
    return {column: price for column, price in prices.items() if price > 0}


def _total(trial: TrialRecord, unit: str) -> float:
    return trial.seconds if unit == "seconds" else sum(reading.cost or 0.0 for reading in trial.readings.values())
