"""Recorded learning curves as a problem: each row of a table is a configuration.

The space carries the rows, so a sampler's proposal is moved to the nearest row that was not tried yet,
and a study on the table ends when every row was tried. With ``snap=True`` the space has no rows and the problem is
continuous: a proposal is not changed, and it gets the readings of the nearest row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, Constant, Float, Integer
from ConfigSpace.hyperparameters import FloatHyperparameter, IntegerHyperparameter
from numpy.typing import NDArray

from shoestring._arrays import Array
from shoestring.core.history import History
from shoestring.errors import SpaceError
from shoestring.problems import arrays
from shoestring.problems.base import check_step, yield_readings
from shoestring.spaces.codec import Codec
from shoestring.spaces.definition import as_space

if TYPE_CHECKING:
    from shoestring.core.events import Mode

# The parameter that distinguishes rows with the same values.
_RECORDING = "recording"
# ConfigSpace keeps 13 decimals, too few for a log scale that starts below this.
_SMALLEST = 1e-12


class CurveTable:
    """Recorded learning curves: ``Y[i, k - 1]`` is the reading of the configuration ``X[i]`` at step ``k``.

    Without a ``space``, ranges are taken from the data: whole numbers give an integer range, a column with one value
    a constant, and the columns of ``log_scale`` (names, or one flag per column) a log range. A ``space`` that is a
    mapping has its parameters in the order of the columns; for a ConfigurationSpace, which sorts its parameters, say
    with ``names`` which column is which. Rows with equal values are numbered by one more parameter, ``recording``, so
    that all can be reached.

    With ``snap`` any configuration of the ranges can be tried, and none is moved: it is trained as the row that is
    nearest in the encoded unit cube, where two different choices are 1 apart. Two configurations with the same nearest
    row stay distinct, and both are paid for. Of rows with equal values only the first is used.

    ``seconds`` is the duration of each step, in the shape of ``Y`` or one that broadcasts to it. A reading that is
    not finite is returned unchanged: the study marks the trial as failed.

    >>> from shoestring.problems import CurveTable
    >>> table = CurveTable([[0.1], [0.2], [0.4]], [[5, 4], [5, 2], [6, 3]], names=["rate"])
    >>> table.max_resource, table.best, table.row({"rate": 0.4}), table.reading({"rate": 0.4}, 2)
    (2, 2.0, 2, 3.0)
    >>> snapped = CurveTable([[0.1], [0.2], [0.4]], [[5, 4], [5, 2], [6, 3]], names=["rate"], snap=True)
    >>> snapped.row({"rate": 0.33}), snapped.reading({"rate": 0.33}, 2)
    (2, 3.0)
    """

    __call__ = yield_readings

    def __init__(
        self,
        X: Any,
        Y: Any,
        space: Any = None,
        *,
        names: Sequence[str] | None = None,
        log_scale: Sequence[bool] | Sequence[str] | None = None,
        mode: Mode = "min",
        seconds: Any = None,
        snap: bool = False,
    ) -> None:
        self.mode = arrays.check_mode(mode)
        self._Y = _read_curves(Y)
        columns = _columns(X, names or (None if space is None else list(space)), len(self._Y))
        if space is None:
            self.space = _space_of(columns, _log_names(log_scale, list(columns)))
        else:
            self.space = _fit_space(columns, deepcopy(as_space(space)))
        if not snap:
            _number_equal_rows(columns, self.space)
        self._order = list(self.space.keys())
        rows = list(zip(*(columns[name] for name in self._order), strict=True))
        self.space.meta = {} if snap else {"rows": [list(row) for row in rows]}
        # Of equal rows, the first. When snapping, other configurations are added once they are looked up.
        self._index: dict[tuple[Any, ...], int] = {row: i for i, row in reversed(list(enumerate(rows)))}
        self._nearest = _NearestRow(self.space, rows) if snap else None
        self._seconds = arrays.read_seconds(seconds, self._Y.shape)
        self._best_of_rows = _best_of_rows(self._Y[sorted(self._index.values())], self.mode)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        log_scale: Sequence[bool] | Sequence[str] | None = None,
        skip: int = 0,
        snap: bool = False,
    ) -> CurveTable:
        """A table from an ``.npz`` with ``X`` (there, or in ``_configs.npz`` next to it) and ``Y``.

        The first ``skip`` columns are left out: some recordings start with the untrained model. With ``snap`` the
        problem is continuous, as with ``CurveTable(..., snap=True)``.

        Also read if present: ``hp_names``, ``log_scale``, ``direction``, ``cost`` (seconds since the start of the
        run), ``length`` (a run that ended there as planned keeps its last reading from then on) and ``diverged``
        (such a run did not end as planned).
        """
        path = Path(path)
        held = arrays.read_arrays(path)
        configs = path.with_name("_configs.npz")
        if "X" not in held and configs.exists():
            held = {**arrays.read_arrays(configs), **held}
        arrays.check_names(held, ("X", "Y"), path)
        Y = _read_curves(held["Y"])
        if not 0 <= skip < Y.shape[1]:
            raise SpaceError(f"skip is {skip}; {path} has {Y.shape[1]} columns, and at least one must be left")
        if "steps" in held and len(held["steps"]) != Y.shape[1]:
            raise SpaceError(f"{path} has {len(held['steps'])} steps and readings of {Y.shape[1]}; they must agree")
        return cls(
            held["X"],
            _hold_last_readings(Y, held)[:, skip:],
            names=held["hp_names"].tolist() if "hp_names" in held else None,
            log_scale=log_scale if log_scale is not None else held.get("log_scale"),  # type: ignore[arg-type]
            mode=arrays.check_mode(str(held.get("direction", "min"))),
            seconds=_durations(held.get("cost"), skip),
            snap=snap,
        )

    def __len__(self) -> int:
        return len(self._Y)

    def __repr__(self) -> str:
        snap = ", snap=True" if self._nearest else ""
        return f"CurveTable({len(self)} rows, {self.max_resource} steps, mode={self.mode!r}{snap})"

    @property
    def max_resource(self) -> int:
        return int(self._Y.shape[1])

    @property
    def best(self) -> float:
        """The best reading that a study can get, over all rows and steps."""
        return float(self._best_of_rows.min() if self.mode == "min" else self._best_of_rows.max())

    def row(self, config: Mapping[str, Any]) -> int:
        """The number of the row with these values; with ``snap``, of the row nearest to them."""
        try:
            values = tuple(config[name] for name in self._order)
            if self._nearest and values not in self._index:
                self._index[values] = self._nearest(config)
            return self._index[values]
        except (KeyError, TypeError):
            if self._nearest:
                self._nearest.codec.check(config)
            raise SpaceError(
                f"{dict(config)} is not a row of the table; its parameters are {', '.join(self._order)}, "
                'and space.meta["rows"] lists their values'
            ) from None

    def reading(self, config: Mapping[str, Any], step: int, seed: int = 0) -> float:
        """The recorded reading; a table holds one run per row, so the seed does not matter."""
        return float(self._Y[self.row(config), check_step(step, self.max_resource) - 1])

    def seconds(self, config: Mapping[str, Any], step: int, seed: int = 0) -> float:
        """The recorded duration of a step; 1 if the table has none."""
        if self._seconds is None:
            return 1.0
        # A step beyond the last takes as long as that one; its reading fails with the reason.
        return float(self._seconds[self.row(config), min(step, self.max_resource) - 1])

    def normalised_regret(self, seen: float | History) -> float:
        """The regret of the best reading seen, divided by the regret of the median row: 0 is optimal, 1 is the median
        row.

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


class _NearestRow:
    """The row nearest to a configuration in the encoded unit cube; the first of those that are equally near."""

    def __init__(self, space: ConfigurationSpace, rows: Sequence[Sequence[Any]]) -> None:
        self._made_of = space, rows
        self.codec = Codec(space)
        names = list(space.keys())
        self._points = np.array([self.codec.encode(dict(zip(names, row, strict=True))) for row in rows])
        self._categorical = self.codec.choices > 0

    def __reduce__(self) -> tuple[Any, ...]:
        return _NearestRow, self._made_of  # a codec cannot be pickled

    def __call__(self, config: Mapping[str, Any]) -> int:
        self.codec.check(config)
        gaps = self._points - self.codec.encode(config)
        gaps[:, self._categorical] = gaps[:, self._categorical] != 0
        return int(np.square(gaps).sum(axis=1).argmin())


def _read_curves(Y: Any) -> Array:
    curves = np.asarray(Y, dtype=float)
    if curves.ndim != 2 or not curves.size:
        raise SpaceError(f"Y has the shape {curves.shape}; it needs one row per configuration and one column per step")
    return curves


def _columns(X: Any, names: Sequence[str] | None, rows: int) -> dict[str, list[Any]]:
    """The values of each parameter, by name."""
    values = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if values.ndim != 2 or not values.shape[1]:
        raise SpaceError(
            f"X has the shape {values.shape}; it needs one row per configuration and one column per parameter"
        )
    if len(values) != rows:
        raise SpaceError(f"X has {len(values)} rows and Y has {rows}; they must agree")
    names = [f"x{i}" for i in range(1, values.shape[1] + 1)] if names is None else [str(name) for name in names]
    if len(set(names)) != values.shape[1]:
        raise SpaceError(f"X has {values.shape[1]} columns and the names are {names}; give each column its own")
    return {name: arrays.plain(column) for name, column in zip(names, values.T, strict=True)}


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
    """Ranges from the data. Whole numbers in a column become integers, in place."""
    for name, values in columns.items():
        if arrays.is_numeric(values):
            if not all(math.isfinite(v) for v in values):
                raise SpaceError(f"column {name!r} of X holds a value that is not finite; leave such rows out")
            kind = int if all(v == int(v) for v in values) else float
            columns[name] = [kind(v) for v in values]
    space = ConfigurationSpace()
    space.add([_parameter(name, values, name in logarithmic) for name, values in columns.items()])
    return space


def _parameter(name: str, values: list[Any], logarithmic: bool) -> Any:
    distinct = list(dict.fromkeys(values))
    if len(distinct) == 1:
        return Constant(name, distinct[0])
    if not arrays.is_numeric(values):
        return CategoricalHyperparameter(name, distinct)
    low, high = min(values), max(values)
    if logarithmic and low < _SMALLEST:
        raise SpaceError(f"column {name!r} of X is on a log scale and goes down to {low}; the least is {_SMALLEST}")
    if isinstance(low, int):
        return Integer(name, (low, high), log=logarithmic)
    return Float(name, _outward(low, high), log=logarithmic)


def _outward(low: float, high: float) -> tuple[float, float]:
    """A range that still contains both ends after ConfigSpace has rounded it to 13 decimals."""
    lower, upper = float(np.round(low, 13)), float(np.round(high, 13))
    return lower - 1e-13 if lower > low else lower, upper + 1e-13 if upper < high else upper


def _fit_space(columns: dict[str, list[Any]], space: ConfigurationSpace) -> ConfigurationSpace:
    """Check the columns against a space. Their values become those that the space uses, in place."""
    if set(columns) != set(space.keys()):
        raise SpaceError(f"the columns are {', '.join(columns)} and the space has {', '.join(space)}; they must agree")
    if space.conditions:
        raise SpaceError("the space has conditions, but a row of a table gives every parameter a value: leave them out")
    for name, values in columns.items():
        columns[name] = [_legal(space[name], value) for value in values]
    return space


def _legal(parameter: Any, value: Any) -> Any:
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
    return next(c for c in arrays.plain(choices if isinstance(choices, Sequence) else [choices]) if c == value)


def _number_equal_rows(columns: dict[str, list[Any]], space: ConfigurationSpace) -> None:
    """Number the rows that have the same values by one more parameter."""
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


def _best_of_rows(Y: Array, mode: str) -> Array:
    """Each row's best reading before its first non-finite one, which ends the trial; rows without any are left out."""
    reachable = np.logical_and.accumulate(np.isfinite(Y), axis=1)
    if not reachable.any():
        raise SpaceError("Y has no row whose first reading is finite: every trial would fail")
    sign = 1.0 if mode == "min" else -1.0
    return np.asarray(sign * np.where(reachable, sign * Y, np.inf)[reachable[:, 0]].min(axis=1))


def _hold_last_readings(Y: Array, held: dict[str, NDArray[Any]]) -> Array:
    if "length" not in held:
        return Y
    length = np.asarray(held["length"], dtype=int)
    planned = (length > 0) & ~np.asarray(held.get("diverged", np.zeros(len(Y))), dtype=bool)
    last = Y[np.arange(len(Y)), np.maximum(length - 1, 0)]
    over = np.arange(Y.shape[1]) >= length[:, None]
    return np.where(over & planned[:, None], last[:, None], Y)


def _durations(cost: NDArray[Any] | None, skip: int) -> Array | None:
    """Seconds per step from seconds since the start."""
    return None if cost is None else np.diff(np.asarray(cost, dtype=float), axis=1, prepend=0.0)[:, skip:]
