"""Search spaces as plain JSON values, for the log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from shoestring.errors import SpaceError
from shoestring.spaces.configspace import ConfigSpace


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


def serialised(space: ConfigSpace.ConfigurationSpace) -> dict[str, Any]:
    """A space as plain JSON values, the same for the same space in any version of ConfigSpace's file."""
    body: dict[str, Any] = json.loads(json.dumps(space.to_serialized_dict(), default=_plain))
    rows = (space.meta or {}).get("rows")
    kept = {key: body.get(key) for key in ("hyperparameters", "conditions", "forbiddens")}
    return kept if rows is None else {**kept, "meta": {"rows": rows}}


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise SpaceError(f"{value!r} cannot be written as JSON: use numbers, text, booleans or None in a space")


def deserialised(body: Mapping[str, Any]) -> ConfigSpace.ConfigurationSpace:
    """The space that :func:`serialised` wrote."""
    full = {"name": None, "format_version": 0.4, **{k: v for k, v in body.items() if k != "meta"}}
    result = ConfigSpace.ConfigurationSpace.from_serialized_dict(deepcopy(full))  # it takes the dict apart
    result.meta = dict(body["meta"]) if body.get("meta") else {}
    return result
