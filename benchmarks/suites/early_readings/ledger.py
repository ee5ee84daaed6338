"""An account of what a peer pays for its trainings, and of what it has seen when each budget was spent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.tasks.yahpo_lcbench import ORDER, Problem

Limits = Mapping[str, Sequence[float]]
TOLERANCE = 1e-9


class Spent(Exception):
    """All budgets are spent."""


@dataclass
class Ledger:
    """Epochs and seconds are counted alike, and ``limits`` are the rising budgets of each unit.

    Training a configuration further costs the added epochs only.
    """

    problem: Problem
    limits: Limits
    best: float = math.inf
    spent: dict[str, float] = field(default_factory=lambda: {"epochs": 0.0, "seconds": 0.0})
    found: dict[str, list[float]] = field(default_factory=dict)
    trained: dict[tuple[float, ...], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.found = {unit: [] for unit in self.limits}

    def train(self, config: Mapping[str, Any], until: int) -> list[float]:
        """The errors after each epoch up to this one; raises :class:`Spent` if no budget reaches as far."""
        errors, seconds = self.problem.curve(config)
        identity = tuple(float(config[name]) for name in ORDER)
        for epoch in range(self.trained.get(identity, 0), until):
            self._charge("epochs", 1.0)
            self._charge("seconds", float(seconds[epoch]))
            if all(len(self.found[unit]) == len(limits) for unit, limits in self.limits.items()):
                raise Spent
            self.best = min(self.best, float(errors[epoch]))
            self.trained[identity] = epoch + 1
        return [float(error) for error in errors[:until]]

    def _charge(self, unit: str, amount: float) -> None:
        """An epoch that a budget cannot pay for is not seen within it."""
        self.spent[unit] += amount
        for limit in self.limits.get(unit, ())[len(self.found.get(unit, ())) :]:
            if self.spent[unit] > limit * (1 + TOLERANCE):
                self.found[unit].append(self.best)

    def left(self, unit: str) -> float:
        """Compute the rest of the largest budget."""
        return self.limits[unit][-1] - self.spent[unit]
