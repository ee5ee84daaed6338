"""Code for training torch networks: keyed batches, batches read ahead, seeding, and checkpoint files.

A batch is a function of (seed, step), so a training that was killed continues with the batch that it would have had.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import torch

from shoestring._arrays import Codes
from shoestring.core.randomness import generator
from shoestring.errors import StorageError

Rows = Callable[[int], Codes]


class EpochRows:
    """The rows of the batch of a step: every epoch has an order of its own, and an incomplete batch is left out.

    >>> rows = EpochRows(seed=0, length=6, size=3)
    >>> sorted([*rows(0).tolist(), *rows(1).tolist()]), len(rows(2))
    ([0, 1, 2, 3, 4, 5], 3)
    """

    def __init__(self, seed: int, length: int, size: int) -> None:
        self._seed, self._length, self._size = seed, length, min(size, length)
        self._epoch: tuple[int, Codes] | None = None  # its number and the order of its rows

    def __call__(self, step: int) -> Codes:
        epoch, place = divmod(step, self.steps)
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = epoch, generator(self._seed, epoch, "epoch").permutation(self._length)
        return self._epoch[1][place * self._size : (place + 1) * self._size]

    @property
    def steps(self) -> int:
        """The number of batches in an epoch."""
        return self._length // self._size


class Stream:
    """The batches of a dataset that is not held in memory: batch ``i`` has the rows ``rows(i)``.

    With ``workers`` processes the following batches are read ahead. Asking for another batch than the next one starts
    the workers again from there.
    """

    def __init__(self, dataset: Any, rows: Rows, collate: Callable[[Sequence[Any]], Any], workers: int = 0) -> None:
        self._dataset, self._rows, self._collate, self._workers = dataset, rows, collate, workers
        self._ahead: Iterator[Any] | None = None
        self._next = 0

    def __call__(self, index: int) -> Any:
        if self._workers == 0:
            return self._collate([self._dataset[int(row)] for row in self._rows(index)])
        if self._ahead is None or index != self._next:
            batches = _RowsFrom(self._rows, index)
            loader = torch.utils.data.DataLoader(
                self._dataset, batch_sampler=batches, collate_fn=self._collate, num_workers=self._workers,
                generator=torch.Generator(),  # or the loader draws from the global one
            )  # fmt: skip
            self._ahead = iter(loader)
        self._next = index + 1
        return next(self._ahead)


class _RowsFrom:
    """The rows of all batches from one on, without an end."""

    def __init__(self, rows: Rows, start: int) -> None:
        self._rows, self._start = rows, start

    def __iter__(self) -> Iterator[list[int]]:
        return (self._rows(index).tolist() for index in count(self._start))


def seed_torch(seed: int, device: torch.device) -> None:
    """Seed the generators that a step on the device reads.

    ``torch.manual_seed`` also records a stack trace for each kind of device that is not in use, which takes a quarter
    of a step of a small network.
    """
    (torch.default_generator.manual_seed if device.type == "cpu" else torch.manual_seed)(seed)


def settings_of(what: str, part: Any) -> dict[str, Any]:
    """The class of an optimizer or a scheduler and its settings before the first step, as JSON has them."""
    if part is None:
        return {}
    state = part.state_dict()
    groups = state.get("param_groups", [state])
    found: dict[str, Any] = {f"{what}: class": type(part).__name__}
    for number, group in enumerate(groups):
        place = f"{what}[{number}]" if len(groups) > 1 else what
        for name, value in group.items():
            try:
                found[f"{place}: {name}"] = json.loads(json.dumps(value))
            except TypeError:  # a function or a tensor
                continue
    return {name: value for name, value in found.items() if not name.endswith(": params")}


def write_checkpoint(content: dict[str, Any], path: Path, what: str) -> None:
    """Replace the file atomically: a crash while writing leaves the previous one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as stream:
            torch.save(content, stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise StorageError(f"the {what} cannot be written to {path}: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


def read_checkpoint(path: Path, format: int, what: str) -> dict[str, Any]:
    """The content of a file that ``write_checkpoint`` wrote; no code from the file is run."""
    try:
        content: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
        if content["format"] == format:
            return content
    except Exception as error:
        raise StorageError(
            f"{path} cannot be read as a {what} ({type(error).__name__}); remove it, or choose another file"
        ) from error
    raise StorageError(f"{path} was written by another version of shoestring; use that version, or choose another file")
