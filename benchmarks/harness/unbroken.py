"""Checks that a log of the training in ``victim.py`` must show after faults: unbroken readings, and charges with a
reason.
"""

from __future__ import annotations

from collections import Counter

from benchmarks.harness.victim import after
from shoestring.core.events import Adopted, Closed, Event, Reported
from shoestring.core.history import TrialRecord


def wrong_readings(trial: TrialRecord) -> int:
    weight, wrong = trial.config["x"], 0
    for step in range(1, trial.step + 1):
        weight = after(weight, trial.seed, step)
        wrong += trial.readings[step].value != weight
    return wrong


def explained(events: list[Event]) -> int:
    """Steps that are charged without a reading: attempts that were lost, and steps that were run again."""
    steps, known = 0, Counter[int]()
    for event in events:
        if isinstance(event, Reported):
            known[event.trial] = event.step
        elif isinstance(event, Adopted):
            steps += event.steps + known[event.trial] - event.start
        elif isinstance(event, Closed):
            steps += event.steps
    return steps
