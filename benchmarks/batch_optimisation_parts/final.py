"""Table 4.2: early stops on the simulated final round of the contest."""

from __future__ import annotations

import json
import os
from pathlib import Path

from common import Options, Row, row

from batch_optimisation_parts.runs import play_ours
from batch_optimisation_parts.tasks import contest_table
from shoestring.method import Sampler, Scheduler, compose
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
# Each sampler with how many of the seeds it is run on: the ensemble is refitted with every reading.
SAMPLERS: dict[str, tuple[Sampler, int]] = {"random": (Random(), 1), "tpe": (TPE(), 1), "boes": (BOES(), 10)}


def table_4_2(options: Options) -> list[Row]:
    """Table 4.2: best complete reward (the maximum is 28.0) and contest score on data-2, partial rewards simulated."""
    rows, task, kept = [], contest_table(), _Kept()
    contest, seeds = Contest.final(task), options.seeds or 60
    for name, (sampler, share) in SAMPLERS.items():
        for rule, (scheduler, paper) in RULES.items():
            results = []
            for seed in range(max(1, seeds // share)):
                key = f"final/{name}/{rule}/{seed}"
                if key not in kept.values:
                    kept.add(key, play_ours(task, compose(sampler, scheduler), seed, contest))
                results.append(kept.values[key])
            score = contest_score(results, task.best, task.reference)
            rows.append(row(f"{name}, {rule}: reward", results))
            rows.append(row(f"{name}, {rule}: score", [score], paper=paper if name == "boes" else None))
    return rows


class _Kept:
    """Results by name, in a file beside that of the runs."""

    def __init__(self) -> None:
        given = os.environ.get("SHOESTRING_RUNS")
        self._path = Path(f"{given}.final") if given else None
        self.values: dict[str, float] = {}
        if self._path and self._path.exists():
            self.values = dict(json.loads(line) for line in self._path.read_text().splitlines())

    def add(self, key: str, value: float) -> None:
        self.values[key] = value
        if self._path:
            with self._path.open("a") as file:
                file.write(json.dumps([key, value]) + "\n")
