"""A sweep of Hydra as a study: the space from overrides, and the configurations as overrides again.

============================================= =====================================================
override, or entry of hydra.sweeper.params    parameter
============================================= =====================================================
``x=interval(-5,5)``                          a range; ``int(interval(1,4))`` of integers
``x=tag(log,interval(1e-4,1))``               a range on a logarithmic scale
``x=range(1,10)``, ``x=range(16,65,step=16)`` its values, without the last, in their order
``x=a,b,c``, ``x=choice(a,b,c)``, ``x=glob(*)`` a choice; of a configuration group too
``x=log:1e-4:1``, ``x=0.0:0.99``, ``x=1:4``   ranges as ``shoestring run --param`` takes them
any other value                               the same value for all jobs
============================================= =====================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, Quote, QuotedString, RangeSweep
from omegaconf import OmegaConf

from shoestring.errors import BudgetError, SpaceError
from shoestring.integrations.hydra_launches import HydraLaunches
from shoestring.spaces.configspace import ConfigSpace
from shoestring.spaces.definition import space
from shoestring.spaces.parameters import ints, log
from shoestring.spaces.written import from_plain, from_text, is_range
from shoestring.study import Study

# Texts that Hydra reads unchanged, and words that it reads as something else.
_PLAIN = re.compile(r"[A-Za-z_][\w./@-]*")
_WORDS = ("true", "false", "null", "nan", "inf")
_OF_RUNS = ("target", "patience", "retries")


def sweep(sweeper: Any, arguments: Sequence[str]) -> None:
    """Run the study of a sweep to the end of its budget, and write what is best into the folder of the sweep."""
    config, options = sweeper.config, dict(sweeper.options)
    folder = Path(config.hydra.sweep.dir)
    folder.mkdir(parents=True, exist_ok=True)
    OmegaConf.save(config, folder / "multirun.yaml")
    params: Any = OmegaConf.to_container(OmegaConf.create(options.pop("params") or {}), resolve=True)
    parameters, fixed = parameters_of(params, arguments, sweeper.hydra_context.config_loader)
    if options["budget"] is None:
        raise BudgetError("say how much may be spent: hydra.sweeper.budget='300 steps', or '50 evaluations'")
    workers, own = options.pop("workers"), {name: options.pop(name) for name in _OF_RUNS}
    own = {name: value for name, value in own.items() if value is not None}
    options.update({name: _container(options[name]) for name in ("past", "guess")})
    study = Study(space({_name(key): spec for key, spec in parameters.items()}),
                  **{**options, "name": options["name"] or config.hydra.job.name})  # fmt: skip

    def overrides(values: Mapping[str, Any]) -> list[str]:
        return [*fixed, *(f"{key}={as_override(values[_name(key)])}" for key in parameters if _name(key) in values)]

    sweeper.validate_batch_is_legal([overrides(dict(study.history.codec.space.get_default_configuration()))])
    launches = HydraLaunches(sweeper.job, workers, sweeper.launcher.launch, overrides)
    study.run(sweeper.job, executor=launches, progress=False, **own)
    best = study.best
    found = {"name": "shoestring", "best_params": {k: _plain(v) for k, v in best.config.items()}}
    OmegaConf.save(OmegaConf.create({**found, "best_value": best.value}), folder / "optimization_results.yaml")


def parameters_of(
    params: Mapping[str, Any], arguments: Sequence[str], config_loader: Any
) -> tuple[dict[str, Any], list[str]]:
    """The parameters that vary, by the key of their override, and the overrides that all jobs have.

    An override on the command line counts instead of the one in the configuration.
    """
    parser = OverridesParser.create(config_loader=config_loader)
    varied: dict[str, Any] = {}
    fixed: dict[str, str] = {}
    for key, value in params.items():
        if isinstance(value, (Mapping, list)):
            varied[key] = from_plain(key, dict(value)) if isinstance(value, Mapping) else list(value)
        else:
            _sort(
                parser.parse_override(f"{key}={value if isinstance(value, str) else as_override(value)}"), varied, fixed
            )
    for override in parser.parse_overrides(list(arguments)):
        for known in [known for known in (*varied, *fixed) if _name(known) == _name(override.get_key_element())]:
            varied.pop(known, None)
            fixed.pop(known, None)
        _sort(override, varied, fixed)
    if not varied:
        raise SpaceError("there is nothing to tune: give x=interval(-5,5), x=log:1e-4:1, x=a,b or hydra.sweeper.params")
    return varied, list(fixed.values())


def _sort(override: Override, varied: dict[str, Any], fixed: dict[str, str]) -> None:
    """Put an override where it belongs."""
    key, value = override.get_key_element(), override.value()
    if override.is_sweep_override():
        varied[key] = _swept_values(override)
    elif isinstance(value, str) and is_range(value):
        varied[key] = from_text(key, value)
    else:
        fixed[key] = override.input_line or f"{key}={override.get_value_element_as_str()}"


def _swept_values(override: Override) -> Any:
    key, value = override.get_key_element(), override.value()
    if isinstance(value, IntervalSweep):
        ends = value.start, value.end
        return log(*ends) if "log" in value.tags else ends
    if isinstance(value, RangeSweep):
        return _range_in_steps(key, list(value.range()), "log" in value.tags)
    choices = [_plain(choice) for choice in override.sweep_iterator()]
    if any(isinstance(choice, dict) for choice in choices):
        raise SpaceError(
            f"a choice of {key} is a dictionary; make it a configuration group, and choose among its names"
        )
    return choices


def _range_in_steps(key: str, values: list[Any], logarithmic: bool) -> Any:
    if all(isinstance(value, int) for value in values) and len(values) > 1:
        return ints(min(values), max(values), step=abs(values[1] - values[0]), log=logarithmic)
    return ConfigSpace.OrdinalHyperparameter(_name(key), sorted(values), meta={"log": logarithmic})


def _container(given: Any) -> Any:
    """A list or a mapping of a configuration as Python has it."""
    return OmegaConf.to_container(given, resolve=True) if OmegaConf.is_config(given) else given


def _name(key: str) -> str:
    """The name of a parameter, without the signs that say how Hydra merges it."""
    return key.lstrip("+")


def _plain(value: Any) -> Any:
    if isinstance(value, QuotedString):
        return value.text
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def as_override(value: Any) -> str:
    """A value as an override has it.

    >>> [as_override(value) for value in (0.5, True, None, "relu", [1, "a b"])]
    ['0.5', 'true', 'null', 'relu', "[1,'a b']"]
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(as_override, value))}]"
    if not isinstance(value, str):
        return repr(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return str(QuotedString(value, Quote.single).with_quotes())
