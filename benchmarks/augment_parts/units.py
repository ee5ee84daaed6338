"""Searches and trainings as units of work that are done once: each finished one is a JSON line and is skipped the
next time.

The file is ``SHOESTRING_UNITS`` or ``augment_units.jsonl`` in the temporary folder; without it everything is run anew.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from augment_parts import setting
from shoestring.augment import PolicySet, policies_of, search
from shoestring.augment.policies import decoded


@dataclass(frozen=True)
class Scale:
    """How much is done: steps of a search, epochs of a training, trainings for each search."""

    steps: int
    epochs: int
    trainings: int


FULL, QUICK = Scale(2000, setting.EPOCHS, 3), Scale(150, 4, 1)
FILE = Path(os.environ.get("SHOESTRING_UNITS", Path(tempfile.gettempdir()) / "augment_units.jsonl"))

# The kinds of search: pruning, estimate, and what else differs; the ablations have half of the steps, all three alike.
SEARCHES: dict[str, dict[str, Any]] = {
    "eop-shrunk": {"pruning": "eop", "estimate": "shrunk"},
    "eop-mean": {"pruning": "eop", "estimate": "mean", "share": 0.5},
    "sh-mean": {"pruning": "sh", "estimate": "mean", "share": 0.5},
    "none-mean": {"pruning": "none", "estimate": "mean", "share": 0.5},
    "long": {"pruning": "eop", "estimate": "shrunk", "repeats": 8, "valid_batch": 500},
}


def done(key: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of a unit: read if it was done before, else worked out and kept."""
    found = _finished().get(key)
    if found is None:
        torch.set_num_threads(1)
        began = time.process_time()
        found = {**work(), "cpu": time.process_time() - began}
        _finished()[key] = found
        with FILE.open("a") as stream:
            stream.write(json.dumps({"key": key, **found}) + "\n")
    return found


@cache
def _finished() -> dict[str, dict[str, Any]]:
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    return {(line := json.loads(text)).pop("key"): line for text in lines}


def found_set(data: str, kind: str, seed: int, scale: Scale = FULL) -> PolicySet:
    """The set that one search finds."""
    settings = dict(SEARCHES[kind])
    steps = int(scale.steps * settings.pop("share", 1))
    kept = FILE.with_name(f"{FILE.stem}_sets") / f"{data}_{kind}_{seed}_{steps}.json"

    def work() -> dict[str, Any]:
        parts = setting.split(data)
        channels = parts.train[0].shape[1]
        found = search(
            lambda: setting.network(channels), parts.train, parts.valid, budget={"steps": steps},
            optimizer=setting.optimizer, seed=seed, progress=False, **settings,
        )  # fmt: skip
        kept.parent.mkdir(parents=True, exist_ok=True)
        found.save(kept)
        return {"plays": found.plays}

    done(f"search {data} {kind} {seed} {steps}", work)
    return PolicySet.load(kept)


def trained(data: str, name: str, policies: Callable[[], Any], seed: int, scale: Scale) -> dict[str, Any]:
    """One training with a set of policies that has a name; ``policies`` is only called if it was not done before."""
    key = f"train {data} {name} {seed}" + ("" if scale == FULL else " quick")
    return done(key, lambda: setting.trained(data, policies(), seed, scale.epochs))


def baseline(data: str, name: str, seed: int, scale: Scale = FULL) -> dict[str, Any]:
    """No augmentation, all policies alike, or as RandAugment: any two operations at one level, here the middle one."""
    everything = setting.all_policies()
    sets = {
        "no augmentation": None,
        "uniform": everything,
        "RandAugment": everything[(decoded(everything)[1] == 5).all(axis=1)],
    }
    return trained(data, name, lambda: sets[name], seed, scale)


def with_found(
    data: str,
    kind: str,
    search_seed: int,
    seed: int,
    part: str = "union",
    source: str | None = None,
    scale: Scale = FULL,
) -> dict[str, Any]:
    """A training with what a search found: the union, or the best or worst n pairs at random levels."""

    def policies() -> Any:
        found = found_set(source or data, kind, search_seed, scale)
        if part.startswith("union"):
            return found.with_estimate("mean" if part == "union by mean" else found.estimate).union_order()
        side, number = part.split()
        pairs = found.top_pairs(int(number)) if side == "top" else found.bottom_pairs(int(number))
        return np.array([policy.index for policy in policies_of(pairs)])

    return trained(data, f"{source or data} {kind} {search_seed} {part}", policies, seed, scale)
