"""Searches and trainings, each run once: see ``kept.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks.harness.kept import key, runs
from benchmarks.suites.augment import setting
from shoestring.augment import PolicySet, policies_of, search
from shoestring.augment.policies import POLICIES, decode


@dataclass(frozen=True)
class Scale:
    """The size of an experiment: steps of a search, epochs of a training, trainings for each search."""

    steps: int
    epochs: int
    trainings: int


FULL, QUICK = Scale(2000, setting.EPOCHS, 3), Scale(150, 4, 1)

# The kinds of search: pruning, estimate, and what else differs; each of the three ablations has half of the steps.
SEARCHES: dict[str, dict[str, Any]] = {
    "eop-shrunk": {"pruning": "eop", "estimate": "shrunk"},
    "eop-mean": {"pruning": "eop", "estimate": "mean"},
    "eop-mean-half": {"pruning": "eop", "estimate": "mean", "share": 0.5},
    "sh-mean-half": {"pruning": "sh", "estimate": "mean", "share": 0.5},
    "none-mean-half": {"pruning": "none", "estimate": "mean", "share": 0.5},
}


def done(data: str, seed: int, what: str, work: Callable[[], Any], **settings: Any) -> Any:
    """The result of a search or a training: read if it was finished before, else run and kept."""
    torch.set_num_threads(1)
    return runs().get(key(data, seed, what, **settings), work)


@cache
def found_set(data: str, kind: str, seed: int, scale: Scale = FULL) -> PolicySet:
    """The set that one search finds."""
    settings = dict(SEARCHES[kind])
    steps = int(scale.steps * settings.pop("share", 1))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "set.json"

        def work() -> str:
            parts = setting.split(data)
            channels = parts.train[0].shape[1]
            found = search(
                lambda: setting.network(channels), parts.train, parts.valid, budget={"steps": steps},
                optimizer=setting.optimizer, seed=seed, progress=False, **settings,
            )  # fmt: skip
            found.save(path)
            return path.read_text(encoding="utf-8")

        path.write_text(done(data, seed, "search", work, steps=steps, **settings), encoding="utf-8")
        return PolicySet.load(path)


def trained(
    data: str, name: str, policies: Callable[[], Any], seed: int, scale: Scale, network: str = "small"
) -> dict[str, float]:
    """One training with a set of policies that has a name; ``policies`` is only called if the training is run."""
    work = lambda: setting.trained(data, policies(), seed, scale.epochs, network)  # noqa: E731
    return done(data, seed, f"training with {name}", work, **asdict(scale), network=network)


def baseline(data: str, name: str, seed: int, scale: Scale = FULL, network: str = "small") -> dict[str, float]:
    """No augmentation, all policies with equal probability, or as RandAugment: two operations at the middle level."""
    everything = np.arange(POLICIES)
    sets = {
        "no augmentation": None,
        "uniform": everything,
        "RandAugment": everything[(decode(everything)[1] == 5).all(axis=1)],
    }
    return trained(data, name, lambda: sets[name], seed, scale, network)


def with_found(
    data: str,
    kind: str,
    search_seed: int,
    seed: int,
    part: str,
    source: str | None = None,
    scale: Scale = FULL,
    network: str = "small",
) -> dict[str, float]:
    """A training with what a search found: the union, or the best or worst n pairs at random levels."""

    def policies() -> Any:
        found = found_set(source or data, kind, search_seed, scale)
        if part.startswith("union"):
            return found.with_estimate("mean" if part == "union by mean" else found.estimate).union_order()
        side, number = part.split()
        pairs = found.top_pairs(int(number)) if side == "top" else found.bottom_pairs(int(number))
        return np.array([policy.index for policy in policies_of(pairs)])

    return trained(data, f"{source or data} {kind} {search_seed} {part}", policies, seed, scale, network)
