"""Recorded learning curves as a problem: the rows of a table are the arms.

The space carries the rows, so a sampler's proposal is moved to the nearest row that is still free,
and a study on the table ends when every row was tried.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoestring.core.history import History
from shoestring.errors import SpaceError
from shoestring.problems.arrays import checked_mode, checked_seconds, checked_step, read_arrays, required
from shoestring.spaces.definition import as_space

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

    from shoestring.executors.base import Trial

# The parameter that tells apart rows with the same values.
_RECORDING = "recording"
# ConfigSpace keeps 13 decimals, too few for a log scale that begins below this.
_SMALLEST = 1e-12


class CurveTable:
    """Learning curves that were recorded before: ``Y[i, k - 1]`` is the reading of row ``X[i]`` at step ``k``.

    Without a ``space``, ranges are taken from the data: whole numbers give an integer range, a column
    with one value a constant, and the columns of ``log_scale`` (names, or a flag a column) a log range.
    A ``space`` that is a mapping has its parameters in the order of the columns; for a
    ConfigurationSpace, which sorts its parameters, say with ``names`` which column is which.
    Rows with equal values are told apart by one more parameter, ``recording``, so that all can be reached.

    ``seconds`` is the duration of each step, in the shape of ``Y`` or one that stretches to it. A
    reading that is not finite is handed out as it is: the study marks the trial as failed.

    >>> from shoestring.problems import CurveTable
    >>> table = CurveTable([[0.1], [0.2], [0.4]], [[5, 4], [5, 2], [6, 3]], names=["rate"])
    >>> table.max_resource, table.best, table.row({"rate": 0.4}), table.reading({"rate": 0.4}, 2)
    (2, 2.0, 2, 3.0)
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        space: Any = None,
        *,
        names: Sequence[str] | None = None,
        log_scale: Sequence[bool] | Sequence[str] | None = None,
        mode: str = "min",
        seconds: Any = None,
    ) -> None:
        self.mode = checked_mode(mode)
        self._Y = _checked_curves(Y)
        columns = _columns(X, names or (None if space is None else list(space)), len(self._Y))
        if space is None:
            self.space = _space_of(columns, _log_names(log_scale, list(columns)))
        else:
            self.space = _fitted(columns, deepcopy(as_space(space)))
        _tell_apart(columns, self.space)
        order = list(self.space.keys())
        rows = list(zip(*(columns[name] for name in order), strict=True))
        self.space.meta = {"rows": [list(row) for row in rows]}
        self._order = order
        self._index = {row: i for i, row in enumerate(rows)}
        self._seconds = checked_seconds(seconds, self._Y.shape)
        self._best_of_rows = _best_of_rows(self._Y, self.mode)

    @classmethod
    def load(
        cls, path: str | Path, *, log_scale: Sequence[bool] | Sequence[str] | None = None, skip: int = 0
    ) -> CurveTable:
        """A table from an ``.npz`` with ``X`` (here, or in ``_configs.npz`` beside it) and ``Y``.

        The first ``skip`` columns are left out: some recordings begin with the untrained model.

        Also read where present: ``hp_names``, ``log_scale``, ``direction``, ``cost`` (seconds since
        the start of the run), ``length`` (a run that ended there by plan keeps its last reading from
        then on) and ``diverged`` (such a run did not end by plan).
        """
        path = Path(path)
        held = read_arrays(path)
        beside = path.with_name("_configs.npz")
        if "X" not in held and beside.exists():
            held = {**read_arrays(beside), **held}
        required(held, ("X", "Y"), path)
        Y = _checked_curves(held["Y"])
        if not 0 <= skip < Y.shape[1]:
            raise SpaceError(f"skip is {skip}; {path} has {Y.shape[1]} columns, and at least one must be left")
        if "steps" in held and len(held["steps"]) != Y.shape[1]:
            raise SpaceError(f"{path} has {len(held['steps'])} steps and readings of {Y.shape[1]}; they must agree")
        return cls(
            held["X"],
            _held_after_end(Y, held)[:, skip:],
            names=held["hp_names"].tolist() if "hp_names" in held else None,
            log_scale=log_scale if log_scale is not None else held.get("log_scale"),  # type: ignore[arg-type]
            mode=str(held.get("direction", "min")),
            seconds=_durations(held.get("cost"), skip),
        )

    def __len__(self) -> int:
        return len(self._Y)

    def __repr__(self) -> str:
        return f"CurveTable({len(self)} rows, {self.max_resource} steps, mode={self.mode!r})"

    @property
    def max_resource(self) -> int:
        return int(self._Y.shape[1])

    @property
    def best(self) -> float:
        """The best reading that a study can come by, over all rows and steps."""
        return float(self._best_of_rows.min() if self.mode == "min" else self._best_of_rows.max())

    def row(self, config: Mapping[str, Any]) -> int:
        """The number of the row with these values."""
        try:
            return self._index[tuple(config[name] for name in self._order)]
        except (KeyError, TypeError):
            raise SpaceError(
                f"{dict(config)} is no row of the table; its parameters are {', '.join(self._order)}, "
                'and space.meta["rows"] lists their values'
            ) from None

    def reading(self, config: Mapping[str, Any], step: int, seed: int = 0) -> float:
        """The recorded reading; a table holds one run of each row, whatever the seed."""
        return float(self._Y[self.row(config), checked_step(step, self.max_resource) - 1])

    def seconds(self, config: Mapping[str, Any], step: int, seed: int = 0) -> float:
        """The recorded duration of a step; 1 where none was given."""
        if self._seconds is None:
            return 1.0
        # A step beyond the last takes as long as that one: it is for its reading to fail, with the reason.
        return float(self._seconds[self.row(config), min(step, self.max_resource) - 1])

    def __call__(self, trial: Trial) -> Iterator[float]:
        for step in range(trial.start + 1, self.max_resource + 1):
            yield self.reading(trial.config, step, trial.seed)

    def normalised_regret(self, seen: float | History) -> float:
        """How far the best reading seen is from the best possible: 0 is there, 1 is as good as a median row.

        Infinite if nothing was seen. The same in both modes.

        >>> from shoestring.problems import CurveTable
        >>> CurveTable([[1], [2], [3]], [[1], [2], [4]], mode="max").normalised_regret(3)
        0.5
        """
        if isinstance(seen, History):
            seen = seen.sign * min((loss for _, _, loss in seen.readings), default=math.inf)
        gap, typical = seen - self.best, float(np.median(self._best_of_rows)) - self.best
        if not typical:
            return math.inf if gap else 0.0
        return gap / typical


def _checked_curves(Y: Any) -> NDArray[np.float64]:
    curves = np.asarray(Y, dtype=float)
    if curves.ndim != 2 or not curves.size:
        raise SpaceError(f"Y has the shape {curves.shape}; it needs one row a configuration and one column a step")
    return curves


def _columns(X: Any, names: Sequence[str] | None, rows: int) -> dict[str, list[Any]]:
    """The values of each parameter as plain Python ones."""
    values = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if values.ndim != 2 or not values.shape[1]:
        raise SpaceError(f"X has the shape {values.shape}; it needs one row a configuration and one column a parameter")
    if len(values) != rows:
        raise SpaceError(f"X has {len(values)} rows and Y has {rows}; they must agree")
    names = [f"x{i}" for i in range(1, values.shape[1] + 1)] if names is None else [str(name) for name in names]
    if len(set(names)) != values.shape[1]:
        raise SpaceError(f"X has {values.shape[1]} columns and the names are {names}; give each column its own")
    return {name: [_plain(v) for v in column] for name, column in zip(names, values.T, strict=True)}


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _log_names(log_scale: Sequence[bool] | Sequence[str] | None, names: list[str]) -> set[str]:
    given = [] if log_scale is None else list(log_scale)
    if all(isinstance(one, str) for one in given):
        unknown = [one for one in given if one not in names]
        if unknown:
            raise SpaceError(f"log_scale names {unknown[0]!r}; the columns are {', '.join(names)}")
        return {str(one) for one in given}
    if len(given) != len(names):
        raise SpaceError(f"log_scale has {len(given)} flags for {len(names)} columns; give one each, or names")
    return {name for name, flag in zip(names, given, strict=True) if flag}


def _space_of(columns: dict[str, list[Any]], logarithmic: set[str]) -> ConfigurationSpace:
    """Ranges from the data; in place, whole numbers in a column become integers."""
    from ConfigSpace import ConfigurationSpace

    for name, values in columns.items():
        if _is_numeric(values):
            if not all(math.isfinite(v) for v in values):
                raise SpaceError(f"column {name!r} of X holds a value that is not finite; leave such rows out")
            kind = int if all(v == int(v) for v in values) else float
            columns[name] = [kind(v) for v in values]
    space = ConfigurationSpace()
    space.add([_parameter(name, values, name in logarithmic) for name, values in columns.items()])
    return space


def _is_numeric(values: list[Any]) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def _parameter(name: str, values: list[Any], logarithmic: bool) -> Any:
    from ConfigSpace import CategoricalHyperparameter, Constant, Float, Integer

    distinct = list(dict.fromkeys(values))
    if len(distinct) == 1:
        return Constant(name, distinct[0])
    if not _is_numeric(values):
        return CategoricalHyperparameter(name, distinct)
    low, high = min(values), max(values)
    if logarithmic and low < _SMALLEST:
        raise SpaceError(f"column {name!r} of X is on a log scale and goes down to {low}; the least is {_SMALLEST}")
    if isinstance(low, int):
        return Integer(name, (low, high), log=logarithmic)
    return Float(name, _outward(low, high), log=logarithmic)


def _outward(low: float, high: float) -> tuple[float, float]:
    """A range that still holds both ends when ConfigSpace has rounded it to 13 decimals."""
    lower, upper = float(np.round(low, 13)), float(np.round(high, 13))
    return lower - 1e-13 if lower > low else lower, upper + 1e-13 if upper < high else upper


def _fitted(columns: dict[str, list[Any]], space: ConfigurationSpace) -> ConfigurationSpace:
    """Check the columns against a space; their values become, in place, those that the space uses."""
    if set(columns) != set(space.keys()):
        raise SpaceError(f"the columns are {', '.join(columns)} and the space has {', '.join(space)}; they must agree")
    if space.conditions:
        raise SpaceError("the space has conditions, but a row of a table gives every parameter a value: leave them out")
    for name, values in columns.items():
        columns[name] = [_legal(space[name], value) for value in values]
    return space


def _legal(parameter: Any, value: Any) -> Any:
    from ConfigSpace.hyperparameters import FloatHyperparameter, IntegerHyperparameter

    if not parameter.legal_value(value):
        raise SpaceError(
            f"X gives {parameter.name!r} the value {value!r}, outside of {parameter}; "
            "widen the range, or say with names= which column is which"
        )
    if isinstance(parameter, IntegerHyperparameter):
        return int(value)
    if isinstance(parameter, FloatHyperparameter):
        return float(value)
    choices = next(getattr(parameter, key) for key in ("choices", "sequence", "value") if hasattr(parameter, key))
    return next(_plain(c) for c in (choices if isinstance(choices, Sequence) else [choices]) if c == value)


def _tell_apart(columns: dict[str, list[Any]], space: ConfigurationSpace) -> None:
    """Number the rows that have the same values, by one more parameter."""
    from ConfigSpace import Integer

    seen: Counter[tuple[Any, ...]] = Counter()
    numbers = []
    for row in zip(*columns.values(), strict=True):
        numbers.append(seen[row])
        seen[row] += 1
    if max(numbers) == 0:
        return
    if _RECORDING in columns:
        raise SpaceError(f"rows of X are equal and {_RECORDING!r}, which would number them, is a column: rename it")
    columns[_RECORDING] = numbers
    space.add(Integer(_RECORDING, (0, max(numbers))))


def _best_of_rows(Y: NDArray[np.float64], mode: str) -> NDArray[np.float64]:
    """Each row's best reading before its first bad one, which ends the trial; rows without any are left out."""
    reachable = np.logical_and.accumulate(np.isfinite(Y), axis=1)
    if not reachable.any():
        raise SpaceError("Y has no row whose first reading is finite: every trial would fail")
    kept = reachable[:, 0]
    if mode == "min":
        return np.asarray(np.where(reachable, Y, np.inf)[kept].min(axis=1))
    return np.asarray(np.where(reachable, Y, -np.inf)[kept].max(axis=1))


def _held_after_end(Y: NDArray[np.float64], held: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    if "length" not in held:
        return Y
    length = np.asarray(held["length"], dtype=int)
    planned = (length > 0) & ~np.asarray(held.get("diverged", np.zeros(len(Y))), dtype=bool)
    last = Y[np.arange(len(Y)), np.maximum(length - 1, 0)]
    over = np.arange(Y.shape[1]) >= length[:, None]
    return np.where(over & planned[:, None], last[:, None], Y)


def _durations(cost: NDArray[Any] | None, skip: int) -> NDArray[np.float64] | None:
    """From seconds since the start to seconds a step."""
    return None if cost is None else np.diff(np.asarray(cost, dtype=float), axis=1, prepend=0.0)[:, skip:]
