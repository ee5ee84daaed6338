"""The search space of an objective that was written for Optuna."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from shoestring.errors import SpaceError
from shoestring.exchange.optuna_space import optuna_package, space_of
from shoestring.spaces.configspace import ConfigSpace


def space_from(objective: Callable[[Any], Any]) -> ConfigSpace.ConfigurationSpace:
    """The search space of an Optuna objective, recorded from one run of ``objective(trial)``.

    The run is told to prune at its first report. Parameters that it does not ask for, because they depend on the
    value of another one, are not recorded: add them with ``ss.space(space, ss.when(...), ...)``. A warning says so
    where there are choices that they may depend on.

    >>> import shoestring as ss
    >>> def objective(trial):
    ...     return trial.suggest_float("lr", 1e-4, 1.0, log=True) * trial.suggest_int("layers", 1, 4)
    >>> space = ss.space_from(objective)
    >>> sorted(space), space["lr"].log
    (['layers', 'lr'], True)
    """
    optuna = optuna_package()

    pruner: Any = optuna.pruners.BasePruner

    class PruneAtOnce(pruner):  # type: ignore[misc]
        def prune(self, study: Any, trial: Any) -> bool:
            return True

    logged = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        trial = optuna.create_study(pruner=PruneAtOnce(), sampler=optuna.samplers.RandomSampler(0)).ask()
    finally:
        optuna.logging.set_verbosity(logged)
    try:
        objective(trial)
    except optuna.TrialPruned:
        pass
    except Exception as error:
        if not trial.distributions:
            raise SpaceError(f"the objective failed before it asked for a parameter: {error!r}") from error
        warnings.warn(f"the objective failed with {error!r}; the space has what it asked for before", stacklevel=2)
    if not trial.distributions:
        raise SpaceError("the objective asked for no parameter: an Optuna objective calls trial.suggest_float and such")
    choices = [name for name, one in trial.distributions.items() if hasattr(one, "choices") and not one.single()]
    if choices:
        warnings.warn(
            f"the objective was run once, with {choices[0]}={trial.params[choices[0]]!r}: parameters that it asks for "
            "only with other choices are not in the space; add them with ss.when",
            stacklevel=2,
        )
    return space_of(trial.distributions)
