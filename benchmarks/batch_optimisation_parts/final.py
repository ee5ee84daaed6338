"""Table 4.2: early stops on the simulated final round of the contest."""

from __future__ import annotations

import numpy as np
from common import Options
from kept import key, runs
from measurements import Row, row

from batch_optimisation_parts.runs import play_ours
from batch_optimisation_parts.tasks import contest_table
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


def table_4_2(options: Options) -> list[Row]:
    """Table 4.2: best complete reward (the maximum is 28.0) and contest score on data-2, partial rewards simulated."""
    rows, task = [], contest_table()
    contest, seeds = Contest.final(task), options.seeds or 60
    for name, sampler in SAMPLERS.items():
        found: dict[str, list[float]] = {}
        for rule, (scheduler, paper) in RULES.items():
            method = compose(sampler, scheduler)
            found[rule] = [
                runs().get(key(task.name, seed, method, round="final"), lambda: play_ours(task, method, seed, contest))  # noqa: B023
                for seed in range(seeds)
            ]
            score = contest_score(found[rule], task.best, task.reference)
            rows.append(row(f"{name}, {rule}: reward", found[rule]))
            rows.append(row(f"{name}, {rule}: score", [score], paper=paper if name == "boes" else None))
        for better, worse in (("A and B", "SH"), ("SH", "no early stop")):
            gaps = np.subtract(found[better], found[worse]).tolist()
            rows.append(row(f"{name}, {better} - {worse}: reward", gaps, at_least=0.0))
    return rows
