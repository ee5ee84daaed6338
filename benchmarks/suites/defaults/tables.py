"""The tables of ``defaults.py``: which tasks, budgets and limits each has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.harness.common import Options
from benchmarks.harness.comparison import (
    OURS,
    PEERS,
    Comparison,
    Losses,
    compared,
    cost_rows,
    differences,
    limited,
    mean_rows,
    measured,
    rank_rows,
    regret_best,
    regret_safe,
    regret_seen,
    task_row,
)
from benchmarks.harness.measurements import Row
from benchmarks.harness.play import Task
from benchmarks.suites.defaults import curves as recorded_curves, failures as failing, smooth as functions

METHODS = (*OURS, *PEERS)
# A run of 30 trainings with Optuna's GP takes about 20 CPU seconds, more than all others together.
TOO_SLOW = {30: ("Optuna GP",)}
# The methods with a freeze-thaw model have their own table of rows as arms, in budgeted_tuning.py.
ROWS_METHODS = ("random", "asha", "asha-tpe", "hyperband", "bohb", "auto")
LONGER = ("random", "asha", "bohb", "bhpt-eps", "auto")
QUICK_METHODS = ("random", "asha", "auto", "Optuna TPE")
# The halves of the tasks, or of the seeds: choices are made on the first and confirmed on the second.
HALVES = {"choosing half: ": slice(0, None, 2), "confirming half: ": slice(1, None, 2)}

CURVES_LIMITS = {10: 0.08, 30: 0.035}
ROWS_LIMITS = {5: 0.20, 10: 0.10, 20: 0.04}
SMOOTH_LIMIT = 0.2
LOST_AT_ONCE, LOST_LATE = 10.0, 50.0


def _regrets(found: Comparison) -> Losses:
    return {"regret": found.array(regret_seen), "regret of study.best": found.array(regret_best)}


def _methods(options: Options) -> tuple[str, ...]:
    return QUICK_METHODS if options.quick else METHODS


def curves(options: Options) -> list[Row]:
    """Recorded curves as continuous problems, 23 tables: normalised regret after 10 and 30 full trainings."""
    tasks, limits, methods = recorded_curves.snapped(), CURVES_LIMITS, _methods(options)
    if options.quick:
        tasks, limits = tasks[::12], {10: CURVES_LIMITS[10]}
    first = [f"auto - {name}, {budget} trainings: regret" for budget in limits for name in methods]
    return limited(_recorded(tasks, methods, options.seeds, limits), dict.fromkeys(first, 0.0))


def rows(options: Options) -> list[Row]:
    """Recorded curves with their rows as arms, 39 tables: normalised regret after 5, 10 and 20 full trainings."""
    if options.quick:
        return _recorded(recorded_curves.rows()[::20], ("random", "asha", "auto"), options.seeds, {5: ROWS_LIMITS[5]})
    return _recorded(recorded_curves.rows(), ROWS_METHODS, options.seeds, ROWS_LIMITS)


def _recorded(tasks: Sequence[Task], methods: Sequence[str], seeds: int, limits: Mapping[int, float]) -> list[Row]:
    """All tables and both halves of them at each budget; ``limits`` are those of the default's regret."""
    found_rows = []
    for trainings, limit in limits.items():
        played = [name for name in methods if name not in TOO_SLOW.get(trainings, ())]
        found, label = compared(tasks, played, seeds, trainings), f"{trainings} trainings"
        found_rows += limited(_compared_rows(found, label), {f"auto, {label}: regret": limit})
        for prefix, places in HALVES.items():
            found_rows += _means_and_ranks(found.of_tasks(places), label, prefix)
    return found_rows


def smooth(options: Options) -> list[Row]:
    """Smooth functions with learning curves, honest and misleading ones: regret after 10 full trainings."""
    tasks, label = functions.smooth(), "10 trainings"
    if options.quick:
        tasks = [task for task in tasks if "hartmann 3" in task.name][::2]
    found = compared(tasks, _methods(options), options.seeds, 10)
    lines = _compared_rows(found, label)
    for prefix, places in HALVES.items():
        lines += _means_and_ranks(found.of_seeds(places), label, prefix)
    return [*lines, *_by_form(found, label), *_misled_for_longer(found)]


def _misled_for_longer(found: Comparison) -> list[Row]:
    """The forms that mislead with a budget in which this can be noticed."""
    misled = [task for task in found.tasks if any(form in task.name for form in functions.MISLEADING)]
    longer = compared(misled, [name for name in LONGER if name in found.methods], len(found.results[0]), 30)
    return _by_form(longer, "30 trainings") if misled else []


def _by_form(found: Comparison, label: str) -> list[Row]:
    """Each function and form; the default is held to a bar in 6 dimensions and to random search where it is misled."""
    rows: list[Row] = []
    for i, task in enumerate(found.tasks):
        one = found.of_tasks(slice(i, i + 1))
        rows += mean_rows(one, {"regret": one.array(regret_seen)}, label, f"{task.name}: ")
    values, limits = measured(rows), {}
    for task in found.tasks:
        name = f"{task.name}: auto, {label}: regret"
        if any(form in task.name for form in functions.MISLEADING):
            limits[name] = values[f"{task.name}: random, {label}: regret"]
        elif "hartmann 6" in task.name:
            limits[name] = SMOOTH_LIMIT
    return limited(rows, limits)


def failures(options: Options) -> list[Row]:
    """Trainings that fail in parts of the space, 150 steps: steps lost, and the best value that cannot fail."""
    tasks: Sequence[Task] = failing.failures()
    if options.quick:
        tasks = tasks[::5]
    found = compared(tasks, _methods(options), options.seeds, lambda task: failing.STEPS // task.max_resource)
    safe = {"regret": found.array(regret_safe)}
    rows = [*mean_rows(found, safe, "150 steps"), *rank_rows(found, safe, "150 steps"), *cost_rows(found, "150 steps")]
    for prefix, places in HALVES.items():
        half = found.of_tasks(places)
        rows += mean_rows(half, {"regret": half.array(regret_safe)}, "150 steps", prefix)
    for name in failing.FAILURES:
        case = found.where(lambda task, name=name: task.name.startswith(f"{name}, "))
        if case.tasks:
            rows += _case(case, name)
    return rows


def _case(found: Comparison, name: str) -> list[Row]:
    """One way of failing on both landscapes, errors over all runs."""
    lost, safe = found.array(lambda task, result: result["lost"]), found.array(regret_safe)
    rows = []
    for m, method in enumerate(found.methods):
        rows.append(task_row(f"{name}: {method}: lost steps", lost[:, :, m].reshape(1, -1)))
        rows.append(task_row(f"{name}: {method}: regret", safe[:, :, m].reshape(1, -1)))
    limits = {}
    if name in failing.AT_ONCE:
        limits[f"{name}: auto: lost steps"] = LOST_AT_ONCE
    if name in failing.MANY_DIVERGE:
        limits[f"{name}: auto: lost steps"] = LOST_LATE
        if "bohb" in found.methods:
            limits[f"{name}: auto: regret"] = measured(rows)[f"{name}: bohb: regret"]
    return limited(rows, limits)


def _means_and_ranks(found: Comparison, label: str, prefix: str = "") -> list[Row]:
    if not found.tasks or not found.results[0]:  # a quick run may have no second half
        return []
    losses = _regrets(found)
    return [*mean_rows(found, losses, label, prefix), *rank_rows(found, losses, label, prefix)]


def _compared_rows(found: Comparison, label: str) -> list[Row]:
    return [
        *_means_and_ranks(found, label),
        *differences(found, {"regret": found.array(regret_seen)}, label),
        *cost_rows(found, label),
    ]
