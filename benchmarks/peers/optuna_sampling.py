"""Optuna's samplers, and its suggestions as configurations of ours."""

from __future__ import annotations

import warnings
from typing import Any

from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, OrdinalHyperparameter

from shoestring.spaces.codec import Codec


def optuna_sampler(name: str, seed: int, noisy: bool) -> Any:
    """One of Optuna's samplers by our name for it, quiet."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    if name == "Optuna TPE":
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
    if name == "Optuna GP":
        return optuna.samplers.GPSampler(seed=seed, deterministic_objective=not noisy)
    return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)


def suggested(trial: Any, space: ConfigurationSpace, codec: Codec) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, own in dict[str, Any](space).items():
        if isinstance(own, CategoricalHyperparameter):
            values[name] = trial.suggest_categorical(name, list(own.choices))
        elif isinstance(own, OrdinalHyperparameter):
            values[name] = own.sequence[trial.suggest_int(name, 0, len(own.sequence) - 1)]
        elif type(own).__name__.endswith("IntegerHyperparameter"):
            values[name] = trial.suggest_int(name, own.lower, own.upper, log=own.log)
        else:
            values[name] = trial.suggest_float(name, own.lower, own.upper, log=own.log)
    # Through the codec, so that what is inactive is left out.
    return codec.decode(codec.encode(values))
