"""Plots of what is not a study: online tuning, and the pairs of an augmentation search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from shoestring.errors import MethodError
from shoestring.online.tuner import OnlineTuner
from shoestring.plots.picture import Band, Dots, Heat, Line, Mark, Panel, Picture
from shoestring.plots.plot import FigureOptions, Plot
from shoestring.plots.style import category


@dataclass(frozen=True)
class OnlineLooks:
    """Every round with its arm, the readings that were paid for, and the posterior of the arms now."""

    arms: tuple[str, ...]
    rounds: tuple[int, ...]
    played: tuple[int, ...]
    looked: tuple[bool, ...]
    values: tuple[float, ...]
    mean: tuple[float, ...]
    half_width: tuple[float, ...]

    def picture(self) -> Picture:
        title = f"Online tuning: {sum(self.looked)} looks in {len(self.rounds)} rounds"
        if not self.rounds:
            return Picture("Online tuning", note="There is nothing to draw yet: no round was played.")
        ticks = _few_ticks(self.arms)
        rounds = self._marks([float(arm) for arm in self.played])
        read = [i for i, value in enumerate(self.values) if math.isfinite(value)]
        values = Dots(
            [self.rounds[i] for i in read], [self.values[i] for i in read], category(1), "reading", "square", 3
        )
        panels = [
            Panel(rounds, "which arm was used", "round", "arm", y_ticks=ticks),
            Panel((values,), "what the readings were", "round", "reading"),
        ]
        if self.mean:
            x = [float(i) for i in range(len(self.mean))]
            low, high = np.subtract(self.mean, self.half_width), np.add(self.mean, self.half_width)
            marks: list[Mark] = [
                Band(x, tuple(low), tuple(high), category(0), "confidence interval"),
                Line(x, self.mean, category(0), "posterior mean", width=2),
            ]
            panels.append(Panel(marks, "what is believed now", "arm", "reward", x_ticks=ticks))
        return Picture(title, panels)

    def _marks(self, places: list[float]) -> list[Mark]:
        found: list[Mark] = []
        for looked, color, label, size in ((False, category(4), "no look", 2.5), (True, category(0), "look", 4.0)):
            chosen = [i for i, each in enumerate(self.looked) if each == looked]
            if chosen:
                x, y = [self.rounds[i] for i in chosen], [places[i] for i in chosen]
                found.append(Dots(x, y, color, label, size=size))
        return found


def _few_ticks(labels: Sequence[str]) -> list[tuple[float, str]]:
    every = -(-len(labels) // 8)
    return [(float(i), labels[i]) for i in range(0, len(labels), every)]


@Plot
def online(tuner: OnlineTuner, **_: Unpack[FigureOptions]) -> OnlineLooks:
    """Online tuning: which arm was used in which round, where a look was paid for, and the posterior now.

    ``tuner`` needs a finite list of arms; the posterior is shown where its policy has one.
    """
    records = tuner.history
    if records and not isinstance(records[0].candidate, (int, np.integer)):
        raise MethodError("the plot of online tuning needs a list of arms; this tuner has a continuous space")
    count = 1 + max((record.candidate for record in records), default=0)
    mean: tuple[float, ...] = ()
    half: tuple[float, ...] = ()
    try:
        data = tuner.plot_data()
        mean, half, count = tuple(map(float, data.mean)), tuple(map(float, data.half_width)), len(data.mean)
    except MethodError:  # a policy without a posterior: only the rounds are drawn
        pass
    names = {int(record.candidate): _name(tuner.config_of(record)) for record in records}
    values = (math.nan if record.value is None else record.value for record in records)
    return OnlineLooks(
        tuple(names.get(i, str(i)) for i in range(count)), tuple(record.number for record in records),
        tuple(int(record.candidate) for record in records), tuple(record.look for record in records), tuple(values),
        mean, half,
    )  # fmt: skip


def _name(config: Any) -> str:
    if isinstance(config, np.ndarray):
        return ", ".join(f"{part:.3g}" for part in config.ravel()[:3])
    return f"{config:.3g}" if isinstance(config, float) else str(config)


@dataclass(frozen=True)
class PairHeat:
    """The mean reward of each pair of operations, NaN where it was not played; rows are first operations."""

    operations: tuple[str, ...]
    means: tuple[tuple[float, ...], ...]

    def picture(self) -> Picture:
        title = "Augmentation: mean reward of pairs of operations"
        if not self.operations:
            return Picture(title, note="There is nothing to draw yet: no policy was played.")
        n = float(len(self.operations))
        ticks = [(i + 0.5, name) for i, name in enumerate(self.operations)]
        heat = Heat(self.means, (0.0, n), (0.0, n), "mean reward")
        ends = (0.0, n)
        panel = Panel(
            (heat,), "", "second operation", "first operation", False, False, ticks, ticks, ends, ends, int(n)
        )
        return Picture(title, (panel,))


@Plot
def pairs(found: Any, **_: Unpack[FigureOptions]) -> PairHeat:
    """Augmentation: the heat map of pairs of operations; ``found`` is a ``PolicySet``."""
    means = {(item.pair.first, item.pair.second): item.mean for item in found.pairs}
    operations = tuple(sorted({name for pair in means for name in pair}))
    rows = tuple(tuple(float(means.get((a, b), math.nan)) for b in operations) for a in operations)
    return PairHeat(operations, rows)
