"""Table 4.2: early stops on the simulated final round of the contest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.harness.common import Options
from benchmarks.harness.contests import play_ours
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.tasks.black_boxes import Task, contest_table, suite
from shoestring.core.composition import compose
from shoestring.core.decisions import Sampler, Scheduler
from shoestring.problems import Contest, contest_score
from shoestring.samplers import BOES, TPE, Random
from shoestring.schedulers import ConfidenceStop, Full, SuccessiveHalving

RULES: dict[str, tuple[Scheduler, float | None]] = {
    "no early stop": (Full(), 0.551),
    "SH": (SuccessiveHalving(), 0.494),
    "A": (ConfidenceStop(quantile=None), None),
    "B": (ConfidenceStop(bounds=False), None),
    "A and B": (ConfidenceStop(), 0.781),
}
SAMPLERS: dict[str, Sampler] = {"random": Random(), "tpe": TPE(), "boes": BOES()}
PUBLISHED = "boes, as published"
EVERY: dict[str, Sampler] = SAMPLERS | {PUBLISHED: BOES.thesis()}


def table_4_2(options: Options) -> list[Row]:
    """Table 4.2: best complete reward (the maximum is 28.0) and contest score on data-2, partial rewards simulated."""
    return _by_rule(SAMPLERS, options.seeds or (2 if options.quick else 60))


def table_4_2_published(options: Options) -> list[Row]:
    """Table 4.2 with BOES as published, ``BOES.thesis()``."""
    return _by_rule({PUBLISHED: EVERY[PUBLISHED]}, options.seeds or (1 if options.quick else 60))


def _by_rule(samplers: Mapping[str, Sampler], seeds: int) -> list[Row]:
    rows, task = [], contest_table()
    for name, sampler in samplers.items():
        found: dict[str, list[float]] = {}
        for rule, (scheduler, paper) in RULES.items():
            found[rule] = results(task, sampler, scheduler, seeds)
            score = contest_score(found[rule], task.best, task.reference)
            rows.append(row(f"{name}, {rule}: reward", found[rule]))
            rows.append(row(f"{name}, {rule}: score", [score], paper=paper if name == PUBLISHED else None))
        for better, worse in (("A and B", "SH"), ("SH", "no early stop")):
            gaps = np.subtract(found[better], found[worse]).tolist()
            rows.append(row(f"{name}, {better} - {worse}: reward", gaps, at_least=0.0))
    return rows


def results(task: Task, sampler: Sampler, scheduler: Scheduler, seeds: int) -> list[float]:
    """The best complete value of each seed."""
    contest, method = Contest.final(task), compose(sampler, scheduler)
    return [
        runs().get(key(task.name, seed, method, round="final"), lambda: play_ours(task, method, seed, contest))  # noqa: B023
        for seed in range(seeds)
    ]


def table_4_2_all(options: Options) -> list[Row]:
    """The rules of Table 4.2 on all tasks under the rules of the final: contest score; errors are over tasks."""
    tasks, seeds = suite()[:: 20 if options.quick else 1], options.seeds or (1 if options.quick else 3)
    rows, found = [], dict[str, list[float]]()
    for name in (PUBLISHED, "random"):
        for rule in ("no early stop", "SH", "A and B"):
            sampler, scheduler = EVERY[name], RULES[rule][0]
            ends = [results(task, sampler, scheduler, seeds) for task in tasks]
            pairs = zip(tasks, ends, strict=True)
            found[f"{name}, {rule}"] = [contest_score(values, task.best, task.reference) for task, values in pairs]
    for what, values in found.items():
        rows.append(row(f"{what}: score", values))
    for name in (PUBLISHED, "random"):
        for better, worse in (("A and B", "no early stop"), ("A and B", "SH"), ("SH", "no early stop")):
            gaps = np.subtract(found[f"{name}, {better}"], found[f"{name}, {worse}"]).tolist()
            rows.append(row(f"{name}, {better} - {worse}: score", gaps))
    return rows
