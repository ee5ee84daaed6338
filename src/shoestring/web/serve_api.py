"""Ask and tell for clients that are not this process: every answer is plain values, and everything is in the log.

A trial that was asked for is held under a lease. A client that neither tells nor sends a heartbeat for that long loses
it: the trial is released, and the next client gets it. The leases are kept in memory alone. After a restart, every
trial that is held by hand gets a new one.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoestring.core.budget import Budget, as_budget
from shoestring.core.readings import Reading, check_reading
from shoestring.core.trial_record import TrialRecord
from shoestring.core.workers import DETACHED, ticks
from shoestring.errors import BudgetError, EverythingFailed, ReadingError, StudyMismatch, StudyNotFound
from shoestring.logs import open_log
from shoestring.spaces.written import space_from_plain
from shoestring.study import Study
from shoestring.views.states import count_states

LEASE = 300.0


class AlreadyKnown(ReadingError):
    """A client's report contradicts the log; ``known`` is the log's value."""

    def __init__(self, message: str, known: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.known = known


class NoSuchTrial(ReadingError):
    """The study has no trial of this number."""


class Studies:
    """The studies of a storage, for any number of threads that call on behalf of clients.

    With ``only`` these are the only studies. Clients that only look get ``lease=None``: then nothing is released.
    """

    def __init__(self, storage: str | Path, lease: float | None = LEASE, only: Collection[str] = ()) -> None:
        self._storage, self._log = storage, open_log(storage, create=lease is not None)
        self._lease, self._only = lease, frozenset(only)
        self._opened: dict[str, Study] = {}
        self._ends: dict[str, dict[str, float]] = {}  # for each study, when the leases end, in ticks
        self._lock = threading.RLock()

    def names(self) -> list[str]:
        with self._lock:
            return [name for name in self._log.studies() if self._is_open(name)]

    def study(self, name: str) -> Study:
        """A stored study; all clients share one object."""
        if not self._is_open(name):
            raise StudyNotFound(f"there is no study {name!r:.80} here; there is {', '.join(map(repr, self.names()))}")
        with self._lock:
            if name not in self._opened:
                self._opened[name] = Study.load(self._storage, name)
            return self._opened[name]

    def create(self, name: str, space: object, budget: object, past: object = None, **options: Any) -> dict[str, Any]:
        """Create a study. One that exists must be the same: its budget cannot be changed from here.

        ``past`` names studies of this storage, or is "auto" for all of them: clients cannot have other files read.
        The answer says how many configurations are ``planned`` from it and from a ``guess``.
        """
        limits = budget_of(budget)
        if not self._is_open(name):
            raise StudyMismatch(f"the study cannot be called {name!r:.80}; names are {', '.join(sorted(self._only))}")
        with self._lock:
            if name in self.names() and (known := self.study(name).budget) != limits:
                raise StudyMismatch(f"the study {name!r} exists with a budget of {known}; it is now given as {limits}")
            own = space_from_plain(space)
            study = Study(own, budget=limits, storage=self._storage, name=name, past=self._past(past, name), **options)
        planned = len(study.history.opened.plan)
        return {**self.state(name), **({"planned": planned} if planned else {})}

    def _past(self, given: object, name: str) -> list[Study] | None:
        """The studies that a new study may learn from, by their names."""
        if given is None:
            return None
        known = [other for other in self.names() if other != name]
        chosen = known if given == "auto" else given
        if not isinstance(chosen, list) or not all(other in known for other in chosen):
            raise ReadingError(
                f"past is {given!r:.80}; give 'auto' for all studies of this storage, or a list of their names; there "
                f"is {', '.join(map(repr, known)) or 'none'}"
            )
        return [self.study(other) for other in chosen]

    def _is_open(self, name: str) -> bool:
        return not self._only or name in self._only

    def ask(self, name: str) -> dict[str, Any]:
        """The next grant, or None as its trial if there is nothing to start now."""
        study = self.study(name)
        self._expire(study)
        grant = study.detached.ask()
        if grant is None:
            return {"trial": None, "state": study.state, "reason": study.reason}
        record = study.trials[grant.trial]
        self._renew(study, record)
        return {**vars(grant), "config": dict(grant.config), "lease": _lease(record), "seconds": self._lease}

    def heartbeat(self, name: str, trial: int, lease: str | None = None) -> dict[str, Any]:
        """Extend the lease of a trial."""
        study, record = self._find_held(name, trial, lease)
        self._renew(study, record)
        return self.trial(name, trial)

    def tell(self, name: str, trial: int, readings: Mapping[int, object]) -> dict[str, Any]:
        """Report readings by their steps. The same reading twice is one; another one is a contradiction."""
        study, record = self._record(name, trial)
        fresh: dict[int, Reading] = {}
        for step, given in readings.items():
            reading, known = check_reading(given, study.history.goals), record.readings.get(step)
            if known is None:
                fresh[step] = reading
            elif known.value != reading.value:
                raise self._contradiction(name, trial, f"step {step} of trial {trial} has the reading {known.value!r}")
        try:
            if fresh:
                study.tell(trial, fresh)
        except ReadingError as error:
            raise self._contradiction(name, trial, str(error)) from None
        self._renew(study, record)
        return self.trial(name, trial)

    def fail(self, name: str, trial: int, message: str, lease: str | None = None) -> dict[str, Any]:
        """Report that the next step of a trial could not be done; saying it twice is the same as once."""
        study, record = self._record(name, trial)
        if (record.state, record.message) != ("failed", message):
            self._find_held(name, trial, lease)
            study.fail(trial, message)
        return self.trial(name, trial)

    def stop(self, name: str, reason: str) -> dict[str, Any]:
        self.study(name).stop(reason)
        return self.state(name)

    def trial(self, name: str, trial: int) -> dict[str, Any]:
        """A trial as the log knows it."""
        _, record = self._record(name, trial)
        readings = {step: reading.value for step, reading in list(record.readings.items())}
        known = {"state": record.state, "step": record.step, "until": record.until, "readings": readings}
        return {"trial": trial, **known, "config": dict(record.config), "message": record.message}

    def best(self, name: str) -> dict[str, Any] | None:
        """The configuration that the study recommends, or its front; None without a reading."""
        study = self.study(name)
        with suppress(EverythingFailed):
            return {"front": [vars(m) for m in study.front]} if study.history.goals.several else vars(study.best)
        return None

    def state(self, name: str) -> dict[str, Any]:
        """Return how far a study is."""
        study = self.study(name)
        self._expire(study)
        amounts = {"budget": study.budget.limits(), "spent": dict(study.spent), "remaining": dict(study.remaining)}
        running = list(study.history.running)
        return {
            "name": name, "state": study.state, "reason": study.reason, **amounts,
            "trials": count_states(study.trials), "running": running, "best": self.best(name),
        }  # fmt: skip

    def _record(self, name: str, trial: int) -> tuple[Study, TrialRecord]:
        study = self.study(name)
        trials = study.trials
        if not 0 <= trial < len(trials):
            raise NoSuchTrial(f"the study {name!r} has no trial {trial}; it has {len(trials)} of them, from 0")
        return study, trials[trial]

    def _find_held(self, name: str, trial: int, lease: str | None) -> tuple[Study, TrialRecord]:
        """A running trial, if the client that names its lease still has it."""
        study, record = self._record(name, trial)
        if record.state != "running":
            raise self._contradiction(name, trial, f"trial {trial} is {record.state}")
        if lease not in (None, _lease(record)):
            raise self._contradiction(name, trial, f"the lease {lease!r:.40} of trial {trial} has expired")
        return study, record

    def _contradiction(self, name: str, trial: int, message: str) -> AlreadyKnown:
        return AlreadyKnown(message, self.trial(name, trial))

    def _renew(self, study: Study, record: TrialRecord) -> None:
        with self._lock:
            self._ends.setdefault(study.name, {})[_lease(record)] = ticks() + (self._lease or 0.0)

    def _expire(self, study: Study) -> None:
        """Release the trials whose lease has ended; one that was not seen before gets a new lease."""
        if self._lease is None:
            return
        with self._lock:
            ends, now = self._ends.get(study.name, {}), ticks()
            running = list(study.history.running.values())
            held = {_lease(trial): trial.index for trial in running if trial.worker == DETACHED}
            self._ends[study.name] = {lease: ends.get(lease, now + self._lease) for lease in held}
            for lease, trial in held.items():
                if now > self._ends[study.name][lease]:
                    with suppress(ReadingError):  # it was told in this moment
                        study.release(trial, f"its client was silent for {self._lease:g} seconds")


def _lease(trial: TrialRecord) -> str:
    """The name of a lease: which trial, by which grant, and how often it had changed hands."""
    return f"{trial.index}-{trial.granted}-{trial.holders}"


def budget_of(given: object) -> Budget:
    """A budget from JSON: a text such as "300 steps", or {"steps": 300}."""
    if not isinstance(given, dict):
        return as_budget(given)
    try:
        return Budget(**given)
    except TypeError:
        raise BudgetError(f"the budget is {given!r:.80}; write '300 steps', or {{'steps': 300}}") from None


def readings_of(body: Mapping[str, Any], steps: bool) -> dict[int, object]:
    """The readings of a request: {"step": 3, "value": 0.2}, or {"readings": {"1": 0.4, "2": 0.3}}.

    The step may be left out in a study without steps. Elsewhere it is needed: a request that is sent again must not be
    counted as a later step.
    """
    if isinstance(several := body.get("readings"), dict):
        return {_step(step): _reading(given) for step, given in several.items()}
    step = body.get("step", None if steps else 1)
    return {_step(step): _reading({name: part for name, part in body.items() if name != "step"})}


def _step(given: object) -> int:
    if isinstance(given, str) and given.isascii() and given.isdecimal() and len(given) < 16:
        return int(given)
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise ReadingError(f"the step is {given!r:.80}; name the step of the value, a whole number")


def _reading(given: object) -> object:
    if not isinstance(given, dict):
        return given
    try:
        return Reading(**given)
    except TypeError:
        raise ReadingError(f"the reading {given!r:.80} has no value, or a name that a metric cannot have") from None
