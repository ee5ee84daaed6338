"""Search spaces as plain JSON values, for the log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from shoestring.errors import SpaceError
from shoestring.spaces.configspace import ConfigSpace

# What of a serialised space is kept, and where in it the values of parameters are.
_KEPT = ("hyperparameters", "conditions", "forbiddens")
_LISTS = ("choices", "sequence", "values")
_VALUES = ("value", "default_value")
_PARTS = ("clauses", "conditions")


def differing_parameter(stored: Mapping[str, Any], given: Mapping[str, Any]) -> str | None:
    """The first difference between two serialised spaces, in words; None if they are the same."""
    ours, theirs = ({p["name"]: p for p in s.get("hyperparameters", ())} for s in (stored, given))
    for name in [*ours, *(n for n in theirs if n not in ours)]:
        if name not in theirs:
            return f"parameter {name!r} is in the stored study and not in the space given"
        if name not in ours:
            return f"parameter {name!r} is in the space given and not in the stored study"
        if ours[name] != theirs[name]:
            changes = [
                f"{key} was {ours[name].get(key)!r} and is now {theirs[name].get(key)!r}"
                for key in ours[name]
                if ours[name].get(key) != theirs[name].get(key)
            ]
            return f"parameter {name!r} differs: {'; '.join(changes)}"
    for part in ("conditions", "forbiddens", "meta"):
        if (stored.get(part) or None) != (given.get(part) or None):
            return f"the {'rows' if part == 'meta' else part} of the space differ"
    return None


def serialise(space: ConfigSpace.ConfigurationSpace) -> dict[str, Any]:
    """A space as plain JSON values, the same for the same space in any version of ConfigSpace's file."""
    body: dict[str, Any] = json.loads(json.dumps(_with_tuples(space.to_serialized_dict()), default=_plain))
    rows = (space.meta or {}).get("rows")
    kept = {key: body.get(key) for key in _KEPT}
    return kept if rows is None else {**kept, "meta": {"rows": rows}}


def _with_tuples(body: dict[str, Any]) -> dict[str, Any]:
    """Serialise a space as ConfigSpace does, with the tuples among the values of parameters marked."""

    def mark(part: dict[str, Any]) -> dict[str, Any]:
        lists = {name: [with_tags(value) for value in part[name]] for name in _LISTS if part.get(name)}
        values = {name: with_tags(part[name]) for name in _VALUES if name in part}
        inner = {name: [mark(one) for one in part[name]] for name in _PARTS if name in part}
        meta = {"meta": _without_guess(part["meta"])} if part.get("meta") else {}
        return {**part, **lists, **values, **inner, **meta}

    return {**body, **{key: [mark(part) for part in body.get(key) or ()] for key in _KEPT}}


def _without_guess(meta: Mapping[str, Any]) -> dict[str, Any] | None:
    """A guess is not part of the space: a study with another one has the same configurations."""
    return {name: value for name, value in meta.items() if name != "guess"} or None


def with_tags(value: Any) -> Any:
    """JSON has no tuples: they are written as {"tuple": [...]}."""
    if isinstance(value, tuple):
        return {"tuple": [with_tags(part) for part in value]}
    return [with_tags(part) for part in value] if isinstance(value, list) else value


def without_tags(value: Any) -> Any:
    """Undo :func:`with_tags`."""
    if isinstance(value, list):
        return [without_tags(part) for part in value]
    if isinstance(value, Mapping):
        if value.keys() == {"tuple"} and isinstance(value["tuple"], list):
            return tuple(without_tags(part) for part in value["tuple"])
        return {name: without_tags(part) for name, part in value.items()}
    return value


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise SpaceError(f"{value!r} cannot be written as JSON: use numbers, text, booleans or None in a space")


def deserialise(body: Mapping[str, Any]) -> ConfigSpace.ConfigurationSpace:
    """The space that :func:`serialised` wrote."""
    kept = {key: without_tags(value) for key, value in body.items() if key != "meta"}
    full = {"name": None, "format_version": 0.4, **kept}
    result = ConfigSpace.ConfigurationSpace.from_serialized_dict(deepcopy(full))  # it takes the dict apart
    result.meta = dict(body["meta"]) if body.get("meta") else {}
    return result
