"""HEBO, the baseline of Table 4.2: 10 rounds of 5 complete evaluations, which is the final without early stops.

SHOESTRING_HEBO names a Python that has it, in an environment of its own:

    python -m venv /tmp/hebo && /tmp/hebo/bin/pip install --no-deps HEBO==0.3.6
    /tmp/hebo/bin/pip install torch gpytorch pymoo catboost disjoint-set pandas scikit-learn GPy
    SHOESTRING_HEBO=/tmp/hebo/bin/python python benchmarks/batch_optimisation.py --table hebo --seeds 5

HEBO 0.3.6 asks for numpy below 1.25, which has no wheels for newer Pythons; without its pins it runs as well.
Cowen-Rivers et al., HEBO: heteroscedastic evolutionary Bayesian optimisation, arXiv:2012.03826.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np
from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, OrdinalHyperparameter

from benchmarks.harness.common import Options
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, row
from benchmarks.peers.environments import command
from benchmarks.suites.batch_optimisation.final import EVERY, PUBLISHED, RULES, results
from benchmarks.tasks.black_boxes import Task, contest_table
from shoestring.problems import contest_score
from shoestring.spaces.codec import Codec

ROUNDS, BATCH = 10, 5
PUBLISHED_SCORE = 0.291


def described(space: ConfigurationSpace) -> list[dict[str, Any]]:
    """A space in HEBO's format; ordered values are whole numbers to it, and conditions are left out."""
    found: list[dict[str, Any]] = []
    for name, own in dict[str, Any](space).items():
        if isinstance(own, CategoricalHyperparameter):
            found.append({"name": name, "type": "cat", "categories": list(own.choices)})
        elif isinstance(own, OrdinalHyperparameter):
            found.append({"name": name, "type": "int", "lb": 0, "ub": len(own.sequence) - 1})
        else:
            whole = type(own).__name__.endswith("IntegerHyperparameter")
            kind = "pow_int" if own.log and whole else "pow" if own.log else "int" if whole else "num"
            found.append({"name": name, "type": kind, "lb": own.lower, "ub": own.upper})
    return found


def configuration(space: ConfigurationSpace, suggested: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a suggestion of HEBO into a configuration of ours, without the inactive parameters."""
    values = {}
    for name, own in dict[str, Any](space).items():
        value = suggested[name]
        values[name] = own.sequence[int(value)] if isinstance(own, OrdinalHyperparameter) else value
    codec = Codec(space)
    return codec.decode(codec.encode(values))


def played(task: Task, seed: int) -> float:
    """The true value of the configuration with the best reading after all rounds."""
    started = command("SHOESTRING_HEBO", "HEBO", "hebo_rounds.py")
    sign = 1.0 if task.mode == "min" else -1.0
    tried: list[tuple[float, float]] = []
    with subprocess.Popen(
        started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as hebo:
        assert hebo.stdin is not None
        assert hebo.stdout is not None
        said: Any = {"space": described(task.space), "seed": seed, "batch": BATCH}
        for _ in range(ROUNDS):
            print(json.dumps(said), file=hebo.stdin, flush=True)
            configs = [configuration(task.space, one) for one in json.loads(hebo.stdout.readline())]
            said = [sign * task.reading(config, 1, 1000 * seed + len(tried) + i) for i, config in enumerate(configs)]
            tried += zip(said, map(task.value, configs), strict=True)
        hebo.kill()
    return min(tried)[1]


def hebo(options: Options) -> list[Row]:
    """HEBO without early stops on data-2, next to BOES as published with the same seeds."""
    task, seeds = contest_table(), range(options.seeds or (1 if options.quick else 5))
    found = {"HEBO": [runs().get(key(task.name, s, "HEBO", code="HEBO", rounds=ROUNDS), lambda: played(task, s))  # noqa: B023
                      for s in seeds]}  # fmt: skip
    for rule in ("no early stop", "A and B"):
        found[f"{PUBLISHED}, {rule}"] = results(task, EVERY[PUBLISHED], RULES[rule][0], len(seeds))
    rows = []
    for name, values in found.items():
        paper = PUBLISHED_SCORE if name == "HEBO" else RULES[name.removeprefix(f"{PUBLISHED}, ")][1]
        rows.append(row(f"{name}: reward", values))
        rows.append(row(f"{name}: score", [contest_score(values, task.best, task.reference)], paper=paper))
    gaps = np.subtract(found["HEBO"], found[f"{PUBLISHED}, no early stop"])
    return [*rows, row(f"HEBO - {PUBLISHED}, no early stop: reward", gaps.tolist())]
