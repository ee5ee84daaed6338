"""The front door: one call that opens a study and runs it to the end of its budget."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from shoestring._other_names import explain_options
from shoestring.core.budget import Budget
from shoestring.core.decisions import Method
from shoestring.core.event_log import EventLog
from shoestring.core.events import Mode, Rule
from shoestring.core.known import Initial
from shoestring.core.recommendation import DEFAULT_RULE
from shoestring.methods.opening import check_options
from shoestring.objectives.checks import check_objective, place_of
from shoestring.objectives.loading import refuse_while_loading
from shoestring.objectives.trial import Objective
from shoestring.past.sources import Past
from shoestring.running.options import RUN_PARAMETERS, RunOptions, read_options
from shoestring.spaces.configspace import ConfigSpace
from shoestring.spaces.definition import as_space
from shoestring.study import Study


@explain_options(RUN_PARAMETERS)
def tune(
    objective: Objective,
    space: ConfigSpace.ConfigurationSpace | Mapping[str, Any],
    *,
    budget: Budget | str,
    method: str | Method = "auto",
    mode: Mode = "min",
    max_resource: int | None = None,
    storage: str | Path | EventLog | None = None,
    name: str | None = None,
    seed: int = 0,
    recommend: Rule = DEFAULT_RULE,
    initial: Initial = (),
    past: Past = None,
    guess: Mapping[str, Any] | None = None,
    objectives: Mapping[str, Mode] | None = None,
    constraints: Mapping[str, str] | None = None,
    **options: Unpack[RunOptions],
) -> Study:
    """Tune an objective within a budget, and give back the study.

    The objective is a function of a :class:`~shoestring.Trial`. It returns a number, or it is a
    generator that yields one reading after each step; then it can be paused, resumed and stopped.
    Calling ``tune`` again with the same storage and name continues the study to the same total; with another budget it
    continues to that, in other processes that are working on it too. If the objective has another name than the one
    that the study was started with, a warning says so, unless ``accept_objective`` is set.
    The files of ended trials are deleted, except for the best ``keep`` and ``study.best``; None keeps all.
    ``recommend`` is the rule of ``study.best``: each configuration counts by its "best" reading, by the best running
    "median" of three, or by its "last" reading; "auto" is the best reading, or what the method expects where it finds
    that single readings are noisy. ``initial`` is a list of configurations that are tried first, and of
    other studies to learn from, as ``ss.warm_start(study)``. ``past`` are studies of similar models: a storage such as
    "team.db", studies, a list of these, or "auto" for those in the same storage; the best of them is tried early.
    ``guess`` has values that have worked before, by the names of parameters. A check drops what loses to random
    configurations. ``objectives={"error": "min", "latency": "min"}`` names several objectives: readings are then
    ``ss.Reading(error=..., latency=...)``, and the results ``study.front``. ``constraints={"memory": "<= 8"}`` are
    bounds on any number of a reading: the best is the best that fulfils them. ``space``, ``method``, ``mode``,
    ``max_resource`` and ``seed`` are those of :class:`Study`. The options from ``workers`` on are those of
    :meth:`Study.run`.

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
    refuse_while_loading()
    check_options(mode, max_resource, seed)
    check_objective(objective, max_resource, as_space(space))
    read_options(options)[1].check_for(len(objectives) if isinstance(objectives, Mapping) else 0)
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
        initial=initial,
        past=past,
        guess=guess,
        objectives=objectives,
        constraints=constraints,
        _objective=place_of(objective),
    )
    return study.run(objective, **options)
