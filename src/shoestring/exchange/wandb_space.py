"""The parameters of a sweep of Weights & Biases as a space of ours; a nested one is called ``outer.inner``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from shoestring.errors import SpaceError
from shoestring.spaces.configspace import ConfigSpace
from shoestring.spaces.definition import space
from shoestring.spaces.parameters import IntRange, log

Spec = Mapping[str, Any]

_FIELDS = ("value", "values", "probabilities", "min", "max", "mu", "sigma", "q", "distribution", "parameters")
# How many values a range in steps of q may have, because the log lists them.
_MOST_VALUES = 10_000


def leaves(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Spec]]:
    """The parameters with their full names, constants included."""
    for name, spec in parameters.items():
        if not isinstance(name, str) or not name or set(name) & set("{}\"' \t\n"):
            raise SpaceError(f"the name of the parameter {name!r} must be a text without spaces, quotes and braces")
        if not isinstance(spec, dict):
            raise SpaceError(f"the parameter {prefix}{name} is {spec!r:.80}; write value:, values:, or min: and max:")
        for field in spec:
            if field not in _FIELDS:
                raise SpaceError(f"{field!r} of the parameter {prefix}{name} has no counterpart here")
        if not isinstance(spec.get("values", []), list) or not isinstance(spec.get("parameters", {}), dict):
            raise SpaceError(f"the parameter {prefix}{name} is {spec!r:.80}; values: is a list, parameters: a mapping")
        if "parameters" in spec:
            yield from leaves(spec["parameters"], f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", spec


def is_constant(spec: Spec) -> bool:
    return "value" in spec


def is_text(name: str, spec: Spec) -> bool:
    """True if the values of a parameter are texts; these must be safe inside of quotes."""
    texts = [value for value in spec.get("values", ()) if isinstance(value, str)]
    if texts and len(texts) < len(spec["values"]):
        raise SpaceError(f"the parameter {name} mixes texts and other values, which has no counterpart inside of JSON")
    for text in texts:
        if set(text) & set("'\"\\") or not text.isprintable():
            raise SpaceError(f"the parameter {name} has the value {text!r}, which cannot be put between quotes")
    return bool(texts)


def space_of(parameters: Iterable[tuple[str, Spec]], as_text: bool) -> ConfigSpace.ConfigurationSpace:
    """The space of what varies. With ``as_text``, true, false and null are the texts that W&B gives to a program."""
    varied = {name: _parameter(name, spec, as_text) for name, spec in parameters if not is_constant(spec)}
    if not varied:
        raise SpaceError("every parameter of the sweep is a constant: there is nothing to tune")
    return space(varied)


def _parameter(name: str, spec: Spec, as_text: bool) -> Any:
    kind = str(spec["distribution"]) if "distribution" in spec else _usual(name, spec)
    if kind not in _DISTRIBUTIONS:
        known = ", ".join(_DISTRIBUTIONS)
        raise SpaceError(
            f"the distribution {kind!r} of the parameter {name} has no counterpart here; known are {known}"
        )
    try:
        found = _DISTRIBUTIONS[kind](name, spec)
    except KeyError as error:
        raise SpaceError(f"the parameter {name} is {kind}, which needs {error}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise SpaceError(f"the parameter {name} cannot be {kind} with {dict(spec)!r:.80}: {error}") from None
    if as_text and isinstance(found, list):
        return [str(value) if value is None or isinstance(value, bool) else value for value in found]
    return found


def _usual(name: str, spec: Spec) -> str:
    """The distribution of a parameter that does not name one, as W&B has it."""
    if "values" in spec:
        return "categorical"
    if "min" not in spec or "max" not in spec:
        raise SpaceError(f"the parameter {name} is {dict(spec)!r:.80}; write value:, values:, or min: and max:")
    whole = isinstance(spec["min"], int) and isinstance(spec["max"], int)
    return "int_uniform" if whole else "uniform"


def _choice(name: str, spec: Spec) -> Any:
    if "probabilities" not in spec:
        return list(spec["values"])
    return ConfigSpace.CategoricalHyperparameter(name, list(spec["values"]), weights=list(spec["probabilities"]))


def _steps(name: str, low: float, high: float, q: float, logarithmic: bool = False) -> Any:
    """The multiples of q in a range, in their order."""
    if not q > 0 or not low < high or (high - low) / q > _MOST_VALUES:
        raise ValueError(f"q must be above 0, and the range at most {_MOST_VALUES:,} times as long")
    values = [round(n * q, 12) for n in range(math.ceil(low / q - 1e-9), math.floor(high / q + 1e-9) + 1)]
    values = [v for v in values if v > 0] if logarithmic else values
    whole = [int(v) if float(v).is_integer() and isinstance(q, int) else v for v in values]
    return ConfigSpace.OrdinalHyperparameter(name, whole, meta={"log": True} if logarithmic else None)


def _normal(name: str, spec: Spec) -> Any:
    mean, spread = float(spec.get("mu", 0)), float(spec.get("sigma", 1))
    ends = (mean - 3 * spread, mean + 3 * spread)  # spaces are bounded
    return ConfigSpace.Float(name, ends, distribution=ConfigSpace.Normal(mean, spread))


_DISTRIBUTIONS: dict[str, Callable[[str, Spec], Any]] = {
    "categorical": _choice,
    "categorical_w_probabilities": _choice,
    "int_uniform": lambda name, spec: IntRange(spec["min"], spec["max"]),
    "uniform": lambda name, spec: (float(spec["min"]), float(spec["max"])),
    "q_uniform": lambda name, spec: _steps(name, spec["min"], spec["max"], spec.get("q", 1)),
    "log_uniform": lambda name, spec: log(math.exp(spec["min"]), math.exp(spec["max"])),
    "log_uniform_values": lambda name, spec: log(float(spec["min"]), float(spec["max"])),
    "inv_log_uniform": lambda name, spec: log(math.exp(-spec["max"]), math.exp(-spec["min"])),
    "inv_log_uniform_values": lambda name, spec: log(float(spec["min"]), float(spec["max"])),
    "q_log_uniform_values": lambda name, spec: _steps(name, spec["min"], spec["max"], spec.get("q", 1), True),
    "normal": _normal,
}
