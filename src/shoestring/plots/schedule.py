"""A timeline of the work: the rungs of early stopping, and the workers with their idle time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Unpack

from shoestring.plots.picture import Bars, Cells, Panel, Picture, bar_range
from shoestring.plots.plot import FigureOptions, Plot
from shoestring.plots.style import PALE, STATE_STYLES, shade
from shoestring.views.formatting import duration, number
from shoestring.views.trace import Source, Span, Trace, trace_of

# More bars than this in a timeline cannot be told apart: neighbours of one worker and one kind are merged.
_MOST_SPANS = 2000
_MOST_WORKERS = 24


@dataclass(frozen=True)
class Rung:
    """The trials that were granted steps up to ``step``, of configurations whose first grant went to ``bracket``."""

    bracket: int
    step: int
    granted: int
    reached: int
    promoted: int
    failed: int
    best: float | None
    steps: float


@dataclass(frozen=True)
class Bar:
    """A stretch of work of a trial on one worker, in seconds since the first grant.

    ``kind`` is what it is coloured by.
    """

    worker: int
    begin: float
    end: float
    kind: str
    trial: int


@dataclass(frozen=True)
class Rungs:
    """The rungs of every bracket, and a Gantt chart of the workers by rung."""

    name: str
    rungs: tuple[Rung, ...]
    workers: tuple[str, ...]
    bars: tuple[Bar, ...]
    note: str = ""

    def picture(self) -> Picture:
        title = f"{self.name}: rungs and brackets"
        if self.note:
            return Picture(title, note=self.note)
        heads = ("bracket", "rung", "granted", "reached", "passed", "failed", "best", "steps")
        rows = [
            (str(r.bracket), str(r.step), str(r.granted), str(r.reached), str(r.promoted), str(r.failed),
             "-" if r.best is None else number(r.best), number(float(r.steps)))
            for r in self.rungs
        ]  # fmt: skip
        steps = sorted({rung.step for rung in self.rungs})
        colors = {f"to step {step}": shade(1 - i / max(len(steps) - 1, 1)) for i, step in enumerate(steps)}
        return Picture(title, (Panel((Cells(heads, rows),)), _timeline(self.bars, self.workers, colors)))


@Plot
def rungs(study: Source, **_: Unpack[FigureOptions]) -> Rungs:
    """Rungs and brackets: how many trials reached and passed each rung, and a Gantt chart of the workers by rung.

    The bracket of a configuration is the step of its first grant: that is what brackets of Hyperband differ in.
    """
    trace = trace_of(study)
    first: dict[int, int] = {}
    members: dict[tuple[int, int], list[Span]] = defaultdict(list)
    for span in trace.spans:
        members[first.setdefault(span.arm, span.goal), span.goal].append(span)
    found = tuple(_rung(trace, bracket, step, spans) for (bracket, step), spans in sorted(members.items()))
    workers, bars = _bars(trace, lambda span: f"to step {span.goal}")
    return Rungs(trace.name, found, workers, bars, trace.why_no_runs())


def _rung(trace: Trace, bracket: int, step: int, spans: list[Span]) -> Rung:
    trials = {span.trial: trace.history.trials[span.trial] for span in spans}
    arms = [trace.history.arms[index] for index in {span.arm for span in spans}]
    reached = [trial for trial in trials.values() if trial.step >= step]
    promoted = sum(any(max(trial.goal, trial.step) > step for trial in arm.trials) for arm in arms)
    failed = sum(span.how in ("failed", "lost") for span in spans)
    losses = [loss for trial in reached if trial.is_feasible(step) and (loss := trial.loss(step)) is not None]
    best = trace.history.sign * min(losses) if losses else None
    steps = sum(trace.charge_of(span, "steps") for span in spans)
    return Rung(bracket, step, len(trials), len(reached), promoted, failed, best, steps)


@dataclass(frozen=True)
class Use:
    """The seconds that a worker was busy and idle between its first and its last moment."""

    worker: str
    busy: float
    idle: float


@dataclass(frozen=True)
class Workers:
    """The timeline of the workers by how their trials ended, and their idle time."""

    name: str
    uses: tuple[Use, ...]
    workers: tuple[str, ...]
    bars: tuple[Bar, ...]
    note: str = ""

    def picture(self) -> Picture:
        busy, idle = sum(use.busy for use in self.uses), sum(use.idle for use in self.uses)
        title = f"{self.name}: workers"
        if self.note:
            return Picture(title, note=self.note)
        share = f"busy {100 * busy / (busy + idle):.0f} %" if busy + idle else "no time was measured"
        colors = {state: style.color for state, style in STATE_STYLES.items()}
        shown = self.uses[:_MOST_WORKERS]
        y = [float(len(shown) - 1 - i) for i in range(len(shown))]
        marks = (
            Bars(y, [0.0] * len(y), [use.busy for use in shown], STATE_STYLES["finished"].color, "busy"),
            Bars(y, [use.busy for use in shown], [use.busy + use.idle for use in shown], PALE, "idle"),
        )
        ticks = [(at, use.worker) for at, use in zip(y, shown, strict=True)]
        used = Panel(
            marks,
            f"{share}, idle {duration(idle)}",
            "seconds",
            y_ticks=ticks,
            y_range=bar_range(len(shown)),
            rows=len(shown),
        )
        return Picture(title, (_timeline(self.bars, self.workers, colors), used))


@Plot
def workers(study: Source, **_: Unpack[FigureOptions]) -> Workers:
    """Worker timeline: what each worker ran, by how the trials ended, and how long it was idle."""
    trace = trace_of(study)
    names, bars = _bars(trace, lambda span: span.how)
    total = max((bar.end for bar in bars), default=0.0)
    uses = []
    for index, name in enumerate(names):
        busy = _coverage([(bar.begin, bar.end) for bar in bars if bar.worker == index])
        begin = min(bar.begin for bar in bars if bar.worker == index)
        uses.append(Use(name, busy, max(total - begin - busy, 0.0)))
    note = trace.why_no_runs() or ("" if total else "No time was measured yet.")
    return Workers(trace.name, tuple(uses), names, bars, note)


def _coverage(stretches: list[tuple[float, float]]) -> float:
    """Return how long at least one of the stretches lasted."""
    total, until = 0.0, 0.0
    for begin, end in sorted(stretches):
        total += max(end - max(begin, until), 0.0)
        until = max(until, end)
    return total


def _bars(trace: Trace, kind: Callable[[Span], str]) -> tuple[tuple[str, ...], tuple[Bar, ...]]:
    """Workers as numbered slots: one process may run several trials at once, each is drawn in a lane of its own."""
    lanes: list[tuple[str, float]] = []
    names: dict[str, str] = {}
    bars: list[Bar] = []
    first = trace.spans[0].begin if trace.spans else 0.0
    for span in trace.spans:
        begin, end = span.begin - first, max(span.end, span.begin) - first
        if span.how == "running":
            end = max(end, trace.history.now - first)
        lane = next((i for i, (worker, free) in enumerate(lanes) if worker == span.worker and free <= begin), None)
        if lane is None:
            lane = len(lanes)
            lanes.append((span.worker, 0.0))
        names.setdefault(span.worker, f"worker {len(names) + 1}")
        lanes[lane] = (span.worker, end)
        bars.append(Bar(lane, begin, end, kind(span), span.trial))
    labels = _labels([names[worker] for worker, _ in lanes])
    return tuple(labels), tuple(bars)


def _labels(owners: list[str]) -> list[str]:
    """Lanes of one worker are counted."""
    seen: dict[str, int] = defaultdict(int)
    labels = []
    for owner in owners:
        seen[owner] += 1
        labels.append(owner if owners.count(owner) == 1 else f"{owner}, slot {seen[owner]}")
    return labels


def _timeline(bars: tuple[Bar, ...], workers: tuple[str, ...], colors: dict[str, str]) -> Panel:
    shown = min(len(workers), _MOST_WORKERS)
    every = -(-sum(bar.worker < shown for bar in bars) // _MOST_SPANS) or 1
    marks = []
    for kind, color in colors.items():
        chosen = [bar for bar in bars if bar.kind == kind and bar.worker < shown][::every]
        if chosen:
            y = [float(shown - 1 - bar.worker) for bar in chosen]
            begin, end = [bar.begin for bar in chosen], [bar.end for bar in chosen]
            thickness = STATE_STYLES[kind].thickness if kind in STATE_STYLES else 0.7
            marks.append(Bars(y, begin, end, color, kind, thickness=thickness, keys=[bar.trial for bar in chosen]))
    left_out = f", {len(workers) - shown} more not shown" if len(workers) > shown else ""
    title = f"{len(workers)} workers{left_out}" if len(workers) > 1 else ""
    ticks = [(float(shown - 1 - i), name) for i, name in enumerate(workers[:shown])]
    y_range, label = bar_range(shown), "seconds since the first grant"
    return Panel(marks, title, label, y_ticks=ticks, y_range=y_range, rows=max(shown, 4))
