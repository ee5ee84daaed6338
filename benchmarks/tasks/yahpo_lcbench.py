"""YAHPO's surrogate of LCBench: a smooth space of 7 parameters, errors in % and seconds after each of 52 epochs.

The files are looked for in the folder SHOESTRING_DATA, ``yahpo_lcbench``; they need ``onnxruntime``. One call gives the
whole curve of a configuration. Pfisterer, Schneider, Moosbauer, Binder and Bischl, YAHPO Gym, AutoML 2022.

The regret of an error is 0 at the best of 40,000 random configurations at the epochs 6, 13, 26, 39 and 52, and 1 at
their median at the last epoch, so a method can be below 0. These and the median seconds of a training are stored once,
in the table "reference".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import shoestring as ss
from benchmarks.harness.common import Options, Unavailable
from benchmarks.harness.kept import key, runs
from benchmarks.harness.measurements import Row, load
from benchmarks.harness.recorded import DATA

Array = NDArray[np.float64]
FOLDER = DATA / "yahpo_lcbench"
EPOCHS = 52
SPACE = ss.space(
    batch_size=ss.log(16, 512), learning_rate=ss.log(1e-4, 0.1), momentum=(0.1, 0.99), weight_decay=(1e-5, 0.1),
    num_layers=(1, 5), max_units=ss.log(64, 1024), max_dropout=(0.0, 1.0),
)  # fmt: skip
ORDER = ("batch_size", "learning_rate", "momentum", "weight_decay", "num_layers", "max_units", "max_dropout")
REFERENCE_EPOCHS = (6, 13, 26, 39, 52)
REFERENCE_SIZE = 40_000


@cache
def names() -> tuple[str, ...]:
    """The tasks, in the order of the model's codes."""
    return tuple(_codes())


@cache
def _codes() -> dict[str, int]:
    path = FOLDER / "encoding.json"
    if not path.exists():
        raise Unavailable(
            f"there is no surrogate in {FOLDER}; set SHOESTRING_DATA to the folder that has yahpo_lcbench"
        )
    return dict(json.loads(path.read_text())["OpenML_task_id"])


@cache
def model_version() -> str:
    """A digest of the model, for the keys of runs."""
    names()
    return hashlib.sha256((FOLDER / "model.onnx").read_bytes()).hexdigest()[:12]


@cache
def _session() -> Any:
    names()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(FOLDER / "model.onnx"), options)


def answers(task: str, rows: Array) -> Array:
    """Cumulative seconds, accuracy in % and cross entropy, among others, of rows of an epoch and the parameters."""
    inputs = {"x_cat": np.full((len(rows), 1), _codes()[task], np.int32), "x_cont": rows.astype(np.float32)}
    found: Array = _session().run(None, inputs)[0].astype(float)
    return found


def _asked(task: str, rows: Array) -> tuple[Array, Array]:
    """Cumulative seconds and errors of rows of an epoch and the parameters, in ``ORDER``."""
    found = answers(task, rows)
    return found[:, 0], 100.0 - found[:, 1]


@dataclass(frozen=True)
class Problem:
    """One task as a problem for the simulated executor: readings are errors in %, steps are epochs."""

    task: str

    def __call__(self, trial: ss.Trial) -> Iterator[float]:
        for step in range(trial.start + 1, EPOCHS + 1):
            yield self.reading(trial.config, step)

    def reading(self, config: Mapping[str, Any], step: int, seed: int = 0) -> float:
        return float(self.curve(config)[0][step - 1])

    def seconds(self, config: Mapping[str, Any], step: int, seed: int = 0) -> float:
        return float(self.curve(config)[1][step - 1])

    def curve(self, config: Mapping[str, Any]) -> tuple[Array, Array]:
        """The error after each epoch and the seconds of each."""
        return _curve(self.task, tuple(float(config[name]) for name in ORDER))


@lru_cache(maxsize=20_000)
def _curve(task: str, values: tuple[float, ...]) -> tuple[Array, Array]:
    epochs = np.arange(1, EPOCHS + 1)[:, None]
    seconds, errors = _asked(task, np.hstack([epochs, np.tile(values, (EPOCHS, 1))]))
    return errors, durations(seconds)


def durations(cumulative: Array) -> Array:
    """Seconds of each epoch: never back in time, and at least 1/520 of the whole training."""
    rising = np.maximum.accumulate(np.maximum(cumulative, 0.0))
    return np.maximum(np.diff(rising, prepend=0.0), max(rising[-1], 1e-6) / (10 * EPOCHS))


@dataclass(frozen=True)
class Reference:
    """The values that the errors and seconds of a task are compared with."""

    best: float
    median: float
    seconds: float

    def regret(self, error: float) -> float:
        return (error - self.best) / (self.median - self.best)


@cache
def references() -> dict[str, Reference]:
    """The stored references by task."""
    rows = load("early_readings").get("reference", {}).get("rows", {})
    if missing := [task for task in names() if f"{task}: best" not in rows]:
        raise Unavailable(
            f"the tasks {missing} have no reference; run: benchmarks/early_readings.py --table reference --write"
        )
    parts = ("best", "median", "seconds")
    return {task: Reference(*(rows[f"{task}: {part}"].measured for part in parts)) for task in names()}


def reference(options: Options) -> list[Row]:
    """The best and the median error of random configurations, and the median seconds of a full training."""
    size = REFERENCE_SIZE // 40 if options.quick else REFERENCE_SIZE
    found = {task: runs().get(_reference_key(task, size), partial(measured, task, size)) for task in names()}
    return [Row(f"{task}: {name}", value, n=size) for task, values in found.items() for name, value in values.items()]


def _reference_key(task: str, size: int) -> str:
    return key(task, 0, "reference", code=model_version(), size=size, epochs=REFERENCE_EPOCHS, draw="numpy")


def measured(task: str, size: int) -> dict[str, float]:
    """The reference of a task by this many random configurations, the same for all tasks."""
    X = sampled(size)
    answers = [_asked(task, np.hstack([np.full((size, 1), epoch), X])) for epoch in REFERENCE_EPOCHS]
    errors = np.array([error for _, error in answers])
    found = {"best": errors.min(), "median": np.median(errors[-1]), "seconds": np.median(answers[-1][0])}
    return {name: float(value) for name, value in found.items()}


@cache
def sampled(size: int) -> Array:
    """Random configurations by numpy alone, so that regrets do not depend on how this package draws them."""
    shares = np.random.default_rng(0).random((size, len(ORDER)))
    return np.column_stack([_scaled(SPACE[name], column) for name, column in zip(ORDER, shares.T, strict=True)])


def _scaled(own: Any, shares: Array) -> Array:
    """Shares of a range as its values."""
    whole = isinstance(own.lower, int)
    if own.log:
        values = own.lower * (own.upper / own.lower) ** shares
        return np.round(values) if whole else values
    values = own.lower + (own.upper - own.lower + whole) * shares
    return np.floor(values) if whole else values
