"""Ask and tell, for a caller that runs the trials itself, from any of its threads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from operator import index

from shoestring.core.event_log import SharedLog
from shoestring.core.grants import Grant
from shoestring.core.history import TrialRecord
from shoestring.core.journal import Journal
from shoestring.core.readings import readings_by_step, refuse_other_value
from shoestring.core.workers import DETACHED
from shoestring.errors import ReadingError
from shoestring.spaces.codec import deep_copy

_ENDED = ("failed", "lost", "stopped")


def ask(journal: Journal, most: int) -> list[Grant]:
    """Return up to ``most`` grants: trials of dead workers, then the method's decisions."""
    with journal.lock:
        found = list(islice(_take_over(journal), most))
        if len(found) < most:
            answer = journal.grants(most - len(found))
            for granted in answer if isinstance(answer, list) else ():
                found.append(_grant_of(journal, journal.history.trials[granted.trial], granted.reason))
        return found


def _take_over(journal: Journal) -> Iterator[Grant]:
    for trial in journal.trials_of_gone_workers():
        if journal.adopt(trial.index, trial.step):
            yield _grant_of(journal, trial, "taken over from a worker that has died")


def _grant_of(journal: Journal, trial: TrialRecord, reason: str) -> Grant:
    journal.asked[trial.index] = trial.holders
    return Grant(trial.index, deep_copy(trial.config), trial.seed, trial.step, trial.until, reason)


def tell(journal: Journal, given: Grant | int, readings: object) -> None:
    """Report the readings of a grant, or of a trial's last grant if its number is given."""
    with journal.lock:
        trial = trial_of(journal, given)
        start, until = (given.start, given.until) if isinstance(given, Grant) else (trial.start, trial.until)
        for step, reading in readings_by_step(start, until, readings).items():
            if journal.was_taken_over(trial.index):
                journal.report(trial.index, step, reading)
            elif step in trial.readings:
                refuse_other_value(trial.index, step, trial.readings[step], reading)
            elif trial.state in _ENDED:
                why = f"trial {trial.index} has ended ({trial.state}: {trial.message})"
                raise ReadingError(f"{why}; it takes no more readings")
            else:
                if not isinstance(given, Grant):
                    journal.running_trial(trial.index)
                journal.report(trial.index, step, reading)
                if trial.state in _ENDED:
                    return


def fail(journal: Journal, given: Grant | int, error: object) -> None:
    """Report that the step after the last reading of a grant could not be done."""
    message = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)
    with journal.lock:
        journal.close(trial_of(journal, given).index, "failed", message, steps=1)


def heartbeat(journal: Journal, given: Grant | int) -> None:
    """Renew the lease of the worker that holds a trial, and refuse if the trial is no longer that grant's."""
    with journal.lock:
        journal.sync()
        trial = trial_of(journal, given)
        journal.running_trial(trial.index, "nothing of it runs, so there is nothing to keep alive")
        if journal.was_taken_over(trial.index):
            raise ReadingError(f"trial {trial.index} was taken over by {trial.worker}: end its run here")
        if isinstance(given, Grant) and given.until != trial.until:
            raise ReadingError(f"trial {trial.index} has a later grant, until step {trial.until}: this one is told")
        if isinstance(journal.log, SharedLog) and trial.worker != DETACHED:
            journal.log.beat(journal.study, trial.worker)


def trial_of(journal: Journal, given: Grant | int) -> TrialRecord:
    """Find the trial of a grant, or of a number; another object, or another process, may have asked for it."""
    trials = journal.history.trials
    if not isinstance(given, Grant):
        journal.sync()
        return trials[_number(given, len(trials), journal.name)]
    if given.trial >= len(trials) or trials[given.trial].until < given.until:
        journal.sync()
    if not 0 <= given.trial < len(trials) or trials[given.trial].seed != given.seed:
        raise ReadingError(f"the grant of trial {given.trial} is not one of this study {journal.name!r}")
    return trials[given.trial]


def _number(given: object, trials: int, name: str) -> int:
    try:
        number = -1 if isinstance(given, bool) else index(given)  # type: ignore[arg-type]
    except TypeError:
        raise ReadingError(
            f"{given!r} is not a grant; give what study.ask() returned, or the number of a trial"
        ) from None
    if not 0 <= number < trials:
        raise ReadingError(f"the study {name!r} has no trial {given!r}; it has {trials} of them, numbered from 0")
    return number
