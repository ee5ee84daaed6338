"""Checkpoints of a trial: one object, saved and loaded whole.

These are the user's files, in the folder of the trial. They are pickles, as those of PyTorch and joblib are: load only
what you saved yourself. What shoestring itself stores holds none.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from shoestring.errors import ReadingError

_TORCH, _JOBLIB = "checkpoint.pt", "checkpoint.joblib"


class Checkpoint:
    """The saved state of a trial: ``checkpoint.pt`` where PyTorch is loaded, else ``checkpoint.joblib``.

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
        """Save anything that PyTorch or joblib can pickle; before you report, which keeps what is there then."""
        torch = sys.modules.get("torch")
        path = self._folder / (_TORCH if torch else _JOBLIB)
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            if torch:
                torch.save(state, file)
            else:
                import joblib  # it takes longer to load than a short study to run

                joblib.dump(state, file)
        os.replace(partial, path)  # a process that is killed leaves the old state or the new one
        (self._folder / (_JOBLIB if torch else _TORCH)).unlink(missing_ok=True)

    def load(self) -> Any:
        """The state that was saved last; None if the trial is new. Tensors are on the CPU."""
        if (path := self._folder / _TORCH).exists():
            import torch

            return torch.load(path, map_location="cpu", weights_only=False)
        if (path := self._folder / _JOBLIB).exists():
            import joblib

            return joblib.load(path)
        if self._start:
            raise ReadingError(
                f"the trial continues after step {self._start}, because it left files in {self._folder}, but no "
                "checkpoint is among them: call trial.checkpoint.save(state) before each report"
            )
        return None
