"""What a study is given, and the regret that comes of it: kept, or played now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness.kept import key, runs
from benchmarks.suites.past.families import Task, negated, past_log, stored, worst_log, yahpo_lcbench
from benchmarks.tasks import yahpo_lcbench as yahpo

# Every task of the past has a study of its own for each seed.
_PAST_SEED = 10_000
# How many tasks each seed plays, drawn anew.
TASKS = 6


@dataclass(frozen=True)
class Setting:
    """``kind`` is none, past, negated, worst, foreign (a past of MLPs for another family), or a kind of published
    guess. ``studies`` is how many of the past there are, None for all of them."""

    label: str
    kind: str
    studies: int | None = 0


NONE = Setting("none", "none")
PAST = tuple(Setting(f"{k} past studies" if k else "all past studies", "past", k) for k in (1, 3, 10, None))
NEGATED = Setting("10 negated", "negated", 10)
WORST = Setting("10 of the worst tenth", "worst", 10)
FOREIGN = Setting("10 past studies of MLPs", "foreign", 10)
GUESSES = tuple(Setting(f"guess: {kind}", kind) for kind in ("good", "medium", "bad"))
AT25 = Setting("guess: at25", "at25")


def drawn(tasks: Sequence[Task], seed: int, count: int = TASKS) -> list[Task]:
    """The tasks that a seed plays."""
    chosen = np.random.default_rng(seed).permutation(len(tasks))[:count]
    return [tasks[i] for i in sorted(chosen)]


def regret(family: str, tasks: Sequence[Task], task: Task, setting: Setting, amount: int, seed: int) -> float:
    """The regret of the best reading after a number of trainings or evaluations."""
    name = key(f"{family} {task.name}", seed, "auto", given=setting.kind, studies=setting.studies, amount=amount)
    return float(runs().get(name, lambda: _played(tasks, task, setting, amount, seed)))


def _played(tasks: Sequence[Task], task: Task, setting: Setting, amount: int, seed: int) -> float:
    return task.regret_seen(task.study(amount, seed, **given(tasks, task, setting, seed)))


def given(tasks: Sequence[Task], task: Task, setting: Setting, seed: int) -> dict[str, Any]:
    """The options of a study."""
    if setting.kind == "none":
        return {}
    if setting.kind not in ("past", "negated", "worst", "foreign"):
        return {"guess": published(task, setting.kind)}
    if setting.kind == "foreign":
        tasks = yahpo_lcbench()
    logs = [log_of(tasks, other, setting, seed) for other in others(tasks, task, seed, setting.studies)]
    return {"past": stored(logs)}


def others(tasks: Sequence[Task], task: Task, seed: int, count: int | None) -> list[Task]:
    """The tasks that the past has, in an order of the seed's own."""
    own = tasks.index(task) if task in tasks else len(tasks)
    order = np.random.default_rng([seed, own]).permutation(len(tasks))
    return [tasks[i] for i in order if tasks[i] is not task][:count]


def log_of(tasks: Sequence[Task], other: Task, setting: Setting, seed: int) -> Any:
    own = _PAST_SEED + 100 * seed + tasks.index(other)
    if setting.kind == "worst":
        return worst_log(other, own)
    events = past_log(other, own)
    return negated(events) if setting.kind == "negated" else events


def published(task: Task, kind: str) -> Mapping[str, Any]:
    """A published guess for a task of the surrogate."""
    lines = (yahpo.FOLDER / "priors" / f"{task.name}-{kind}.yaml").read_text().splitlines()
    pairs = (line.split(": ") for line in lines if line)
    return {name: float(value) if "." in value or "e" in value else int(value) for name, value in pairs}
