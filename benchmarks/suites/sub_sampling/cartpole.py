"""Table 5 in kind: a small PPO on CartPole, tuned with the same number of agents by every method.

The task and a search are those of ``examples/cartpole_ppo.py``. "Lowest mean of nine" is what the paper reports, the
lowest of several noisy means; "new agents" is the mean of 27 further agents of the same configuration, which is what
differences are judged by.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from shoestring.methods import named

BUDGET = 180  # agents of a study
METHODS = ("bohb", "boss", "boss-mss", "random")
SEEN, AGAIN = "lowest mean of nine", "new agents"
WHAT = (SEEN, AGAIN, "configurations tried", "evaluations with nine agents")


@cache
def example() -> Any:
    """The example as a module."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
    import cartpole_ppo

    return cartpole_ppo


def played(name: str, seed: int, budget: int) -> list[float]:
    """The numbers of ``WHAT`` of a study."""

    def run() -> list[float]:
        found = example().search(name, budget, seed)
        return [found.seen, found.again, found.configurations, found.complete]

    return [float(x) for x in runs().get(key("PPO on CartPole", seed, named(name), budget=budget), run)]


def table(options: Options) -> list[Row]:
    """Table 5: episodes until a PPO has learned CartPole, tuned by BOHB, BOSS and random search"""
    seeds, budget = range(options.seeds or (1 if options.quick else 15)), 54 if options.quick else BUDGET
    found: dict[str, list[list[float]]] = {name: [] for name in METHODS}
    for seed in seeds:  # the outer loop, so that a run that is cut short has whole seeds
        for name in METHODS:
            found[name].append(played(name, seed, budget))
    rows = []
    for name, results in found.items():
        paper = {SEEN: None if name == "boss-mss" else example().PAPER[name]}
        for i, what in enumerate(WHAT):
            rows.append(row(f"{name}: {what}", [run[i] for run in results], paper=paper.get(what)))
    for name in METHODS[1:]:
        for i, what in enumerate((SEEN, AGAIN)):
            pairs = zip(found[name], found["bohb"], strict=True)
            rows.append(row(f"{name} − bohb: {what}", [one[i] - other[i] for one, other in pairs]))
    rows += [
        row(f"{name}, seed {seed}: {what}", [results[seed][i]])
        for name, results in found.items()
        for seed in seeds
        for i, what in enumerate((SEEN, AGAIN))
    ]
    return rows
