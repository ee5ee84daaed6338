"""Learning curves, and how they ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoestring.core.history import TrialRecord
from shoestring.errors import MethodError
from shoestring.plots.picture import Dots, Line, Mark, Panel, Picture, joined
from shoestring.plots.plot import Plot
from shoestring.plots.style import DASHES, STATE_STYLES, category, scale
from shoestring.views.states import is_over, state_words
from shoestring.views.trace import Source, Trace, trace_of


@dataclass(frozen=True)
class Curve:
    trial: int
    state: str
    steps: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Curves:
    """The readings of the trials, in log order; of very many the ``best`` one and an even choice are shown."""

    name: str
    curves: tuple[Curve, ...]
    total: int
    best: int | None
    note: str = ""
    by_trial: bool = False
    over: bool = False

    def picture(self) -> Picture:
        title = f"{self.name}: learning curves"
        if self.note:
            return Picture(title, note=self.note)
        axis = scale([value for curve in self.curves for value in curve.values])
        marks = self._each() if self.by_trial else [mark for state in STATE_STYLES for mark in self._marks(state)]
        leading = next((curve for curve in self.curves if curve.trial == self.best), None)
        if leading is not None and not self.by_trial:
            marks.append(Line(leading.steps, leading.values, "#000000", f"best: trial {leading.trial}", width=2.2))
        shown = "" if len(self.curves) == self.total else f"{len(self.curves)} of {self.total} trials"
        return Picture(title, (Panel(marks, shown, f"step{axis.remark}", "value", y_log=axis.log, y_range=axis.range),))

    def _each(self) -> list[Mark]:
        """One line for each trial, where a few were chosen."""
        found: list[Mark] = []
        for i, curve in enumerate(self.curves):
            label = f"trial {curve.trial} ({state_words(curve.state, self.over)})"
            found.append(Line(curve.steps, curve.values, category(i), label, DASHES[i % 3], 2.0))
            found.append(Dots(curve.steps, curve.values, category(i)))
        return found

    def _marks(self, state: str) -> list[Mark]:
        chosen = [curve for curve in self.curves if curve.state == state]
        if not chosen:
            return []
        style = STATE_STYLES[state]
        x, y = joined((curve.steps, curve.values) for curve in chosen)
        ends = [(curve.steps[-1], curve.values[-1]) for curve in chosen]
        faint = 0.85 if len(self.curves) < 60 else 0.55
        return [
            Line(x, y, style.color, f"{state_words(state, self.over)} ({len(chosen)})", style.dash, 1.2, faint),
            Dots([x for x, _ in ends], [y for _, y in ends], style.color, "", style.shape, 3.5),
        ]


@Plot
def curves(study: Source, *, most: int = 500, trials: Sequence[int] | None = None) -> Curves:
    """Learning curves of all trials, drawn by how they ended: finished, paused, stopped, failed, lost or running.

    ``trials`` chooses a few, which are then drawn one by one.
    """
    trace = trace_of(study)
    if trials is not None:
        return _chosen(trace, trials)
    history, best = trace.history, trace.best()
    known = [trial for trial in history.trials if trial.readings]
    every = -(-len(known) // most) or 1
    chosen = [trial for i, trial in enumerate(known) if i % every == 0 or (best and trial.index == best.trial)]
    found = tuple(_curve(trial) for trial in chosen)
    return Curves(trace.name, found, len(known), best.trial if best else None, trace.why_empty(), over=is_over(history))


def _chosen(trace: Trace, indices: Sequence[int]) -> Curves:
    trials = trace.history.trials
    for index in indices:
        if not 0 <= index < len(trials):
            raise MethodError(f"there is no trial {index!r}; the study has {len(trials)}, counted from 0")
    found = tuple(_curve(trials[index]) for index in indices if trials[index].readings)
    note = "" if found else f"There is no reading of {'this trial' if len(indices) == 1 else 'these trials'} yet."
    return Curves(trace.name, found, len(found), None, note, by_trial=True, over=is_over(trace.history))


def _curve(trial: TrialRecord) -> Curve:
    values = tuple(reading.value for reading in trial.readings.values())
    return Curve(trial.index, trial.state, tuple(trial.readings), values)
