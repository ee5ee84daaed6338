"""Grants that are applied to a history before they are in the log, and can be taken back.

Several grants that are decided together are appended together, and each is decided on those before it. If another
process appends first, none of them has happened.
"""

from __future__ import annotations

from copy import copy
from dataclasses import fields

from shoestring.core.events import Granted
from shoestring.core.history import History, TrialRecord
from shoestring.core.study_clock import StudyClock


class TentativeGrants:
    """A block in which grants are applied tentatively. They are taken back at its end, unless they were kept."""

    def __init__(self, history: History, clock: StudyClock) -> None:
        self._history = history
        self._clock, self._clock_before = clock, dict(vars(clock))
        self._ledger = copy(history.ledger)
        self._time = history.position, history.now, history.drift
        self._sizes = len(history.trials), len(history.arms), len(history.grants)
        self._given = history.given, list(history.queue)
        self._paused: list[TrialRecord] = []  # their state before they were granted again
        self._kept = False

    def __enter__(self) -> TentativeGrants:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._kept and self._history.position > self._time[0]:
            self._take_back()

    def add(self, granted: Granted) -> None:
        if granted.trial < len(self._history.trials):
            self._paused.append(copy(self._history.trials[granted.trial]))
        self._history.absorb(granted)
        self._clock.record_append()  # the next one is stamped with the time that passes from now on

    def keep(self) -> None:
        """They are in the log now."""
        self._kept = True

    def _take_back(self) -> None:
        """Make the history what it was; its caches have seen too much and are dropped."""
        history, (trials, arms, grants) = self._history, self._sizes
        history.position, history.now, history.drift = self._time
        history.ledger = self._ledger
        history.given, history.queue = self._given
        history.arm_of = {key: arm for key, arm in history.arm_of.items() if arm < arms}
        for granted in history.grants[grants:]:
            del history.running[granted.trial]
        for trial in history.trials[trials:]:
            history.arms[trial.arm].trials.remove(trial)
        del history.trials[trials:], history.arms[arms:]
        del history.grants[grants:], history.granted_after[grants:], history.spent_before[grants:]
        for before in self._paused:
            for part in fields(before):
                setattr(history.trials[before.index], part.name, getattr(before, part.name))
        history.drop_caches()
        vars(self._clock).update(self._clock_before)
