"""The table of ``defaults.py`` on ``shoestring demo``: its network, its space and its budget, over its first seeds."""

from __future__ import annotations

from typing import Any

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from shoestring.cli.demo import EPOCHS, MOST_EPOCHS
from shoestring.cli.digits import SPACE, train

METHODS = ("random", "asha", "bhpt-eps", "auto")
QUICK_METHODS = ("random", "auto")
# The default is to beat random search on this share of the seeds.
SHARE = 0.8


def table(options: Options) -> list[Row]:
    """The network of `shoestring demo` on consecutive seeds: error of study.best, and how often auto beats random."""
    methods, epochs = (QUICK_METHODS, EPOCHS // 3) if options.quick else (METHODS, EPOCHS)
    by_seed = [{method: _played(method, epochs, seed) for method in methods} for seed in range(options.seeds)]
    errors = {method: [results[method]["best"] for results in by_seed] for method in methods}
    pairs = list(zip(errors["auto"], errors["random"], strict=True))
    return [
        row("share of seeds on which auto is better than random", [ours < theirs for ours, theirs in pairs],
            at_least=SHARE),
        *(row(f"{method}: error", errors[method]) for method in methods),
        row("auto - random: error", [ours - theirs for ours, theirs in pairs]),
        *(row(f"{method}: configurations", [results[method]["arms"] for results in by_seed]) for method in methods),
    ]  # fmt: skip


def _played(method: str, epochs: int, seed: int) -> dict[str, Any]:
    """The error that a study recommends, and how many configurations it started: kept, or played now."""

    def play() -> dict[str, Any]:
        study = ss.tune(
            train, SPACE, budget=f"{epochs} steps", max_resource=MOST_EPOCHS, method=method, seed=seed, progress=False
        )
        return {"best": study.best.value, "arms": len(study.history.arms)}

    name = key("shoestring demo", seed, method, epochs=epochs, max_resource=MOST_EPOCHS)
    result: dict[str, Any] = runs().get(name, play)
    return result
