"""Play methods on problems and write a digest of their decisions, to compare two versions of the code.

    python tests/programs/record_decisions.py before.json
    python tests/programs/record_decisions.py after.json --against before.json
    python tests/programs/record_decisions.py --show "forecast on a table"

Equal digests mean that every decision was the same: trial, arm, steps, configuration to the last bit, and reason.
"""

import argparse
import hashlib
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import shoestring as ss
from shoestring.methods import named
from shoestring.problems import CurveTable, Synthetic, WithCurves
from shoestring.testing import Playground, played

METHODS = ["random", "tpe", "gp", "asha", "hyperband", "bohb", "boss", "bhpt", "forecast", "amss"]
# These only compare losses, so their decisions are the same on every machine.
BY_COMPARISON = ["random", "sh", "hyperband", "asha", "ss", "mss", "amss"]
CUBE = {"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0)}
KNOWN = [{"kind": "steep", "rate": 0.02, "width": 9}, {"kind": "bent", "rate": 0.5, "width": 2, "bend": 0.75}]


def give_what_is_known(study):
    """Two enqueued configurations, a whole curve from elsewhere, the start of one, and a failure."""
    for config in KNOWN:
        study.enqueue(config)
    study.add({"kind": "flat", "rate": 0.015, "width": 7}, [0.9 / step for step in range(1, 28)])
    study.add({"kind": "flat", "rate": 0.03, "width": 8}, [0.8, 0.6, 0.5])
    study.add({"kind": "flat", "rate": 0.9, "width": 60}, failed="out of memory")


class Curves:
    """Curves of 27 steps over the unit cube; ``reading(config, step)`` is given, and what a step takes."""

    max_resource, mode = 27, "min"

    def __init__(self, reading, seconds=lambda config: 1.0, space=CUBE):
        self.space = ss.space(space)
        self._reading, self._seconds = reading, seconds

    def __call__(self, trial):
        for step in range(trial.start + 1, self.max_resource + 1):
            yield self.reading(trial.config, step)

    def reading(self, config, step, seed=0):
        return self._reading(config, step)

    def seconds(self, config, step, seed=0):
        return self._seconds(config)


def bowl(config, step):
    return sum((value - 0.3) ** 2 for value in config.values()) + 1 / step


def misleading(config, step):
    """In the first half of a training the other end of the space looks good."""
    return 2 + bowl({name: 1 - value for name, value in config.items()}, step) if step < 14 else bowl(config, step)


def cells(config, step):
    """Configurations in one of 216 cells have the same readings."""
    return bowl({name: int(6 * value) / 6 for name, value in config.items()}, step)


def diverging(config, step):
    return float("nan") if config["x"] > 0.55 and step > 12 * config["y"] else bowl(config, step) - config["x"] / 2


def one_of_two(config, step):
    """The second parameter has no effect."""
    return config["x"] / 8 + 1 / step


def table():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 12, (90, 3)) / 4.0
    steps = np.arange(1, 28)
    ends = np.abs(X - 1.5).sum(axis=1)[:, None] / 8
    Y = ends + (1 + rng.integers(0, 8, (90, 1))) / (4 + steps) + rng.integers(-4, 5, (90, 27)) / 512
    return CurveTable(X, Y, names=["a", "b", "c"], seconds=1.0 + X[:, [0]])


@dataclass(frozen=True)
class Setting:
    problem: Any
    budget: ss.Budget
    workers: int = 1
    options: dict = field(default_factory=dict)

    def decisions(self, name):
        steps = getattr(self.problem, "max_resource", 27)
        study, _ = played(
            named(name), self.problem, budget=self.budget, workers=self.workers, max_resource=steps, **self.options
        )
        return study.history.grants


def settings():
    """The five problems that every method is played on."""
    curves = WithCurves(Synthetic("hartmann6"), max_resource=27)
    known = {"known": give_what_is_known, "seed": 1}
    return {
        "a black box": Setting(Synthetic("branin", noise=0.1, spread=0.3), ss.Budget(evaluations=30), 3),
        "smooth curves": Setting(curves, ss.Budget(steps=21 * 27)),
        "a conditional space": Setting(Playground(), ss.Budget(cost=400.0), 4, known),
        "failing regions": Setting(Playground(failing=0.4), ss.Budget(steps=300), 3, {"seed": 2}),
        "a table": Setting(table(), ss.Budget(seconds=500.0), 2, {"seed": 3}),
    }


def settings_of_forecast():
    """Those that lead ``forecast`` to the rules which the five problems do not reach."""
    slow = Curves(bowl, lambda config: 10.0 if config["y"] > 0.5 else 1.0)
    few = Curves(one_of_two, space={"x": (1, 6), "y": ["a", "b"]})
    return {
        "early readings that mislead": Setting(Curves(misleading), ss.Budget(steps=21 * 27)),
        "early readings that mislead four workers": Setting(Curves(misleading), ss.Budget(steps=21 * 27), 4),
        "equal readings": Setting(Curves(cells), ss.Budget(steps=400), 2),
        "few configurations": Setting(few, ss.Budget(steps=400), 2),
        "late failures": Setting(Curves(diverging), ss.Budget(steps=400), 5),
        "prices of steps": Setting(slow, ss.Budget(seconds=600.0)),
        "few evaluations": Setting(Curves(bowl), ss.Budget(evaluations=12, steps=300), 2),
        "free steps": Setting(Curves(bowl), ss.Budget(evaluations=9)),
    }


def cases(methods=METHODS):
    every = settings()
    found = {f"{name} on {problem}": (name, every[problem]) for name in methods for problem in every}
    return found | {f"forecast on {problem}": ("forecast", one) for problem, one in settings_of_forecast().items()}


def digest(grants, as_text=repr):
    """The digest of a sequence of decisions, with floats of the configurations as text."""
    return hashlib.sha256("\n".join(line(grant, as_text) for grant in grants).encode()).hexdigest()[:16]


def line(grant, as_text=repr):
    values = (grant.config or {}).items()
    config = {name: as_text(value) if isinstance(value, float) else value for name, value in values}
    place = [grant.trial, grant.arm, grant.replicate, grant.start, grant.until]
    return json.dumps([*place, config, grant.state, grant.reason], default=str)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--only", default="", help="a part of the names of the cases to play")
    parser.add_argument("--show", metavar="CASE", help="print the decisions of one case, one line each")
    options = parser.parse_args()
    chosen = cases(options.methods)
    if options.show:
        name, setting = chosen[options.show]
        print(*map(line, setting.decisions(name)), sep="\n")
        return
    found = {}
    for case, (name, setting) in chosen.items():
        if options.only in case:
            grants = setting.decisions(name)
            found[case] = f"{len(grants)} decisions, {digest(grants)}"
            print(f"{case}: {found[case]}", flush=True)
    if options.path:
        options.path.write_text(json.dumps(found, indent=1) + "\n")
    before = json.loads(options.against.read_text()) if options.against else found
    changed = [case for case in found if found[case] != before[case]]
    sys.exit(f"not as before: {', '.join(changed)}" if changed else 0)


if __name__ == "__main__":
    main()
