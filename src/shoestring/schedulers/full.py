"""No early stopping: every trial runs to the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoestring.core.decisions import Decision, Done, Start
from shoestring.core.history import History
from shoestring.core.weighing import Judges
from shoestring.schedulers.rungs import cut_short


@dataclass(frozen=True)
class Full:
    """Every trial runs to ``max_resource`` (one step for an objective that returns once)."""

    judges: ClassVar[Judges] = "nothing"

    def next(self, history: History, may_start: bool = True) -> Decision:
        full = history.max_resource or 1
        unfinished = cut_short(history, [full]) if full > 1 else None
        if unfinished is not None:
            return unfinished
        if may_start:
            return Start(full, "a new configuration" + (f" for all of its {full} steps" if full > 1 else ""))
        return Done("every configuration has been tried")
