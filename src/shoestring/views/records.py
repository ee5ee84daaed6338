"""Trials and readings as plain values, for JSON."""

from __future__ import annotations

from typing import Any

from shoestring.core.history import TrialRecord
from shoestring.core.readings import Reading


def trial_record(trial: TrialRecord) -> dict[str, Any]:
    """A trial as plain values."""
    names = ("arm", "replicate", "config", "seed", "state", "step", "until", "message")
    readings = [_reading_record(step, reading) for step, reading in trial.readings.items()]
    said = {name: kept for name, kept in (("notes", trial.notes), ("attributes", trial.attributes)) if kept}
    return {"trial": trial.index, **{name: getattr(trial, name) for name in names}, **said, "readings": readings}


def _reading_record(step: int, reading: Reading) -> dict[str, Any]:
    metrics = dict(reading.metrics) or None
    optional = {"low": reading.low, "high": reading.high, "cost": reading.cost, "metrics": metrics}
    return {"step": step, "value": reading.value, **{k: v for k, v in optional.items() if v is not None}}
