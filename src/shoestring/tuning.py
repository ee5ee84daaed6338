"""The front door: one call that opens a study and runs it to the end of its budget."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoestring.core.budget import Budget
from shoestring.core.decisions import Method
from shoestring.core.event_log import EventLog
from shoestring.core.events import Mode, Rule
from shoestring.core.recommendation import DEFAULT_RULE
from shoestring.executors.base import Executor, Objective, check_objective, check_workers
from shoestring.executors.loading import stop_if_loading
from shoestring.spaces.configspace import ConfigSpace
from shoestring.study import Study


def tune(
    objective: Objective,
    space: ConfigSpace.ConfigurationSpace | Mapping[str, Any],
    *,
    budget: Budget | str,
    method: str | Method = "auto",
    mode: Mode = "min",
    max_resource: int | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    storage: str | Path | EventLog | None = None,
    name: str | None = None,
    seed: int = 0,
    recommend: Rule = DEFAULT_RULE,
    progress: bool | None = None,
) -> Study:
    """Tune an objective within a budget, and give back the study.

    The objective is a function of a :class:`~shoestring.Trial`. It returns a number, or it is a
    generator that yields one reading after each step; then it can be paused, resumed and stopped.
    Calling ``tune`` again with the same storage and name continues the study to the same total.
    ``recommend`` is the rule of ``study.best``: each configuration counts by its "best" reading, by the best running
    "median" of three, or by its "last" reading.

    >>> import shoestring as ss
    >>> def train(trial):
    ...     error = 1.0
    ...     while True:
    ...         error *= 1 - trial.config["rate"] * (1 - trial.config["rate"])
    ...         yield error
    >>> study = ss.tune(train, {"rate": (0.0, 1.0)}, budget="100 steps", max_resource=9, method="asha")
    >>> study.spent["steps"], 0.3 < study.best.config["rate"] < 0.7
    (100, True)
    """
    stop_if_loading()
    check_objective(objective, max_resource)
    check_workers(workers, executor)
    study = Study(
        space,
        budget=budget,
        method=method,
        mode=mode,
        max_resource=max_resource,
        storage=storage,
        name=name,
        seed=seed,
        recommend=recommend,
        _objective=_place(objective),
    )
    return study.run(objective, workers=workers, executor=executor, progress=progress)


def _place(objective: Any) -> str | None:
    """Where the objective is defined, so that ``shoestring resume`` finds it again."""
    try:
        path = Path(inspect.getsourcefile(inspect.unwrap(objective)) or "")
    except TypeError:
        return None
    name = getattr(objective, "__qualname__", "")
    return f"{path}:{name}" if path.is_file() and name.isidentifier() else None
