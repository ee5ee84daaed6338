"""Tables with the results of every combination of a grid, often of several runs each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, Constant, Float, OrdinalHyperparameter

from shoestring._arrays import Array
from shoestring.core.randomness import integer
from shoestring.errors import SpaceError
from shoestring.problems import arrays
from shoestring.problems.base import check_step, return_reading

if TYPE_CHECKING:
    from shoestring.core.events import Mode

# The names of the readings in known tables, and the mode of each.
_METRICS: dict[str, Mode] = {"val_loss": "min", "val_acc": "max"}


class GridTable:
    """A dense array of results with one axis per parameter, and one more for repeated runs if there are any.

    ``axes`` gives the values along each axis, in the order of the array's axes. Numbers become an ordinal parameter,
    anything else a choice. With ``continuous`` every parameter is a real range instead, and a value between two grid
    values counts as the nearest. The trial's seed draws which of the repeated runs is read; those without a finite
    value were not recorded and are not drawn.

    >>> from shoestring.problems import GridTable
    >>> table = GridTable([[3.0, 2.0], [1.0, 4.0]], {"width": [16, 32], "act": ["relu", "tanh"]})
    >>> table.best, table.best_config, table.reading({"width": 32, "act": "tanh"})
    (1.0, {'width': 32, 'act': 'relu'}, 4.0)
    """

    max_resource = 1
    __call__ = return_reading

    def __init__(
        self,
        values: Any,
        axes: Mapping[str, Sequence[Any]],
        *,
        mode: Mode = "min",
        seconds: Any = None,
        continuous: bool = False,
    ) -> None:
        self.mode = arrays.check_mode(mode)
        self.axes = {name: _values(axis) for name, axis in axes.items()}
        self._values = _with_repeats(values, self.axes)
        self._seconds = arrays.read_seconds(_as_repeats(seconds, len(self.axes)), self._values.shape)
        self._continuous = continuous
        self.space = ConfigurationSpace()
        self.space.add([_parameter(name, axis, continuous) for name, axis in self.axes.items()])
        self._means = _means(self._values)
        self._best_at = _where_best(self._means, self.mode)

    @classmethod
    def load(cls, path: str | Path) -> GridTable:
        """A table from an ``.npz`` with its own axes (``reward``, ``dims``, ``coords_0`` …) or the axes of
        ``space.json``.

        The first kind is continuous. The second has the array ``val_loss`` or ``val_acc``, with the seconds in
        ``train_time``, and next to it ``space.json`` with the ``order`` of the axes and their ``choices``.
        """
        path = Path(path)
        held = arrays.read_arrays(path)
        if "reward" in held:
            dims = [str(name) for name in held["dims"]] if "dims" in held else []
            coordinates = [f"coords_{i}" for i in range(len(dims))]
            arrays.check_names(held, ["reward", "dims", *coordinates], path)
            axes = dict(zip(dims, (held[c].tolist() for c in coordinates), strict=True))
            return cls(held["reward"], axes, mode="max", continuous=True)
        metric = next((name for name in _METRICS if name in held), None)
        if metric is None:
            raise SpaceError(f"{path} has none of the arrays reward, {', '.join(_METRICS)}; it holds {', '.join(held)}")
        return cls(held[metric], _axes_from_json(path), mode=_METRICS[metric], seconds=held.get("train_time"))

    def __repr__(self) -> str:
        shape = " x ".join(str(len(axis)) for axis in self.axes.values())
        return f"GridTable({shape}, {self._values.shape[-1]} runs each, mode={self.mode!r})"

    @property
    def best(self) -> float:
        """The best mean over repeated runs; a single run can be better."""
        return float(self._means[self._best_at])

    @property
    def best_config(self) -> dict[str, Any]:
        return {name: axis[i] for (name, axis), i in zip(self.axes.items(), self._best_at, strict=True)}

    def value(self, config: Mapping[str, Any]) -> float:
        """The mean over the repeated runs of a configuration; NaN if none was recorded."""
        return float(self._means[self.index(config)])

    def index(self, config: Mapping[str, Any]) -> tuple[int, ...]:
        """The position of a configuration in the array."""
        return tuple(self._position(name, config) for name in self.axes)

    def _position(self, name: str, config: Mapping[str, Any]) -> int:
        axis = self.axes[name]
        try:
            if self._continuous:
                return min(range(len(axis)), key=lambda i: abs(axis[i] - config[name]))
            return axis.index(config[name])
        except (KeyError, ValueError, TypeError):
            given = repr(config[name]) if name in config else "missing"
            raise SpaceError(f"parameter {name!r} is {given}; the grid has {', '.join(map(repr, axis))}") from None

    def _run(self, config: Mapping[str, Any], seed: int) -> tuple[int, ...]:
        index = self.index(config)
        recorded = np.flatnonzero(np.isfinite(self._values[index]))
        run = int(recorded[integer(seed, 0, "repeat") % len(recorded)]) if len(recorded) else 0
        return (*index, run)

    def reading(self, config: Mapping[str, Any], step: int = 1, seed: int = 0) -> float:
        check_step(step, 1)
        return float(self._values[self._run(config, seed)])

    def seconds(self, config: Mapping[str, Any], step: int = 1, seed: int = 0) -> float:
        """The duration of the run that ``reading`` reads; 1 if the table has none."""
        return 1.0 if self._seconds is None else float(self._seconds[self._run(config, seed)])


def _values(axis: Sequence[Any]) -> list[Any]:
    """The values along an axis; whole numbers among floats become floats."""
    values = arrays.plain(axis)
    if arrays.is_numeric(values) and any(isinstance(v, float) for v in values):
        return [float(v) for v in values]
    return values


def _as_repeats(values: Any, axes: int) -> Any:
    array = None if values is None else np.asarray(values, dtype=float)
    return array[..., None] if array is not None and array.ndim == axes else array


def _with_repeats(values: Any, axes: Mapping[str, Sequence[Any]]) -> Array:
    """The array with an axis for repeated runs, of length 1 if there were none."""
    array: Array = _as_repeats(values, len(axes))
    lengths = tuple(len(axis) for axis in axes.values())
    if array.shape[:-1] != lengths or not array.size:
        raise SpaceError(
            f"the array has the shape {array.shape}, the axes {dict(zip(axes, lengths, strict=True))}; "
            "give one axis a parameter in the same order, and at most one more for repeated runs"
        )
    return array


def _parameter(name: str, axis: list[Any], continuous: bool) -> Any:
    if len(set(axis)) != len(axis):
        raise SpaceError(f"the axis {name!r} names a value twice: {axis}")
    if len(axis) == 1:
        return Constant(name, axis[0])
    if continuous:
        if not arrays.is_numeric(axis):
            raise SpaceError(f"the axis {name!r} is {axis}; a continuous table needs numbers")
        return Float(name, (float(min(axis)), float(max(axis))))
    if arrays.is_numeric(axis):
        return OrdinalHyperparameter(name, sorted(axis))
    return CategoricalHyperparameter(name, axis)


def _means(values: Array) -> Array:
    """Means over the recorded runs, NaN where there is none."""
    recorded = np.isfinite(values)
    counts = recorded.sum(axis=-1)
    sums = np.where(recorded, values, 0.0).sum(axis=-1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _where_best(means: Array, mode: str) -> tuple[int, ...]:
    if not np.isfinite(means).any():
        raise SpaceError("the array holds no finite value: every trial would fail")
    place = np.nanargmin(means) if mode == "min" else np.nanargmax(means)
    return tuple(int(i) for i in np.unravel_index(place, means.shape))


def _axes_from_json(path: Path) -> dict[str, list[Any]]:
    file = path.with_name("space.json")
    try:
        body = json.loads(file.read_text())
        return {name: body["choices"][name] for name in body["order"]}
    except OSError:
        raise SpaceError(f"there is no {file}, which names the axes of {path.name}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise SpaceError(f"{file} cannot be read: it needs 'order' and 'choices' ({error})") from None
