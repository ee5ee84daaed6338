"""The source of new configurations: a random pool, and the neighbourhood of good ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from shoestring._arrays import Array
from shoestring.core.decisions import Start
from shoestring.core.history import FAILED, History
from shoestring.core.untried import propose_new, tried
from shoestring.methods.forecast.columns import Columns
from shoestring.methods.forecast.forecasts import Forecasts
from shoestring.methods.learning_curves import Pool
from shoestring.samplers import Random
from shoestring.samplers.candidates import around
from shoestring.spaces.codec import Codec, Config

# A new configuration is compared with this many neighbours of each of the best started ones.
_NEIGHBOURS, _PARENTS = 50, 3


class New(NamedTuple):
    """A new configuration, the mean of its end, and the arm that it was drawn near; -1 if there is none."""

    config: Config
    mean: float
    parent: int = -1


def random_start(
    history: History, rng: np.random.Generator, first: int, why: str, state: object = None
) -> Start | None:
    """Start a random configuration; None if all were tried."""
    proposal = propose_new(Random(), history, rng)
    return Start(first, f"{why}, drawn at random", proposal.config, state=state) if proposal else None


def is_all_there_is(pool: Pool, size: int, codec: Codec) -> bool:
    """Return whether the pool is a table, or all of a space with fewer configurations than its size: nothing is
    between.
    """
    return codec.rows is not None or (codec.finite and len(pool) < size)


def best_new(
    history: History, rng: np.random.Generator, columns: Columns, forecasts: Forecasts, best: int, draw_near: bool
) -> New:
    """The best column of the pool or, if better and if these may be drawn, a neighbour of a good configuration."""
    codec, keys = history.codec, tried(history)
    drawn = _neighbours(history, rng, columns, forecasts.order) if draw_near else ()
    near = [(one, parent) for one, parent in drawn if codec.allowed(one) and Codec.key(one) not in keys]
    if near:
        means, gains = forecasts.at(np.array([codec.encode(one) for one, _ in near]))
        place = int(np.argmax(gains))
        if gains[place] > forecasts.improvement[best]:
            return New(near[place][0], float(means[place]), near[place][1])
    return New(columns.pool.config(best), float(forecasts.mean[best]))


def _neighbours(
    history: History, rng: np.random.Generator, columns: Columns, order: Array
) -> Iterator[tuple[Config, int]]:
    """Configurations near those with the best forecasts that have not failed, each with the arm that it is near."""
    alive = [column for column, trial in columns.trials.items() if trial.state not in FAILED]
    for column in sorted(alive, key=order.__getitem__)[:_PARENTS]:
        centre, parent = columns.points[[column]], columns.arm_at[column].index
        for point in around(centre, rng, _NEIGHBOURS, history.codec, smallest=0.03, every_axis=True):
            yield history.codec.decode(point), parent
