"""The value of single rules of ``forecast``: the default as it is, and with other scores or earlier rules.

The seeds are ones with which nothing was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from benchmarks.harness.common import Options
from benchmarks.harness.comparison import regret_safe, regret_seen
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.harness.play import Result, Task, played
from benchmarks.suites.defaults import curves, failures as failing, smooth as functions
from shoestring._arrays import Array
from shoestring.methods import Forecast
from shoestring.methods.forecast import forecasts
from shoestring.models.curve_process import CurveProcess
from shoestring.models.scores import blended_scores, normal_scores, tame

FIRST_SEED = 4000
# Of the tables of whole trainings and workers: those from FIRST_SEED on were looked at when their rules were chosen.
LATER_SEED = 7000
FITTED_LENGTH = 0.871


@dataclass(frozen=True)
class Variant:
    """A way to score losses, the length of what is alike (None is the default's), and a method."""

    scores: Callable[[Array], Array] = blended_scores
    length: float | None = None
    method: str | Forecast = "auto"
    workers: int = 1

    @contextmanager
    def in_use(self) -> Iterator[None]:
        scores, prior = forecasts.blended_scores, CurveProcess.prior
        forecasts.blended_scores = self.scores
        CurveProcess.prior = replace(prior, space_length=self.length or prior.space_length)
        try:
            yield
        finally:
            forecasts.blended_scores, CurveProcess.prior = scores, prior


AS_IT_IS = "as it is"
VARIANTS = {
    AS_IT_IS: Variant(),
    "ranks alone, fitted length": Variant(normal_scores, FITTED_LENGTH),
    "ranks alone": Variant(normal_scores),
    "sizes alone": Variant(tame),
    "fitted length": Variant(length=FITTED_LENGTH),
}
# The default before it learned from each study which early steps to trust, proposed from forecast ends, and trained
# some configurations to the end whatever they look like early.
EARLIER = "earlier rules"
RULES = {AS_IT_IS: Variant(), EARLIER: Variant(method=Forecast(trust="blind", by_gp=0.0, whole=0.0))}
WHOLE = {AS_IT_IS: Variant(), "no whole trainings": Variant(method=Forecast(whole=0.0))}
WORKERS = {
    AS_IT_IS: Variant(),
    **{f"{n} workers": Variant(workers=n) for n in (8, 32)},
    **{f"asha, {n} workers": Variant(method="asha", workers=n) for n in (1, 8, 32)},
}


def table(options: Options) -> list[Row]:
    """The default and variants of its scores: regret, and the difference of each variant from the default."""
    return _compared(VARIANTS, _suites(options.quick), options.seeds)


def rules(options: Options) -> list[Row]:
    """The default and the rules that most other tables were played with, on more kinds of tasks."""
    suites = _suites(options.quick)
    if not options.quick:
        suites["curves, 30 trainings"] = (curves.snapped(), 30)
        suites["misleading early steps"] = (_functions(functions.MISLEADING), 10)
    return _compared(RULES, suites, options.seeds)


def whole(options: Options) -> list[Row]:
    """The default with and without whole trainings, where the budget has room for them: 30 trainings."""
    honest, misleading = _functions(functions.HONEST), _functions(functions.MISLEADING)
    suites = {"smooth": (honest[:1], 20)} if options.quick else {
        "curves": (curves.snapped(), 30),
        "smooth": (honest, 30),
        "misleading early steps": (misleading, 30),
    }  # fmt: skip
    return _compared(WHOLE, suites, options.seeds, LATER_SEED)


def workers(options: Options) -> list[Row]:
    """The default and asha with 1, 8 and 32 workers on a virtual clock, 10 trainings on recorded curves."""
    tasks = curves.snapped()[::8] if options.quick else curves.snapped()
    return _compared(WORKERS, {"curves": (tasks, 10)}, options.seeds, LATER_SEED)


def _functions(forms: Collection[str]) -> list[Task]:
    return [task for task in functions.smooth() if any(form in task.name for form in forms)]


def _compared(
    variants: Mapping[str, Variant],
    suites: Mapping[str, tuple[Sequence[Task], int | None]],
    seeds: int,
    first_seed: int = FIRST_SEED,
) -> list[Row]:
    lines: list[Row] = []
    for suite, (tasks, budget) in suites.items():
        found = {
            name: _regrets(name, variant, tasks, budget, range(first_seed, first_seed + seeds))
            for name, variant in variants.items()
        }
        for name, regrets in found.items():
            lines.append(row(f"{suite}: {name}", regrets))
            if name != AS_IT_IS:
                pairs = zip(regrets, found[AS_IT_IS], strict=True)
                lines.append(row(f"{suite}: {name} - {AS_IT_IS}", [theirs - ours for theirs, ours in pairs]))
    return lines


def _suites(quick: bool) -> dict[str, tuple[Sequence[Task], int | None]]:
    """Tasks and how many trainings each has; None is the budget of the failures."""
    honest = _functions(functions.HONEST)
    if quick:
        return {"smooth": (honest[:1], 10)}
    return {
        "curves, choosing half": (curves.snapped()[::2], 10),
        "curves, confirming half": (curves.snapped()[1::2], 10),
        "rows, choosing half": (curves.rows()[::2], 10),
        "rows, confirming half": (curves.rows()[1::2], 10),
        "hartmann 3": ([task for task in honest if "hartmann 3" in task.name], 10),
        "hartmann 6": ([task for task in honest if "hartmann 6" in task.name], 10),
        "failures, narrow": ([task for task in failing.failures() if "narrow" in task.name], None),
        "failures, wide": ([task for task in failing.failures() if "wide" in task.name], None),
    }


def _regrets(name: str, variant: Variant, tasks: Sequence[Task], budget: int | None, seeds: range) -> list[float]:
    return [
        _regret(task, _kept(name, variant, task, budget or failing.STEPS // task.max_resource, seed))
        for seed in seeds
        for task in tasks
    ]


def _regret(task: Task, result: Result) -> float:
    found = regret_safe(task, result) if task.safe else regret_seen(task, result)
    return math.inf if found is None else found


def _kept(name: str, variant: Variant, task: Task, trainings: int, seed: int) -> Result:
    def play() -> Result:
        with variant.in_use():
            return played(task, variant.method, trainings, seed, variant.workers)

    result: Result = runs().get(key(task.name, seed, f"auto, {name}", trainings=trainings, **task.identity), play)
    return result
