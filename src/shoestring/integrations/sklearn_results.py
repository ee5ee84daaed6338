"""The results of a search as scikit-learn has them: ``cv_results_``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from shoestring.core.history import TrialRecord


def cv_results(
    trials: Sequence[TrialRecord],
    configs: Sequence[Mapping[str, Any]],
    fits: Mapping[int, Sequence[Any]],
    n_splits: int,
    amount: Callable[[int], int],
    scores: Sequence[str],
) -> dict[str, Any]:
    """One row for each candidate, in the order in which they were started; ``scores`` are the names of the scores."""
    results: dict[str, Any] = {}
    for key, part in (("fit_time", "fit_seconds"), ("score_time", "score_seconds")):
        table = _table(trials, fits, n_splits, attrgetter(part))
        results[f"mean_{key}"], results[f"std_{key}"] = _mean(table), _deviation(table)
    for name in dict.fromkeys(name for config in configs for name in config):
        values = np.ma.MaskedArray(np.empty(len(configs), dtype=object), mask=True)
        for row, config in enumerate(configs):
            if name in config:
                values[row] = config[name]
        results[f"param_{name}"] = _as_typed_array(values)
    results["params"] = [dict(config) for config in configs]
    reached = np.array([trial.step for trial in trials])
    results["n_resources"] = np.array([amount(int(step)) if step else 0 for step in reached])
    for name in scores:
        table = _table(trials, fits, n_splits, partial(_score, name))
        mean = _mean(table)
        results |= {f"split{split}_test_{name}": table[:, split] for split in range(n_splits)}
        results |= {f"mean_test_{name}": mean, f"std_test_{name}": _deviation(table)}
        results[f"rank_test_{name}"] = _ranks(mean, reached)
    return results


def _score(name: str, fit: Any) -> float:
    return float(fit.scores[name])


def _table(
    trials: Sequence[TrialRecord], fits: Mapping[int, Sequence[Any]], n_splits: int, part: Callable[[Any], float]
) -> Any:
    """Shape (candidates, splits); NaN where a candidate was not fitted, or failed."""
    table = np.full((len(trials), n_splits), np.nan)
    for row, trial in enumerate(trials):
        for fit in fits.get(trial.index, ()):
            table[row, fit.fold] = np.nan if fit.error is not None else part(fit)
    return table


def _mean(table: Any) -> Any:
    known = ~np.isnan(table)
    total = np.where(known, table, 0.0).sum(axis=1)
    return np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan)


def _deviation(table: Any) -> Any:
    return np.sqrt(_mean((table - _mean(table)[:, None]) ** 2))


def _ranks(mean: Any, reached: Any) -> Any:
    """1 is the best: candidates with more of the resource come first, then the better score; failures are last."""
    keys = [
        (-int(step), -score) if not np.isnan(score) else (1, 0.0) for step, score in zip(reached, mean, strict=True)
    ]
    ordered = sorted(keys)
    return np.array([ordered.index(key) + 1 for key in keys], dtype=np.int32)


def _as_typed_array(values: Any) -> Any:
    """A column of numbers or booleans as an array of these, as scikit-learn has it."""
    known = values.compressed().tolist()
    kinds = {type(value) for value in known}
    if kinds and (kinds <= {int, float} or kinds == {bool}):
        kind: type = bool if kinds == {bool} else int if kinds == {int} else float
        filled = [kind(0) if np.ma.is_masked(value) else value for value in values]
        return np.ma.MaskedArray(np.array(filled, dtype=kind), mask=np.ma.getmaskarray(values))
    return values
