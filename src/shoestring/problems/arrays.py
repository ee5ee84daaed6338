"""Reading the arrays of a recorded problem, with errors that say what is wrong with the file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from shoestring.errors import ReadingError, SpaceError


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` by name."""
    try:
        with np.load(path, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except FileNotFoundError:
        raise SpaceError(f"there is no file {path}; give the path of an .npz file") from None
    except (OSError, ValueError, EOFError, AttributeError, BadZipFile) as error:
        # A single array in an .npy file comes without names, hence the AttributeError.
        raise SpaceError(f"{path} cannot be read as an .npz file of plain arrays: {error}") from None


def required(held: dict[str, NDArray[Any]], names: Iterable[str], path: Path) -> None:
    missing = [name for name in names if name not in held]
    if missing:
        raise SpaceError(f"{path} has no array {missing[0]!r}; it needs {', '.join(names)} and holds {', '.join(held)}")


def checked_mode(mode: object) -> str:
    if mode not in ("min", "max"):
        raise SpaceError(f"mode is {mode!r}; it is 'min' or 'max'")
    return str(mode)


def checked_step(step: int, max_resource: int) -> int:
    """A step that there is: an index before the first would silently give another step's reading."""
    if not 1 <= step <= max_resource:
        raise ReadingError(f"step {step} was asked for, there are {max_resource}: set max_resource={max_resource}")
    return step


def checked_seconds(seconds: Any, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Durations in the shape of the readings; where none was recorded, none passes."""
    if seconds is None:
        return None
    given = np.asarray(seconds, dtype=float)
    try:
        spread = np.broadcast_to(given, shape)
    except ValueError:
        raise SpaceError(f"seconds has the shape {given.shape}, which does not fit the readings' {shape}") from None
    if np.any(spread < 0) or np.any(np.isinf(spread)):
        raise SpaceError("seconds holds a negative or infinite duration; give the length of each step")
    return np.where(np.isnan(spread), 0.0, spread)
