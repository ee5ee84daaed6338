"""Checkpoints of a trial: one object, saved and loaded whole.

A storage may come from elsewhere, and a pickle can run anything when it is loaded. So plain values, NumPy arrays and
PyTorch tensors are stored in formats that cannot; anything else is pickled, and is loaded only by an objective that
says ``load(trust=True)``.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shoestring.errors import ReadingError
from shoestring.objectives.folders import open_file
from shoestring.objectives.plain_values import NotPlain, read_plain, write_plain

_PLAIN, _TORCH, _JOBLIB = "checkpoint.zip", "checkpoint.pt", "checkpoint.joblib"


class Checkpoint:
    """The saved state of a trial.

    Plain values and arrays are in ``checkpoint.zip``. Anything else is in ``checkpoint.pt`` where PyTorch is loaded,
    else in ``checkpoint.joblib``.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(Path(folder))
    ...     checkpoint.load() is None, checkpoint.save({"weights": [1, 2]}), checkpoint.load()
    (True, None, {'weights': [1, 2]})
    """

    def __init__(self, folder: Path, start: int = 0) -> None:
        self._folder, self._start = folder, start

    def save(self, state: object) -> None:
        """Save plain values, or anything that PyTorch or joblib can pickle; before you report, which snapshots it."""
        try:
            self._write(_PLAIN, write_plain, state)
        except NotPlain:
            name, write = (_TORCH, sys.modules["torch"].save) if "torch" in sys.modules else (_JOBLIB, _joblib().dump)
            self._write(name, write, state)

    def _write(self, name: str, write: Callable[[Any, BinaryIO], Any], state: object) -> None:
        partial = self._folder / "checkpoint.partial"
        try:
            with partial.open("wb") as file:
                write(state, file)
            os.replace(partial, self._folder / name)  # a process that is killed leaves the old state or the new one
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        for other in {_PLAIN, _TORCH, _JOBLIB} - {name}:
            (self._folder / other).unlink(missing_ok=True)

    def load(self, trust: bool = False) -> Any:
        """The state that was saved last; None if the trial is new. Tensors are on the CPU.

        A pickled state, such as a scikit-learn estimator, is loaded only with ``trust=True``: use it if no one
        else can write to the folder of the storage.
        """
        for name, read in ((_PLAIN, _read_plain), (_TORCH, _read_torch), (_JOBLIB, _read_joblib)):
            if os.path.lexists(path := self._folder / name):
                with open_file(path) as file:
                    return read(file, path, trust)
        if self._start:
            raise ReadingError(
                f"the trial continues after step {self._start}, because it left files in {self._folder}, but no "
                "checkpoint is among them: call trial.checkpoint.save(state) before each report"
            )
        return None


def _joblib() -> Any:
    import joblib  # it takes longer to load than a short study to run

    return joblib


def _read_plain(file: BinaryIO, path: Path, trust: bool) -> Any:
    try:
        return read_plain(file)
    except ValueError as error:
        raise ReadingError(f"the checkpoint {path} cannot be loaded: {error}") from None


def _read_torch(file: BinaryIO, path: Path, trust: bool) -> Any:
    import torch

    if trust:
        return torch.load(file, map_location="cpu", weights_only=False)
    try:
        with torch.serialization.safe_globals(_array_types()):
            return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        named = re.search(r"GLOBAL (\S+)", str(error))
        raise _refusal(path, f"it holds a {named[1]}" if named else "it is not a file of tensors") from None


def _array_types() -> list[Any]:
    """List the types that PyTorch must be allowed to load for NumPy arrays and numbers next to tensors."""
    of_numbers = {type(np.dtype(code)) for code in np.typecodes["All"] if code != "O"}
    array, scalar = np.zeros(1).__reduce__()[0], np.float64(0).__reduce__()[0]
    return [array, scalar, np.ndarray, np.dtype, *sorted(of_numbers, key=str)]


class _PlainUnpickler(pickle.Unpickler):
    """Reads a pickle of lists, dicts, texts and numbers, and refuses to look up anything by its name."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it holds a {module}.{name}")


def _read_joblib(file: BinaryIO, path: Path, trust: bool) -> Any:
    if trust:
        return _joblib().load(file)
    try:
        return _PlainUnpickler(file).load()
    except Exception as error:  # a pickle that was not written by joblib can raise anything
        raise _refusal(path, str(error)) from None


def _refusal(path: Path, why: str) -> ReadingError:
    return ReadingError(
        f"the checkpoint {path} is a pickle of more than plain values ({why}), and loading one can run anything that "
        "its writer put there. If only you can write to that folder, say trial.checkpoint.load(trust=True); or save "
        "plain values, arrays and state_dicts only"
    )
