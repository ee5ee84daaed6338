"""Regret with a past or a guess, and its difference to the same studies without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from benchmarks.suites.past import families, peers
from benchmarks.suites.past.families import Task
from benchmarks.suites.past.settings import (
    AT25,
    FOREIGN,
    GUESSES,
    NEGATED,
    NONE,
    PAST,
    TASKS,
    WORST,
    Setting,
    drawn,
    regret,
)

# Seeds that no choice was made on.
FIRST_SEED = 960
TRAININGS, EVALUATIONS = (2, 5, 10), (10, 20, 40)
# Without a past, for longer: how much budget would have been needed. Nothing above it is told apart.
LONGER = (20,)


def yahpo(options: Options) -> list[Row]:
    """One task of the surrogate left out: regret, and the difference to no past."""
    settings = (NONE, *PAST)
    return list(_rows(measured("yahpo", families.yahpo_lcbench(), settings, TRAININGS, options), "trainings"))


def negated(options: Options) -> list[Row]:
    """A past that recommends what was worst."""
    settings = (NONE, NEGATED)
    return list(_rows(measured("yahpo", families.yahpo_lcbench(), settings, TRAININGS, options), "trainings"))


def misleading(options: Options) -> list[Row]:
    """A past that knows bad configurations alone, and a mediocre guess."""
    settings = (NONE, WORST, AT25)
    return list(_rows(measured("yahpo", families.yahpo_lcbench(), settings, TRAININGS, options), "trainings"))


def longer(options: Options) -> list[Row]:
    """The surrogate without a past for longer: how much budget a past saves."""
    tasks = families.yahpo_lcbench()
    found = measured("yahpo", tasks, (NONE, *PAST), TRAININGS, options)
    found |= measured("yahpo", tasks, (NONE,), LONGER, options)
    return [*_means({key: found[key] for key in found if key[0] == NONE}, "trainings"), *_saved(found)]


def transfer_peers(options: Options) -> list[Row]:
    """Other libraries on the surrogate with the same ten past studies, Optuna without, and ours on the same seeds."""
    return _transfer_rows(peers.TRANSFER, options)


def zero_shot(options: Options) -> list[Row]:
    """Syne Tune's ZeroShotTransfer, whose surrogates take long, and ours on the same seeds."""
    return _transfer_rows(peers.ZERO_SHOT, options)


def _transfer_rows(names: Mapping[str, object], options: Options) -> list[Row]:
    own = measured("yahpo", families.yahpo_lcbench(), (NONE, PAST[2]), TRAININGS, options)
    others = _peer_rows(names, lambda tasks, seed: drawn(tasks, seed, _count(options)), options)
    return [*_means(own, "trainings"), *others]


def guess_peers(options: Options) -> list[Row]:
    """NePS with the published guesses, and ours on the same seeds."""
    own = measured("yahpo", _guessed(families.yahpo_lcbench()), GUESSES, TRAININGS, options)
    others = _peer_rows(peers.GUESSING, lambda tasks, _: _guessed(tasks)[: _count(options)], options)
    return [*_means(own, "trainings"), *others]


def _peer_rows(
    names: Mapping[str, object], chosen: Callable[[Sequence[Task], int], Sequence[Task]], options: Options
) -> Iterable[Row]:
    tasks = families.yahpo_lcbench()
    for name in peers.available(names):
        found = [
            np.mean([peers.regrets(name, tasks, task, seed, TRAININGS) for task in chosen(tasks, seed)], axis=0)
            for seed in _seeds(options)
        ]
        for amount, values in zip(TRAININGS, np.transpose(found).tolist(), strict=True):
            yield row(f"{name}, {amount} trainings", values)


def guesses(options: Options) -> list[Row]:
    """Published guesses for three tasks: regret, and the difference to no guess."""
    return list(
        _rows(measured("yahpo", _guessed(families.yahpo_lcbench()), (NONE, *GUESSES), TRAININGS, options), "trainings")
    )


def _guessed(tasks: Sequence[Task]) -> list[Task]:
    return [task for task in tasks if task.name in ("126026", "168910", "189906")]


def lcbench(options: Options) -> list[Row]:
    """One recorded table left out: regret, and the difference to no past."""
    settings = (NONE, *PAST, NEGATED, WORST)
    return list(_rows(measured("lcbench", families.lcbench(), settings, TRAININGS, options), "trainings"))


def other_family(options: Options) -> list[Row]:
    """Text models with a past of MLPs: the learning rate is all that they have in common."""
    found = measured("taskset", families.taskset(), (NONE, FOREIGN), TRAININGS, options)
    return list(_rows(found, "trainings"))


def black_boxes(options: Options) -> list[Row]:
    """One black box of a family left out: regret, and the difference to no past."""
    settings = (NONE, PAST[0], PAST[3], *(Setting(each.label, each.kind, None) for each in (NEGATED, WORST)))
    parts = [measured("black boxes", tasks, settings, EVALUATIONS, options) for tasks in families.black_boxes()]
    weights = [len(tasks) for tasks in families.black_boxes()]
    both = {key: np.average([part[key] for part in parts], axis=0, weights=weights).tolist() for key in parts[0]}
    return list(_rows(both, "evaluations"))


Found = Mapping[tuple[Setting, int], Sequence[float]]


def measured(
    family: str, tasks: Sequence[Task], settings: Sequence[Setting], amounts: Sequence[int], options: Options
) -> dict[tuple[Setting, int], list[float]]:
    """Per setting and budget, the mean regret over the tasks of each seed; quick with one task and small budgets."""
    amounts = amounts[:2] if options.quick else amounts
    found: dict[tuple[Setting, int], list[float]] = {(s, n): [] for s in settings for n in amounts}
    for seed in _seeds(options):
        own = drawn(tasks, seed, _count(options))
        for setting, amount in found:
            values = map(partial(_regret, family, tasks, setting, amount, seed), own)
            found[setting, amount].append(float(np.mean(list(values))))
    return found


def _regret(family: str, tasks: Sequence[Task], setting: Setting, amount: int, seed: int, task: Task) -> float:
    return regret(family, tasks, task, setting, amount, seed)


def _count(options: Options) -> int:
    return 1 if options.quick else TASKS


def _seeds(options: Options) -> range:
    return range(FIRST_SEED, FIRST_SEED + options.seeds)


def _rows(found: Found, unit: str) -> Iterable[Row]:
    yield from _means(found, unit)
    for (setting, amount), values in found.items():
        if setting != NONE:
            gaps = np.subtract(values, found[NONE, amount]).tolist()
            yield row(f"{setting.label}, {amount} {unit}, difference to none", gaps)


def _means(found: Found, unit: str) -> Iterable[Row]:
    for (setting, amount), values in found.items():
        yield row(f"{setting.label}, {amount} {unit}", values)


def _saved(found: Found) -> Iterable[Row]:
    """How much more budget is needed without a past for the regret of a budget with one, as means over the seeds."""
    for setting in PAST:
        for amount in TRAININGS[:2]:
            factor = budget_without(found, float(np.mean(found[setting, amount]))) / amount
            yield Row(f"{setting.label}, {amount} trainings, budget without", factor, n=len(found[setting, amount]))


def budget_without(found: Found, target: float) -> float:
    """The trainings that reach a regret without a past, between budgets by their logarithms; at most the longest."""
    known = sorted((amount, float(np.mean(values))) for (setting, amount), values in found.items() if setting == NONE)
    before = known[0]
    for amount, value in known:
        if value <= target:
            share = 0.0 if before[1] == value else (before[1] - target) / (before[1] - value)
            return float(before[0] * (amount / before[0]) ** share)
        before = amount, value
    return float(known[-1][0])
