"""Trainings with several sets of policies, and the table of their test accuracies."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shoestring.augment.bandit_search import as_devices
from shoestring.augment.evaluation import Evaluation, Recipe
from shoestring.augment.policies import POLICIES, Policy
from shoestring.augment.policy_set import PolicySet, policies_of
from shoestring.augment.transform import Policies
from shoestring.errors import MethodError, StorageError

_FREE = ("none", "uniform")  # sets that need no search
_PAIRS = re.compile(r"(best|worst)([1-9]\d*)")


@dataclass(frozen=True)
class Plan:
    """Choose the ``sets`` to train with, from the searches ``found``, and how often each."""

    recipe: Recipe
    sets: list[str]
    found: list[PolicySet] = field(default_factory=list)
    seeds: int = 3

    def __post_init__(self) -> None:
        for name in self.sets:
            if name not in (*_FREE, "union", "half") and not _PAIRS.fullmatch(name):
                raise MethodError(f"there is no set {name!r}; there are none, uniform, union, half, best5 and worst5")
            if name not in _FREE and not self.found:
                raise MethodError(f"the set {name!r} comes from a search: give --policies, or --sets none,uniform")
        if not self.sets or self.seeds < 1:
            raise MethodError("there is nothing to train: give at least one set and one seed")


@dataclass(frozen=True)
class Line:
    """The mean test accuracy of a set in per cent, and its standard error over searches, or over trainings of one."""

    name: str
    accuracy: float
    error: float | None
    trainings: int


def compare(
    plan: Plan,
    train: Any,
    test: Any,
    classes: int,
    output: Path,
    *,
    devices: Any = None,
    workers: int | None = None,
    say: Callable[[str], Any] | None = None,
) -> list[Line]:
    """Run the trainings of a plan, each with a checkpoint in ``output``, and write the table there."""
    lines, all_of_them = list[Line](), dict[str, list[list[float]]]()
    for name in plan.sets:
        searches = [None] if name in _FREE else plan.found
        accuracies: list[list[float]] = []
        for place, found in enumerate(searches):
            accuracies.append([])
            for seed in range(plan.seeds):
                title = f"{name}-{place}-{seed}"
                evaluation = Evaluation(
                    policies_named(name, found), train, test, classes, plan.recipe, seed=seed,
                    state=output / "train" / f"{title}.pt", devices=as_devices(devices), workers=workers,
                )  # fmt: skip
                accuracies[-1].append(evaluation.run())
                if say is not None:
                    say(f"{title}: {accuracies[-1][-1]:.2f} % after {plan.recipe.epochs} epochs")
        all_of_them[name] = accuracies
        lines.append(_line(name, accuracies))
    content = {"recipe": asdict(plan.recipe), "lines": [asdict(line) for line in lines], "accuracies": all_of_them}
    try:
        (output / "train.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"the table cannot be written to {output / 'train.json'}: {error.strerror}") from None
    return lines


def policies_named(name: str, found: PolicySet | None) -> Policies | None:
    """The policies of a set: all, the union of the thesis, half of the pairs of a search, or its best or worst n."""
    if name == "none":
        return None
    if name == "uniform":
        return [Policy.at(index) for index in range(POLICIES)]
    assert found is not None
    if name == "union":
        return found.with_estimate("mean").union()  # the shrunk estimate makes the union too narrow
    if name == "half":
        return found
    side, number = _PAIRS.fullmatch(name).groups()  # type: ignore[union-attr]
    return policies_of(found.top_pairs(int(number)) if side == "best" else found.bottom_pairs(int(number)))


def _line(name: str, accuracies: list[list[float]]) -> Line:
    means = [statistics.fmean(values) for values in accuracies] if len(accuracies) > 1 else accuracies[0]
    error = statistics.stdev(means) / len(means) ** 0.5 if len(means) > 1 else None
    return Line(name, statistics.fmean(means), error, sum(map(len, accuracies)))
