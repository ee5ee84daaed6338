"""The checkpoint of a search: written atomically, and read without running code from it.

It holds the position of the search, the bandit's arrays, the network, its optimiser and its scheduler. No random state
is kept, since everything drawn follows from the seed and the step. The file is torch's and is read with
``weights_only``, so it can hold tensors and plain values and nothing else.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from shoestring._torch import read_checkpoint, settings_of, write_checkpoint
from shoestring.augment.reward import check_model
from shoestring.errors import StudyMismatch

if TYPE_CHECKING:
    from shoestring.augment.bandit_search import Search

_FORMAT = 2
_ARRAYS = ("counts", "totals", "squares", "active", "reservoir")
_BEFORE = {"first_pass": "stage"}  # options that older files do not have
_POSITION = ("step", "round", "round_start", "seconds", "total")


class Checkpoint:
    """The file of one search; without a path nothing is saved or restored."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = None if path is None else Path(path)
        self._description: dict[str, Any] | None = None

    def save(self, search: Search) -> None:
        """Replace the file atomically: a crash while writing leaves the previous one."""
        if self._path is None:
            return
        description = {"description": json.dumps(self._describe(search))}
        write_checkpoint(_content(search) | description, self._path, "search")

    def restore(self, search: Search) -> None:
        """Continue a new search from the file; without a file it starts at the beginning."""
        if self._path is None or not self._path.exists():
            return
        content = read_checkpoint(self._path, _FORMAT, "search")
        self._check({**_BEFORE, **json.loads(content["description"])}, self._describe(search))
        for name, value in content["position"].items():
            setattr(search, name, value)
        search.stages = content["stages"].numpy()
        for name, value in content["bandit"].items():
            setattr(search.bandit, name, value.numpy())
        search.bandit.plays = content["plays"]
        if content["training"] is not None:
            networks = search.start_network()
            networks.model.load_state_dict(content["training"]["network"])
            networks.optimizer.load_state_dict(content["training"]["optimizer"])
            search.scheduler.load_state_dict(content["training"]["scheduler"])

    def _describe(self, search: Search) -> dict[str, Any]:
        """Describe what must not change for a search to be continued."""
        if self._description is None:
            model = search.training.model_factory()
            check_model(model)
            self._description = {
                **asdict(search.settings), "budget": str(search.budget), "data": search.batches.digest,
                "weights": sum(weight.numel() for weight in model.parameters()),
                **settings_of("optimizer", search.training.optimizer(model.parameters())),
            }  # fmt: skip
        return self._description

    def _check(self, saved: dict[str, Any], given: dict[str, Any]) -> None:
        differ = [
            f"{name} is {saved[name]!r} in the file, {value!r} was given"
            for name, value in given.items()
            if name in saved and saved[name] != value  # older files do not describe the training
        ]
        if differ:
            raise StudyMismatch(
                f"{self._path} holds another search: {'; '.join(differ)}. Give another state=, or the same settings"
            )


def _content(search: Search) -> dict[str, Any]:
    networks = search.networks
    return {
        "format": _FORMAT,
        "position": {name: getattr(search, name) for name in _POSITION},
        "plays": search.bandit.plays,
        "stages": torch.from_numpy(search.stages),
        "bandit": {name: torch.from_numpy(getattr(search.bandit, name)) for name in _ARRAYS},
        "training": networks and {
            "network": networks.model.state_dict(),
            "optimizer": networks.optimizer.state_dict(),
            "scheduler": search.scheduler.state_dict(),
        },
    }  # fmt: skip
