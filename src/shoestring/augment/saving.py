"""A search in a file: written whole and put in place in one go, read without running anything that is in it.

What is kept: where the search stands, the bandit's arrays, the network, its optimiser and its scheduler. Nothing
random is kept, since everything drawn follows from the seed and the step. The file is torch's; it is read with
``weights_only``, so it can hold tensors and plain values and nothing else.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from shoestring.errors import StorageError, StudyMismatch

if TYPE_CHECKING:
    from shoestring.augment.searching import Search

_FORMAT = 1
_ARRAYS = ("counts", "totals", "squares", "active", "reservoir")
_PLACES = ("step", "round", "begun", "policy", "seconds", "total")


class SavedSearch:
    """The file of one search."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def save(self, search: Search) -> None:
        """Replace the file by what the search is now; a crash meanwhile leaves the one before."""
        twins = search.twins
        content = {
            "format": _FORMAT,
            "description": json.dumps(described(search)),
            "places": {name: getattr(search, name) for name in _PLACES},
            "plays": search.bandit.plays,
            "stages": torch.from_numpy(search.stages),
            "bandit": {name: torch.from_numpy(getattr(search.bandit, name)) for name in _ARRAYS},
            "network": None if twins is None else twins.model.state_dict(),
            "optimizer": None if twins is None else twins.optimizer.state_dict(),
            "scheduler": None if twins is None else search.scheduler.state_dict(),
        }
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(beside, "wb") as stream:
                torch.save(content, stream)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(beside, self._path)
        except OSError as error:
            raise StorageError(f"the search cannot be written to {self._path}: {error.strerror}") from None
        finally:
            beside.unlink(missing_ok=True)

    def restore(self, search: Search) -> None:
        """Put a new search where the file says; without a file it starts at the beginning."""
        if not self._path.exists():
            return
        content = self._read()
        self._check(json.loads(content["description"]), described(search))
        for name, value in content["places"].items():
            setattr(search, name, value)
        search.stages = content["stages"].numpy()
        for name, value in content["bandit"].items():
            setattr(search.bandit, name, value.numpy())
        search.bandit.plays = content["plays"]
        if content["network"] is not None:
            twins = search.begin_network()
            twins.model.load_state_dict(content["network"])
            twins.optimizer.load_state_dict(content["optimizer"])
            search.scheduler.load_state_dict(content["scheduler"])

    def _read(self) -> dict[str, Any]:
        try:
            content: dict[str, Any] = torch.load(self._path, weights_only=True, map_location="cpu")
            if content["format"] > _FORMAT:
                raise StorageError(f"{self._path} was written by a newer shoestring; use that, or another file")
        except StorageError:
            raise
        except Exception as error:
            raise StorageError(
                f"{self._path} cannot be read as a search ({type(error).__name__}); remove it or give another state="
            ) from error
        return content

    def _check(self, saved: dict[str, Any], given: dict[str, Any]) -> None:
        differ = [
            f"{name} is {saved.get(name)!r} there, {given[name]!r} here"
            for name in given
            if saved.get(name) != given[name]
        ]
        if differ:
            raise StudyMismatch(
                f"{self._path} holds another search: {'; '.join(differ)}. Give another state=, or the same settings"
            )


def described(search: Search) -> dict[str, Any]:
    """What must be the same for a search to be continued."""
    return {**asdict(search.settings), "budget": str(search.budget), "data": search.data}
