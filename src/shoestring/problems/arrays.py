"""Arrays of recorded results, with errors that say what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from shoestring._arrays import Array
from shoestring.errors import SpaceError

if TYPE_CHECKING:
    from shoestring.core.events import Mode


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` by name."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise SpaceError(f"there is no file {path}; give the path of an .npz file") from None
    except (OSError, ValueError, EOFError, AttributeError, BadZipFile) as error:
        # A single array in an .npy file comes without names, hence the AttributeError.
        raise SpaceError(f"{path} cannot be read as an .npz file of plain arrays: {error}") from None


def check_names(arrays: dict[str, NDArray[Any]], names: Iterable[str], path: Path) -> None:
    missing = [name for name in names if name not in arrays]
    if missing:
        raise SpaceError(
            f"{path} has no array {missing[0]!r}; it needs {', '.join(names)} and holds {', '.join(arrays)}"
        )


def check_mode(mode: object) -> Mode:
    if mode == "min" or mode == "max":
        return mode
    raise SpaceError(f"mode is {mode!r}; it must be 'min' or 'max'")


def read_seconds(seconds: Any, shape: tuple[int, ...]) -> Array | None:
    """Durations in the shape of the readings; 0 where none was recorded."""
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


def plain(values: Iterable[Any]) -> list[Any]:
    """The values as Python's own types instead of NumPy's."""
    return [value.item() if hasattr(value, "item") else value for value in values]


def is_numeric(values: Iterable[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
